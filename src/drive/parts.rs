//! The parts of one drive, as places and operations see them.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;

use super::ahead::Ahead;
use super::background::Background;
use super::catalog::Catalog;
use super::config::DriveConfig;
use super::error::{DriveError, DriveResult};
use super::failures::{Deed, Failures};
use super::handles::Handles;
use super::inodes::Inodes;
use super::places::{Deletions, Node, Root, Verification, tell};
use super::posix::Ino;
use super::traffic::Traffic;
use crate::cache::BlockCache;
use crate::client::Client;
use crate::durable::MetaStore;
use crate::outbox::Outbox;

/// Everything one drive holds.
pub(super) struct Tree {
    pub(super) config: DriveConfig,
    pub(super) catalog: Arc<Catalog>,
    pub(super) inodes: Arc<Inodes<Node>>,
    pub(super) handles: Arc<Handles>,
    pub(super) failures: Arc<Failures>,
    pub(super) outbox: Outbox,
    pub(super) client: Client,
    pub(super) cache: BlockCache,
    pub(super) meta: MetaStore,
    pub(super) runtime: Handle,
    pub(super) background: Background,
    pub(super) opened: SystemTime,
    pub(super) ahead: Ahead,
    pub(super) traffic: Traffic,
    pub(super) verification: Verification,
    deletions: Mutex<Deletions>,
}

impl Tree {
    pub(super) fn new(
        config: DriveConfig,
        client: Client,
        cache: BlockCache,
        outbox: Outbox,
        meta: MetaStore,
    ) -> Tree {
        let runtime = Handle::current();
        let background = Background::new(runtime.clone());
        let inodes = Arc::new(Inodes::new(Node::from(Root)));
        let (handles, failures) = (Arc::<Handles>::default(), Arc::<Failures>::default());
        let on_change = {
            let (inodes, handles) = (Arc::clone(&inodes), Arc::clone(&handles));
            Box::new(move |change| tell(&inodes, &handles, change))
        };
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
            inodes,
            handles,
            failures,
            outbox,
            client,
            cache,
            meta,
            runtime,
            background,
            opened: SystemTime::now(),
            ahead: Ahead::new(),
            traffic: Traffic::default(),
            verification: Verification::default(),
            deletions: Mutex::default(),
        }
    }

    /// What is being deleted, or was lately.
    pub(super) fn deletions(&self) -> MutexGuard<'_, Deletions> {
        self.deletions
            .lock()
            .expect("no panic while deletions are held")
    }

    /// Runs work that outlives whoever waits for it.
    pub(in crate::drive) async fn detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = DriveResult<T>> + Send + 'static,
    ) -> DriveResult<T> {
        self.runtime.spawn(work).await.unwrap_or_else(|_| {
            Err(DriveError::Local(
                "the drive failed inside; the log has more".into(),
            ))
        })
    }

    /// Waits for work with a deadline; `what` is the beginning of the sentence when it passes.
    pub(in crate::drive) async fn within<T>(
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

    /// What a number stands for.
    pub(super) fn node(&self, ino: Ino) -> DriveResult<Node> {
        self.inodes.node(ino).ok_or(DriveError::NotFound)
    }

    /// The address of a record, which needs the token; never a signed one.
    pub(super) fn record_url(&self, path: &str) -> String {
        let base = self.client.base_url().as_str();
        format!("{}{path}", base.trim_end_matches('/'))
    }

    /// Keeps the sentence of a failure for its path, or ends an earlier one, and hands the result on.
    pub(super) fn noted<T>(
        &self,
        ino: Ino,
        name: Option<&str>,
        deed: Deed,
        result: DriveResult<T>,
    ) -> DriveResult<T> {
        match &result {
            Err(error) if error.is_worth_a_sentence() => {
                if let Ok(node) = self.node(ino) {
                    self.note_failure(&node, name, deed, &error.to_string());
                }
            }
            Ok(_) if !self.failures.is_empty() => {
                if let Ok(node) = self.node(ino) {
                    self.failures.succeeded(&self.path_at(&node, name), deed);
                }
            }
            _ => {}
        }
        result
    }

    /// The path of a thing, or of a name in a folder, from the top of the drive.
    fn path_at(&self, node: &Node, name: Option<&str>) -> String {
        let path = node.path(self);
        match name {
            Some(name) => format!("{}/{name}", path.trim_end_matches('/')),
            None => path,
        }
    }

    /// Keeps the sentence of a failure for a thing, or for a name in a folder.
    pub(super) fn note_failure(&self, node: &Node, name: Option<&str>, deed: Deed, why: &str) {
        let path = self.path_at(node, name);
        tracing::debug!(path, why, "an operation failed");
        self.failures.note(&path, deed, why);
    }
}
