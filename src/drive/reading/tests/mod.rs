//! Remote files against a server with faults: the bytes are always those of a local copy, and the
//! requests are as few and as small as promised.

mod server;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::join_all;

use super::*;
use crate::cache::{BLOCK_LEN_BYTES, CacheLimits};
use crate::client::ClientConfig;
use crate::wire::SignedUrl;
use server::{Answer, Server};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const ETAG: &str = "\"version-1\"";

/// Gives the URL that the server accepts at this moment when a new one is asked for.
struct Urls {
    server: Server,
    current: AtomicU64,
    renewals: AtomicU64,
}

impl SignedUrls for Urls {
    fn url(&self, renew: bool) -> UrlFuture<'_> {
        Box::pin(async move {
            if renew {
                self.renewals.fetch_add(1, Ordering::SeqCst);
                let number = self.server.with(|storage| storage.url_number);
                self.current.store(number, Ordering::SeqCst);
            }
            let number = self.current.load(Ordering::SeqCst);
            let address = self.server.address;
            Ok(SignedUrl::new(format!(
                "http://{address}/content/{number}?signature=x"
            )))
        })
    }
}

struct World {
    server: Server,
    reading: Reading,
    urls: Arc<Urls>,
    content: Vec<u8>,
    key: ObjectKey,
    _dir: tempfile::TempDir,
}

impl World {
    async fn new(size: u64) -> World {
        World::with(
            size,
            Some(ETAG),
            CacheLimits {
                max_bytes: 1 << 30,
                keep_free_percent: 0,
            },
        )
        .await
    }

    async fn with(size: u64, etag: Option<&str>, limits: CacheLimits) -> World {
        let content = bytes_of(size);
        let server = Server::start(content.clone(), etag).await;
        let dir = tempfile::tempdir().unwrap();
        let cache = BlockCache::open(dir.path(), limits).unwrap();
        let config = ClientConfig::new(&format!("http://{}", server.address)).unwrap();
        let client = Client::new(config).unwrap();
        let reading = Reading::new(client, cache, Handle::current(), ReadingLimits::default());
        let urls = Arc::new(Urls {
            server: server.clone(),
            current: AtomicU64::new(0),
            renewals: AtomicU64::new(0),
        });
        World {
            server,
            reading,
            urls,
            content,
            key: ObjectKey {
                name: "raw/1/model.bin".to_owned(),
                size,
                etag: etag.map(str::to_owned),
            },
            _dir: dir,
        }
    }

    fn open(&self) -> RemoteFile {
        self.reading.open(&self.key, self.urls.clone())
    }

    fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.server.with(|storage| storage.script.extend(answers));
    }

    async fn assert_read(&self, file: &RemoteFile, offset: u64, len: u64) {
        let bytes = file.read(offset, len).await.unwrap();
        let end = (offset + len).min(self.key.size);
        let expected = &self.content[offset.min(end) as usize..end as usize];
        assert!(bytes == expected, "wrong bytes at {offset}+{len}");
    }
}

fn bytes_of(size: u64) -> Vec<u8> {
    let mut random = Random(size + 1);
    (0..size.div_ceil(8))
        .flat_map(|_| random.next().to_le_bytes())
        .take(size as usize)
        .collect()
}

/// A seeded generator; what it gives is the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        mixed ^ (mixed >> 29)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_read_costs_one_small_request_and_opening_none() {
    let world = World::new(40 * MIB).await;
    let file = world.open();
    assert_eq!(world.server.asked(), []);
    world.assert_read(&file, 20 * MIB + 5, 4 * KIB).await;
    let asked = world.server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (asked[0].start, asked[0].end),
        (20 * MIB, 20 * MIB + BLOCK_LEN_BYTES)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sequential_reader_fetches_every_byte_once_in_few_growing_requests() {
    let world = World::new(50 * MIB + 123).await;
    // As a network would be: long enough that what is read ahead is really ahead.
    world
        .server
        .with(|storage| storage.delay = Duration::from_millis(5));
    let file = world.open();
    for offset in (0..world.key.size).step_by(128 * KIB as usize) {
        world.assert_read(&file, offset, 128 * KIB).await;
    }
    let mut asked = world.server.asked();
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
    assert!(
        world.server.with(|storage| storage.most_open) >= 4,
        "several connections"
    );
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
    assert_eq!(world.server.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_miss_on_a_thread_without_a_runtime_is_fetched() {
    let world = World::new(300 * KIB).await;
    world
        .server
        .with(|storage| storage.delay = Duration::from_millis(300));
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
        .with(|storage| storage.delay = Duration::from_millis(50));
    let files: Vec<RemoteFile> = (0..8).map(|_| world.open()).collect();
    join_all(
        files
            .iter()
            .map(|file| world.assert_read(file, 100, 100 * KIB)),
    )
    .await;
    assert_eq!(world.server.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_that_is_refused_is_renewed_once_for_all_readers() {
    let world = World::new(20 * MIB).await;
    let file = world.open();
    world.assert_read(&file, 0, 10).await;
    world.server.with(|storage| {
        storage.url_number = 7;
        storage.delay = Duration::from_millis(20);
    });
    join_all((1..10).map(|at| world.assert_read(&file, at * 2 * MIB, 10))).await;
    assert_eq!(world.urls.renewals.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_that_stays_refused_is_an_error_and_the_next_read_tries_again() {
    let world = World::new(MIB).await;
    let file = world.open();
    world.script([Answer::RefuseUrl, Answer::RefuseUrl]);
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
        storage.content.fill(b'!');
        storage.etag = Some("\"version-2\"".to_owned());
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
    world.script([Answer::CutAfter(100_000)]);
    let server = world.server.clone();
    world
        .server
        .with(|storage| storage.delay = Duration::from_millis(100));
    let changing = tokio::spawn(async move {
        while server.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        server.with(|storage| {
            storage.content.fill(b'!');
            storage.etag = Some("\"version-2\"".to_owned());
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
    world.server.with(|storage| storage.content.push(0));
    assert!(matches!(
        file.read(0, 10).await,
        Err(ReadError::Stale { .. })
    ));
}

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_without_room_does_not_stop_a_reader() {
    let full = CacheLimits {
        max_bytes: 0,
        keep_free_percent: 0,
    };
    let world = World::with(9 * MIB, Some(ETAG), full).await;
    let file = world.open();
    for offset in (0..world.key.size).step_by(128 * KIB as usize) {
        world.assert_read(&file, offset, 128 * KIB).await;
    }
    let asked: u64 = world
        .server
        .asked()
        .iter()
        .map(|it| it.end - it.start)
        .sum();
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_fetched_ahead_stops_when_the_reader_goes() {
    let world = World::new(60 * MIB).await;
    // Long enough that requests are under way when the reader goes.
    world
        .server
        .with(|storage| storage.delay = Duration::from_millis(100));
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
    let furthest = world.server.asked().iter().map(|it| it.end).max();
    assert!(
        furthest < Some(40 * MIB),
        "asked for up to {furthest:?} ahead of 4 MiB"
    );
}

#[tokio::test]
async fn a_server_that_never_answers_ends_in_time() {
    let world = World::new(MIB).await;
    let file = world.open();
    world.script([Answer::Silence; 20]);
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
        world.script([Answer::Silence]);
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
    while world.server.asked().is_empty() {
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
