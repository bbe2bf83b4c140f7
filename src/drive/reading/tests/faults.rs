//! Answers that break off, are wrong, or make no sense.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;

use super::world::{ETAG, MIB, World};
use crate::cache::{BLOCK_LEN_BYTES, CacheLimits, KeepFree};
use crate::drive::reading::ReadError;
use crate::fault_server::{Chance, Fault};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_single_fault_is_repaired_unnoticed() {
    for fault in [
        Fault::Whole,
        Fault::CutAfter(0),
        Fault::CutAfter(1),
        Fault::CutAfter(65_536),
        Fault::CutAfter(150_000),
        Fault::NoHead,
        Fault::Busy,
        Fault::Shorter,
        Fault::Drip,
        Fault::Redirect,
        Fault::Refused,
    ] {
        let world = World::new(3 * MIB).await;
        let file = world.open();
        world.server.order([fault]);
        world.assert_read(&file, 1_000_000, 300_000).await;
        world.assert_read(&file, 0, 3 * MIB).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_senseless_answer_is_served_or_cached() {
    for fault in [Fault::WrongRange, Fault::TooLong] {
        let world = World::new(3 * MIB).await;
        let file = world.open();
        world.server.order([fault]);
        if let Ok(bytes) = file.read(MIB, 200_000).await {
            assert!(
                bytes == world.content[MIB as usize..MIB as usize + 200_000],
                "{fault:?}"
            );
        }
        world.assert_read(&file, MIB, 200_000).await;
        world.assert_read(&file, 0, 3 * MIB).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_random_reader_sees_the_local_copy_through_every_fault() {
    for (seed, etag) in [
        (1, Some(ETAG)),
        (2, None),
        (3, Some("W/\"weak\"")),
        (4, Some(ETAG)),
    ] {
        let limits = CacheLimits {
            max_bytes: if seed == 4 {
                20 * BLOCK_LEN_BYTES
            } else {
                1 << 30
            },
            keep_free: KeepFree::NOTHING,
        };
        let world = World::with(6 * MIB + 777, etag, limits).await;
        let faults = Arc::new(Mutex::new(Chance(seed)));
        let feeding = {
            let (server, faults) = (world.server.clone(), faults.clone());
            tokio::spawn(async move {
                loop {
                    let fault = {
                        let mut random = faults.lock().unwrap();
                        match random.below(12) {
                            0 => Some(Fault::CutAfter(random.below(200_000) as usize)),
                            1 => Some(Fault::CutAfter(0)),
                            2 => Some(Fault::NoHead),
                            3 => Some(Fault::Whole),
                            4 => Some(Fault::Shorter),
                            5 => Some(Fault::Refused),
                            6 => Some(Fault::Redirect),
                            _ => None,
                        }
                    };
                    server.with(|it| {
                        if it.orders.len() < 4 {
                            it.orders.push_back(fault);
                        }
                    });
                    tokio::time::sleep(Duration::from_micros(300)).await;
                }
            })
        };
        let readers = (0..4_u64).map(|reader| {
            let world = &world;
            async move {
                let mut random = Chance(seed * 100 + reader);
                let mut file = world.open();
                let mut at = 0;
                for _ in 0..150 {
                    at = match random.below(3) {
                        0 => random.below(world.key.size),
                        _ => at % world.key.size,
                    };
                    let len = 1 + random.below(200_000);
                    let end = (at + len).min(world.key.size);
                    match file.read(at, len).await {
                        Ok(bytes) => assert!(bytes == world.content[at as usize..end as usize]),
                        // Two refusals in a row are an error that the next read may not meet.
                        Err(error) => assert!(matches!(error, ReadError::Transfer(_)), "{error}"),
                    }
                    at = end;
                    if random.below(20) == 0 {
                        file = world.open();
                    }
                }
            }
        });
        join_all(readers).await;
        feeding.abort();
        world.server.with(|it| it.orders.clear());
        let file = world.open();
        world.assert_read(&file, 0, world.key.size).await;
    }
}
