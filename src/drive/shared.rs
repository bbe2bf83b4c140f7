//! The drive's state, in one place: what is known, what is open, who is told. The operations in
//! `ops` and the fetching in `fresh` are methods of it.
//!
//! Locks guard short pieces of state, are never held across an await, and are taken in no nested
//! order except `known` before `inodes`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::ahead::Ahead;
use super::background::Background;
use super::config::DriveConfig;
use super::error::{DriveError, DriveResult};
use super::failures::{Deed, Failures};
use super::fresh::FlightKey;
use super::fresh::archives::Archives;
use super::fresh::blobs::Blobs;
use super::fresh::flight::Flights;
use super::fresh::maps::FileMaps;
use super::fresh::watch::Watched;
use super::handles::Handles;
use super::kernel::{Correction, Corrections};
use super::ops::cache::Verification;
use super::places::{Deletions, HiddenFile, HiddenName, HiddenParent, Model, Node};
use super::reading::Reading;
use super::status::OrphanStatus;
use super::tree::belief::Belief;
use super::tree::inode::InodeTable;
use super::tree::known::{KnownAsset, KnownEmbed, KnownPreset, KnownRapid, KnownRecord};
use super::tree::listing::Listing;
use super::tree::node::{Family, Home, Top};
use super::tree::sizes::ContentTable;
use super::types::Ino;
use crate::cache::BlockCache;
use crate::client::Client;
use crate::durable::MetaStore;
use crate::outbox::{DraftId, DraftInfo, DraftKind, Outbox, SentRecord};
use crate::wire::{AssetId, RapidId};

/// Everything one drive holds.
pub(super) struct Shared {
    pub(super) config: DriveConfig,
    pub(super) client: Client,
    pub(super) cache: BlockCache,
    pub(super) reading: Reading,
    pub(super) outbox: Outbox,
    pub(super) meta: MetaStore,
    pub(super) runtime: Handle,
    pub(super) background: Background,
    pub(super) opened: SystemTime,
    pub(super) inodes: Mutex<InodeTable<Node>>,
    pub(super) known: Mutex<Known>,
    pub(super) contents: ContentTable,
    pub(super) maps: FileMaps,
    pub(super) archives: Archives,
    pub(super) blobs: Blobs,
    pub(super) handles: Handles,
    pub(super) failures: Failures,
    pub(super) corrections: Arc<Corrections>,
    pub(super) flights: Flights<FlightKey>,
    pub(super) deletions: Mutex<Deletions>,
    pub(super) watched: Watched,
    pub(super) ahead: Ahead,
    pub(super) verification: Verification,
    /// Moves on with each page of a long listing that came in.
    pub(super) pages_arrived: watch::Sender<u64>,
    /// What was copied in and became an asset, both ways.
    pub(super) made: Mutex<HashMap<DraftId, AssetId>>,
    /// The drafts whose asset was brought into the listing.
    pub(super) shown: Mutex<HashSet<DraftId>>,
    /// Why the service could not be reached, while it cannot.
    pub(super) offline: Mutex<Option<String>>,
}

/// What the service told.
pub(super) struct Known {
    pub(super) assets: Listing<KnownAsset>,
    pub(super) rapids: Listing<KnownRapid>,
    pub(super) presets: Listing<KnownPreset>,
    pub(super) factory: Listing<KnownPreset>,
    pub(super) embeds: Listing<KnownEmbed>,
    pub(super) tokens: Listing<KnownRecord>,
    pub(super) webhooks: Listing<KnownRecord>,
    /// Optimizations that run or failed lately.
    pub(super) jobs: Vec<RapidId>,
    pub(super) jobs_belief: Belief,
    /// What queries found, and when.
    pub(super) searches: HashMap<(Family, Arc<str>), (Vec<u64>, Instant)>,
    /// When a top folder last changed, as its mtime.
    pub(super) changed: HashMap<Top, SystemTime>,
    /// The small values of `account/`, with the time they were told.
    pub(super) account: HashMap<super::tree::node::AccountFile, (u64, Option<Instant>)>,
    /// Records for `detail.json` and the like, by what they are.
    pub(super) details: HashMap<FlightKey, (Arc<str>, Instant)>,
    /// Uploads that nobody finished, and when they were looked for.
    pub(super) orphans: Option<Orphans>,
    /// How many presets the outbox had changed when that was last written into the listing.
    pub(super) preset_saves: Option<u64>,
    /// The optimized models of an asset, and when the service told.
    pub(super) rapids_of: HashMap<AssetId, (Vec<RapidId>, Instant)>,
}

/// Uploads that nobody finished.
pub(super) struct Orphans {
    pub(super) found: Vec<OrphanStatus>,
    pub(super) told: Instant,
    /// The lost starts that they were looked for after.
    pub(super) starts: Vec<u64>,
}

/// A source model as it stands now.
pub(super) struct ModelView {
    pub(super) home: Home,
    /// The draft, while its staged copy is kept.
    pub(super) draft: Option<DraftInfo>,
    /// The asset, once the service has accepted it.
    pub(super) asset: Option<AssetId>,
    /// What was copied in, for one that was made here.
    pub(super) sent: Option<Arc<SentRecord>>,
    /// What the service tells of it.
    pub(super) known: Option<KnownAsset>,
}

impl ModelView {
    /// True while it is an ordinary folder that can be written to.
    pub(super) fn is_open(&self) -> bool {
        self.asset.is_none()
    }

    /// True for a model that was copied in as one loose zip.
    pub(super) fn is_zip(&self) -> bool {
        let sent = self.sent.as_ref();
        sent.is_some_and(|sent| {
            sent.kind == DraftKind::LooseFile && sent.name.to_ascii_lowercase().ends_with(".zip")
        })
    }
}

impl Shared {
    pub(super) fn inodes(&self) -> MutexGuard<'_, InodeTable<Node>> {
        self.inodes.lock().expect("no panic while inodes are held")
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("no panic while listings are held")
    }

    pub(super) fn deletions(&self) -> MutexGuard<'_, Deletions> {
        self.deletions
            .lock()
            .expect("no panic while deletions are held")
    }

    /// What a number stands for.
    pub(super) fn node(&self, ino: Ino) -> DriveResult<Node> {
        self.inodes().node(ino).cloned().ok_or(DriveError::NotFound)
    }

    /// Runs work that outlives whoever waits for it.
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

    /// Waits for work with a deadline; `what` is the beginning of the sentence when it passes.
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

    /// Names at the top of `rawmodels/` that belong to drafts.
    pub(super) fn draft_names(&self) -> HashSet<String> {
        self.outbox
            .drafts()
            .into_iter()
            .map(|draft| draft.name)
            .collect()
    }

    /// The asset that a draft became.
    pub(super) fn asset_of_draft(&self, draft: DraftId) -> Option<AssetId> {
        let mut made = self.made.lock().expect("no panic while models are held");
        match self.outbox.asset_of_draft(draft) {
            None => made.get(&draft).copied(),
            Some(Some(asset)) => {
                made.insert(draft, asset);
                Some(asset)
            }
            // It may have been one: a failed import that its owner completes.
            Some(None) => {
                made.remove(&draft);
                None
            }
        }
    }

    /// Where an asset lives in the tree.
    pub(super) fn home_of(&self, asset: AssetId) -> Home {
        match self.outbox.sent_record(asset) {
            Some(record) => {
                let mut made = self.made.lock().expect("no panic while models are held");
                made.insert(record.draft, asset);
                Home::Made(record.draft)
            }
            None => Home::Found(asset),
        }
    }

    /// The asset of a home, once there is one.
    pub(super) fn asset_of(&self, home: Home) -> Option<AssetId> {
        match home {
            Home::Found(asset) => Some(asset),
            Home::Made(draft) => self.asset_of_draft(draft),
        }
    }

    /// A source model as it stands now; none when it is gone.
    pub(super) fn model(&self, home: Home) -> Option<ModelView> {
        let asset = self.asset_of(home);
        let known = asset.and_then(|asset| self.known().assets.row(asset.0).cloned());
        let draft = match home {
            Home::Made(draft) => self.outbox.draft(draft),
            Home::Found(_) => None,
        };
        let sent = asset.and_then(|asset| self.outbox.sent_record(asset));
        let is_there = match home {
            Home::Made(_) => draft.is_some() || sent.is_some(),
            Home::Found(_) => known.is_some(),
        };
        is_there.then_some(ModelView {
            home,
            draft,
            asset,
            sent,
            known,
        })
    }

    /// The name a model is shown under.
    pub(super) fn model_name(&self, home: Home) -> Option<String> {
        if let Some(asset) = self.asset_of(home)
            && let Some(name) = self.known().assets.name(asset.0)
        {
            return Some(name.to_owned());
        }
        match home {
            Home::Made(draft) => self.outbox.draft(draft).map(|draft| draft.name),
            Home::Found(_) => None,
        }
    }

    /// The name an optimized model is shown under.
    pub(super) fn rapid_name(&self, rapid: RapidId) -> Option<String> {
        self.known().rapids.name(rapid.0).map(str::to_owned)
    }

    /// The path of a source model's folder.
    pub(super) fn home_path(&self, home: Home) -> String {
        let name = self.model_name(home);
        format!("/rawmodels/{}", name.unwrap_or_else(|| home.to_string()))
    }

    /// The path of an optimized model's folder.
    pub(super) fn rapid_path(&self, rapid: RapidId) -> String {
        let name = self.rapid_name(rapid);
        format!("/rapidmodels/{}", name.unwrap_or_else(|| rapid.to_string()))
    }

    /// The address of a record, which needs the token; never a signed one.
    pub(super) fn record_url(&self, path: &str) -> String {
        let base = self.client.base_url().as_str();
        format!("{}{path}", base.trim_end_matches('/'))
    }

    /// Why the service could not be reached, while it cannot.
    pub(super) fn offline_reason(&self) -> Option<String> {
        let offline = self.offline.lock();
        let offline = offline.expect("no panic while the state of the line is held");
        offline.clone()
    }

    /// What was kept because the journal did not know of it, as a sentence.
    pub(super) fn recovered_sentence(&self) -> Option<String> {
        let recovered = self.recovered_status();
        let found = recovered.first()?;
        Some(format!(
            "{}, so {} files that were copied in are kept in {}; `assetfs recover` lists them and takes them back",
            found.reason, found.files, found.folder
        ))
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

    /// Tells the kernel that a name in a folder changed, if it can know the folder.
    pub(super) fn tell_entry(&self, parent: impl Into<Node>, name: &str) {
        let parent = self.inodes().held(&parent.into());
        if let Some(parent) = parent {
            self.corrections
                .tell(Correction::Entry(parent, name.into()));
        }
    }

    /// Tells the kernel that a thing looks otherwise, if it knows it.
    pub(super) fn tell_attributes(&self, node: impl Into<Node>) {
        let ino = self.inodes().held(&node.into());
        if let Some(ino) = ino {
            self.corrections.tell(Correction::Attributes(ino));
        }
    }

    /// Tells the kernel that a model's folder and its status look otherwise.
    pub(super) fn tell_model(&self, model: Model) {
        let status = HiddenFile(HiddenParent::Model(model), HiddenName::Status);
        self.tell_attributes(model.folder());
        self.tell_attributes(status);
    }

    /// Tells the kernel that pages of a thing are no longer true; of one that is open only that it
    /// looks otherwise, because the kernel may hold its pages while it waits for us.
    pub(super) fn tell_content(&self, node: impl Into<Node>) {
        let ino = self.inodes().held(&node.into());
        if let Some(ino) = ino {
            let is_open = self.handles.file_of(ino).is_some();
            self.corrections.tell(if is_open {
                Correction::Attributes(ino)
            } else {
                Correction::Content(ino)
            });
        }
    }

    /// Tells the kernel that a thing is gone from its folder.
    pub(super) fn tell_removed(&self, parent: impl Into<Node>, child: impl Into<Node>, name: &str) {
        let (parent, child) = (parent.into(), child.into());
        let (parent, child) = {
            let inodes = self.inodes();
            (inodes.held(&parent), inodes.held(&child))
        };
        match (parent, child) {
            (Some(parent), Some(child)) => {
                self.corrections
                    .tell(Correction::Removed(parent, child, name.into()));
            }
            (Some(parent), None) => self
                .corrections
                .tell(Correction::Entry(parent, name.into())),
            (None, _) => {}
        }
    }
}
