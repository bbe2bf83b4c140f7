//! What the tree is made of: the account as the catalog knows it, what the outbox holds, the block cache, what
//! failed. Places describe themselves from it. It knows neither places nor inodes nor open files; these stand
//! in [`super::mount`].

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;

use super::background::Background;
use super::catalog::{Catalog, OnChange};
use super::config::DriveConfig;
use super::deletions::Deletions;
use super::error::{DriveError, DriveResult};
use super::failures::Failures;
use super::traffic::Traffic;
use super::verification::Verification;
use crate::cache::BlockCache;
use crate::client::Client;
use crate::durable::MetaStore;
use crate::outbox::Outbox;

/// What the kernel holds of the mount now.
pub(super) struct KernelUse {
    pub(super) inodes: u64,
    pub(super) handles: u64,
}

/// The parts that every path of one drive is described from.
pub(super) struct Tree {
    pub(super) config: DriveConfig,
    pub(super) catalog: Arc<Catalog>,
    pub(super) failures: Arc<Failures>,
    pub(super) outbox: Outbox,
    pub(super) client: Client,
    pub(super) cache: BlockCache,
    pub(super) meta: MetaStore,
    pub(super) runtime: Handle,
    pub(super) background: Background,
    pub(super) opened: SystemTime,
    pub(super) traffic: Traffic,
    pub(super) verification: Verification,
    deletions: Mutex<Deletions>,
    kernel_use: Box<dyn Fn() -> KernelUse + Send + Sync>,
}

impl Tree {
    /// `on_change` is called for changes that no request of the kernel made; `kernel_use` counts what the
    /// kernel holds.
    pub(super) fn new(
        config: DriveConfig,
        (client, cache): (Client, BlockCache),
        outbox: Outbox,
        meta: MetaStore,
        on_change: OnChange,
        kernel_use: Box<dyn Fn() -> KernelUse + Send + Sync>,
    ) -> Tree {
        let runtime = Handle::current();
        let background = Background::new(runtime.clone());
        let failures = Arc::<Failures>::default();
        let catalog = Catalog::new(
            &config,
            (&client, &cache),
            &outbox,
            &meta,
            &background,
            &failures,
            on_change,
        );
        Tree {
            config,
            catalog: Arc::new(catalog),
            failures,
            outbox,
            client,
            cache,
            meta,
            runtime,
            background,
            opened: SystemTime::now(),
            traffic: Traffic::default(),
            verification: Verification::default(),
            deletions: Mutex::default(),
            kernel_use,
        }
    }

    /// Deletions in progress and recent ones.
    pub(super) fn deletions(&self) -> MutexGuard<'_, Deletions> {
        self.deletions
            .lock()
            .expect("no panic while deletions are held")
    }

    /// Inodes and handles that the kernel holds now.
    pub(super) fn kernel_use(&self) -> KernelUse {
        (self.kernel_use)()
    }

    /// Runs work to its end even if the caller stops waiting for it.
    pub(super) async fn detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = DriveResult<T>> + Send + 'static,
    ) -> DriveResult<T> {
        self.runtime.spawn(work).await.unwrap_or_else(|_| {
            Err(DriveError::Local(
                "the drive failed inside; the log has more".into(),
            ))
        })
    }

    /// Waits for work with a deadline; `what` is the subject of the error message when it passes.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        what: &str,
        work: impl Future<Output = DriveResult<T>>,
    ) -> DriveResult<T> {
        match tokio::time::timeout(limit, work).await {
            Ok(result) => result,
            Err(_) => Err(DriveError::TimedOut(format!(
                "{what} did not answer within {} s; try again later",
                limit.as_secs()
            ))),
        }
    }

    /// The URL of a record in the API, which needs the token; never a signed one.
    pub(super) fn record_url(&self, path: &str) -> String {
        let base = self.client.base_url().as_str();
        format!("{}{path}", base.trim_end_matches('/'))
    }
}
