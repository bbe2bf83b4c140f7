//! Mounts over a shared cache.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::world::{KIB, MIB, SharedMount, World};
use crate::fault_server::Fault;

const SIZE: u64 = 40 * MIB + 5;

/// Reads all of the file as `cat` does.
async fn read_all(world: &World, mount: &SharedMount) {
    let file = mount.reading.open(&world.key, world.urls.clone());
    for offset in (0..SIZE).step_by(128 * KIB as usize) {
        world.assert_read(&file, offset, 128 * KIB).await;
    }
}

/// Waits until all that the mount fetched is in the shared cache.
async fn until_stored(mount: &SharedMount) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while mount.shared.stats().stored_bytes < mount.reading.fetched_bytes() {
        assert!(Instant::now() < deadline, "{:?}", mount.shared.stats());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_mount_reads_what_the_first_fetched_without_a_request() {
    let world = World::new(SIZE).await;
    let dir = tempfile::tempdir().unwrap();
    let first = world.mount_over(dir.path());
    read_all(&world, &first).await;
    assert_eq!(first.reading.fetched_bytes(), SIZE);
    until_stored(&first).await;
    let requests = world.server.server.count();
    let second = world.mount_over(dir.path());
    read_all(&world, &second).await;
    assert_eq!(second.reading.fetched_bytes(), 0);
    assert_eq!(world.server.server.count(), requests);
    assert_eq!(second.shared.stats().hit_bytes, SIZE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_mounts_at_once_fetch_hardly_more_than_one() {
    let world = World::new(SIZE).await;
    let dir = tempfile::tempdir().unwrap();
    let mounts: Vec<_> = (0..8).map(|_| world.mount_over(dir.path())).collect();
    join_all(mounts.iter().map(|mount| read_all(&world, mount))).await;
    let fetched: u64 = mounts.iter().map(|it| it.reading.fetched_bytes()).sum();
    assert!(fetched <= SIZE * 11 / 10, "{fetched} of {SIZE} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_part_is_read_right_and_costs_whole_chunks() {
    let world = World::new(SIZE).await;
    let dir = tempfile::tempdir().unwrap();
    let first = world.mount_over(dir.path());
    let file = first.reading.open(&world.key, world.urls.clone());
    world.assert_read(&file, 20 * MIB + 7, 10).await;
    world.assert_read(&file, 21 * MIB - 5, 10).await;
    world.assert_read(&file, SIZE - 3, 10).await;
    let whole = [20 * MIB..21 * MIB, 21 * MIB..22 * MIB, 40 * MIB..SIZE];
    assert_eq!(world.asked(), whole);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_breaks_at_the_service_is_repaired_and_shared_right() {
    let world = World::new(SIZE).await;
    let dir = tempfile::tempdir().unwrap();
    let first = world.mount_over(dir.path());
    world
        .server
        .order([Fault::CutAfter(100_000), Fault::CutAfter(1_500_000)]);
    read_all(&world, &first).await;
    let second = world.mount_over(dir.path());
    read_all(&world, &second).await;
    assert_eq!(second.shared.stats().bad_chunks, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_cannot_be_used_fails_no_read() {
    let world = World::new(SIZE).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    // A file is no folder.
    let mount = world.mount_over(file.path());
    read_all(&world, &mount).await;
    assert!(mount.shared.stats().left_alone.is_some());
}
