//! How a mount ends: by signals, by `assetfs unmount` while somebody uses it or another place has it, by `kill -9` in the
//! middle of work, and what a mount that fails leaves.

use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{ASSETFS, Fixture, assetfs, exists, fails, run, shell, text, wait_until};
use crate::{needs_fuse, needs_program, needs_root};

/// The longest time that a command or a program may take to get free of a drive that was killed.
const FREE_WITHIN: Duration = Duration::from_secs(5);

fn signal(pid: u32, name: &str) {
    run(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]));
}

/// True for a process that serves or works: a zombie has ended.
fn lives(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

/// A program of a test; killed when it is dropped.
struct Program(Child);

impl Program {
    fn start(command: &mut Command) -> Program {
        Program(command.stdin(Stdio::null()).spawn().expect("it starts"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn signals_for_other_purposes_change_nothing_and_quit_unmounts() {
    needs_fuse!();
    let fixture = Fixture::new();
    let pid = fixture.pid();
    for name in ["USR1", "USR2", "ALRM", "HUP", "VTALRM", "PROF", "IO", "PWR"] {
        signal(pid, name);
        assert_eq!(fixture.pid(), pid, "{name}");
    }
    signal(pid, "QUIT");
    wait_until("the drive has ended", || !lives(pid));
    assert!(!exists(fixture.path("rawmodels")), "it is unmounted");
}

#[test]
fn a_write_over_the_limit_of_file_sizes_is_efbig_and_the_drive_goes_on() {
    needs_fuse!();
    needs_program!("prlimit");
    const EFBIG: i32 = 27;
    let fixture = Fixture::new();
    let pid = fixture.pid();
    fs::create_dir(fixture.path("rawmodels/chair")).unwrap();
    let path = fixture.path("rawmodels/chair/chair.bin");
    let file = fs::File::create(&path).unwrap();
    run(Command::new("prlimit").args([&format!("--pid={pid}"), "--fsize=67108864"]));
    let written = file.write_all_at(b"x", 80 << 20);
    assert_eq!(written.unwrap_err().raw_os_error(), Some(EFBIG));
    drop(file);
    let why = fixture.why("rawmodels/chair/chair.bin");
    assert!(why.contains("ulimit -f"), "{why}");
    assert_eq!(fixture.pid(), pid);
}

/// Keeps one drive in a namespace of its own, and none of the other tests.
const HOLDS_ONE: &str = r#"grep fuse.assetfs /proc/self/mountinfo | cut -d' ' -f5 | while read -r at; do \
    [ "$at" = "$0" ] || umount -l "$at"; done; exec sleep 60"#;

#[test]
fn a_drive_that_another_namespace_has_is_named_and_sigterm_ends_it() {
    needs_fuse!();
    needs_root!();
    needs_program!("unshare");
    let mut fixture = Fixture::new();
    let pid = fixture.pid();
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--propagation",
        "private",
        "bash",
        "-c",
        HOLDS_ONE,
    ]);
    let other = Program::start(command.arg(fixture.root()));
    let holder = other.0.id();
    wait_until("it has a namespace of its own", || {
        fs::read_to_string(format!("/proc/{holder}/comm")).is_ok_and(|name| name == "sleep\n")
    });
    let said = fails(assetfs("unmount --now", fixture.root()), 1);
    assert!(
        said.contains(&format!("mount namespace of sleep ({holder})"))
            && said.contains(&format!("kill {pid}")),
        "{said}"
    );
    assert!(lives(pid));
    let said = text(&fixture.mount_command(&[]).output().unwrap().stderr);
    assert!(said.contains(&format!("sleep ({holder})")), "{said}");
    signal(pid, "TERM");
    std::thread::sleep(Duration::from_millis(200));
    // The second one does not wait for those who use it.
    signal(pid, "TERM");
    wait_until("the drive has ended", || !lives(pid));
    fixture.mount(&[]);
}

#[test]
fn a_bind_mount_of_the_drive_is_named_and_ends_it() {
    needs_fuse!();
    needs_root!();
    let fixture = Fixture::new();
    let pid = fixture.pid();
    let second = fixture.scratch.path().join("second");
    fs::create_dir(&second).unwrap();
    run(Command::new("mount")
        .arg("--bind")
        .args([&fixture.root(), &second]));
    let said = fails(assetfs("unmount --now", fixture.root()), 1);
    let ended = run(Command::new("umount").arg(&second));
    assert!(
        said.contains(&format!("umount {}", second.display())),
        "{said}{ended}"
    );
    wait_until("the drive has ended", || !lives(pid));
}

#[test]
fn a_program_that_only_looks_does_not_keep_a_drive_from_being_unmounted_and_another_is_named() {
    needs_fuse!();
    let fixture = Fixture::new();
    let sleep = |seconds: &str| {
        let mut command = Command::new("sleep");
        command.arg(seconds).current_dir(fixture.path("rawmodels"));
        Program::start(&mut command)
    };
    let user = sleep("60");
    let said = fails(assetfs("unmount --now", fixture.root()), 1);
    assert!(
        said.contains(&format!("sleep ({}) has files", user.0.id())),
        "{said}"
    );
    drop(user);
    let _looks = sleep("0.3");
    run(assetfs("unmount --now", fixture.root()));
}

#[test]
fn an_unmount_of_a_drive_in_use_says_who_uses_it_before_what_is_pending() {
    needs_fuse!();
    let fixture = Fixture::new();
    let draft = fixture.path("rawmodels/empty");
    fs::create_dir(&draft).unwrap();
    let user = Program::start(Command::new("sleep").arg("60").current_dir(&draft));
    wait_until("the new draft has its state", || {
        fixture
            .status()
            .to_string()
            .contains("nothing to upload yet")
    });
    let said = fails(assetfs("unmount", fixture.root()), 1);
    let at = |part: &str| {
        let at = said.find(part);
        at.unwrap_or_else(|| panic!("{part}: {said}"))
    };
    let reason = at(&format!("sleep ({}) has files", user.0.id()));
    assert!(reason < at("stays a draft on this machine"), "{said}");
    assert!(said.contains("draft: nothing to upload yet"), "{said}");
    drop(user);
    let unmounted = assetfs("unmount", fixture.root()).output().unwrap();
    assert!(text(&unmounted.stderr).contains("stays a draft"));
}

/// Models appear and go on the service while folders of the drive are made, listed and removed.
const WORK: &str = r#"cd "$0"; while :; do mkdir -p rawmodels/w$1/t; ls -lR rawmodels; stat rawmodels/*; \
    mv rawmodels/w$1 rawmodels/v$1; rm -rf rawmodels/v$1; done >/dev/null 2>&1"#;
const ELSEWHERE: &str = r#"while :; do id=$(curl -sS -X POST -H "Authorization: Bearer $TOKEN" -H "Accept: application/json" \
    -H "Content-Type: application/json" -d '{"model_name":"e'$RANDOM'","filenames":["model.glb"]}' \
    "$0"api/v2/rawmodel/api-upload/start | sed 's/.*"id":\([0-9]*\).*/\1/'); \
    curl -sS -X DELETE -H "Authorization: Bearer $TOKEN" "$0"api/v2/rawmodel/$id; done >/dev/null 2>&1"#;

/// True when no process is left that works in a folder.
fn nobody_is_left(root: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut folders =
        processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok());
    !folders.any(|folder| folder.starts_with(root))
}

fn is_so_within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

fn ends_within(program: &mut Child, time: Duration) -> bool {
    is_so_within(time, || program.try_wait().expect("a child").is_some())
}

#[test]
fn after_a_kill_in_the_middle_of_work_no_program_hangs_and_commands_answer() {
    needs_fuse!();
    needs_program!("curl");
    let mut fixture = Fixture::with(&[], &["--refresh", "100ms"]);
    let _elsewhere: Vec<Program> = (0..2)
        .map(|_| {
            let mut command = Command::new("bash");
            command.args(["-c", ELSEWHERE, &fixture.service.base_url]);
            Program::start(command.env("TOKEN", fixture.service.token()))
        })
        .collect();
    for round in 0..4 {
        let mut workers: Vec<Child> = (0..3)
            .map(|number: u32| {
                let mut command = Command::new("bash");
                command.args(["-c", WORK]).arg(fixture.root());
                command.arg(number.to_string()).stdin(Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        let pid = fixture.pid();
        std::thread::sleep(Duration::from_millis(700 + 130 * round));
        signal(pid, "KILL");
        let mut status = assetfs("status", fixture.root())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        assert!(ends_within(&mut status, FREE_WITHIN), "status hangs");
        for worker in &mut workers {
            worker.kill().unwrap();
            assert!(ends_within(worker, FREE_WITHIN), "a program hangs");
        }
        // What they started had to wait for the drive.
        assert!(
            is_so_within(FREE_WITHIN, || nobody_is_left(&fixture.root())),
            "a program hangs"
        );
        let mut unmount = assetfs("unmount --now", fixture.root()).spawn().unwrap();
        assert!(ends_within(&mut unmount, FREE_WITHIN), "unmount hangs");
        assert!(
            is_so_within(FREE_WITHIN, || !lives(pid)),
            "the killed process is left"
        );
        fixture.mount(&["--refresh", "100ms"]);
    }
}

#[test]
fn a_mount_that_fails_leaves_no_folder() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    fixture.service.stop();
    let said = fails(fixture.mount_command(&[]), 1);
    assert!(
        said.contains("does not answer") && said.contains("check the address"),
        "{said}"
    );
    assert!(
        !exists(fixture.root()),
        "what is copied there would seem sent"
    );
    // A folder that was there stays.
    fs::create_dir(fixture.root()).unwrap();
    fails(fixture.mount_command(&[]), 1);
    assert!(fixture.root().is_dir());
}

#[test]
fn folders_of_others_and_folders_inside_the_drive_are_refused_and_stay_as_they_are() {
    needs_fuse!();
    let fixture = Fixture::unmounted(&[]);
    let foreign = fixture.scratch.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("passwd"), "root").unwrap();
    fs::set_permissions(&foreign, fs::Permissions::from_mode(0o755)).unwrap();
    let place = foreign.to_str().unwrap();
    for flag in ["--state-dir", "--cache-dir"] {
        let mut command = Command::new(ASSETFS);
        command
            .args(["mount", "--local", flag, place])
            .arg(fixture.root());
        command.env("HOME", fixture.scratch.path());
        let said = fails(command, 2);
        assert!(
            said.contains("is not empty") && said.contains("foreign/assetfs"),
            "{said}"
        );
    }
    let mut serve = Command::new(ASSETFS);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--data", place]);
    let said = fails(serve, 1);
    assert!(said.contains("is not empty"), "{said}");
    assert_eq!(fs::metadata(&foreign).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1);
    let inside = fixture.path("state");
    for flag in ["--state-dir", "--cache-dir", "--data-dir", "--log-file"] {
        let mut command = Command::new(ASSETFS);
        command
            .args(["mount", "--local", flag])
            .arg(&inside)
            .arg(fixture.root());
        let said = fails(command.env("HOME", fixture.scratch.path()), 2);
        assert!(said.contains("inside the drive"), "{flag}: {said}");
    }
}

#[test]
fn what_another_user_copies_into_a_drive_of_root_belongs_to_that_user() {
    needs_fuse!();
    needs_root!();
    needs_program!("setpriv");
    // Others must be able to reach the mount point.
    let mut fixture = Fixture::unmounted(&[]);
    fs::set_permissions(fixture.scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let as_user = |id: u32, line: &str, dir: &Path| {
        let id = id.to_string();
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid",
            &id,
            "--regid",
            &id,
            "--clear-groups",
            "bash",
            "-euc",
            line,
        ]);
        command.current_dir(dir).output().unwrap()
    };
    fixture.mount(&[
        "-o",
        "allow_other,uid=4242,gid=4243,dmask=000,fmask=000",
        "--settle",
        "10m",
    ]);
    let root = fixture.root();
    assert_eq!(
        shell(&root, "stat -c %u:%g:%a rawmodels presets"),
        "4242:4243:777\n4242:4243:777\n"
    );
    let made = as_user(
        5151,
        "mkdir rawmodels/chair; echo x > rawmodels/chair/a.bin; stat -c %u:%g rawmodels/chair rawmodels/chair/a.bin",
        &root,
    );
    assert_eq!(
        text(&made.stdout),
        "5151:5151\n5151:5151\n",
        "{}",
        text(&made.stderr)
    );
    // The service has the preset after the write; a text of a job stays on this machine.
    let texts = "echo '{}' > presets/web.json; echo '{}' > jobs/all.json; touch presets/new.json";
    let made = as_user(5151, texts, &root);
    assert!(made.status.success(), "{}", text(&made.stderr));
    // The owner changes what the user has made.
    let changed = "echo '{\"limits\": {}}' > presets/web.json; echo > jobs/all.json";
    let made = as_user(4242, changed, &root);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let owners = "stat -c %u:%g presets/web.json jobs/all.json presets/new.json";
    assert_eq!(shell(&root, owners), "5151:5151\n".repeat(3));
    let owner = as_user(
        4242,
        "mkdir rawmodels/lamp; stat -c %u:%g rawmodels/lamp",
        &root,
    );
    assert_eq!(
        text(&owner.stdout),
        "4242:4243\n",
        "{}",
        text(&owner.stderr)
    );
    let refused = as_user(6161, "rm rawmodels/chair/a.bin", &root);
    assert!(!refused.status.success(), "the folder is another user's");
    // Commands are the owner's, although every user may write files.
    let refused = as_user(
        6161,
        "cat rawmodels/chair/.assetfs/ctl >&2; echo cancel > rawmodels/chair/.assetfs/ctl",
        &root,
    );
    let said = text(&refused.stderr);
    assert!(!refused.status.success(), "the draft is another user's");
    assert!(said.contains("Permission denied"), "{said}");
    assert!(root.join("rawmodels/chair/a.bin").exists());
    run(assetfs("unmount --now", &root));
    // Without the options it is as before: root's, and closed to others.
    fixture.mount(&["-o", "allow_other"]);
    assert_eq!(shell(&root, "stat -c %u:%a rawmodels"), "0:755\n");
    assert_eq!(
        shell(&root, "stat -c %u rawmodels/chair"),
        "5151\n",
        "it is kept"
    );
}

#[test]
fn models_are_imported_after_the_file_of_the_program_was_removed() {
    needs_fuse!();
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| dir.path().join(name);
    // On the same file system as the program, which is large.
    let beside = Path::new(ASSETFS).with_file_name(format!("removed-{}", std::process::id()));
    fs::hard_link(ASSETFS, &beside).unwrap();
    let mut command = Command::new(&beside);
    command
        .args(["mount", "--local", "--settle", "100ms"])
        .arg(place("mnt"));
    for (flag, name) in [
        ("--state-dir", "state"),
        ("--cache-dir", "cache"),
        ("--data-dir", "data"),
    ] {
        command.arg(flag).arg(place(name));
    }
    let mounted = command.output().unwrap();
    fs::remove_file(&beside).unwrap();
    assert!(mounted.status.success(), "{}", text(&mounted.stderr));
    let root = crate::support::MountPoint(place("mnt"));
    let model = root.0.join("rawmodels/square.glb");
    fs::write(&model, crate::square_glb::numbered_glb(1)).unwrap();
    run(assetfs(
        "wait --timeout 100s",
        root.0.join("rawmodels/square"),
    ));
}

/// Asks for attributes through io_uring, as runtimes with an event loop do.
#[test]
fn statx_through_io_uring_finds_what_is_there() {
    needs_fuse!();
    needs_program!("cc");
    const ENOENT: i32 = 2;
    let fixture = Fixture::new();
    fixture.add_chair();
    let program = fixture.scratch.path().join("uring");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mount/io_uring_statx.c");
    run(Command::new("cc")
        .arg("-o")
        .args([program.as_path(), Path::new(source)]));
    let missing = fixture.path("rawmodels/none");
    for (path, errno) in [
        (fixture.path("rawmodels"), 0),
        (fixture.path("rawmodels/chair"), 0),
        (fixture.path("rawmodels/chair/.assetfs/status"), 0),
        (missing, ENOENT),
    ] {
        let said = run(Command::new(&program).arg(&path));
        if said.trim() == "no io_uring" {
            return crate::skip::skipped("io_uring is not available");
        }
        let expected = format!("{}\n", -errno).repeat(3);
        assert_eq!(said, expected, "{}", path.display());
    }
}

#[test]
fn the_script_of_the_tests_unmounts_what_a_stopped_test_had_mounted_and_its_process_ends() {
    needs_fuse!();
    let fixture = Fixture::new();
    let pid = fixture.pid();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/unmount");
    run(Command::new(script).arg(fixture.scratch.path()));
    assert!(!exists(fixture.path("rawmodels")), "it is unmounted");
    wait_until("the drive has ended", || !lives(pid));
}
