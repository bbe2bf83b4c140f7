//! Readers that go, servers that never answer, mounts that end.

use std::time::Duration;

use super::world::{KIB, MIB, World};
use crate::drive::reading::{ReadError, ReadingLimits};
use crate::fault_server::Fault;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_fetched_ahead_stops_when_the_reader_goes() {
    let world = World::new(60 * MIB).await;
    // Long enough that requests are under way when the reader goes.
    world
        .server
        .with(|it| it.latency = Duration::from_millis(100));
    let file = world.open();
    for offset in (0..4 * MIB).step_by(128 * KIB as usize) {
        world.assert_read(&file, offset, 128 * KIB).await;
    }
    drop(file);
    // A fetch holds its share for as long as it lives: with all of it back there is none.
    let whole = ReadingLimits::default().ahead_bytes;
    tokio::time::timeout(Duration::from_secs(60), async {
        while world.reading.shared.budget.try_take(whole).is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("every fetch ends");
    let furthest = world.asked().iter().map(|it| it.end).max();
    assert!(
        furthest < Some(40 * MIB),
        "asked for up to {furthest:?} ahead of 4 MiB"
    );
}

#[tokio::test]
async fn a_server_that_never_answers_ends_in_time() {
    let world = World::new(MIB).await;
    let file = world.open();
    world.server.order([Fault::Silence; 20]);
    tokio::time::pause();
    let started = tokio::time::Instant::now();
    let error = file.read(0, 10).await.unwrap_err();
    assert!(
        started.elapsed() <= Duration::from_secs(31),
        "{:?}",
        started.elapsed()
    );
    let transient = matches!(&error, ReadError::TimedOut { .. })
        || matches!(&error, ReadError::Transfer(error) if error.is_transient());
    assert!(transient, "{error:?}");
}

#[test]
fn a_mount_that_ends_leaves_no_reader_waiting() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let (world, file) = runtime.block_on(async {
        let world = World::new(MIB).await;
        world.server.order([Fault::Silence]);
        let file = world.open();
        (world, file)
    });
    let waiting = std::thread::spawn(move || {
        let other = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let first = other.block_on(file.read(0, 10));
        (first, other.block_on(file.read(0, 10)))
    });
    while world.asked().is_empty() {
        std::thread::yield_now();
    }
    runtime.shutdown_background();
    let (first, second) = waiting.join().unwrap();
    assert!(matches!(first, Err(ReadError::Stopped { .. })), "{first:?}");
    assert!(
        matches!(second, Err(ReadError::Stopped { .. })),
        "{second:?}"
    );
}
