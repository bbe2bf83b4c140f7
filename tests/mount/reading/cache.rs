//! Reads return the same bytes, and the cache does not grow, also after damage to the cache and many reads.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{MIB, World, cache_has_room, forget_pages, peak_mib};
use crate::fault_server::Chance;
use crate::needs_fuse;
use crate::support::{assetfs, run, text};

#[test]
fn a_kill_while_the_cache_fills_costs_no_byte_of_truth() {
    needs_fuse!();
    let mut world = World::new(16 * MIB, &[]);
    for seconds in [150, 400] {
        world.storage.with(|it| it.bytes_per_second = Some(4 << 20));
        let mut reader = Command::new("cat")
            .arg(world.big())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("cat");
        std::thread::sleep(Duration::from_millis(seconds));
        world.fixture.kill_mount();
        let _ = reader.wait();
        world.storage.with(|it| it.bytes_per_second = None);
        world.fixture.mount(&[]);
        world.assert_whole();
    }
}

#[test]
fn a_cache_that_rots_is_fetched_again_and_never_served() {
    needs_fuse!();
    let mut world = World::new(8 * MIB, &[]);
    world.assert_whole();
    let mut chance = Chance(77);
    for round in 0..3 {
        run(assetfs("unmount --now", world.fixture.root()));
        for path in world
            .cache_files("data")
            .iter()
            .chain(&world.cache_files("map"))
        {
            let file = File::options()
                .read(true)
                .write(true)
                .open(path)
                .expect("it opens");
            let len = file.metadata().expect("a length").len().max(1);
            for _ in 0..5 {
                let at = chance.below(len);
                file.write_at(&[chance.below(256) as u8], at)
                    .expect("spoiled");
            }
            if round == 2 && path.extension().is_some_and(|it| it == "data") {
                file.set_len(len / 2).expect("cut");
            }
        }
        world.fixture.mount(&[]);
        world.assert_whole();
    }
}

#[test]
fn a_cache_that_is_deleted_under_a_mount_or_full_stops_no_reader() {
    needs_fuse!();
    if !cache_has_room() {
        return;
    }
    let world = World::new(6 * MIB, &["--cache-size", "2M"]);
    let pinned = assetfs("pin", world.fixture.path("rawmodels/m")).output();
    let pinned = pinned.expect("assetfs runs");
    // Blocks that do not fit are logged, and reads continue.
    assert_eq!(pinned.status.code(), Some(1), "{}", text(&pinned.stderr));
    assert!(text(&pinned.stderr).contains("--cache-size"));
    let open: Vec<File> = (0..8)
        .map(|_| File::open(world.big()).expect("it opens"))
        .collect();
    world.assert_whole();
    forget_pages(&open[0]);
    world.assert_whole();
    let used = world.status()["cache"]["used_bytes"]
        .as_u64()
        .expect("a number");
    assert!(used <= 2 << 20, "{used} bytes");
    forget_pages(&open[0]);
    fs::remove_dir_all(world.fixture.scratch.path().join("cache")).expect("deleted");
    world.assert_whole();
    drop(open);
    forget_pages(&File::open(world.big()).expect("it opens"));
    world.assert_whole();
}

#[test]
fn two_processes_reading_what_is_being_fetched_share_the_fetch() {
    needs_fuse!();
    let world = World::new(8 * MIB, &[]);
    let copy = world.fixture.scratch.path().join("copy");
    fs::write(&copy, &*world.content).expect("a copy");
    world.storage.with(|it| {
        it.bytes_per_second = Some(8 << 20);
        it.sent = 0;
    });
    let compare = || {
        Command::new("cmp")
            .args([&copy, &world.big()])
            .spawn()
            .expect("cmp")
    };
    let readers = [compare(), compare()];
    for mut reader in readers {
        assert!(reader.wait().expect("it ends").success());
    }
    let sent = world.storage.with(|it| it.sent) as usize;
    assert!(
        sent < world.content.len() + MIB,
        "{sent} bytes were fetched"
    );
}

#[test]
fn memory_does_not_grow_with_what_is_read() {
    needs_fuse!();
    let world = World::new(24 * MIB, &["--cache-size", "8M"]);
    let read = || {
        let file = File::open(world.big()).expect("it opens");
        forget_pages(&file);
        world.assert_whole();
    };
    (0..3).for_each(|_| read());
    let before = peak_mib(world.fixture.pid());
    (0..12).for_each(|_| read());
    let after = peak_mib(world.fixture.pid());
    assert!(after < before + 24, "{before} MiB, then {after} MiB");
}
