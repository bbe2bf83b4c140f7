//! The shared cache in a bucket.

use std::time::{Duration, Instant};

use assetfs::bucket::Credentials;
use assetfs::cache::{NextBlocks, ObjectKey, SharedCache, SharedCacheConfig, SharedObject};
use bytes::Bytes;

use super::s3::TestBucket;

const CHUNK: u64 = 1 << 20;

fn cache(bucket: &TestBucket) -> SharedCache {
    let config = SharedCacheConfig {
        place: bucket.url().parse().unwrap(),
        account: "origin owner".to_owned(),
        limit_bytes: 0,
        credentials: Some(Credentials {
            key_id: bucket.key.clone(),
            secret: bucket.secret.clone(),
            session_token: None,
        }),
    };
    SharedCache::new(config).unwrap()
}

fn object(cache: &SharedCache) -> SharedObject {
    let key = ObjectKey {
        name: "raw/1/chair.bin".to_owned(),
        size: CHUNK + 5,
        etag: Some("\"v1\"".to_owned()),
    };
    cache.object(&key).unwrap()
}

async fn fetch(cache: &SharedCache) {
    let NextBlocks::Fetch(mut turn) = object(cache).next(0..17).await else {
        panic!("it is stored");
    };
    assert_eq!(turn.end_block(), 32);
    let content = Bytes::from(vec![7; CHUNK as usize + 5]);
    turn.take(0, content).await;
}

async fn until_stored(cache: &SharedCache) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while cache.stats().stored_bytes < CHUNK + 5 {
        assert!(Instant::now() < deadline, "{:?}", cache.stats());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mounts_share_chunks_in_a_bucket() {
    let bucket = TestBucket::start();
    let first = cache(&bucket);
    fetch(&first).await;
    until_stored(&first).await;
    let second = cache(&bucket);
    match object(&second).next(0..17).await {
        NextBlocks::Here(found) => {
            let found = found.concat();
            assert_eq!(found.len() as u64, CHUNK + 5);
            assert!(found.iter().all(|byte| *byte == 7));
        }
        NextBlocks::Fetch(turn) => panic!("{turn:?}"),
    }
    assert_eq!(second.stats().left_alone, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chunk_that_another_mount_has_claimed_in_the_bucket_is_waited_for() {
    let bucket = TestBucket::start();
    let (first, second) = (cache(&bucket), cache(&bucket));
    let NextBlocks::Fetch(mut turn) = object(&first).next(0..17).await else {
        panic!("it is stored");
    };
    let waiting = object(&second);
    let waiting = tokio::spawn(async move { waiting.next(0..17).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    let content = Bytes::from(vec![7; CHUNK as usize + 5]);
    turn.take(0, content).await;
    assert!(matches!(waiting.await.unwrap(), NextBlocks::Here(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storage_that_hangs_delays_one_read_and_one_that_is_gone_none() {
    let Some(mut bucket) = TestBucket::start_own_or_skip() else {
        return;
    };
    bucket.signal("STOP");
    let hung = cache(&bucket);
    let begin = Instant::now();
    fetch(&hung).await;
    let delay = begin.elapsed();
    assert!(delay >= Duration::from_secs(2), "{delay:?}");
    assert!(delay < Duration::from_secs(20), "{delay:?}");
    assert!(hung.stats().left_alone.is_some());
    let begin = Instant::now();
    for _ in 0..20 {
        fetch(&hung).await;
    }
    assert!(begin.elapsed() < Duration::from_secs(2), "it is left alone");
    bucket.signal("CONT");
    bucket.stop();
    let gone = cache(&bucket);
    fetch(&gone).await;
    let left_alone = gone.stats().left_alone.unwrap();
    assert!(!left_alone.is_read, "{left_alone:?}");
}
