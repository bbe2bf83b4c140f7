//! The ways to read a file, on drives of root and of other users.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::user::User;
use super::{MIB, World, cache_has_room, forget_pages};
use crate::square_glb::numbered_glb;
use crate::support::{run, text, wait_until};
use crate::{needs_fuse, needs_program, needs_root};

pub(super) const EVERY_WAY: &str = r#"
import hashlib, mmap, os, sys
path, want = sys.argv[1], sys.argv[2]
def check(name, data):
    assert hashlib.md5(data).hexdigest() == want, name
fd = os.open(path, os.O_RDONLY)
size = os.fstat(fd).st_size
with mmap.mmap(fd, size, prot=mmap.PROT_READ) as view:
    check("mmap", view)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
for name, copy in (("sendfile", lambda o, n: os.sendfile(o, fd, n, size - n)),
                   ("copy_file_range", lambda o, n: os.copy_file_range(fd, o, size - n, n))):
    with open(sys.argv[3], "w+b") as out:
        done = 0
        while done < size:
            try:
                done += copy(out.fileno(), done)
            except OSError as error:  # as between any two file systems: tools copy the bytes then
                assert name == "copy_file_range" and error.errno == 18, error
                done += os.pwrite(out.fileno(), os.pread(fd, size - done, done), done)
        out.seek(0)
        check(name, out.read())
direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 1 << 20)
data, at = bytearray(), 0
while at < size:
    got = os.preadv(direct, [page], at)
    assert got > 0
    data += page[:got]
    at += got
check("O_DIRECT", data)
"#;

#[test]
fn mmap_sendfile_copy_file_range_and_direct_io_give_the_same_bytes() {
    needs_fuse!();
    needs_program!("python3");
    let world = World::new(3 * MIB + 5, &[]);
    let copy = world.fixture.scratch.path().join("copy");
    fs::write(&copy, &*world.content).expect("a copy");
    let digest = run(Command::new("md5sum").arg(&copy));
    let digest = digest.split(' ').next().expect("a digest");
    // First without cache, then from the cache, then passed through to the kernel if possible.
    for _ in 0..3 {
        run(Command::new("timeout")
            .args(["60", "python3", "-c", EVERY_WAY])
            .arg(world.big())
            .arg(digest)
            .arg(world.fixture.scratch.path().join("out")));
    }
}

/// True if the kernel reads the large file without asking the drive.
fn is_read_past_the_drive(world: &World) -> bool {
    reads_past_the_drive(world, &world.big(), &world.content)
}

/// True if the kernel reads a file with these bytes without asking the drive.
fn reads_past_the_drive(world: &World, path: &Path, content: &[u8]) -> bool {
    let asked = || {
        let cache = world.status()["cache"].clone();
        (cache["hits"].clone(), cache["misses"].clone())
    };
    let before = asked();
    let file = File::open(path).expect("it opens");
    forget_pages(&file);
    let mut found = vec![0; content.len()];
    file.read_exact_at(&mut found, 0).expect("it reads");
    assert!(found == content);
    asked() == before
}

#[test]
fn a_file_that_was_opened_while_it_filled_is_lent_to_the_kernel_after_its_last_close() {
    needs_fuse!();
    if !cache_has_room() {
        return;
    }
    needs_root!();
    let world = World::new(2 * MIB, &[]);
    let filling = File::open(world.big()).expect("it opens");
    filling.read_exact_at(&mut [0; 1000], 0).expect("it reads");
    world.assert_whole();
    // Complete now, but the kernel allows only one mode per inode at a time.
    let file = File::open(world.big()).expect("it opens beside the other");
    forget_pages(&file);
    let mut found = vec![0; 2 * MIB];
    file.read_exact_at(&mut found, 0).expect("it reads");
    filling
        .read_exact_at(&mut [0; 1000], 0)
        .expect("so does it");
    assert!(found == *world.content);
    assert!(!is_read_past_the_drive(&world));
    drop((filling, file));
    wait_until("the kernel reads alone", || is_read_past_the_drive(&world));
}

#[test]
fn a_writer_beside_a_program_that_reads_past_the_drive_changes_no_byte() {
    needs_fuse!();
    if !cache_has_room() {
        return;
    }
    needs_root!();
    let world = World::new(2 * MIB, &[]);
    let source = world.same_model();
    world.fixture.copy_in(&source, "rawmodels/mine");
    world.fixture.wait("rawmodels/mine");
    let mine = world.fixture.path("rawmodels/mine/big.bin");
    wait_until("the kernel reads alone", || {
        reads_past_the_drive(&world, &mine, &world.content)
    });

    let reader = File::open(&mine).expect("it opens");
    let other = world.fixture.scratch.path().join("other.bin");
    fs::write(&other, vec![7; 2 * MIB]).expect("other bytes");
    for how in [
        &["cp"][..],
        &["cp", "--remove-destination"],
        &["dd", "conv=notrunc"],
    ] {
        let mut write = Command::new(how[0]);
        write.args(&how[1..]);
        match how[0] {
            "dd" => write
                .arg(format!("if={}", other.display()))
                .arg(format!("of={}", mine.display())),
            _ => write.args([&other, &mine]),
        };
        let output = write.output().expect("it runs");
        assert!(!output.status.success(), "{how:?}");
        forget_pages(&reader);
        let mut found = vec![0; 2 * MIB];
        reader.read_exact_at(&mut found, 0).expect("it reads");
        assert!(found == *world.content, "{how:?}");
    }
    run(Command::new("cp").args([&source.join("big.bin"), &mine]));
    drop(reader);
    assert!(crate::support::read(&mine) == *world.content);
}

/// Opens the file for reading and writing, changes its first bytes in a map, and prints what `cat` gives at each step. An open
/// that is refused is printed, too.
const WRITE_INTO_MAP: &str = r#"
import hashlib, mmap, os, subprocess, sys
def show(step):
    data = subprocess.run(["cat", sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout
    print(step, hashlib.md5(data).hexdigest(), flush=True)
try:
    fd = os.open(sys.argv[1], os.O_RDWR | int(sys.argv[2]))
except OSError as error:
    print("refused", error.errno)
    sys.exit()
view = mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
view[0:4] = b"XXXX"
show("written")
try:
    view.flush()
except OSError:
    pass
show("flushed")
view.close()
show("unmapped")
try:
    os.close(fd)
except OSError:
    pass
show("closed")
show("again")
"#;

/// The steps of [`WRITE_INTO_MAP`] with their digests.
fn write_into_map(file: &Path, flags: i32) -> Vec<(String, String)> {
    let said = run(Command::new("timeout")
        .args(["60", "python3", "-c", WRITE_INTO_MAP])
        .arg(file)
        .arg(flags.to_string()));
    let steps = said.lines().filter_map(|line| line.split_once(' '));
    steps
        .map(|(step, digest)| (step.into(), digest.into()))
        .collect()
}

fn md5(file: &Path) -> String {
    let said = run(Command::new("md5sum").arg(file));
    said.split(' ').next().expect("a digest").to_owned()
}

/// A drive with an uploaded loose file, which programs may open for reading and writing. Returns it with its source.
fn with_loose_file() -> (World, PathBuf, PathBuf) {
    let world = World::new(MIB, &[]);
    let source = world.fixture.scratch.path().join("loose.glb");
    fs::write(&source, numbered_glb(1)).expect("a model");
    world.storage.put("loose.glb", &numbered_glb(1));
    world.fixture.copy_in(&source, "rawmodels/loose.glb");
    world.fixture.wait("rawmodels/loose");
    let loose = world.fixture.path("rawmodels/loose.glb");
    (world, loose, source)
}

#[test]
fn bytes_that_a_program_writes_into_a_map_of_an_uploaded_file_are_seen_by_nobody_else() {
    needs_fuse!();
    needs_program!("python3");
    let (world, loose, source) = with_loose_file();
    let digest = md5(&source);
    for flags in [0, libc::O_CREAT, 0] {
        let steps = write_into_map(&loose, flags);
        assert_eq!(steps.len(), 5, "{steps:?}");
        for (step, found) in steps {
            assert_eq!(found, digest, "{step}");
        }
    }
    assert_eq!(world.status()["cache"]["bad_blocks"], 0);
}

#[test]
fn a_file_that_the_kernel_reads_alone_cannot_be_mapped_for_writing() {
    needs_fuse!();
    needs_root!();
    needs_program!("python3");
    if !cache_has_room() {
        return;
    }
    let (world, loose, source) = with_loose_file();
    let content = fs::read(&source).expect("its source");
    wait_until("the kernel reads alone", || {
        reads_past_the_drive(&world, &loose, &content)
    });
    let reader = File::open(&loose).expect("it opens");
    for flags in [0, libc::O_CREAT] {
        let busy = ("refused".to_owned(), libc::EBUSY.to_string());
        assert_eq!(write_into_map(&loose, flags), [busy]);
        let why = world.fixture.why("rawmodels/loose.glb");
        assert!(why.contains("is open in another program"), "{why}");
    }
    forget_pages(&reader);
    let mut found = vec![0; content.len()];
    reader.read_exact_at(&mut found, 0).expect("it reads");
    assert!(found == content);
    drop(reader);
    wait_until("it is closed", || write_into_map(&loose, 0).len() == 5);
    assert_eq!(world.status()["cache"]["bad_blocks"], 0);
}

#[test]
fn a_complete_file_is_read_by_the_kernel_alone() {
    needs_fuse!();
    if !cache_has_room() {
        return;
    }
    needs_root!();
    let mut world = World::new(2 * MIB, &[]);
    world.assert_whole();
    // The handle that filled the cache may not be closed yet.
    wait_until("the kernel reads alone", || is_read_past_the_drive(&world));
    // After a kill the cached bytes are verified once, in the background of the first read.
    world.fixture.kill_mount();
    world.fixture.mount(&[]);
    world.assert_whole();
    wait_until("the cache is verified", || is_read_past_the_drive(&world));
}

#[test]
fn a_user_without_rights_mounts_and_reads_the_same() {
    needs_fuse!();
    if !cache_has_room() {
        return;
    }
    for program in ["setpriv", "fusermount3", "unshare", "nsenter"] {
        needs_program!(program);
    }
    needs_root!();
    let world = World::unmounted(3 * MIB);
    let user = User::new(&world, "666");
    let mounted = user.mount(&world);
    assert!(mounted.status.success(), "{}", text(&mounted.stderr));
    let big = user.mount_point().join("rawmodels/m/big.bin");
    let mut results = Vec::new();
    for _ in 0..2 {
        results.push(user.cat(&big) == *world.content);
    }
    let requests = world.storage.with(|it| it.requests);
    results.push(user.cat(&big) == *world.content);
    let asked_again = world.storage.with(|it| it.requests) > requests;
    let unmounted = user.run(
        user.assetfs()
            .args(["unmount", "--now"])
            .arg(user.mount_point()),
    );
    assert!(unmounted.status.success(), "{}", text(&unmounted.stderr));
    assert_eq!(results, [true, true, true]);
    assert!(!asked_again, "what is cached was fetched again");
}

#[test]
fn a_user_who_may_not_open_the_device_is_told_what_to_do() {
    needs_fuse!();
    for program in ["setpriv", "unshare", "nsenter"] {
        needs_program!(program);
    }
    needs_root!();
    let world = World::unmounted(MIB);
    let user = User::new(&world, "600");
    let mounted = user.mount(&world);
    let said = text(&mounted.stderr);
    assert!(!mounted.status.success(), "{said}");
    let advice = "this user may not open /dev/fuse: run `chmod 666 /dev/fuse` as root";
    assert!(said.contains(advice), "{said}");
    assert!(!said.contains("user_allow_other"), "{said}");
}
