//! Commands as typed in a shell: without a path, on paths with spaces, without the service, with the local service of
//! the machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;

use crate::fault_server::{FaultServer, Reply};
use crate::support::{ASSETFS, Fixture, assetfs, fails, run, shell, text};
use crate::{needs_fuse, needs_program, needs_root};

/// Commands without a path, in a mount namespace that holds only the drives of the test.
#[test]
fn a_command_without_a_path_takes_the_only_drive_and_lists_several() {
    needs_fuse!();
    needs_root!();
    needs_program!("unshare");
    needs_program!("setpriv");
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().display();
    let script = format!(
        r#"
set -eu
chmod 755 {dir}; cp {ASSETFS} {dir}/assetfs; mkdir -m 777 {dir}/theirs
# No drive of other tests is seen here.
awk '/ - fuse.assetfs /{{print $5}}' /proc/self/mountinfo | while read -r other; do umount -l "$(printf '%b' "$other")"; done
mount_one() {{ {dir}/assetfs mount "$1" --local --data-dir "$1.data" --state-dir "$1.state" --cache-dir "$1.cache" >&2; }}
code=0; {dir}/assetfs status || code=$?; echo "none: $code"
mount_one "{dir}/my drive"
{dir}/assetfs status | head -1
{dir}/assetfs wait
setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME={dir}/theirs sh -c 'code=0; {dir}/assetfs status || code=$?; echo "theirs: $code"'
mount_one "{dir}/second"
for command in status wait unmount; do code=0; {dir}/assetfs $command || code=$?; echo "$command: $code"; done
{dir}/assetfs unmount {dir}/second
{dir}/assetfs unmount
test ! -d "{dir}/my drive/rawmodels"
"#
    );
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .output()
        .unwrap();
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{said}");
    let lines: Vec<&str> = out.lines().collect();
    let first = lines.iter().find(|line| line.contains("the local service"));
    assert!(
        first.is_some_and(|line| line.starts_with(&format!("'{dir}/my drive'  "))),
        "{out}"
    );
    for line in ["none: 1", "theirs: 1", "status: 2", "wait: 2", "unmount: 2"] {
        assert!(lines.contains(&line), "{line}: {out}{said}");
    }
    for line in [
        format!("  assetfs unmount '{dir}/my drive'"),
        format!("  assetfs unmount {dir}/second"),
    ] {
        assert!(said.lines().any(|said| said == line), "{line}: {said}");
    }
}

#[test]
fn paths_in_the_output_can_be_pasted_and_a_failure_has_a_time_and_goes_when_it_is_over() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let folder = fixture.path("rawmodels/my chair's");
    fs::create_dir(&folder).unwrap();
    let page = run(assetfs("status", fixture.root()));
    let quoted = fixture.root().display().to_string() + r"/rawmodels/my chair'\''s'";
    assert!(page.contains(&format!("'{quoted}  ")), "{page}");
    fs::remove_dir(&folder).unwrap();

    let preset = fixture.path("presets/bad.json");
    let written = |text: &str| {
        let copy = fixture.scratch.path().join("preset.json");
        fs::write(&copy, text).unwrap();
        let mut cp = Command::new("cp");
        cp.arg(&copy).arg(&preset).status().unwrap().success()
    };
    assert!(!written("{\"limits\": }"));
    let refused = || fixture.status()["refused"].as_array().unwrap().clone();
    let failure = refused()
        .into_iter()
        .find(|failure| failure["path"] == "/presets/bad.json")
        .expect("the refusal is listed");
    let at = failure["at"].as_str().expect("a time");
    assert!(at.len() == 27 && at.ends_with('Z'), "{at}");
    let page = run(assetfs("status", fixture.root()));
    assert!(page.contains(" UTC  "), "{page}");
    std::thread::sleep(std::time::Duration::from_millis(2100));
    assert!(written("{\"limits\": {}}"));
    assert!(
        refused()
            .iter()
            .all(|failure| failure["path"] != "/presets/bad.json"),
        "{:?}",
        refused()
    );
}

#[test]
fn wait_on_several_jobs_names_each_by_its_path() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let optimize = fixture.path("rawmodels/chair/optimize");
    for percentage in [40, 50] {
        let config = format!(
            r#"{{"limits":{{"faces":{{"percentage":{percentage}}}}},"compressionAndExport":{{"fileExports":[{{"fileType":"glb"}}]}}}}"#
        );
        fs::write(optimize.join(format!("to{percentage}.json")), config).unwrap();
    }
    let output = assetfs("wait", &optimize).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    for name in ["to40.json", "to50.json"] {
        let line = format!("{}: done", optimize.join(name).display());
        assert!(said.lines().any(|said| said == line), "{line}: {said}");
    }
}

#[test]
fn a_commit_while_the_service_is_away_says_so_at_once_and_keeps_the_draft() {
    needs_fuse!();
    let mut fixture = Fixture::with(&[], &["--settle", "10m"]);
    fs::read_dir(fixture.path("rawmodels")).unwrap().count();
    fixture.copy_chair();
    fixture.service.stop();
    let start = std::time::Instant::now();
    let said = fails(assetfs("commit", fixture.path("rawmodels/chair")), 1);
    assert!(
        said.contains("cannot be reached") && said.contains("the draft is kept"),
        "{said}"
    );
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    let status = fixture.status();
    assert_eq!(status["online"], false);
    assert_eq!(status["drafts"][0]["path"], "/rawmodels/chair");
    // It was requested by a command, so it is sent as soon as possible.
    fixture.service.start_again();
    fixture.wait("rawmodels/chair");
}

#[test]
fn mount_says_when_a_service_that_is_known_does_not_answer() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    run(assetfs("unmount --now", fixture.root()));
    fixture.service.stop();
    let output = fixture.mount_command(&[]).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("does not answer"), "{said}");
    assert!(
        !said.contains("os error") && !said.contains("client error"),
        "{said}"
    );
    run(assetfs("unmount --now", fixture.root()));
}

#[test]
fn an_address_that_answers_otherwise_than_the_service_is_not_mounted_the_first_time() {
    needs_fuse!();
    let page = Reply::new(200, &[("content-type", "text/html")], "<html></html>");
    for reply in [Reply::status(404), page, Reply::status(500)] {
        let server = FaultServer::start(move |_, _| reply.clone());
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new(ASSETFS);
        command.arg("mount").arg(dir.path().join("mnt"));
        command.args(["--base-url", &server.url()]);
        command.env("ASSETFS_TOKEN", "1|x");
        for (flag, name) in [("--state-dir", "state"), ("--cache-dir", "cache")] {
            command.arg(flag).arg(dir.path().join(name));
        }
        let said = fails(&mut command, 1);
        assert!(said.contains("not as the service does"), "{said}");
        assert!(said.contains("check the address"), "{said}");
        assert!(!dir.path().join("mnt").exists(), "{said}");
    }
}

/// A local service in a temporary folder.
struct LocalDrive(tempfile::TempDir);

impl LocalDrive {
    fn mount(&self) -> String {
        let place = |name: &str| self.0.path().join(name);
        let mut command = Command::new(ASSETFS);
        command.arg("mount").arg(place("mnt")).arg("--local");
        for (flag, name) in [
            ("--state-dir", "state"),
            ("--cache-dir", "cache"),
            ("--data-dir", "data"),
        ] {
            command.arg(flag).arg(place(name));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert!(said.contains("Its page: http://127.0.0.1:"), "{said}");
        text(&output.stderr)
    }

    fn unmount(&self) {
        run(assetfs("unmount", self.0.path().join("mnt")));
    }

    fn ask(&self, args: &[&str]) -> String {
        run(Command::new(ASSETFS)
            .args(args)
            .arg("--local")
            .env("ASSETFS_DATA_DIR", self.0.path().join("data")))
    }

    /// The address of its service, from `whoami`.
    fn address(&self) -> String {
        let said: Value = serde_json::from_str(&self.ask(&["whoami", "--json"])).unwrap();
        said["service"].as_str().unwrap().to_owned()
    }
}

#[test]
fn serve_beside_a_mount_says_where_the_page_is() {
    needs_fuse!();
    let drive = LocalDrive(tempfile::tempdir().unwrap());
    drive.mount();
    let data = drive.0.path().join("data");
    let output = Command::new(ASSETFS)
        .arg("serve")
        .arg("--data")
        .arg(&data)
        .output();
    let said = text(&output.unwrap().stderr);
    assert!(
        said.contains(&format!("its page is at {}", drive.address())),
        "{said}"
    );
    assert!(
        said.contains(&data.join("token").display().to_string()),
        "{said}"
    );
    drive.unmount();
}

#[test]
fn the_local_service_keeps_its_port_over_remounts_and_says_when_it_is_taken() {
    needs_fuse!();
    let drive = LocalDrive(tempfile::tempdir().unwrap());
    drive.mount();
    let first = drive.address();
    drive.unmount();
    drive.mount();
    assert_eq!(drive.address(), first);
    drive.unmount();
    let taken = std::net::TcpListener::bind(first.trim_start_matches("http://")).unwrap();
    let said = drive.mount();
    assert!(said.contains("is in use by another program"), "{said}");
    assert_ne!(drive.address(), first);
    drive.unmount();
    drop(taken);
    drive.mount();
    assert_eq!(drive.address(), first, "the old one again");
    drive.unmount();
}

#[test]
fn the_commands_of_an_account_work_with_the_local_service_mounted_or_not() {
    needs_fuse!();
    let drive = LocalDrive(tempfile::tempdir().unwrap());
    let token = drive.0.path().join("studio.token");
    let everything = |name: &str| {
        let said = drive.ask(&["whoami"]);
        assert!(said.contains("points") && said.contains(" GB"), "{said}");
        drive.ask(&["token", "create", name, "--out", token.to_str().unwrap()]);
        assert!(drive.ask(&["token", "list"]).contains(name));
        drive.ask(&["webhook", "list"]);
        assert!(drive.ask(&["logout"]).contains("needs no sign-in"));
        let zip = drive.0.path().join("preset.zip");
        drive.ask(&[
            "preset",
            "export",
            "Web Viewer",
            "--out",
            zip.to_str().unwrap(),
        ]);
        assert!(fs::read(&zip).unwrap().starts_with(b"PK"));
        let shown: Value =
            serde_json::from_str(&drive.ask(&["preset", "show", "Web Viewer"])).unwrap();
        assert!(shown.is_object());
    };
    everything("alone");
    drive.mount();
    everything("mounted");
    drive.unmount();
}

#[test]
fn a_command_that_names_no_account_means_that_of_the_mounted_drive() {
    needs_fuse!();
    let drive = LocalDrive(tempfile::tempdir().unwrap());
    drive.mount();
    let ask = |args: &[&str], data: &str| {
        let mut command = Command::new(ASSETFS);
        command.args(args).current_dir(drive.0.path().join("mnt"));
        command.env("ASSETFS_DATA_DIR", drive.0.path().join(data));
        command.env("XDG_CONFIG_HOME", drive.0.path().join("config"));
        command.output().unwrap()
    };
    let said: Value = serde_json::from_slice(&ask(&["whoami", "--json"], "data").stdout).unwrap();
    assert_eq!(said["service"], drive.address().as_str());
    assert!(text(&ask(&["token", "list"], "data").stdout).contains("number"));
    let shown = ask(&["preset", "show", "Web Viewer"], "data");
    assert!(text(&shown.stdout).contains("limits"));
    let other = ask(&["whoami"], "other");
    assert_eq!(other.status.code(), Some(2));
    let why = text(&other.stderr);
    assert!(
        why.contains("records in another folder; name it with --data-dir"),
        "{why}"
    );
    drive.unmount();
}

#[test]
fn a_second_drive_without_a_folder_says_which_is_there_and_what_to_type() {
    needs_fuse!();
    let home = tempfile::tempdir().unwrap();
    let fixture = Fixture::unmounted(&[]);
    let mount = |account: &[&str]| {
        let mut command = Command::new(ASSETFS);
        command.arg("mount").args(account).current_dir(home.path());
        command.env("HOME", home.path());
        for folder in ["CONFIG", "STATE", "CACHE", "DATA"] {
            let dir = home.path().join(folder);
            command.env(format!("XDG_{folder}_HOME"), dir);
        }
        command.env_remove("ASSETFS_DATA_DIR");
        command
    };
    run(mount(&["--local", "--no-pictures"]));
    let token = fixture.service.token_file.display().to_string();
    let url = fixture.service.base_url.clone();
    let said = fails(mount(&["--base-url", &url, "--token-file", &token]), 1);
    let root = home.path().join("assets").display().to_string();
    assert!(
        said.contains("the local service is mounted there already"),
        "{said}"
    );
    assert!(
        said.contains(&format!("`assetfs mount {root}-2 --base-url {url}")),
        "{said}"
    );
    assert!(
        said.contains(&format!("`assetfs unmount {root}`")),
        "{said}"
    );
    let said = fails(mount(&["--local"]), 1);
    assert!(
        said.contains("the local service is already mounted at"),
        "{said}"
    );
    run(assetfs("unmount", home.path().join("assets")));
}

/// Another drive may be mounted at any moment, for example by another program; the message must not say that there is no
/// account then.
#[test]
fn a_command_that_names_no_account_says_that_several_drives_are_mounted() {
    needs_fuse!();
    let fixture = Fixture::new();
    let drive = LocalDrive(tempfile::tempdir().unwrap());
    drive.mount();
    let mut command = Command::new(ASSETFS);
    command.arg("whoami").current_dir(drive.0.path());
    command.env("HOME", drive.0.path());
    command.env("XDG_CONFIG_HOME", drive.0.path().join("config"));
    let why = fails(command, 2);
    assert!(why.contains("you have mounted several drives"), "{why}");
    for root in [fixture.root(), drive.0.path().join("mnt")] {
        assert!(why.contains(&root.display().to_string()), "{why}");
    }
    drive.unmount();
}

#[test]
fn doctor_opens_the_device_that_mounts_need() {
    let output = Command::new(ASSETFS)
        .args(["doctor", "--json"])
        .output()
        .unwrap();
    let said = text(&output.stdout);
    let device = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|finding| finding["what"] == "FUSE device")
        .expect("it looks at the device");
    let can_be_opened = crate::support::fuse_works().is_ok();
    assert_eq!(device["verdict"] == "good", can_be_opened, "{device}");
}

#[test]
fn doctor_says_whether_cad_files_can_be_read() {
    let programs = tempfile::tempdir().unwrap();
    let finding = || {
        let mut doctor = Command::new(ASSETFS);
        let output = doctor
            .args(["doctor", "--json"])
            .env("PATH", programs.path());
        let said = text(&output.output().unwrap().stdout);
        let lines = said.lines();
        lines
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .find(|finding| finding["what"] == "CAD files")
            .expect("it looks for the reader")
    };
    let without = finding();
    assert_eq!(without["verdict"], "advice", "{without}");
    let advice = without["text"].as_str().unwrap();
    assert!(
        advice.contains("install the package `assetfs-cad`"),
        "{advice}"
    );
    // The reader is started, as a worker would do; without a file it ends with the code for wrong use.
    let reader = programs.path().join("assetfs-cad");
    fs::write(&reader, "#!/bin/sh\nexit 2\n").unwrap();
    fs::set_permissions(&reader, fs::Permissions::from_mode(0o755)).unwrap();
    let found = finding();
    assert_eq!(found["verdict"], "good", "{found}");
}

#[test]
fn without_a_terminal_mount_says_what_to_give() {
    let scratch = tempfile::tempdir().unwrap();
    let said = fails(
        Command::new(ASSETFS)
            .arg("mount")
            .arg(scratch.path().join("mnt"))
            .env("XDG_CONFIG_HOME", scratch.path())
            .env_remove("ASSETFS_BASE_URL"),
        2,
    );
    for told in ["--local", "--base-url", "--profile"] {
        assert!(said.contains(told), "{said}");
    }
}

#[test]
fn the_lines_of_the_demo_can_be_typed() {
    needs_fuse!();
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("a demo");
    let out = run(Command::new(ASSETFS)
        .args(["demo", "--preset", "Web Viewer Light", "--dir"])
        .arg(&dir));
    let lines: Vec<&str> = out
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .collect();
    assert!(lines.len() >= 7, "{out}");
    fs::remove_dir_all(dir.join("out")).unwrap();
    fs::create_dir(dir.join("out")).unwrap();
    shell(scratch.path(), &lines.join("\n"));
    assert!(dir.join("out/chair.glb").is_file());
}
