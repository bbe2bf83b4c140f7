//! A content, the server that has it, and the reading that fetches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::Handle;

use super::server::{Answer, Server};
use crate::cache::{BlockCache, CacheLimits, ObjectKey};
use crate::client::{Client, ClientConfig};
use crate::drive::reading::{Reading, ReadingLimits, RemoteFile, SignedUrls, UrlFuture};
use crate::wire::SignedUrl;

pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;
pub(super) const ETAG: &str = "\"version-1\"";

/// Gives the URL that the server accepts at this moment when a new one is asked for.
pub(super) struct Urls {
    pub(super) server: Server,
    pub(super) current: AtomicU64,
    pub(super) renewals: AtomicU64,
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

pub(super) struct World {
    pub(super) server: Server,
    pub(super) reading: Reading,
    pub(super) urls: Arc<Urls>,
    pub(super) content: Vec<u8>,
    pub(super) key: ObjectKey,
    pub(super) _dir: tempfile::TempDir,
}

impl World {
    pub(super) async fn new(size: u64) -> World {
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

    pub(super) async fn with(size: u64, etag: Option<&str>, limits: CacheLimits) -> World {
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

    pub(super) fn open(&self) -> RemoteFile {
        self.reading.open(&self.key, self.urls.clone())
    }

    pub(super) fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.server.with(|storage| storage.script.extend(answers));
    }

    pub(super) async fn assert_read(&self, file: &RemoteFile, offset: u64, len: u64) {
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
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        mixed ^ (mixed >> 29)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
