//! `scripts/setup` on a machine that lacks something: it says all that is missing at once, and exactly what to type.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::skip::has_program_or_skips;

const SETUP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/setup");

/// A machine of a user without sudo, with these programs besides the usual ones. Returns what setup says.
fn setup_with(programs: &[(&str, &str)]) -> String {
    let home = tempfile::tempdir().unwrap();
    run_setup(home.path(), &[], programs, 1)
}

/// A folder with the usual programs, and these.
fn programs_of(programs: &[(&str, &str)]) -> TempDir {
    let bin = tempfile::tempdir().unwrap();
    for usual in [
        "bash", "chmod", "env", "sed", "sh", "dirname", "sort", "head", "mkdir",
    ] {
        let paths = ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(usual));
        let path = paths.iter().find(|path| path.exists()).unwrap();
        symlink(path, bin.path().join(usual)).unwrap();
    }
    for (name, says) in [("id", "1000"), ("apt-get", "")].iter().chain(programs) {
        let path = bin.path().join(name);
        fs::write(&path, format!("#!/usr/bin/env bash\necho '{says}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    bin
}

/// Runs setup on a machine with these programs besides the usual ones. Checks its exit code and returns what it says.
fn run_setup(home: &Path, arguments: &[&str], programs: &[(&str, &str)], code: i32) -> String {
    let bin = programs_of(programs);
    let output = Command::new(bin.path().join("bash"))
        .arg(SETUP)
        .args(arguments)
        .env("PATH", bin.path())
        .env("HOME", home)
        .env_remove("CARGO_HOME")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn setup_says_how_to_get_rust() {
    let said = setup_with(&[]);
    assert!(
        said.contains("sudo apt-get install -y ca-certificates curl fuse3 g++ gcc\n"),
        "{said}"
    );
    assert!(said.contains("https://sh.rustup.rs"), "{said}");
    let old = ("cargo", "cargo 1.63.0 (fd9c4297c 2022-07-01)");
    let said = setup_with(&[old]);
    assert!(said.contains("Rust 1.63.0 is too old"), "{said}");
    assert!(said.contains("https://sh.rustup.rs"), "{said}");
    let said = setup_with(&[old, ("rustup", "")]);
    assert!(said.contains("  rustup update stable"), "{said}");
}

/// What `curl` brings: an installer that puts a `cargo` into the home folder and tells its arguments.
const INSTALLER: &str = r##"cd "$HOME"; mkdir -p .cargo/bin
printf "#!/usr/bin/env bash\necho cargo 1.100.0\n" > .cargo/bin/cargo
chmod +x .cargo/bin/cargo
echo "installer $*"
"##;

#[test]
fn setup_installs_rust_where_it_may_and_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let programs = [
        ("curl", INSTALLER),
        ("cargo", "cargo 1.63.0 (fd9c4297c 2022-07-01)"),
    ];
    let said = run_setup(home.path(), &["--yes"], &programs, 1);
    assert!(said.contains("installer -y"), "{said}");
    assert!(home.path().join(".cargo/bin/cargo").exists(), "{said}");
    // It has gone on to what is missing besides.
    assert!(
        said.contains("sudo apt-get install -y fuse3 g++ gcc\n"),
        "{said}"
    );
    let again = run_setup(home.path(), &[], &[], 1);
    assert!(!again.contains("Rust"), "{again}");
}

/// Apt offers rustup once its lists are updated, and installs compilers.
const APT_WITH_LISTS: &str = r##"' ; case "$*" in
  *update*) : > "$HOME/updated" ;;
  *install*) : > "${0%/*}/cc"; chmod +x "${0%/*}/cc" ;;
esac; : '"##;
const APT_CACHE: &str = r##"' ; [ ! -e "$HOME/updated" ] || echo "  Candidate: 1.27.1"; : '"##;

#[test]
fn setup_that_gets_rust_without_the_rustup_of_apt_has_not_failed() {
    let home = tempfile::tempdir().unwrap();
    let programs = [
        ("id", "0"),
        ("c++", ""),
        ("fusermount3", ""),
        ("curl", INSTALLER),
        ("apt-get", APT_WITH_LISTS),
        ("apt-cache", APT_CACHE),
    ];
    let said = run_setup(home.path(), &["--yes"], &programs, 0);
    assert!(home.path().join("updated").exists(), "{said}");
    assert!(said.contains("Installing gcc "), "{said}");
    assert!(said.contains("installer -y"), "{said}");
    // A user who may not install packages has all but Rust.
    let home = tempfile::tempdir().unwrap();
    let programs = [
        ("cc", ""),
        ("c++", ""),
        ("fusermount3", ""),
        ("curl", INSTALLER),
        ("apt-cache", "  Candidate: 1.27.1"),
    ];
    let said = run_setup(home.path(), &["--yes"], &programs, 0);
    assert!(said.contains("installer -y"), "{said}");
}

#[test]
fn setup_names_everything_that_is_missing_in_one_command() {
    let rust = ("cargo", "cargo 1.100.0 (0000000 2027-01-01)");
    let said = setup_with(&[rust]);
    assert!(
        said.contains("sudo apt-get install -y fuse3 g++ gcc\n"),
        "{said}"
    );
    let said = setup_with(&[rust, ("cc", ""), ("c++", "")]);
    assert!(said.contains("sudo apt-get install -y fuse3\n"), "{said}");
}

/// What apt says of packages: their size if it only looks, else that it installs them.
const APT: &str = r##"' ; case "$*" in
  *--assume-no*) printf 'Need to get 12.3 MB of archives.\nAfter this operation, 45.6 MB of additional disk space will be used.\n' ;;
  *) echo "apt $*" >> "$HOME/apt.log" ;;
esac; : '"##;

/// Sudo with a password runs the command.
const SUDO: &str = r##"' ; [ "$1" = -n ] && exit 1; "$@" ; : '"##;

#[test]
fn on_a_terminal_one_question_names_all_packages_with_their_size() {
    if !has_program_or_skips("script") {
        return;
    }
    for (answer, is_installed) in [("n", false), ("y", true)] {
        let home = tempfile::tempdir().unwrap();
        let rust = ("cargo", "cargo 1.63.0 (fd9c4297c 2022-07-01)");
        let programs = [rust, ("curl", INSTALLER), ("apt-get", APT), ("sudo", SUDO)];
        let bin = programs_of(&programs);
        // `script` gives the command a terminal, and is not on that machine.
        let script = ["/usr/bin/script", "/bin/script"];
        let script = script.iter().find(|path| Path::new(path).exists());
        let line = format!(
            "echo {answer} | PATH={bin} HOME={home} {script} -qec '{bin}/bash {SETUP} --tests' /dev/null",
            script = script.unwrap(),
            bin = bin.path().display(),
            home = home.path().display(),
        );
        let output = Command::new("/bin/sh")
            .args(["-c", &line])
            .env_remove("CARGO_HOME")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said.matches("[Y/n]").count(), 1, "{said}");
        for told in [
            "Rust 1.63.0 is too old",
            "packages (about 12.3 MB to download, 45.6 MB on disk): fuse3 g++ gcc attr ",
            " chromium ",
        ] {
            assert!(said.contains(told), "{told}: {said}");
        }
        let log = fs::read_to_string(home.path().join("apt.log")).unwrap_or_default();
        let installs = log.lines().filter(|line| line.starts_with("apt install"));
        assert_eq!(installs.count(), usize::from(is_installed), "{log}");
        assert_eq!(said.contains("installer -y"), is_installed, "{said}");
    }
}
