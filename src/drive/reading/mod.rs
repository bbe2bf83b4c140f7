//! Reading remote files through the block cache: what is there is served from local disk, what is
//! missing is fetched, written to the cache and served.
//!
//! Invariants: a read gives exactly the bytes of the version that was opened, or an error; a block
//! that somebody is fetching is not fetched twice; every fetch ends, in time or by its deadline.
//! A read of what is cached completes at its first poll and needs no runtime around it. Knows
//! neither inodes nor paths; signed URLs come from whoever opens a file.

mod budget;
mod error;
mod fetch;
mod flight;
mod gathered;
mod limits;
mod object;
mod pace;
mod remote_file;
mod spool;
mod urls;
mod window;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use tokio::runtime::Handle;
use tracing::debug;

use crate::cache::{BlockCache, ObjectKey};
use crate::client::Client;

use budget::Budget;
use object::RemoteObject;

pub use error::ReadError;
pub use limits::ReadingLimits;
pub use remote_file::RemoteFile;
pub use spool::Spool;
#[allow(unused_imports, reason = "named by those who write a source of URLs")]
pub use urls::{SignedUrls, UrlFuture};

/// The reading of a mount. Cloning gives another handle to it.
#[derive(Debug, Clone)]
pub struct Reading {
    shared: Arc<Shared>,
}

/// What all files of a mount share.
#[derive(Debug)]
struct Shared {
    client: Client,
    cache: BlockCache,
    runtime: Handle,
    limits: ReadingLimits,
    budget: Arc<Budget>,
    /// One for each content that is open, so that its readers share their fetches.
    objects: Mutex<HashMap<ObjectKey, Weak<RemoteObject>>>,
}

impl Reading {
    /// Prepares the reading of a mount; fetches run on the runtime.
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

    /// Opens the content; asks nothing of the network. One `RemoteFile` an open handle.
    ///
    /// Without room in the cache the file can be read all the same.
    pub fn open(&self, key: &ObjectKey, urls: Arc<dyn SignedUrls>) -> RemoteFile {
        let mut objects = self
            .shared
            .objects
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
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

    /// Bytes of files that have come from the service.
    pub fn fetched_bytes(&self) -> u64 {
        self.shared.budget.fetched()
    }

    /// Keeps the first bytes of a content that came along with something else. Whole blocks are
    /// kept; what broke off is not.
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
            urls,
        )
    }
}
