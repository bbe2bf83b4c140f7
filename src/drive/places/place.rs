//! The questions that every place answers.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::future::BoxFuture;

use super::attributes::{file, folder, link};
use super::node::{Node, Row};
use super::refusals;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::{Attributes, FileKind, OpenFlags};
use crate::drive::tree::Tree;
use crate::drive::values::local::{DropFolder, ErrorParent, HiddenParent, JobEntry, TextTarget};
use crate::drive::values::node::{Home, ListingKind, Model, RemoteFolder};
use crate::outbox::ItemStatus;
use crate::outbox::{DraftId, EntryId};
use crate::wire::{AssetId, EmbedId};

/// An answer that may have to be fetched. Its first poll completes when nothing has to be.
pub(in crate::drive) type Answer<'a, T> = BoxFuture<'a, DriveResult<T>>;

/// A text that the drive writes itself, and when it came to be.
#[derive(Debug, Clone)]
pub(in crate::drive) struct Text {
    pub(in crate::drive) bytes: Bytes,
    pub(in crate::drive) modified: SystemTime,
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

/// How long the kernel may believe a name and its attributes without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drive) enum Lifetime {
    /// Only this mount changes it.
    Own,
    /// Only this mount changes it, until it becomes an asset.
    Draft,
    /// As long as a listing.
    Listing,
    /// Changes at any time, or is not there until something happens.
    None,
}

/// What can be made in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drive) enum Container {
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
pub(in crate::drive) enum Contents {
    /// Copied in: staged here, or sent.
    Entry(DraftId, EntryId),
    /// A file of the service.
    Remote(RemoteFolder, Arc<str>),
    /// A file inside the zip that an asset was uploaded as.
    Member(AssetId, Arc<str>),
    /// A file inside the zip that is all of a draft.
    StagedMember(DraftId, Arc<str>),
    /// All files of an asset as one zip.
    SourceZip(Home),
    /// A file that takes commands.
    Control(HiddenParent),
    /// A text that goes out when it is closed.
    Editable(TextTarget),
    /// [`Place::text`], as it is at open.
    Snapshot,
    /// None: it is a folder.
    Folder,
}

/// What removing a thing does.
#[derive(Debug, Clone)]
pub(in crate::drive) enum Removal {
    /// Deletes the model, or its draft.
    Model(Model),
    /// Removes it from its draft; hides it in an asset.
    Entry(DraftId, EntryId),
    /// Removes the job.
    Job(DropFolder, Arc<str>),
    /// Forgets what a removed job left; else hides it.
    JobPart(JobEntry),
    /// The text comes back when something else fails.
    ErrorText(ErrorParent),
    /// Removes the preset.
    Preset,
    /// Deletes the embed.
    Embed(EmbedId),
    /// Hides a part of a model until the whole is deleted, or for a while.
    Part,
    /// Never.
    Refused,
}

/// What changing the attributes of a thing does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drive) enum AttributeRule {
    /// Kept while it is a draft.
    Entry(DraftId, EntryId),
    /// The length matters, all else is accepted and not kept.
    Text,
    /// All but a length is accepted and not kept.
    Accepted,
    /// Everything is accepted and not kept.
    Ignored,
    /// Refused: it belongs to an asset.
    Frozen,
    /// Refused: the service makes it.
    Refused,
}

/// One kind of path. Methods without a body are what every kind has to say; the others have the answer
/// of most kinds.
pub(in crate::drive) trait Place: Send + Sync {
    /// The text that the inode number is made from: durable, so it never changes. What has other
    /// content has another identity.
    fn identity(&self) -> String;

    /// Folder, file or link; `None` where only the outbox can tell.
    fn kind(&self) -> Option<FileKind>;

    /// The path from the top of the drive, beginning with `/`, for sentences. Best effort: a thing that
    /// is gone keeps a path that says what it was.
    fn path(&self, tree: &Tree) -> String;

    /// For how long the kernel may believe it.
    fn lifetime(&self) -> Lifetime;

    /// The time of a folder.
    fn modified(&self, tree: &Tree) -> SystemTime {
        tree.opened
    }

    /// What `stat` shows; the number is left to the caller.
    fn attributes<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Attributes> {
        Box::pin(async move {
            Ok(match self.kind() {
                Some(FileKind::Link) => link(tree, &self.target(tree).await?, tree.opened),
                Some(FileKind::File) => {
                    let Text { bytes, modified } = self.text(tree).await?;
                    file(tree, bytes.len() as u64, modified)
                }
                Some(FileKind::Folder) | None => folder(tree, self.modified(tree)),
            })
        })
    }

    /// The rows of a folder, in the order in which they are listed.
    fn rows<'a>(&'a self, _tree: &'a Arc<Tree>) -> Answer<'a, Vec<Row>> {
        Box::pin(async { Err(DriveError::NotAFolder) })
    }

    /// What a name in a folder stands for.
    fn child<'a>(&'a self, tree: &'a Arc<Tree>, name: &'a str) -> Answer<'a, Node> {
        Box::pin(async move {
            let rows = self.rows(tree).await?;
            let row = rows.into_iter().find(|row| row.name == name);
            row.map(|row| row.node).ok_or(DriveError::NotFound)
        })
    }

    /// The text of a file that the drive writes itself.
    fn text<'a>(&'a self, _tree: &'a Arc<Tree>) -> Answer<'a, Text> {
        Box::pin(async { Err(DriveError::IsAFolder) })
    }

    /// Where a link points: relative, and inside the drive.
    fn target<'a>(&'a self, _tree: &'a Arc<Tree>) -> Answer<'a, String> {
        Box::pin(async { Err(DriveError::Invalid("this is not a link".into())) })
    }

    /// What failed, or is held back, whoever asked for it.
    fn failure(&self, _tree: &Tree) -> Option<String> {
        None
    }

    /// The place whose `.assetfs` folder it holds.
    fn hidden_parent(&self) -> Option<HiddenParent> {
        None
    }

    /// The model whose folder it is.
    fn model_folder(&self) -> Option<Model> {
        None
    }

    /// The model whose state it shows: whoever looks at it wants to know how that goes on.
    fn shown_model(&self, _: &Tree) -> Option<Model> {
        self.model_folder()
    }

    /// The model that it is a part of, and goes with.
    fn owner(&self, _tree: &Tree) -> Option<Model> {
        None
    }

    /// The entry of a draft that it is, also after the draft became an asset.
    fn draft_entry(&self) -> Option<(DraftId, EntryId)> {
        None
    }

    /// The folder of the service whose files it shows.
    fn service_folder(&self) -> Option<RemoteFolder> {
        None
    }

    /// The file of the service that it is.
    fn service_file(&self) -> Option<(RemoteFolder, Arc<str>)> {
        None
    }

    /// The name of a preset that is held here.
    fn held_preset(&self) -> Option<String> {
        None
    }

    /// The long listing that it shows.
    fn listing(&self) -> Option<ListingKind> {
        None
    }

    /// What can be made in it.
    fn container(&self) -> Option<Container> {
        None
    }

    /// Refuses to make anything in it, with a sentence.
    fn check_may_make(&self, tree: &Tree) -> DriveResult<()> {
        match self.container() {
            Some(_) => Ok(()),
            None => Err(refusals::no_place(&self.path(tree))),
        }
    }

    /// Where its bytes come from.
    fn contents(&self, _tree: &Tree) -> DriveResult<Contents> {
        Ok(match self.kind() {
            Some(FileKind::Folder) => Contents::Folder,
            _ => Contents::Snapshot,
        })
    }

    /// Refuses to open it for writing where that cannot be, with a sentence.
    fn check_writable(&self, tree: &Tree, _flags: OpenFlags) -> DriveResult<()> {
        Err(refusals::made_by_service(&self.path(tree)))
    }

    /// Refuses to move it, with a sentence.
    fn check_movable(&self, tree: &Tree) -> DriveResult<()> {
        Err(refusals::no_rename(&self.path(tree)))
    }

    /// What removing it does.
    fn removal(&self) -> Removal {
        Removal::Refused
    }

    /// What changing its attributes does.
    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Refused
    }

    /// Under which name the block cache has it.
    fn cache_name(&self, tree: &Tree) -> DriveResult<String> {
        Err(DriveError::Invalid(format!(
            "{} is made by the drive itself; there is nothing to keep",
            self.path(tree).trim_start_matches('/')
        )))
    }

    /// The service's number: `user.assetfs.id`.
    fn id(&self, _tree: &Tree) -> Option<String> {
        None
    }

    /// The path of its record in the API, or its address on the web: `user.assetfs.url`.
    fn url(&self, _tree: &Tree) -> Option<String> {
        None
    }

    /// True where [`Place::status`] has an answer.
    fn has_status(&self, _tree: &Tree) -> bool {
        false
    }

    /// How far it is: `user.assetfs.state`, `.status` and `.progress`.
    fn status<'a>(&'a self, _tree: &'a Arc<Tree>) -> Answer<'a, Option<ItemStatus>> {
        Box::pin(async { Ok(None) })
    }

    /// What a preset is for: `user.assetfs.description`.
    fn description(&self, _tree: &Tree) -> Option<String> {
        None
    }

    /// The version of a preset's format: `user.assetfs.rpdx_version`.
    fn rpdx_version(&self, _tree: &Tree) -> Option<String> {
        None
    }
}
