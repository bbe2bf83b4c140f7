//! A content, the server that has it, and the reading that fetches it.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::Handle;

use crate::cache::{
    BlockCache, CacheLimits, KeepFree, ObjectKey, SharedCache, SharedCacheConfig, SharedCachePlace,
};
use crate::client::{Client, ClientConfig};
use crate::drive::reading::{Reading, ReadingLimits, RemoteFile, SignedUrls, UrlFuture};
use crate::fault_server::{Chance, FileServer};
use crate::wire::SignedUrl;

pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;
/// What the server calls the content.
pub(super) const NAME: &str = "content";
pub(super) const ETAG: &str = "\"version-1\"";

/// Gives the URL that the server accepts at this moment when a new one is asked for.
pub(super) struct Urls {
    pub(super) server: FileServer,
    pub(super) current: AtomicU64,
    pub(super) renewals: AtomicU64,
}

impl SignedUrls for Urls {
    fn url(&self, renew: bool) -> UrlFuture<'_> {
        Box::pin(async move {
            if renew {
                self.renewals.fetch_add(1, Ordering::SeqCst);
                let number = self.server.with(|it| it.url_number);
                self.current
                    .store(number.expect("a number"), Ordering::SeqCst);
            }
            let number = self.current.load(Ordering::SeqCst);
            let server = self.server.url();
            Ok(SignedUrl::new(format!(
                "{server}/{number}/{NAME}?signature=x"
            )))
        })
    }
}

/// One of several mounts.
pub(super) struct SharedMount {
    pub(super) reading: Reading,
    pub(super) shared: SharedCache,
    _own: tempfile::TempDir,
}

pub(super) struct World {
    pub(super) server: FileServer,
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
                keep_free: KeepFree::NOTHING,
            },
        )
        .await
    }

    pub(super) async fn with(size: u64, etag: Option<&str>, limits: CacheLimits) -> World {
        let content = Chance(size + 1).bytes(size as usize);
        let server = FileServer::start();
        server.with(|it| {
            it.put_as(NAME, &content, etag);
            it.url_number = Some(0);
        });
        let dir = tempfile::tempdir().unwrap();
        let cache = BlockCache::open(dir.path(), limits).unwrap();
        let config = ClientConfig::new(&server.url()).unwrap();
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

    /// Another mount of the account, with an empty cache over the shared cache in `dir`.
    pub(super) fn mount_over(&self, dir: &Path) -> SharedMount {
        let own = tempfile::tempdir().unwrap();
        let limits = CacheLimits {
            max_bytes: 1 << 30,
            keep_free: KeepFree::NOTHING,
        };
        let shared = SharedCache::new(SharedCacheConfig {
            place: SharedCachePlace::Folder(dir.to_owned()),
            account: "origin owner".to_owned(),
            limit_bytes: 1 << 30,
            credentials: None,
        });
        let shared = shared.unwrap();
        let cache = BlockCache::open(own.path(), limits).unwrap();
        let cache = cache.above(shared.clone());
        let client = Client::new(ClientConfig::new(&self.server.url()).unwrap()).unwrap();
        let reading = Reading::new(client, cache, Handle::current(), ReadingLimits::default());
        SharedMount {
            reading,
            shared,
            _own: own,
        }
    }

    pub(super) fn open(&self) -> RemoteFile {
        self.reading.open(&self.key, self.urls.clone())
    }

    /// The parts that were asked for so far.
    pub(super) fn asked(&self) -> Vec<Range<u64>> {
        let requests = self.server.server.asked();
        let ranges = requests.iter().map(|asked| {
            let (first, last) = asked.range().expect("a range");
            first as u64..last.map_or(self.key.size, |last| last as u64 + 1)
        });
        ranges.collect()
    }

    pub(super) async fn assert_read(&self, file: &RemoteFile, offset: u64, len: u64) {
        let bytes = file.read(offset, len).await.unwrap();
        let end = (offset + len).min(self.key.size);
        let expected = &self.content[offset.min(end) as usize..end as usize];
        assert!(bytes == expected, "wrong bytes at {offset}+{len}");
    }
}
