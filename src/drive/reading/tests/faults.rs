//! Answers that break off, are wrong, or make no sense.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;

use super::server::Answer;
use super::world::{ETAG, MIB, Random, World};
use crate::cache::{BLOCK_LEN_BYTES, CacheLimits};
use crate::drive::reading::ReadError;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_single_fault_is_repaired_unnoticed() {
    for answer in [
        Answer::Whole,
        Answer::CutAfter(0),
        Answer::CutAfter(1),
        Answer::CutAfter(65_536),
        Answer::CutAfter(150_000),
        Answer::NoHead,
        Answer::Unavailable,
        Answer::Shorter,
        Answer::Drip,
        Answer::Redirect,
        Answer::RefuseUrl,
    ] {
        let world = World::new(3 * MIB).await;
        let file = world.open();
        world.script([answer]);
        world.assert_read(&file, 1_000_000, 300_000).await;
        world.assert_read(&file, 0, 3 * MIB).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_senseless_answer_is_served_or_cached() {
    for answer in [Answer::WrongRange, Answer::TooLong] {
        let world = World::new(3 * MIB).await;
        let file = world.open();
        world.script([answer]);
        if let Ok(bytes) = file.read(MIB, 200_000).await {
            assert!(
                bytes == world.content[MIB as usize..MIB as usize + 200_000],
                "{answer:?}"
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
            keep_free_percent: 0,
        };
        let world = World::with(6 * MIB + 777, etag, limits).await;
        let faults = Arc::new(Mutex::new(Random(seed)));
        let feeding = {
            let (server, faults) = (world.server.clone(), faults.clone());
            tokio::spawn(async move {
                loop {
                    let answer = {
                        let mut random = faults.lock().unwrap();
                        match random.below(12) {
                            0 => Answer::CutAfter(random.below(200_000) as usize),
                            1 => Answer::CutAfter(0),
                            2 => Answer::NoHead,
                            3 => Answer::Whole,
                            4 => Answer::Shorter,
                            5 => Answer::RefuseUrl,
                            6 => Answer::Redirect,
                            _ => Answer::Good,
                        }
                    };
                    server.with(|storage| {
                        if storage.script.len() < 4 {
                            storage.script.push_back(answer);
                        }
                    });
                    tokio::time::sleep(Duration::from_micros(300)).await;
                }
            })
        };
        let readers = (0..4_u64).map(|reader| {
            let world = &world;
            async move {
                let mut random = Random(seed * 100 + reader);
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
        world.server.with(|storage| storage.script.clear());
        let file = world.open();
        world.assert_read(&file, 0, world.key.size).await;
    }
}
