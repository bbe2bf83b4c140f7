//! With every fault of the storage, a reader gets the bytes of the version that it opened, or an error.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{MIB, World, cache_has_room, forget_pages};
use crate::fault_server::Chance;
use crate::needs_fuse;
use crate::support::wait_until;

/// Reads at random places from several threads, in several ways, and compares the bytes with the local copy. Returns
/// the numbers of reads and failures.
fn read_at_random(
    path: &Path,
    content: &Arc<Vec<u8>>,
    threads: u64,
    is_enough: impl Fn(u64) -> bool + Sync,
) -> (u64, u64) {
    let (reads, failures) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for seed in 0..threads {
            let (reads, failures, is_enough) = (&reads, &failures, &is_enough);
            scope.spawn(move || {
                let mut chance = Chance(seed + 100);
                let mut file = File::open(path).expect("it opens");
                let mut at = 0;
                let mut buffer = vec![0; 300_000];
                while !is_enough(reads.load(Ordering::Relaxed)) {
                    if chance.below(3) == 0 || at >= content.len() {
                        at = chance.below(content.len() as u64) as usize;
                    }
                    match chance.below(60) {
                        0 => forget_pages(&file),
                        1 => {
                            let mut options = fs::OpenOptions::new();
                            let direct = if chance.below(2) == 0 {
                                libc::O_DIRECT
                            } else {
                                0
                            };
                            options.read(true).custom_flags(direct);
                            file = options.open(path).expect("it opens");
                        }
                        _ => {}
                    }
                    let len = match chance.below(4) {
                        0 => 4096,
                        1 => 1 + chance.below(300_000) as usize,
                        _ => 1 + chance.below(20_000) as usize,
                    };
                    match file.read_at(&mut buffer[..len], at as u64) {
                        Ok(read) => {
                            let end = (at + read).min(content.len());
                            assert!(read > 0, "an end at {at} of {}", content.len());
                            assert!(
                                buffer[..read] == content[at..end],
                                "wrong bytes at {at}+{read}"
                            );
                            at += read;
                        }
                        Err(_) => {
                            failures.fetch_add(1, Ordering::Relaxed);
                            at += len;
                        }
                    }
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    (reads.into_inner(), failures.into_inner())
}

#[test]
fn random_readers_see_the_local_copy_through_every_fault() {
    needs_fuse!();
    let wanted = std::env::var("ASSETFS_READS")
        .ok()
        .and_then(|it| it.parse::<u64>().ok());
    let world = World::new(12 * MIB + 777, &["--cache-size", "6M"]);
    fs::metadata(world.big()).expect("it is there");
    world.storage.with(|it| it.fault_in = 4);
    let started = Instant::now();
    let (reads, failures) = read_at_random(&world.big(), &world.content, 4, |reads| match wanted {
        Some(wanted) => reads >= wanted,
        None => started.elapsed() > Duration::from_secs(10),
    });
    world.storage.with(|it| it.fault_in = 0);
    eprintln!(
        "{reads} reads, {failures} failed, {} requests, in {:?}",
        world.storage.with(|it| it.requests),
        started.elapsed()
    );
    // An invalid answer is an error; all other faults are repaired.
    assert!(failures * 20 <= reads, "{failures} of {reads} reads failed");
    world.assert_whole();
}

#[test]
fn what_is_deleted_on_the_service_ends_in_an_error_and_what_is_cached_stays_readable() {
    needs_fuse!();
    if !cache_has_room() {
        return;
    }
    let world = World::new(8 * MIB, &[]);
    let mut file = File::open(world.big()).expect("it opens");
    let mut start = vec![0; 1000];
    file.read_exact(&mut start).expect("the start");
    let url = format!(
        "http://{}/api/v2/rawmodel/{}",
        world.fixture.service.listens_on(),
        world.asset
    );
    crate::support::request(
        reqwest::Method::DELETE,
        &url,
        &world.fixture.service.token(),
    );
    world.storage.with(|it| it.files.clear());
    file.seek(SeekFrom::Start(6 * MIB as u64)).expect("a seek");
    let started = Instant::now();
    assert!(
        file.read_exact(&mut start).is_err(),
        "there is nothing to read"
    );
    assert!(started.elapsed() < Duration::from_secs(40));
    forget_pages(&file);
    file.read_exact_at(&mut start, 0)
        .expect("the start is cached");
    assert_eq!(start, world.content[..1000]);
}

#[test]
fn content_that_changes_under_a_reader_is_stale_and_never_mixed() {
    needs_fuse!();
    let world = World::new(8 * MIB, &[]);
    let file = File::open(world.big()).expect("it opens");
    let mut part = vec![0; 1000];
    file.read_exact_at(&mut part, 0).expect("the start");
    let other = vec![b'!'; 8 * MIB];
    world.storage.put("big.bin", &other);
    let error = file.read_exact_at(&mut part, 6 * MIB as u64).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ESTALE), "{error}");
    drop(file);
    wait_until("the new content is shown", || {
        fs::read(world.big()).is_ok_and(|found| found == other)
    });
}
