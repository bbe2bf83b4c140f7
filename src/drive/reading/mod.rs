//! Reads remote files through the block cache: cached blocks are served from local disk, missing ones are
//! fetched, written to the cache and served.
//!
//! Invariants: a read returns bytes of the opened version, or an error; a block is not fetched twice at once;
//! every fetch ends, at the latest by its deadline. A read of cached data completes at its first poll and needs
//! no runtime. Knows neither inodes nor paths; the code that opens a file supplies its signed URLs.

mod budget;
mod error;
mod fetch;
mod flight;
mod gathered;
mod limits;
mod object;
mod remote_file;
mod spool;
mod tuner;
mod urls;
mod window;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use tokio::runtime::Handle;
use tracing::debug;

use crate::cache::{BlockCache, ObjectKey};
use crate::client::Client;
use crate::locks::Locked;

use budget::Budget;
use object::RemoteObject;

pub use error::ReadError;
pub use limits::ReadingLimits;
pub use object::Download;
pub use remote_file::RemoteFile;
pub use spool::Spool;
#[allow(unused_imports, reason = "used by implementations of a source of URLs")]
pub use urls::{SignedUrls, UrlFuture};

/// The reader of a mount. Clones share it.
#[derive(Debug, Clone)]
pub struct Reading {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    client: Client,
    cache: BlockCache,
    runtime: Handle,
    limits: ReadingLimits,
    budget: Arc<Budget>,
    /// One for each open content, so that its readers share fetches.
    objects: Mutex<HashMap<ObjectKey, Weak<RemoteObject>>>,
}

impl Reading {
    /// Creates the reader of a mount; fetches run on the runtime.
    pub fn new(
        client: Client,
        cache: BlockCache,
        runtime: Handle,
        limits: ReadingLimits,
    ) -> Reading {
        Reading {
            shared: Arc::new(Shared {
                client,
                cache,
                runtime,
                limits,
                budget: Arc::new(Budget::new(limits.ahead_bytes)),
                objects: Mutex::default(),
            }),
        }
    }

    /// Opens a content; sends no request. One `RemoteFile` per open handle.
    ///
    /// The file can be read even if the cache has no room.
    pub fn open(&self, key: &ObjectKey, urls: Arc<dyn SignedUrls>) -> RemoteFile {
        let mut objects = self.shared.objects.locked();
        let open = objects
            .get(key)
            .and_then(Weak::upgrade)
            .filter(|open| open.is_fresh());
        let object = open.unwrap_or_else(|| {
            objects.retain(|_, object| object.strong_count() > 0);
            let new = Arc::new(self.new_object(key, urls));
            objects.insert(key.clone(), Arc::downgrade(&new));
            new
        });
        RemoteFile::new(object, self.shared.limits)
    }

    /// The open contents that are being fetched, by name.
    pub fn downloads(&self) -> Vec<Download> {
        let open: Vec<Arc<RemoteObject>> = {
            let objects = self.shared.objects.locked();
            objects.values().filter_map(Weak::upgrade).collect()
        };
        let mut downloads: Vec<_> = open.iter().filter_map(|object| object.download()).collect();
        downloads.sort_by(|one, other| one.name.cmp(&other.name));
        downloads
    }

    /// Bytes downloaded since the mount started.
    pub fn fetched_bytes(&self) -> u64 {
        self.shared.budget.fetched()
    }

    /// Stores the first bytes of a content that arrived with another request. Only complete blocks are stored.
    pub fn keep_first(&self, key: &ObjectKey, pieces: &[Bytes]) {
        if key.size == 0 {
            return;
        }
        let kept = self.shared.cache.object(key);
        if let Err(error) = kept.and_then(|cached| cached.write_run(0, pieces)) {
            debug!(name = key.name, error = %error, "the first block is not cached");
        }
    }

    fn new_object(&self, key: &ObjectKey, urls: Arc<dyn SignedUrls>) -> RemoteObject {
        let cached =
            self.shared.cache.object(key).inspect_err(
                |error| debug!(name = key.name, error = %error, "reading without cache"),
            );
        RemoteObject::new(
            self.shared.client.clone(),
            self.shared.runtime.clone(),
            self.shared.budget.clone(),
            key.clone(),
            cached.ok(),
            self.shared
                .cache
                .shared_cache()
                .and_then(|it| it.object(key)),
            urls,
        )
    }
}
