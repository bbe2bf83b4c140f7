//! URLs that run out and contents that change.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;

use super::world::{MIB, NAME, World};
use crate::cache::{CacheLimits, ObjectKey};
use crate::drive::reading::ReadError;
use crate::fault_server::Fault;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_that_is_refused_is_renewed_once_for_all_readers() {
    let world = World::new(20 * MIB).await;
    let file = world.open();
    world.assert_read(&file, 0, 10).await;
    world.server.with(|storage| {
        storage.url_number = Some(7);
        storage.latency = Duration::from_millis(20);
    });
    join_all((1..10).map(|at| world.assert_read(&file, at * 2 * MIB, 10))).await;
    assert_eq!(world.urls.renewals.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_that_stays_refused_is_an_error_and_the_next_read_tries_again() {
    let world = World::new(MIB).await;
    let file = world.open();
    world.server.order([Fault::Refused, Fault::Refused]);
    assert!(matches!(
        file.read(0, 10).await,
        Err(ReadError::Transfer(_))
    ));
    world.assert_read(&file, 0, 10).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_changed_is_stale_and_never_mixed() {
    let world = World::new(10 * MIB).await;
    let file = world.open();
    world.assert_read(&file, 0, 10).await;
    world.server.with(|storage| {
        storage.put_as(NAME, &[b'!'; 10 * MIB as usize], Some("\"version-2\""));
    });
    let error = file.read(5 * MIB, 10).await.unwrap_err();
    assert!(matches!(error, ReadError::Stale { .. }), "{error}");
    let error = file.read(0, 10).await.unwrap_err();
    assert!(
        matches!(error, ReadError::Stale { .. }),
        "the open file stays failed: {error}"
    );
    let renewed = ObjectKey {
        etag: Some("\"version-2\"".to_owned()),
        ..world.key.clone()
    };
    let file = world.reading.open(&renewed, world.urls.clone());
    assert_eq!(file.read(0, 3).await.unwrap(), "!!!");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_changed_in_the_middle_of_a_body_is_never_mixed() {
    let world = World::new(MIB).await;
    let file = world.open();
    world.server.order([Fault::CutAfter(100_000)]);
    let server = world.server.clone();
    world
        .server
        .with(|it| it.latency = Duration::from_millis(100));
    let changing = tokio::spawn(async move {
        while server.server.count() == 0 {
            tokio::task::yield_now().await;
        }
        server.with(|storage| {
            storage.put_as(NAME, &[b'!'; MIB as usize], Some("\"version-2\""));
        });
    });
    let error = file.read(0, MIB).await.unwrap_err();
    assert!(matches!(error, ReadError::Stale { .. }), "{error}");
    changing.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_size_is_stale_even_without_an_etag() {
    let world = World::with(MIB, None, CacheLimits::default()).await;
    let file = world.open();
    let longer = [&world.content[..], &[0]].concat();
    world.server.with(|it| it.put_as(NAME, &longer, None));
    assert!(matches!(
        file.read(0, 10).await,
        Err(ReadError::Stale { .. })
    ));
}
