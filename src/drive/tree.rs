//! The parts that paths are described from: the account as the catalog knows it, the outbox, the block cache,
//! the failures. It knows no places, inodes or open files; these are in [`super::mount`].

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;

use super::background::Background;
use super::catalog::{Catalog, OnChange, model_like};
use super::config::DriveConfig;
use super::deletions::{Deletions, RemoverWaits};
use super::error::{DriveError, DriveResult};
use super::estimates::Estimates;
use super::events::EventLog;
use super::failures::Failures;
use super::history::History;
use super::posix::Caller;
use super::signs::Signs;
use super::traffic::Traffic;
use super::verification::Verification;
use crate::cache::BlockCache;
use crate::client::Client;
use crate::durable::MetaStore;
use crate::locks::Locked;
use crate::outbox::Outbox;

/// Numbers of inodes and handles that the kernel holds.
pub(super) struct KernelUse {
    pub(super) inodes: u64,
    pub(super) handles: u64,
    pub(super) inotify_folders: u64,
}

/// The parts that every path of one drive is described from.
pub(super) struct Tree {
    config: DriveConfig,
    catalog: Arc<Catalog>,
    failures: Arc<Failures>,
    outbox: Outbox,
    client: Client,
    cache: BlockCache,
    meta: MetaStore,
    runtime: Handle,
    background: Background,
    opened: SystemTime,
    traffic: Traffic,
    verification: Verification,
    estimates: Estimates,
    signs: Signs,
    deletions: Mutex<Deletions>,
    kernel_use: Box<dyn Fn() -> KernelUse + Send + Sync>,
    events: Arc<EventLog>,
}

impl Tree {
    /// `on_change` is called for changes that no request of the kernel made; `kernel_use` counts what the
    /// kernel holds.
    pub(super) fn new(
        config: DriveConfig,
        (client, cache): (Client, BlockCache),
        outbox: Outbox,
        meta: MetaStore,
        events: Arc<EventLog>,
        on_change: OnChange,
        kernel_use: Box<dyn Fn() -> KernelUse + Send + Sync>,
    ) -> Tree {
        let runtime = Handle::current();
        let background = Background::new(runtime.clone());
        let estimates = Estimates::new(meta.clone());
        let failures = Arc::new(Failures::new(History::new(config.history.clone())));
        let catalog = Catalog::new(
            &config,
            (&client, &cache),
            &outbox,
            &meta,
            &background,
            &failures,
            on_change,
        );
        let catalog = Arc::new(catalog);
        let listed = Arc::downgrade(&catalog);
        outbox
            .uploads()
            .join_known_models(Box::new(move |name, hash| {
                model_like(&*listed.upgrade()?, name, &hash.to_string())
            }));
        Tree {
            config,
            catalog,
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
            estimates,
            signs: Signs::default(),
            deletions: Mutex::default(),
            kernel_use,
            events,
        }
    }

    /// The change events.
    pub(super) fn events(&self) -> &Arc<EventLog> {
        &self.events
    }

    pub(super) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// When the drive was opened: the time of files and folders that have none.
    pub(super) fn opened(&self) -> SystemTime {
        self.opened
    }

    pub(super) fn config(&self) -> &DriveConfig {
        &self.config
    }

    /// Since when models show a sign.
    pub(super) fn signs(&self) -> &Signs {
        &self.signs
    }

    /// How long jobs take.
    pub(super) fn estimates(&self) -> &Estimates {
        &self.estimates
    }

    pub(super) fn failures(&self) -> &Failures {
        &self.failures
    }

    pub(super) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn cache(&self) -> &BlockCache {
        &self.cache
    }

    pub(super) fn meta(&self) -> &MetaStore {
        &self.meta
    }

    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    pub(super) fn background(&self) -> &Background {
        &self.background
    }

    pub(super) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    pub(super) fn verification(&self) -> &Verification {
        &self.verification
    }

    /// To be held while a call of a program is answered, if the program may be removing a model.
    pub(super) fn remover_waits(&self, caller: &Caller) -> RemoverWaits<'_> {
        RemoverWaits::begin(
            &self.deletions,
            || caller.process(),
            self.config.restore_after,
        )
    }

    /// Deletions in progress and recent ones.
    #[track_caller]
    pub(super) fn deletions(&self) -> MutexGuard<'_, Deletions> {
        self.deletions.locked()
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
                "internal error; the log has details".into(),
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
