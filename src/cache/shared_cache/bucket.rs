//! A bucket as the store: one object for each chunk, written by one PUT. A lifecycle rule of the bucket removes old ones.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use object_store::aws::AmazonS3;
use object_store::path::Path as Key;
use object_store::{
    ClientOptions, Error, ObjectStore as _, ObjectStoreExt as _, PutMode, PutPayload, RetryConfig,
};

use super::chunk::ChunkName;
use super::claim_file::OLD_CLAIM;
use super::store::{Claimed, Holder, SharedStore, StoreError, StoreFuture};
use crate::bucket::{BucketAddress, Credentials};

#[derive(Debug, Clone)]
pub(super) struct BucketStore {
    store: Arc<AmazonS3>,
    prefix: String,
}

impl BucketStore {
    /// Sends no request: the storage may be unreachable.
    pub(super) fn new(
        address: &BucketAddress,
        credentials: &Credentials,
        connect_limit: Duration,
        limit: Duration,
    ) -> Result<BucketStore, Error> {
        let options = ClientOptions::new()
            .with_timeout(limit)
            .with_connect_timeout(connect_limit);
        // No retries: on a failure the bytes come from the service.
        let retry = RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        };
        let store = crate::bucket::client(address, credentials, options, retry)?;
        Ok(BucketStore {
            store: Arc::new(store),
            prefix: format!("{}assetfs-1/", address.prefix),
        })
    }

    fn key(&self, name: ChunkName) -> Key {
        Key::from(format!("{}{}", self.prefix, name.path()))
    }

    fn claim_key(&self, name: ChunkName) -> Key {
        Key::from(format!("{}{}.claim", self.prefix, name.path()))
    }
}

impl SharedStore for BucketStore {
    fn get(&self, name: ChunkName) -> StoreFuture<Option<Bytes>> {
        let (store, key) = (Arc::clone(&self.store), self.key(name));
        Box::pin(async move {
            match store.get(&key).await {
                Ok(found) => Ok(Some(found.bytes().await?)),
                Err(Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn put(&self, name: ChunkName, parts: Vec<Bytes>) -> StoreFuture<()> {
        let (store, key) = (Arc::clone(&self.store), self.key(name));
        Box::pin(async move {
            store.put(&key, PutPayload::from_iter(parts)).await?;
            Ok(())
        })
    }

    fn claim(&self, name: ChunkName, holder: Holder) -> StoreFuture<Claimed> {
        let (store, key) = (Arc::clone(&self.store), self.claim_key(name));
        Box::pin(async move {
            let text = PutPayload::from(holder.to_string());
            let made = store
                .put_opts(&key, text.clone(), PutMode::Create.into())
                .await;
            match made {
                Ok(_) => return Ok(Claimed::Ours),
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
                // The storage has no conditional PUT: the last of several claims holds.
                Err(Error::NotImplemented { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            match store.get(&key).await {
                Ok(found) => {
                    let made = SystemTime::from(found.meta.last_modified);
                    let now = SystemTime::now();
                    let difference = now.duration_since(made).unwrap_or_else(|it| it.duration());
                    if difference < OLD_CLAIM {
                        return Ok(Claimed::By(Holder::read(&found.bytes().await?)));
                    }
                }
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            store.put(&key, text).await?;
            Ok(Claimed::Ours)
        })
    }

    fn release(&self, name: ChunkName) -> StoreFuture<()> {
        let (store, key) = (Arc::clone(&self.store), self.claim_key(name));
        Box::pin(async move {
            match store.delete(&key).await {
                Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(StoreError::from(error)),
            }
        })
    }
}
