//! The drive answers while the local disk is slow, and while files are written that can never be sent.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::models::triangle_glb;
use crate::needs_fuse;
use crate::support::{Fixture, read, text, wait_until};

/// The longest time that a listing may take on a busy machine.
const PROMPT: Duration = Duration::from_millis(900);
/// The duration of each sync in these tests, in milliseconds.
const SLOW_SYNC_MS: &str = "4000";
const EFBIG: i32 = 27;

fn look_around(fixture: &Fixture) {
    let began = Instant::now();
    let listed = fs::read_dir(fixture.path("rawmodels")).unwrap().count();
    assert!(listed >= 1);
    assert!(!read(fixture.path("rawmodels/here/here.glb")).is_empty());
    assert!(fs::metadata(fixture.path("rawmodels/here/.assetfs/status")).is_ok());
    assert!(!fixture.status()["version"].is_null());
    assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
}

fn put_model(fixture: &Fixture, name: &str) {
    let folder = fixture.path(&format!("rawmodels/{name}"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(format!("{name}.glb")), triangle_glb(name)).unwrap();
}

#[test]
fn others_read_and_list_while_eight_files_are_closed_on_a_slow_disk() {
    needs_fuse!();
    let mut fixture = Fixture::with(&[], &[]);
    put_model(&fixture, "here");
    fixture.wait("rawmodels/here");
    crate::support::run(
        std::process::Command::new(crate::support::ASSETFS)
            .arg("unmount")
            .arg(fixture.root()),
    );
    fixture.mount_with(
        &["--settle", "10m"],
        &[("ASSETFS_SLOW_SYNC_MS", SLOW_SYNC_MS)],
    );
    fs::create_dir(fixture.path("rawmodels/slow")).unwrap();
    let mut files: Vec<File> = (0..8)
        .map(|number| File::create(fixture.path(&format!("rawmodels/slow/{number}.bin"))).unwrap())
        .collect();
    for file in &mut files {
        file.write_all(&[7; 100_000]).unwrap();
    }
    let closed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for file in files {
            let closed = &closed;
            scope.spawn(move || {
                drop(file);
                closed.fetch_add(1, Ordering::Relaxed);
            });
        }
        // Until all of them have begun.
        std::thread::sleep(Duration::from_millis(300));
        let mut looks = 0;
        while closed.load(Ordering::Relaxed) == 0 {
            look_around(&fixture);
            looks += 1;
        }
        assert!(looks > 1, "the closes were not slow: {looks}");
    });
    for number in 0..8 {
        let path = fixture.path(&format!("rawmodels/slow/{number}.bin"));
        assert_eq!(read(&path), [7; 100_000], "{number}");
    }
    let log = fs::read_to_string(fixture.scratch.path().join("mount.log")).unwrap();
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn a_sparse_file_costs_nothing_and_one_that_can_never_be_sent_is_refused() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    put_model(&fixture, "here");
    let folder = fixture.path("rawmodels/sparse");
    fs::create_dir(&folder).unwrap();
    let huge = File::create(folder.join("huge.bin")).unwrap();
    let refused = huge.set_len(8 << 40).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(EFBIG), "{refused}");
    let refused = huge.write_at(b"x", 8 << 40).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(EFBIG), "{refused}");
    let why = fixture.why("rawmodels/sparse/huge.bin");
    assert!(why.contains("cannot be sent"), "{why}");
    drop(huge);
    // A file that can be sent is accepted, and its holes are not read.
    let began = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..6 {
            let path = folder.join(format!("{number}.bin"));
            scope.spawn(move || sparse_file(&path, 60 << 30));
        }
        for _ in 0..5 {
            look_around(&fixture);
        }
    });
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(fs::metadata(folder.join("3.bin")).unwrap().len(), 60 << 30);
    crate::support::run(std::process::Command::new("rm").arg("-r").arg(&folder));
}

fn sparse_file(path: &Path, len: u64) {
    let file = File::create(path).unwrap();
    file.set_len(len).unwrap();
    file.write_at(b"x", len - 1).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn no_request_of_a_whole_day_blocks_a_session_thread() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.add_chair();
    let dir = fixture.path("rawmodels/day");
    let line = format!(
        "set -e; mkdir -p '{0}/a/b'; cp -a '{1}'/. '{0}/a/'; mv '{0}/a/chair.gltf' '{0}/'; chmod 600 '{0}/chair.gltf'; touch '{0}/a/b/x'; \
         truncate -s 100 '{0}/a/b/x'; fallocate -l 200 '{0}/a/b/x'; sync '{0}/chair.gltf'; rm '{0}/a/b/x'; rmdir '{0}/a/b'; mv '{0}' '{0}2'; rm -r '{0}2'; \
         rm -r '{2}'",
        dir.display(),
        source.display(),
        fixture.path("rawmodels/chair").display(),
    );
    crate::support::shell(fixture.scratch.path(), &line);
    wait_until("all is gone", || fixture.service.assets().is_empty());
    let log = read(fixture.scratch.path().join("mount.log"));
    assert!(!text(&log).contains("panicked"), "{}", fixture.log_tail());
}
