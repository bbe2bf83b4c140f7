//! How many requests the server gets, and which reads need none.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::join_all;

use super::world::{ETAG, KIB, MIB, World};
use crate::cache::{BLOCK_LEN_BYTES, CacheLimits, KeepFree};
use crate::drive::reading::RemoteFile;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_read_costs_one_small_request_and_opening_none() {
    let world = World::new(40 * MIB).await;
    let file = world.open();
    assert!(world.asked().is_empty());
    world.assert_read(&file, 20 * MIB + 5, 4 * KIB).await;
    let asked = world.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0], 20 * MIB..20 * MIB + BLOCK_LEN_BYTES);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sequential_reader_fetches_every_byte_once_in_few_growing_requests() {
    let world = World::new(50 * MIB + 123).await;
    // As long as a network needs, so that read-ahead has an effect.
    world
        .server
        .with(|it| it.latency = Duration::from_millis(5));
    let file = world.open();
    for offset in (0..world.key.size).step_by(128 * KIB as usize) {
        world.assert_read(&file, offset, 128 * KIB).await;
    }
    let mut asked = world.asked();
    asked.sort_by_key(|it| it.start);
    assert!(
        asked.windows(2).all(|pair| pair[0].end == pair[1].start),
        "{asked:?}"
    );
    assert_eq!(
        asked.iter().map(|it| it.end - it.start).sum::<u64>(),
        world.key.size
    );
    assert_eq!(
        asked[0].end,
        128 * KIB,
        "the first request is as small as the read"
    );
    assert!(asked.len() < 40, "{}", asked.len());
    assert!(world.server.server.most_open() >= 4, "several connections");
    assert!(file.is_complete());
    assert!(file.file().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_cached_is_read_at_the_first_poll_without_a_runtime() {
    let world = World::new(300 * KIB).await;
    let file = world.open();
    world.assert_read(&file, 0, 300 * KIB).await;
    let content = world.content.clone();
    let outside = std::thread::spawn(move || {
        let mut read = pin!(file.read(70 * KIB, 100 * KIB));
        match read.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(bytes) => assert!(bytes.unwrap() == content[70 * 1024..170 * 1024]),
            Poll::Pending => panic!("it waited"),
        }
    });
    outside.join().unwrap();
    assert_eq!(world.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_miss_on_a_thread_without_a_runtime_is_fetched() {
    let world = World::new(300 * KIB).await;
    world
        .server
        .with(|it| it.latency = Duration::from_millis(300));
    let file = world.open();
    let (bytes, file) = std::thread::spawn(move || {
        (
            futures_util::FutureExt::now_or_never(file.read(0, 10)),
            file,
        )
    })
    .join()
    .unwrap();
    assert!(bytes.is_none(), "the network was waited for");
    world.assert_read(&file, 0, 10).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_the_same_bytes_share_one_request() {
    let world = World::new(MIB).await;
    world
        .server
        .with(|it| it.latency = Duration::from_millis(50));
    let files: Vec<RemoteFile> = (0..8).map(|_| world.open()).collect();
    join_all(
        files
            .iter()
            .map(|file| world.assert_read(file, 100, 100 * KIB)),
    )
    .await;
    assert_eq!(world.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_without_room_does_not_stop_a_reader() {
    let full = CacheLimits {
        max_bytes: 0,
        keep_free: KeepFree::NOTHING,
    };
    let world = World::with(9 * MIB, Some(ETAG), full).await;
    let file = world.open();
    for offset in (0..world.key.size).step_by(128 * KIB as usize) {
        world.assert_read(&file, offset, 128 * KIB).await;
    }
    let asked: u64 = world.asked().iter().map(|it| it.end - it.start).sum();
    assert!(asked <= world.key.size + MIB, "{asked} bytes were fetched");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_that_is_deleted_meanwhile_does_not_stop_a_reader() {
    let world = World::new(9 * MIB).await;
    let file = world.open();
    world.assert_read(&file, 0, MIB).await;
    for entry in std::fs::read_dir(world._dir.path()).unwrap().flatten() {
        let _ = std::fs::remove_dir_all(entry.path());
    }
    world.assert_read(&file, 0, 4 * MIB).await;
    let again = world.open();
    world.assert_read(&again, 0, 9 * MIB).await;
}
