//! The trait of all places, and its answers.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;

use super::attributes::{file, folder, link, made_by};
use super::node::{Node, Row};
use super::refusals;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::{Attributes, FileKind, OpenFlags};
use crate::drive::tree::Tree;
use crate::drive::values::local::{DropFolder, ErrorParent, HiddenParent, JobEntry, TextTarget};
use crate::drive::values::names::shown_path;
use crate::drive::values::node::{Home, ListingKind, Model, RemoteFolder};
use crate::outbox::{DraftId, EntryId, ItemStatus, Maker};
use crate::wire::{AssetId, EmbedId};

/// A text that the drive makes, with its modification time.
#[derive(Debug, Clone)]
pub struct Text {
    pub bytes: Bytes,
    pub modified: SystemTime,
}

impl Text {
    pub(super) fn new(text: impl Into<String>, modified: SystemTime) -> Text {
        Text {
            bytes: Bytes::from(text.into()),
            modified,
        }
    }

    pub(super) fn line(text: &str, modified: SystemTime) -> Text {
        Text::new(format!("{text}\n"), modified)
    }
}

/// How long the kernel may cache a name and its attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// For a few milliseconds, so that consecutive system calls, such as those of `ls -l`, share an answer.
    Brief,
    /// Not at all: it may change at any time.
    None,
}

/// What can be created in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// Drafts, as folders and loose files.
    Drafts,
    /// Files and folders of a draft.
    Entries(DraftId, EntryId),
    /// Texts of jobs.
    Jobs(DropFolder),
    /// Presets.
    Presets,
}

/// Where the bytes of a file come from.
#[derive(Debug, Clone)]
pub enum Contents {
    /// An entry that was copied in, staged or sent.
    Entry(DraftId, EntryId),
    /// A file of the service.
    Remote(RemoteFolder, Arc<str>),
    /// A file inside the zip that an asset was uploaded as.
    Member(AssetId, Arc<str>),
    /// A file inside the zip that is all of a draft.
    StagedMember(DraftId, Arc<str>),
    /// All files of an asset as one zip.
    SourceZip(Home),
    /// A `ctl` file.
    Control(HiddenParent),
    /// The stream of change events.
    Events,
    /// A text that is sent at close.
    Editable(TextTarget),
    /// [`Place::text`], as it is at open.
    Snapshot,
    Folder,
}

/// What removing a node does.
#[derive(Debug, Clone)]
pub enum Removal {
    /// Deletes the model, or its draft.
    Model(Model),
    /// Removes the entry of a draft; hides that of an asset.
    Entry(DraftId),
    Job(DropFolder, Arc<str>),
    /// Forgets a part that a removed job left; hides any other.
    JobPart(JobEntry),
    /// Hides the text until something else fails.
    ErrorText(ErrorParent),
    Preset,
    Embed(EmbedId),
    /// Hides the part of a model until the model is deleted, or for a while.
    Part,
    /// Nothing: it is gone already.
    Vanished,
    /// Never.
    Refused,
}

/// What changing the attributes of a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeRule {
    /// Stored while it is a draft.
    Entry(DraftId, EntryId),
    /// The length is changed, all else is accepted without effect.
    Text,
    /// All but a length is accepted without effect.
    Accepted,
    /// Everything is accepted without effect.
    Ignored,
    /// Refused: it belongs to a model.
    Frozen,
    /// Refused: the service makes it.
    Refused,
}

/// One kind of path. Methods without a default must be implemented by every kind; the defaults fit most kinds.
/// An answer that needs no request completes at the first poll.
#[async_trait]
pub trait Place: Send + Sync {
    /// The text that the inode number is computed from. It is durable: it never changes for a path, and other
    /// content needs another identity.
    fn identity(&self) -> String;

    /// Folder, file or link; `None` if only the outbox knows.
    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Folder)
    }

    /// The path from the root of the drive, starting with `/`, for messages. A node that is gone keeps its last
    /// known path.
    fn path(&self, tree: &Tree) -> String;

    /// Another path under which it can be found and operations on it may have failed.
    fn other_path(&self, _tree: &Tree) -> Option<String> {
        None
    }

    /// How long the kernel may cache it.
    fn lifetime(&self) -> Lifetime {
        Lifetime::Brief
    }

    /// The modification time of a folder or a link.
    fn modified(&self, tree: &Tree) -> SystemTime {
        tree.opened()
    }

    /// The attributes without the inode number.
    async fn attributes(&self, tree: &Arc<Tree>) -> DriveResult<Attributes> {
        Ok(match self.kind() {
            Some(FileKind::Link) => link(tree, &self.target(tree).await?, self.modified(tree)),
            Some(FileKind::File) => {
                let Text { bytes, modified } = self.text(tree).await?;
                made_by(self.maker(tree), file(tree, bytes.len() as u64, modified))
            }
            Some(FileKind::Folder) | None => folder(tree, self.modified(tree)),
        })
    }

    /// The user whom it belongs to, if not to the owner of the drive.
    fn maker(&self, _tree: &Tree) -> Option<Maker> {
        None
    }

    /// All rows of a folder in their order; an error if it is not known which those are.
    async fn rows(&self, _tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        Err(DriveError::NotAFolder)
    }

    /// The rows that are known without a request, perhaps not all: shown before an error of [`Place::rows`], because a draft is
    /// there even if nothing is known of the service.
    fn known_rows(&self, _tree: &Tree) -> Vec<Row> {
        Vec::new()
    }

    /// The node of a name in a folder.
    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        let rows = self.rows(tree).await?;
        let row = rows.into_iter().find(|row| row.name == name);
        row.map(|row| row.node).ok_or(DriveError::NotFound)
    }

    /// The text of a file that the drive makes.
    async fn text(&self, _tree: &Arc<Tree>) -> DriveResult<Text> {
        Err(DriveError::IsAFolder)
    }

    /// The target of a link: relative, and inside the drive.
    async fn target(&self, _tree: &Arc<Tree>) -> DriveResult<String> {
        Err(DriveError::Invalid("this is not a link".into()))
    }

    /// The failure or delay of background work.
    fn failure(&self, _tree: &Tree) -> Option<String> {
        None
    }

    /// The parent of the `.assetfs` folder in it.
    fn hidden_parent(&self) -> Option<HiddenParent> {
        None
    }

    fn model_folder(&self) -> Option<Model> {
        None
    }

    /// The model whose state it shows, which is polled while someone looks at it.
    fn shown_model(&self, _: &Tree) -> Option<Model> {
        self.model_folder()
    }

    /// The model that it is a part of.
    fn owner(&self, _tree: &Tree) -> Option<Model> {
        None
    }

    /// The entry of a draft that it shows, also after the draft became an asset.
    fn draft_entry(&self) -> Option<(DraftId, EntryId)> {
        None
    }

    /// The service folder whose files it shows.
    fn service_folder(&self) -> Option<RemoteFolder> {
        None
    }

    /// The service file that it shows.
    fn service_file(&self) -> Option<(RemoteFolder, Arc<str>)> {
        None
    }

    /// The name of a preset that is stored in the outbox.
    fn held_preset(&self) -> Option<String> {
        None
    }

    /// The long listing that it shows.
    fn listing(&self) -> Option<ListingKind> {
        None
    }

    /// What can be created in it.
    fn container(&self) -> Option<Container> {
        None
    }

    /// Refuses to create anything in it.
    fn check_may_make(&self, tree: &Tree) -> DriveResult<()> {
        match self.container() {
            Some(_) => Ok(()),
            None => Err(refusals::no_place(&self.path(tree))),
        }
    }

    fn contents(&self, _tree: &Tree) -> DriveResult<Contents> {
        Ok(match self.kind() {
            Some(FileKind::Folder) => Contents::Folder,
            _ => Contents::Snapshot,
        })
    }

    /// Refuses to open it for writing.
    fn check_writable(&self, tree: &Tree, _flags: OpenFlags) -> DriveResult<()> {
        Err(refusals::made_by_service(&self.path(tree)))
    }

    /// Refuses to rename it.
    fn check_movable(&self, tree: &Tree) -> DriveResult<()> {
        Err(refusals::no_rename(&self.path(tree)))
    }

    fn removal(&self) -> Removal {
        Removal::Refused
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Refused
    }

    /// The prefix of its files in the block cache.
    fn cache_name(&self, tree: &Tree) -> DriveResult<String> {
        Err(DriveError::Invalid(format!(
            "{} is made by the drive itself and is not cached",
            shown_path(&self.path(tree))
        )))
    }

    /// The id that the service gave the item, for the attributes.
    fn id(&self, _tree: &Tree) -> Option<String> {
        None
    }

    /// The URL of its record in the API, or its URL on the web: `user.assetfs.url`.
    fn url(&self, _tree: &Tree) -> Option<String> {
        None
    }

    /// True if [`Place::status`] has an answer.
    fn has_status(&self, _tree: &Tree) -> bool {
        false
    }

    /// The extended attributes of its state: `user.assetfs.state`, `.status` and `.progress`.
    async fn status(&self, _tree: &Arc<Tree>) -> DriveResult<Option<ItemStatus>> {
        Ok(None)
    }

    /// The lowest mean similarity of a result's exports, 0 to 100: `user.assetfs.similarity`.
    async fn similarity(&self, _tree: &Arc<Tree>) -> DriveResult<Option<f64>> {
        Ok(None)
    }

    /// The description of a preset, for the attributes.
    fn description(&self, _tree: &Tree) -> Option<String> {
        None
    }

    /// The version of a preset's format: `user.assetfs.rpdx_version`.
    fn rpdx_version(&self, _tree: &Tree) -> Option<String> {
        None
    }
}
