//! What programs expect of any file system: open files that were removed, times, groups, names.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use rustix::fs::{FallocateFlags, Gid, Timespec, Timestamps, Uid, XattrFlags};

use crate::square_glb::numbered_glb;
use crate::support::{Fixture, assetfs, run, shell, text};
use crate::{needs_fuse, needs_program, needs_root};

/// A file in `folder`, open for reading and writing, with mode 0640.
fn opened(folder: &Path, name: &str) -> File {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create_new(true);
    let mut file = options.open(folder.join(name)).unwrap();
    file.set_permissions(Permissions::from_mode(0o640)).unwrap();
    file.write_all(b"twelve bytes").unwrap();
    file.sync_all().unwrap();
    file
}

fn times(seconds: i64, nanos: i64) -> Timestamps {
    let at = Timespec {
        tv_sec: seconds,
        tv_nsec: nanos as _,
    };
    Timestamps {
        last_access: at,
        last_modification: at,
    }
}

/// Uses an open file that no path leads to in every way.
fn use_removed(mut file: File, other: &File) {
    let before = file.metadata().unwrap();
    assert_eq!((before.nlink(), before.len()), (0, 12));
    assert_eq!(before.mode() & 0o7777, 0o640, "its mode is still known");

    rustix::fs::fchmod(&file, 0o604.into()).unwrap();
    rustix::fs::fchown(&file, Some(Uid::from_raw(77)), Some(Gid::from_raw(88))).unwrap();
    rustix::fs::futimens(&file, &times(1_000_000_000, 5)).unwrap();
    let after = file.metadata().unwrap();
    assert_eq!(after.mode() & 0o7777, 0o604);
    assert_eq!((after.uid(), after.gid()), (77, 88));
    assert_eq!((after.mtime(), after.mtime_nsec()), (1_000_000_000, 5));

    rustix::fs::fsetxattr(&file, "user.note", b"open", XattrFlags::CREATE).unwrap();
    let mut value = [0; 16];
    let len = rustix::fs::fgetxattr(&file, "user.note", &mut value).unwrap();
    assert_eq!(&value[..len], b"open");
    let mut names = [0; 256];
    let len = rustix::fs::flistxattr(&file, &mut names).unwrap();
    let listed = String::from_utf8_lossy(&names[..len]).into_owned();
    assert!(listed.contains("user.note"), "{listed}");
    rustix::fs::fremovexattr(&file, "user.note").unwrap();
    assert!(rustix::fs::fgetxattr(&file, "user.note", &mut value).is_err());

    file.set_len(6).unwrap();
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, 8).unwrap();
    file.sync_all().unwrap();
    assert_eq!(file.seek(SeekFrom::End(0)).unwrap(), 8);
    let (mut from, mut to) = (0, 8);
    let copied = rustix::fs::copy_file_range(other, Some(&mut from), &file, Some(&mut to), 5);
    assert_eq!(copied.unwrap(), 5);
    let (mut from, mut to) = (0, 5);
    rustix::fs::copy_file_range(&file, Some(&mut from), other, Some(&mut to), 6).unwrap();
    file.sync_data().unwrap();

    let again = format!("/proc/self/fd/{}", file.as_raw_fd());
    assert_eq!(fs::read(&again).unwrap(), b"twelve\0\0other");
    let mut written = OpenOptions::new().append(true).open(&again).unwrap();
    written.write_all(b"!").unwrap();
    drop(written);
    file.rewind().unwrap();
    let mut content = Vec::new();
    file.read_to_end(&mut content).unwrap();
    assert_eq!(content, b"twelve\0\0other!");
}

#[test]
fn a_file_that_is_removed_or_replaced_while_it_is_open_works_until_it_is_closed() {
    needs_fuse!();
    let fixture = Fixture::new();
    let draft = fixture.path("rawmodels/desk");
    fs::create_dir_all(draft.join("below")).unwrap();
    let mut other = opened(&draft, "other.bin");
    other.set_len(0).unwrap();
    other.rewind().unwrap();
    other.write_all(b"other").unwrap();

    let removed = opened(&draft, "removed.bin");
    fs::remove_file(draft.join("removed.bin")).unwrap();
    use_removed(removed, &other);

    let replaced = opened(&draft, "replaced.bin");
    fs::write(draft.join("new.bin"), b"new").unwrap();
    fs::rename(draft.join("new.bin"), draft.join("replaced.bin")).unwrap();
    use_removed(replaced, &other);
    assert_eq!(fs::read(draft.join("replaced.bin")).unwrap(), b"new");

    let folder = File::open(draft.join("below")).unwrap();
    fs::remove_dir(draft.join("below")).unwrap();
    assert_eq!(folder.metadata().unwrap().nlink(), 0);
    rustix::fs::fchmod(&folder, 0o700.into()).unwrap();

    let in_draft = opened(&draft, "last.bin");
    fs::remove_dir_all(&draft).unwrap();
    let elsewhere = fixture.path("rawmodels/elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut other = opened(&elsewhere, "other.bin");
    other.rewind().unwrap();
    other.write_all(b"other").unwrap();
    use_removed(in_draft, &other);
    let left: Vec<_> = fs::read_dir(fixture.path("rawmodels")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let status = run(assetfs("status", fixture.root()));
    assert!(!status.contains("Failures"), "{status}");
}

#[test]
fn a_folder_that_is_open_shows_what_was_made_since_when_it_is_read_from_its_beginning() {
    needs_fuse!();
    let fixture = Fixture::new();
    let draft = fixture.path("rawmodels/desk");
    fs::create_dir(&draft).unwrap();
    for folder in [fixture.path("rawmodels"), draft] {
        let mut open = rustix::fs::Dir::new(File::open(&folder).unwrap()).unwrap();
        // Opened before, read after.
        fs::create_dir(folder.join("one")).unwrap();
        assert!(names_in(&mut open).contains(&"one".to_owned()));
        fs::create_dir(folder.join("two")).unwrap();
        fs::remove_dir(folder.join("one")).unwrap();
        open.rewind();
        let seen = names_in(&mut open);
        assert!(seen.contains(&"two".to_owned()), "{seen:?}");
        assert!(!seen.contains(&"one".to_owned()), "{seen:?}");
    }
}

fn names_in(open: &mut rustix::fs::Dir) -> Vec<String> {
    let rows = open.map(|row| row.unwrap());
    rows.map(|row| row.file_name().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_is_below_a_folder_that_moves_to_another_draft_is_there_at_once() {
    needs_fuse!();
    let fixture = Fixture::new();
    let raw = fixture.path("rawmodels");
    let made = |name: &str| {
        let below = raw.join(name).join("tex/sub");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("f"), name).unwrap();
        // The kernel keeps what it knows of both.
        [
            File::open(&below).unwrap(),
            File::open(below.join("f")).unwrap(),
        ]
    };
    let is_there = |below: &Path, content: &str| {
        assert_eq!(fs::read_to_string(below.join("f")).unwrap(), content);
        fs::write(below.join("new"), "new").unwrap();
        fs::create_dir(below.join("more")).unwrap();
    };
    for at in 0..5 {
        let (from, to) = (format!("from{at}"), format!("to{at}"));
        let mut held = made(&from);
        fs::create_dir(raw.join(&to)).unwrap();
        fs::rename(raw.join(&from).join("tex"), raw.join(&to).join("tex")).unwrap();
        is_there(&raw.join(&to).join("tex/sub"), &from);
        let mut read = String::new();
        held[1].read_to_string(&mut read).unwrap();
        assert_eq!(read, from);
        // A draft of its own, then a folder of another draft.
        let own = format!("own{at}");
        fs::rename(raw.join(&to).join("tex"), raw.join(&own)).unwrap();
        assert_eq!(
            fs::read_to_string(raw.join(&own).join("sub/f")).unwrap(),
            from
        );
        fs::rename(raw.join(&own), raw.join(&from).join("back")).unwrap();
        let back = raw.join(&from).join("back/sub");
        assert_eq!(fs::read_to_string(back.join("new")).unwrap(), "new");
        fs::remove_dir_all(raw.join(&from)).unwrap();
    }
}

#[test]
fn holes_of_a_draft_can_be_made_and_found_and_are_sent_as_zeros() {
    use rustix::fs::SeekFrom;
    needs_fuse!();
    let fixture = Fixture::new();
    let draft = fixture.path("rawmodels/sparse");
    fs::create_dir(&draft).unwrap();
    let name = draft.join("scan.bin");
    let mut options = OpenOptions::new();
    let mut file = options
        .read(true)
        .write(true)
        .create_new(true)
        .open(&name)
        .unwrap();
    file.write_all(&[7; 3 << 16]).unwrap();
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, hole, 1 << 16, 1 << 16).unwrap();
    let seek = |to| rustix::fs::seek(&file, to);
    assert_eq!(seek(SeekFrom::Data(0)), Ok(0));
    assert_eq!(seek(SeekFrom::Hole(0)), Ok(1 << 16));
    assert_eq!(seek(SeekFrom::Data(1 << 16)), Ok(2 << 16));
    assert_eq!(seek(SeekFrom::Hole(2 << 16)), Ok(3 << 16));
    assert_eq!(seek(SeekFrom::Data(3 << 16)), Err(rustix::io::Errno::NXIO));
    drop(file);
    let mut expected = vec![7; 3 << 16];
    expected[1 << 16..2 << 16].fill(0);
    assert!(fs::read(&name).unwrap() == expected);
    // Another kind of file is all data.
    let preset = File::open(fixture.path("presets/factory/Web Viewer.json")).unwrap();
    let len = preset.metadata().unwrap().len();
    assert_eq!(rustix::fs::seek(&preset, SeekFrom::Data(1)), Ok(1));
    assert_eq!(rustix::fs::seek(&preset, SeekFrom::Hole(1)), Ok(len));
    // What cannot be done is refused as such.
    let file = OpenOptions::new().write(true).open(&name).unwrap();
    let refused = rustix::fs::fallocate(&file, FallocateFlags::COLLAPSE_RANGE, 0, 1 << 16);
    assert_eq!(refused, Err(rustix::io::Errno::OPNOTSUPP));
}

#[test]
fn times_before_1970_are_kept_to_the_nanosecond() {
    needs_fuse!();
    let fixture = Fixture::new();
    let draft = fixture.path("rawmodels/old");
    fs::create_dir(&draft).unwrap();
    let file = opened(&draft, "old.bin");
    // -1.5 s is 0.5 s after the second -2.
    for (seconds, nanos) in [
        (-2, 500_000_000),
        (-1, 750_000_000),
        (-1, 999_999_999),
        (-3, 0),
        (0, 250_000_000),
        (-2_208_988_800, 1),
    ] {
        rustix::fs::futimens(&file, &times(seconds, nanos)).unwrap();
        let found = fs::metadata(draft.join("old.bin")).unwrap();
        let found = (found.mtime(), found.mtime_nsec());
        assert_eq!(found, (seconds, nanos));
    }
}

#[test]
fn a_folder_with_the_setgid_bit_gives_its_group_to_what_is_made_in_it() {
    needs_fuse!();
    needs_root!();
    let mut fixture = Fixture::new();
    let draft = fixture.path("rawmodels/team");
    fs::create_dir(&draft).unwrap();
    std::os::unix::fs::chown(&draft, None, Some(4242)).unwrap();
    fs::set_permissions(&draft, Permissions::from_mode(0o2775)).unwrap();
    fs::create_dir(draft.join("textures")).unwrap();
    fs::create_dir(draft.join("textures/deep")).unwrap();
    fs::write(draft.join("textures/deep/wood.png"), b"wood").unwrap();
    let check = |draft: &Path| {
        for folder in ["textures", "textures/deep"] {
            let found = fs::metadata(draft.join(folder)).unwrap();
            assert_eq!((found.gid(), found.mode() & 0o2000), (4242, 0o2000));
        }
        let file = fs::metadata(draft.join("textures/deep/wood.png")).unwrap();
        assert_eq!((file.gid(), file.mode() & 0o2000), (4242, 0));
    };
    check(&draft);
    run(assetfs("unmount --now", fixture.root()));
    fixture.mount(&[]);
    check(&draft);
}

#[test]
fn a_name_that_is_not_utf8_is_refused_as_such_and_named_in_the_status() {
    needs_fuse!();
    let fixture = Fixture::new();
    let draft = fixture.path("rawmodels/cafe");
    fs::create_dir(&draft).unwrap();
    let name = OsStr::from_bytes(b"caf\xE9.png");
    let is_refused = |result: std::io::Result<()>| {
        let errno = result.unwrap_err().raw_os_error();
        assert_eq!(errno, Some(rustix::io::Errno::ILSEQ.raw_os_error()));
    };
    is_refused(fs::write(draft.join(name), b"x"));
    is_refused(fs::create_dir(draft.join(name)));
    fs::write(draft.join("plain.png"), b"x").unwrap();
    is_refused(fs::rename(draft.join("plain.png"), draft.join(name)));
    assert!(!draft.join(name).exists());
    let page = run(assetfs("status", fixture.root()));
    for told in ["caf\\xE9.png", "not valid UTF-8", "convmv"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let source = fixture.scratch.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join(name), b"x").unwrap();
    let copied = Command::new("cp")
        .arg(source.join(name))
        .arg(&draft)
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let said = text(&copied.stderr);
    assert!(said.contains("Invalid or incomplete multibyte"), "{said}");
}

#[test]
fn what_git_and_rsync_try_and_do_without_is_no_failure() {
    needs_fuse!();
    needs_program!("git");
    needs_program!("rsync");
    let fixture = Fixture::new();
    let draft = fixture.path("rawmodels/desk");
    fs::create_dir(&draft).unwrap();
    shell(
        &draft,
        r#"
        export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null HOME=/nonexistent
        git init -q .
        echo one > a.txt
        git add a.txt
        git -c user.name=a -c user.email=a@b commit -q -m one
        git status --short
        mkdir ../../../source
        echo two words > ../../../source/a.txt
        rsync -a --backup ../../../source/ ./
        echo three, and longer > ../../../source/a.txt
        rsync -a --backup ../../../source/ ./
        "#,
    );
    assert_eq!(fs::read(draft.join("a.txt~")).unwrap(), b"two words\n");
    let status = fixture.status();
    assert_eq!(status["failures"], serde_json::json!([]));
    assert_eq!(status["refused"], serde_json::json!([]));
    let link = draft.join("link");
    std::os::unix::fs::symlink("a.txt", &link).unwrap_err();
    let why = fixture.why("rawmodels/desk/link");
    assert!(why.contains("copy the file itself"), "{why}");
}

#[test]
fn a_refused_command_is_listed_apart_from_failures() {
    needs_fuse!();
    let fixture = Fixture::new();
    fs::write(fixture.path(".assetfs/ctl"), "frobnicate\n").unwrap_err();
    let status = fixture.status();
    assert_eq!(status["failures"], serde_json::json!([]));
    assert!(
        status["refused"].to_string().contains("frobnicate"),
        "{status}"
    );
    let page = run(assetfs("status", fixture.root()));
    assert!(
        page.contains("Refused") && !page.contains("Failures"),
        "{page}"
    );
}

#[test]
fn another_machine_sees_the_times_of_a_nested_model_to_the_second() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.scratch.path().join("nest");
    fs::create_dir_all(source.join("deep")).unwrap();
    fs::write(source.join("nest.glb"), numbered_glb(1)).unwrap();
    fs::write(source.join("deep/note.txt"), b"odd").unwrap();
    let note = File::options()
        .write(true)
        .open(source.join("deep/note.txt"));
    rustix::fs::futimens(note.unwrap(), &times(1_234_567_891, 0)).unwrap();
    run(Command::new("cp")
        .arg("-a")
        .args([&source, &fixture.path("rawmodels/nest")]));
    fixture.wait("rawmodels/nest");
    let other = fixture.second_machine();
    let found = fs::metadata(other.root().join("rawmodels/nest/deep/note.txt")).unwrap();
    assert_eq!(found.mtime(), 1_234_567_891);
}
