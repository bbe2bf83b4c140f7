//! Passthrough on the drive of an ordinary user, through the program `assetfs-passthrough` beside the drive's own.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::modes::EVERY_WAY;
use super::user::User;
use super::{MIB, World, cache_has_room};
use crate::support::{ASSETFS, run, text, wait_until};
use crate::{needs_fuse, needs_program, needs_root};

const PROGRAM: &str = "assetfs-passthrough";

/// The drive of a user, mounted.
struct Drive {
    world: World,
    user: User,
}

impl Drive {
    /// `install` puts the program, or something else, at the path.
    fn new(len: usize, install: impl FnOnce(&Path)) -> Drive {
        let world = World::unmounted(len);
        let user = User::new(&world, "666");
        install(&user.home.join(PROGRAM));
        let mounted = user.mount(&world);
        assert!(mounted.status.success(), "{}", text(&mounted.stderr));
        Drive { world, user }
    }

    /// A read of the whole file without the page cache: the kernel asks the drive, or it has passthrough.
    fn is_read_past_the_drive(&self) -> bool {
        self.reads_past_the_drive(&self.user.big())
    }

    fn reads_past_the_drive(&self, path: &Path) -> bool {
        let before = self.asked();
        let mut read = Command::new("dd");
        read.arg(format!("if={}", path.display()));
        read.args(["iflag=direct", "bs=1M", "status=none"]);
        assert!(self.user.run(&read).stdout == *self.world.content);
        self.asked() == before
    }

    /// How many reads the drive has answered.
    fn asked(&self) -> (Value, Value) {
        let status = self.user.mount_point().join(".assetfs/status.json");
        let status: Value = serde_json::from_slice(&self.user.cat(&status)).expect("JSON");
        let cache = &status["cache"];
        assert!(cache["hits"].is_u64(), "{status}");
        (cache["hits"].clone(), cache["misses"].clone())
    }

    fn assert_whole(&self) {
        assert!(self.user.cat(&self.user.big()) == *self.world.content);
    }

    fn log(&self) -> String {
        fs::read_to_string(self.user.home.join("state/mount.log")).expect("a log")
    }

    /// The process of the program.
    fn program(&self) -> Option<Pid> {
        let path = self.user.home.join(PROGRAM);
        let processes = fs::read_dir("/proc").expect("it is there").flatten();
        let mut found = processes.filter(|process| {
            fs::read_link(process.path().join("exe")).is_ok_and(|program| program == path)
        });
        let name = found.next()?.file_name();
        Pid::from_raw(name.to_str()?.parse().ok()?)
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        let mut unmount = self.user.assetfs();
        unmount
            .args(["unmount", "--now"])
            .arg(self.user.mount_point());
        self.user.run(&unmount);
    }
}

/// Copies the program that was built beside `assetfs`.
fn copy(to: &Path) {
    let built = Path::new(ASSETFS).with_file_name(PROGRAM);
    fs::copy(&built, to).unwrap_or_else(|error| {
        panic!("{}: {error}; build with --workspace", built.display());
    });
}

fn doctor(program: &Path, fix: bool) -> Output {
    let mut doctor = Command::new(program.with_file_name("assetfs"));
    doctor.arg("doctor").args(fix.then_some("--fix"));
    doctor.output().expect("it runs")
}

fn capable(to: &Path) {
    copy(to);
    let fixed = doctor(to, true);
    assert!(
        text(&fixed.stdout).contains("has the capability cap_sys_admin now"),
        "{fixed:?}"
    );
}

/// True if everything is here that these tests need.
fn is_possible() -> bool {
    let programs = ["setpriv", "fusermount3", "unshare", "nsenter"];
    cache_has_room() && programs.into_iter().all(crate::skip::has_program_or_skips)
}

#[test]
fn with_the_program_the_kernel_reads_alone_on_the_drive_of_an_ordinary_user() {
    needs_fuse!();
    needs_root!();
    needs_program!("python3");
    if !is_possible() {
        return;
    }
    let drive = Drive::new(3 * MIB + 5, |program| {
        capable(program);
        assert!(
            !text(&doctor(program, true).stdout).contains("now"),
            "it has it already"
        );
    });
    let said = text(&drive.user.run(drive.user.assetfs().arg("doctor")).stdout);
    assert!(
        said.contains("✓ Passthrough: cached files are read at the speed of the disk"),
        "{said}"
    );
    drive.assert_whole();
    wait_until("the kernel reads alone", || drive.is_read_past_the_drive());
    let big = drive.world.fixture.scratch.path().join("copy");
    fs::write(&big, &*drive.world.content).expect("a copy");
    let digest = run(Command::new("md5sum").arg(&big));
    let mut every_way = Command::new("python3");
    every_way.args(["-c", EVERY_WAY]).arg(drive.user.big());
    every_way
        .arg(digest.split(' ').next().expect("a digest"))
        .arg(drive.user.home.join("out"));
    let ran = drive.user.run(&every_way);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(drive.program().is_some());
}

/// Maps the file, and compares it when a line comes on standard input.
const MAPPED: &str = r#"
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
view = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
print("ready", flush=True)
sys.stdin.readline()
sys.stdout.buffer.write(view[:] + os.pread(fd, len(view), 0))
"#;

/// What a reader gets that mapped the file before `between`, twice: by the map, and by a read.
fn mapped(drive: &Drive, path: &Path, between: impl FnOnce()) -> Vec<u8> {
    let mut reader = Command::new("python3");
    reader.args(["-c", MAPPED]).arg(path);
    let mut reader = drive.user.command(&reader);
    reader.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut reader = reader.spawn().expect("it starts");
    let mut output = BufReader::new(reader.stdout.take().expect("a pipe"));
    let mut ready = String::new();
    output.read_line(&mut ready).expect("a line");
    assert_eq!(ready, "ready\n");
    between();
    writeln!(reader.stdin.take().expect("a pipe")).expect("it reads");
    let mut found = Vec::new();
    std::io::Read::read_to_end(&mut output, &mut found).expect("it ends");
    assert!(reader.wait().expect("it ends").success());
    found
}

#[test]
fn a_program_that_is_killed_and_a_cache_that_is_cleared_change_no_byte_of_open_files() {
    needs_fuse!();
    needs_root!();
    needs_program!("python3");
    if !is_possible() {
        return;
    }
    let drive = Drive::new(3 * MIB, capable);
    drive.assert_whole();
    wait_until("the kernel reads alone", || drive.is_read_past_the_drive());
    let twice = drive.world.content.repeat(2);
    let cached = || -> Vec<PathBuf> {
        let all = run(Command::new("find")
            .arg(drive.user.home.join("cache"))
            .args(["-size", "+2M"]));
        all.lines().map(PathBuf::from).collect()
    };
    let replaced = mapped(&drive, &drive.user.big(), || {
        assert!(!cached().is_empty());
        let mut clear = drive.user.assetfs();
        clear.args(["cache", "clear"]).arg(drive.user.mount_point());
        let cleared = drive.user.run(&clear);
        assert!(cleared.status.success(), "{}", text(&cleared.stderr));
    });
    assert!(replaced == twice);
    drive.assert_whole();
    wait_until("the kernel reads alone again", || {
        drive.is_read_past_the_drive()
    });
    let killed = mapped(&drive, &drive.user.big(), || {
        kill_process(drive.program().expect("it runs"), Signal::KILL).expect("root may");
        // Another reader, while the file is open and the program is gone.
        drive.assert_whole();
    });
    assert!(killed == twice);
    wait_until("the drive answers reads", || {
        !drive.is_read_past_the_drive()
    });
    let log = drive.log();
    assert_eq!(
        log.matches("passthrough is not available").count(),
        1,
        "{log}"
    );
}

#[test]
fn a_writer_beside_a_program_that_reads_past_the_drive_is_refused_with_a_reason() {
    needs_fuse!();
    needs_root!();
    needs_program!("python3");
    if !is_possible() {
        return;
    }
    let drive = Drive::new(3 * MIB, capable);
    let user = &drive.user;
    let model = user.mount_point().join("rawmodels/mine");
    let mine = model.join("big.bin");
    let source = drive.world.same_model();
    let copied = user.run(Command::new("cp").arg("-r").args([&source, &model]));
    assert!(copied.status.success(), "{}", text(&copied.stderr));
    let waited = user.run(user.assetfs().arg("wait").arg(&model));
    assert!(waited.status.success(), "{}", text(&waited.stderr));
    wait_until("the kernel reads alone", || {
        drive.reads_past_the_drive(&mine)
    });
    let copy_again = || user.run(Command::new("cp").args([&source.join("big.bin"), &mine]));
    let found = mapped(&drive, &mine, || {
        let refused = text(&copy_again().stderr).to_owned();
        assert!(refused.contains("busy"), "{refused}");
        let why = user.run(user.assetfs().arg("why").arg(&mine));
        let why = text(&why.stdout);
        assert!(why.contains("is open in another program"), "{why}");
    });
    assert!(found == drive.world.content.repeat(2));
    let copied = copy_again();
    assert!(copied.status.success(), "{}", text(&copied.stderr));
}

#[test]
fn without_a_program_that_works_everything_is_read_through_the_drive_and_the_log_says_why() {
    needs_fuse!();
    needs_root!();
    if !is_possible() {
        return;
    }
    let other = |name: &'static str| {
        move |to: &Path| {
            fs::copy(name, to).expect("a copy");
        }
    };
    type Harm = Box<dyn FnOnce(&Path)>;
    let cases: [(Harm, &str); 3] = [
        (Box::new(copy), "does not have the capability cap_sys_admin"),
        // Ends at once; runs and never answers.
        (
            Box::new(other("/bin/true")),
            "assetfs-passthrough does not answer",
        ),
        (
            Box::new(other("/usr/bin/yes")),
            "assetfs-passthrough does not answer",
        ),
    ];
    for (install, why) in cases {
        let drive = Drive::new(MIB, install);
        drive.assert_whole();
        assert!(!drive.is_read_past_the_drive());
        let log = drive.log();
        let lines: Vec<&str> = log
            .lines()
            .filter(|line| line.contains("passthrough"))
            .collect();
        assert!(lines.len() == 1 && lines[0].contains(why), "{why}: {log}");
        let said = text(&drive.user.run(drive.user.assetfs().arg("doctor")).stdout);
        assert!(
            said.contains("read through the page cache, because"),
            "{said}"
        );
    }
}
