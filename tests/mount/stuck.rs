//! A mount whose process was killed while one of its threads waits in the kernel, for a lock that another process
//! holds until it is answered: such a process cannot end by itself.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use assetfs::durable::DirLock;
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, MountOption,
    Notifier, ReplyAttr, ReplyEmpty, ReplyEntry, Request, Session,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{ASSETFS, Fixture, assetfs, run, wait_until};
use crate::{needs_fuse, needs_root};

const MOUNT_POINT: &str = "ASSETFS_TEST_MOUNT_POINT";
const ACCOUNT: &str = "ASSETFS_TEST_ACCOUNT";
const FOLDER: &str = "folder";

/// A drive with one folder, which corrects the kernel's caches while that is removed, and never answers.
struct Hanging {
    notifier: &'static OnceLock<Notifier>,
}

fn folder(ino: u64) -> FileAttr {
    let now = SystemTime::UNIX_EPOCH;
    FileAttr {
        ino: INodeNo(ino),
        size: 0,
        blocks: 0,
        atime: now,
        mtime: now,
        ctime: now,
        crtime: now,
        kind: FileType::Directory,
        perm: 0o755,
        nlink: 2,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 512,
        flags: 0,
    }
}

impl Filesystem for Hanging {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == FOLDER {
            true => reply.entry(&Duration::ZERO, &folder(2), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&Duration::ZERO, &folder(ino.0));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        // Forgotten, because dropping it is an answer.
        std::mem::forget(reply);
        let name = name.to_owned();
        let notifier = self.notifier.get().expect("it is mounted").clone();
        std::thread::spawn(move || notifier.inval_entry(parent, &name));
    }
}

/// Not a test: the process that is killed. It has the lock of an account, as the process of a mount.
#[test]
#[ignore = "a process that another test starts"]
fn hanging_process() {
    let variable = |name| PathBuf::from(std::env::var_os(name).expect("set by the test"));
    let _lock = DirLock::acquire(variable(ACCOUNT)).expect("nobody has it");
    static NOTIFIER: OnceLock<Notifier> = OnceLock::new();
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("assetfs".to_owned()),
        MountOption::CUSTOM("subtype=assetfs".to_owned()),
    ];
    let drive = Hanging {
        notifier: &NOTIFIER,
    };
    let session = Session::new(drive, variable(MOUNT_POINT), &config).expect("it mounts");
    assert!(NOTIFIER.set(session.notifier()).is_ok());
    session.spawn().expect("it runs").join().expect("it ends");
}

/// Ends a mount by force when the test fails, as nothing else would.
struct ForcedEnd(PathBuf);

impl Drop for ForcedEnd {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-f").arg(&self.0).output();
    }
}

/// A process that hangs in the kernel and was killed, and the one that waits for its answer.
fn hang(mount_point: &Path, account: &Path) -> (Child, Child) {
    let mut hanging = Command::new(std::env::current_exe().expect("this program"))
        .args(["stuck::hanging_process", "--exact", "--ignored"])
        .env(MOUNT_POINT, mount_point)
        .env(ACCOUNT, account)
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let inside = mount_point.join(FOLDER);
    wait_until("it is mounted", || inside.is_dir());
    let removal = Command::new("rmdir")
        .arg(&inside)
        .stderr(Stdio::null())
        .spawn()
        .expect("rmdir");
    let process = Path::new("/proc").join(hanging.id().to_string());
    wait_until("a thread hangs", || {
        let tasks = fs::read_dir(process.join("task")).expect("it lives");
        let mut stacks = tasks.flatten().map(|task| task.path().join("stack"));
        stacks.any(|stack| {
            let stack = fs::read_to_string(stack).unwrap_or_default();
            stack.contains("fuse_reverse_inval_entry")
        })
    });
    hanging.kill().expect("it lives");
    (hanging, removal)
}

/// A drive that was unmounted, and the folder of its account.
fn unmounted() -> (Fixture, PathBuf) {
    let fixture = Fixture::new();
    assert!(fixture.path("rawmodels/.assetfs").is_dir());
    run(Command::new(ASSETFS)
        .args(["unmount", "--now"])
        .arg(fixture.root()));
    let state = fixture.scratch.path().join("state");
    let account = fs::read_dir(&state)
        .expect("the state folder")
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.join("lock").exists())
        .expect("the account's folder");
    (fixture, account)
}

#[test]
fn status_and_unmount_free_a_drive_from_a_killed_process_that_hangs() {
    needs_fuse!();
    needs_root!();
    let (fixture, account) = unmounted();
    for words in ["status", "unmount --now"] {
        let freed_at_last = ForcedEnd(fixture.root());
        let (mut hanging, mut removal) = hang(&fixture.root(), &account);
        let began = Instant::now();
        let output = assetfs(words, fixture.root())
            .env("ASSETFS_STATE_DIR", fixture.scratch.path().join("state"))
            .output()
            .unwrap();
        assert!(began.elapsed() < Duration::from_secs(5), "{words}");
        let said = String::from_utf8_lossy(&output.stderr);
        let what = format!("process {} of an earlier mount was killed", hanging.id());
        assert!(
            said.contains(&what) && said.contains("aborted"),
            "{words}: {said}"
        );
        assert_eq!(output.status.success(), words != "status", "{said}");
        assert!(!hanging.wait().unwrap().success());
        assert!(!removal.wait().unwrap().success());
        match words {
            "status" => drop(freed_at_last),
            _ => std::mem::forget(freed_at_last),
        }
    }
}

#[test]
fn a_mount_frees_its_account_and_folder_from_a_killed_process_that_hangs() {
    needs_fuse!();
    needs_root!();
    let (mut fixture, account) = unmounted();
    let asked = fixture.path("rawmodels/.assetfs");
    let freed_at_last = ForcedEnd(fixture.root());
    let (mut hanging, mut removal) = hang(&fixture.root(), &account);
    std::thread::sleep(Duration::from_millis(500));
    assert!(hanging.try_wait().unwrap().is_none(), "it hangs");

    let said = fixture.mount(&[]);
    std::mem::forget(freed_at_last);
    let what = format!("process {} of an earlier mount was killed", hanging.id());
    assert!(said.contains(&what) && said.contains("aborted"), "{said}");
    assert!(!hanging.wait().unwrap().success());
    assert!(!removal.wait().unwrap().success());
    assert!(asked.is_dir(), "the drive answers");
}

/// A process that SIGCONT lets go on, also if the test fails.
struct Stopped(Pid);

impl Stopped {
    fn now(fixture: &Fixture) -> Stopped {
        let pid = Pid::from_raw(fixture.pid() as i32).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        Stopped(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

#[test]
fn optimize_and_build_end_at_a_signal_while_a_file_of_a_drive_does_not_answer() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let folder = fixture.scratch.path();
    let models = fixture.path("rawmodels");
    let file = "models = 'mnt/rawmodels/chair'\n[presets]\nhalf = 'half.json'\n";
    fs::write(folder.join("assetfs.toml"), file).unwrap();
    let config = r#"{"limits":{"faces":{"percentage":50}}}"#;
    fs::write(folder.join("half.json"), config).unwrap();
    let _stopped = Stopped::now(&fixture);
    let begin = |args: &[&str]| {
        let mut command = Command::new(ASSETFS);
        command.current_dir(folder).args(args);
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    let chair = models.join("chair/chair.gltf");
    let chair = chair.to_str().unwrap();
    let mut waiting = [
        begin(&["optimize", chair, "out", "--preset", "half.json"]),
        begin(&["build"]),
    ];
    for command in &mut waiting {
        // It says so while it waits for the file.
        let mut said = String::new();
        let mut lines = BufReader::new(command.stderr.as_mut().unwrap());
        lines.read_line(&mut said).unwrap();
        assert!(said.contains("does not answer"), "{said}");
        let pid = Pid::from_raw(command.id() as i32).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
    }
    let ended = waiting.map(|command| command.wait_with_output().unwrap());
    assert!(ended.iter().all(|it| !it.status.success()), "{ended:?}");
    let said = String::from_utf8_lossy(&ended[0].stderr);
    assert!(said.contains("interrupted"), "{said}");
}

#[test]
fn a_command_says_that_the_drive_does_not_answer_once_and_goes_on_when_it_does() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.add_chair();
    let spawn = |args: &[&str]| {
        Command::new(ASSETFS)
            .args(args)
            .arg(fixture.root())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let stopped = Stopped::now(&fixture);
    let mut waiting = spawn(&["list"]);
    let mut quiet = spawn(&["wait", "--quiet"]);
    // A time limit holds, too.
    let limited = |args: &[&Path]| {
        let mut limited = Command::new(ASSETFS);
        limited.args(args).arg("--timeout=1s");
        limited.stderr(Stdio::piped()).spawn().unwrap()
    };
    let (root, chair) = (fixture.root(), fixture.path("rawmodels/chair"));
    let all = [
        limited(&["wait".as_ref(), &root]),
        limited(&["sync".as_ref(), &source, &root]),
        limited(&["replace".as_ref(), &source, &chair]),
        limited(&["embed".as_ref(), &chair]),
        limited(&["convert".as_ref(), &chair, "obj".as_ref()]),
    ];
    for limited in all {
        let limited = limited.wait_with_output().unwrap();
        let why = String::from_utf8_lossy(&limited.stderr).into_owned();
        assert_eq!(limited.status.code(), Some(3), "{why}");
        let late = "timed out because the drive does not answer";
        assert!(why.contains(late), "{why}");
    }
    let mut said = String::new();
    let mut lines = BufReader::new(waiting.stderr.take().unwrap());
    lines.read_line(&mut said).unwrap();
    let root = fixture.root().display().to_string();
    assert!(
        said.contains(&format!("the drive at {root} does not answer")),
        "{said}"
    );
    assert!(said.contains("kill -CONT"), "{said}");
    let mut said_quietly = String::new();
    let mut quiet_lines = BufReader::new(quiet.stderr.take().unwrap());
    quiet_lines.read_line(&mut said_quietly).unwrap();
    drop(stopped);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "it is said once");
    assert!(waiting.wait().unwrap().success());
    quiet_lines.read_to_string(&mut said_quietly).unwrap();
    assert!(quiet.wait().unwrap().success());
    let said = said_quietly;
    assert_eq!(said.matches("does not answer").count(), 1, "{said}");
}
