//! The keyring: `login` stores the token there if one answers, else in a file, and never waits long.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::needs_program;
use crate::support::{ASSETFS, Fixture, text};

/// A home folder without anything of the user's.
struct Home {
    fixture: Fixture,
    dir: PathBuf,
}

impl Home {
    fn new() -> Home {
        let fixture = Fixture::unmounted(&[]);
        let dir = fixture.scratch.path().join("home");
        fs::create_dir_all(dir.join("run")).unwrap();
        fs::set_permissions(dir.join("run"), fs::Permissions::from_mode(0o700)).unwrap();
        Home { fixture, dir }
    }

    /// Runs lines of shell in which `login`, `whoami`, `logout` and `doctor` are assetfs.
    fn run(&self, bus: &[&str], lines: &str) -> Output {
        let service = self.fixture.scratch.path().join("service/account.json");
        let account: serde_json::Value =
            serde_json::from_slice(&fs::read(service).unwrap()).unwrap();
        let line = format!(
            r#"
            login() {{ printf '%s\n' "$PASSWORD" | {ASSETFS} login --base-url "$URL" --email "$EMAIL"; }}
            whoami() {{ {ASSETFS} whoami --base-url "$URL"; }}
            logout() {{ {ASSETFS} logout --base-url "$URL"; }}
            doctor() {{ {ASSETFS} doctor || true; }}
            {lines}"#
        );
        let mut words: Vec<&str> = bus.to_vec();
        words.extend(["bash", "-euc", &line]);
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .env_remove("ASSETFS_KEYRING")
            .env_remove("ASSETFS_TOKEN")
            .env_remove("DISPLAY")
            .env("HOME", &self.dir)
            .env("XDG_CONFIG_HOME", self.dir.join("config"))
            .env("XDG_DATA_HOME", self.dir.join("data"))
            .env("XDG_RUNTIME_DIR", self.dir.join("run"))
            .env("URL", &self.fixture.service.base_url)
            .env("EMAIL", account["email"].as_str().unwrap())
            .env("PASSWORD", account["password"].as_str().unwrap());
        command.output().unwrap()
    }

    fn tokens_in_files(&self) -> usize {
        let files = fs::read_dir(self.dir.join("config/assetfs/tokens"));
        files.map_or(0, Iterator::count)
    }
}

#[test]
fn login_keeps_the_token_in_an_unlocked_keyring_and_logout_removes_it() {
    needs_program!("dbus-run-session");
    needs_program!("gnome-keyring-daemon");
    let home = Home::new();
    let out = home.run(
        &["dbus-run-session", "--"],
        "printf pw | gnome-keyring-daemon --unlock --components=secrets > /dev/null
        doctor; login; login; whoami; logout; ! whoami",
    );
    let (said, errors) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{said}{errors}");
    assert!(
        said.contains("Tokens: `assetfs login` keeps them in the keyring"),
        "{said}"
    );
    assert_eq!(
        said.matches("the token is in the keyring").count(),
        2,
        "{said}"
    );
    assert!(said.contains("token from    the keyring"), "{said}");
    assert!(said.contains("Signed out"), "{said}");
    assert!(errors.contains("no token"), "{errors}");
    assert_eq!(home.tokens_in_files(), 0);
}

#[test]
fn a_locked_keyring_is_not_waited_for() {
    needs_program!("dbus-run-session");
    needs_program!("gnome-keyring-daemon");
    let home = Home::new();
    let session = ["dbus-run-session", "--"];
    // The first session makes the keyring; in the second nobody unlocks it.
    let made = home.run(
        &session,
        "printf pw | gnome-keyring-daemon --unlock --components=secrets > /dev/null; login",
    );
    assert!(
        text(&made.stdout).contains("in the keyring"),
        "{}",
        text(&made.stderr)
    );
    let began = Instant::now();
    let out = home.run(
        &session,
        "gnome-keyring-daemon --start --components=secrets > /dev/null; ! whoami; login; whoami",
    );
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    let (said, errors) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{said}{errors}");
    assert!(errors.contains("the keyring is locked"), "{errors}");
    assert!(said.contains("because the keyring is locked"), "{said}");
    assert_eq!(home.tokens_in_files(), 1);
}

#[test]
fn without_a_keyring_the_token_is_in_a_file_of_mode_0600_and_a_sentence_says_why() {
    let home = Home::new();
    let silent = UnixListener::bind(home.dir.join("silent")).unwrap();
    let silent_bus = format!(
        "export DBUS_SESSION_BUS_ADDRESS=unix:path={}\n",
        home.dir.join("silent").display()
    );
    for (lines, why) in [
        (String::new(), "because there is no session bus"),
        (
            "export ASSETFS_KEYRING=off\n".to_owned(),
            "because ASSETFS_KEYRING is off",
        ),
        (
            "export DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent\n".to_owned(),
            "because there is no session bus",
        ),
        (silent_bus, "because the keyring did not answer within 3 s"),
    ] {
        let began = Instant::now();
        let out = home.run(&["env"], &format!(
            "{lines}login; stat -c 'mode %a' \"$XDG_CONFIG_HOME\"/assetfs/tokens/*; whoami; doctor; logout"
        ));
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "{why}: {:?}",
            began.elapsed()
        );
        let (said, errors) = (text(&out.stdout), text(&out.stderr));
        assert!(out.status.success(), "{said}{errors}");
        assert!(said.contains(why), "{said}{errors}");
        assert!(said.contains("mode 600"), "{said}");
        assert!(said.contains("token from    /"), "{said}");
        assert!(said.contains("files of mode 0600, "), "{said}");
        assert_eq!(home.tokens_in_files(), 0, "logout: {said}{errors}");
    }
    drop(silent);
}

#[test]
fn a_bus_without_a_keyring_is_no_keyring() {
    needs_program!("dbus-daemon");
    let home = Home::new();
    // A bus that can start no service.
    let config = home.dir.join("bus.conf");
    let text_of_config = format!(
        "<busconfig><type>session</type><listen>unix:path={}/run/bus</listen>\
         <policy context='default'><allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/></policy></busconfig>",
        home.dir.display()
    );
    fs::write(&config, text_of_config).unwrap();
    let out = home.run(
        &["env"],
        &format!(
            "dbus-daemon --config-file={} --nofork & bus=$!; trap 'kill $bus' EXIT
            while [ ! -S $XDG_RUNTIME_DIR/bus ]; do sleep 0.1; done
            login; whoami; logout",
            config.display()
        ),
    );
    let (said, errors) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{said}{errors}");
    assert!(
        said.contains("because no keyring answers on the session bus"),
        "{said}"
    );
}
