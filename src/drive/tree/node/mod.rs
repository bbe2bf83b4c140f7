//! Everything that a path of the drive can be, as plain values.
//!
//! A node says *what* a thing is, never where it is shown: names come from the claims and from the
//! drafts, so a node stays itself when it is renamed. Its [`Node::identity`] is the text that its
//! inode number is made from; what has other content has another identity.

mod folders;
mod hidden;

pub use folders::{Family, RemoteFolder, Subject};
pub use hidden::{HiddenFile, Place};

use std::fmt;
use std::sync::Arc;

use crate::drive::types::FileKind;
use crate::outbox::{DraftId, EntryId};
use crate::wire::{AssetId, EmbedId, PresetId, RapidId, TokenId, WebhookId};

/// A source model: made here, or found on the service. One that was made here stays so for ever,
/// so that its folder and its files keep their inodes when it becomes an asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// Copied in through this drive.
    Made(DraftId),
    /// Seen in the service's listing.
    Found(AssetId),
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Home::Made(draft) => write!(f, "made/{draft}"),
            Home::Found(asset) => write!(f, "found/{asset}"),
        }
    }
}

/// The folders at the top, and those below `presets/` and `account/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Top {
    /// `rawmodels/`.
    RawModels,
    /// `rapidmodels/`.
    RapidModels,
    /// `presets/`.
    Presets,
    /// `presets/factory/`.
    FactoryPresets,
    /// `embeds/`.
    Embeds,
    /// `jobs/`.
    Jobs,
    /// `account/`.
    Account,
    /// `account/tokens/`.
    Tokens,
    /// `account/webhooks/`.
    Webhooks,
}

impl Top {
    /// The folders in `/`, in the order in which they are listed.
    pub const IN_ROOT: [Top; 6] = [
        Top::RawModels,
        Top::RapidModels,
        Top::Presets,
        Top::Embeds,
        Top::Jobs,
        Top::Account,
    ];

    /// The folder's name.
    pub fn name(self) -> &'static str {
        match self {
            Top::RawModels => "rawmodels",
            Top::RapidModels => "rapidmodels",
            Top::Presets => "presets",
            Top::FactoryPresets => "factory",
            Top::Embeds => "embeds",
            Top::Jobs => "jobs",
            Top::Account => "account",
            Top::Tokens => "tokens",
            Top::Webhooks => "webhooks",
        }
    }
}

/// A drop folder: what is copied into it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropFolder {
    /// `optimize/` of an asset.
    Optimize(AssetId),
    /// `embeds/` of an asset.
    AssetEmbeds(AssetId),
    /// `embeds/` of a rapid model.
    RapidEmbeds(RapidId),
    /// `jobs/`.
    Jobs,
}

impl DropFolder {
    /// The folder's own name.
    pub fn name(self) -> &'static str {
        match self {
            DropFolder::Optimize(_) => "optimize",
            DropFolder::AssetEmbeds(_) | DropFolder::RapidEmbeds(_) => "embeds",
            DropFolder::Jobs => "jobs",
        }
    }

    /// The model it belongs to.
    pub fn subject(self) -> Option<Subject> {
        match self {
            DropFolder::Optimize(asset) | DropFolder::AssetEmbeds(asset) => {
                Some(Subject::Asset(asset))
            }
            DropFolder::RapidEmbeds(rapid) => Some(Subject::Rapid(rapid)),
            DropFolder::Jobs => None,
        }
    }

    /// The folder as a thing of the tree.
    pub fn node(self) -> Node {
        match self {
            DropFolder::Jobs => Node::Top(Top::Jobs),
            folder => Node::Drop(folder),
        }
    }
}

/// The text is part of inode numbers; that of `optimize/` is as old as the drive.
impl fmt::Display for DropFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DropFolder::Optimize(asset) => write!(f, "{asset}"),
            DropFolder::AssetEmbeds(asset) => write!(f, "embeds/raw/{asset}"),
            DropFolder::RapidEmbeds(rapid) => write!(f, "embeds/rapid/{rapid}"),
            DropFolder::Jobs => f.write_str("jobs"),
        }
    }
}

/// The two forms in which presets can be taken along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bundle {
    /// `bundle/`: both forms.
    Both,
    /// `cli/`: the form of the command line.
    CommandLine,
}

impl Bundle {
    /// The folder's name.
    pub fn name(self) -> &'static str {
        match self {
            Bundle::Both => "bundle",
            Bundle::CommandLine => "cli",
        }
    }
}

/// The files of `account/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccountFile {
    /// `points`.
    Points,
    /// `storage_left`.
    StorageLeft,
}

impl AccountFile {
    /// All of them.
    pub const ALL: [AccountFile; 2] = [AccountFile::Points, AccountFile::StorageLeft];

    /// The file's name.
    pub fn name(self) -> &'static str {
        match self {
            AccountFile::Points => "points",
            AccountFile::StorageLeft => "storage_left",
        }
    }
}

/// The three things that one job shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobPart {
    /// `web.json`: the text.
    Text,
    /// `web.status`: one line.
    Status,
    /// `web`: a link to the rapid model.
    Result,
}

/// Where an `ERROR.txt` stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorPlace {
    /// The folder of a source model.
    Model(Home),
    /// A drop folder.
    Drop(DropFolder),
    /// `rawmodels/`: loose files that were not sent.
    RawModels,
    /// The folder of an optimized model.
    Rapid(RapidId),
}

impl fmt::Display for ErrorPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorPlace::Model(home) => write!(f, "model/{home}"),
            ErrorPlace::Drop(folder) => write!(f, "optimize/{folder}"),
            ErrorPlace::RawModels => f.write_str("rawmodels"),
            ErrorPlace::Rapid(rapid) => write!(f, "rapid/{rapid}"),
        }
    }
}

/// One thing of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Node {
    /// `/`.
    Root,
    /// A top folder.
    Top(Top),
    /// A hidden `.assetfs` folder.
    Hidden(Place),
    /// A file of a hidden folder.
    HiddenFile(Place, HiddenFile),
    /// `.assetfs/by-id/` of a family.
    ById(Family),
    /// A link in it.
    ByIdLink(Family, u64),
    /// `.assetfs/search/` of a family.
    Search(Family),
    /// What a query finds.
    Found(Family, Arc<str>),
    /// A link in it.
    FoundLink(Family, Arc<str>, u64),
    /// `rapidmodels/NAME/.assetfs/source`.
    SourceLink(RapidId),
    /// A folder of `presets/.assetfs/`.
    Bundles(Bundle),
    /// A zip in it, with a checksum of the preset's text.
    BundleFile(Bundle, PresetId, u64),
    /// The folder of a source model.
    Model(Home),
    /// A file or folder that was copied in, in a draft and ever after. Its number is its own, so
    /// it stays itself when it moves to another draft.
    Entry(DraftId, EntryId),
    /// A service folder that is a map of files.
    RemoteFolder(RemoteFolder),
    /// A folder inside such a map.
    RemoteSubfolder(RemoteFolder, Arc<str>),
    /// A file of such a map; the number counts its contents.
    RemoteFile(RemoteFolder, Arc<str>, u32),
    /// The drop folder of a model.
    Drop(DropFolder),
    /// Something that a job shows, by the name of its text.
    Job(DropFolder, Arc<str>, JobPart),
    /// `rapidmodels/` of an asset.
    RapidLinks(AssetId),
    /// A link in it.
    RapidLink(AssetId, RapidId),
    /// A link of `jobs/`.
    JobLink(RapidId),
    /// The folder of an optimized model.
    Rapid(RapidId),
    /// `ERROR.txt`.
    ErrorText(ErrorPlace),
    /// A preset of the user, with a checksum of its text.
    Preset(PresetId, u64),
    /// A file of `presets/` that is held here, by name.
    PresetFile(Arc<str>),
    /// A factory preset, with a checksum of its text.
    FactoryPreset(PresetId, u64),
    /// A file of `account/`.
    Account(AccountFile),
    /// A file of `account/tokens/`.
    Token(TokenId),
    /// A file of `account/webhooks/`.
    Webhook(WebhookId),
    /// `embeds/NAME.html`.
    Embed(EmbedId),
    /// `embeds/.assetfs/NAME.json`.
    EmbedRecord(EmbedId),
}

impl Node {
    /// Folder, file or link; `None` where only the outbox can tell.
    pub fn kind(&self) -> Option<FileKind> {
        Some(match self {
            Node::Root
            | Node::Top(_)
            | Node::Hidden(_)
            | Node::ById(_)
            | Node::Search(_)
            | Node::Found(..)
            | Node::Bundles(_)
            | Node::Model(_)
            | Node::RemoteFolder(_)
            | Node::RemoteSubfolder(..)
            | Node::Drop(_)
            | Node::RapidLinks(_)
            | Node::Rapid(_) => FileKind::Folder,
            Node::ByIdLink(..)
            | Node::FoundLink(..)
            | Node::SourceLink(_)
            | Node::RapidLink(..)
            | Node::JobLink(_)
            | Node::Job(_, _, JobPart::Result) => FileKind::Link,
            Node::HiddenFile(..)
            | Node::RemoteFile(..)
            | Node::Job(..)
            | Node::ErrorText(_)
            | Node::Preset(..)
            | Node::PresetFile(_)
            | Node::FactoryPreset(..)
            | Node::BundleFile(..)
            | Node::Account(_)
            | Node::Token(_)
            | Node::Webhook(_)
            | Node::Embed(_)
            | Node::EmbedRecord(_) => FileKind::File,
            Node::Entry(..) => return None,
        })
    }

    /// True for the same thing; an entry is itself in whatever draft it is now.
    pub fn is_same(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::Entry(_, a), Node::Entry(_, b)) => a == b,
            _ => self == other,
        }
    }

    /// The text that the inode number is made from.
    pub fn identity(&self) -> String {
        match self {
            Node::Root => "/".to_owned(),
            Node::Top(top) => format!("top/{}", top.name()),
            Node::Hidden(place) => format!("hidden/{place}"),
            Node::HiddenFile(place, file) => format!("hidden/{place}/{}", file.name()),
            Node::ById(family) => format!("by-id/{}", family.top().name()),
            Node::ByIdLink(family, id) => format!("by-id/{}/{id}", family.top().name()),
            Node::SourceLink(rapid) => format!("source/{rapid}"),
            Node::Model(home) => format!("model/{home}"),
            Node::Entry(_, entry) => format!("entry/{entry}"),
            Node::RemoteFolder(folder) => format!("remote/{folder}"),
            Node::RemoteSubfolder(folder, path) => format!("remote/{folder}/folder/{path}"),
            Node::RemoteFile(folder, path, content) => {
                format!("remote/{folder}/{content}/{path}")
            }
            Node::Search(family) => format!("search/{}", family.top().name()),
            Node::Found(family, query) => format!("search/{}/{query}", family.top().name()),
            Node::FoundLink(family, query, id) => {
                format!("found/{}/{id}/{query}", family.top().name())
            }
            Node::Bundles(bundle) => format!("bundles/{}", bundle.name()),
            Node::BundleFile(bundle, preset, text) => {
                format!("bundles/{}/{preset}/{text:x}", bundle.name())
            }
            Node::Drop(DropFolder::Optimize(asset)) => format!("asset/{asset}/optimize"),
            Node::Drop(folder) => format!("drop/{folder}"),
            Node::Job(folder, name, part) => format!("job/{folder}/{part:?}/{name}"),
            Node::RapidLinks(asset) => format!("asset/{asset}/rapidmodels"),
            Node::RapidLink(asset, rapid) => format!("link/{asset}/{rapid}"),
            Node::JobLink(rapid) => format!("job-link/{rapid}"),
            Node::Rapid(rapid) => format!("rapid/{rapid}"),
            Node::ErrorText(place) => format!("error/{place}"),
            Node::Preset(preset, text) => format!("preset/{preset}/{text:x}"),
            Node::PresetFile(name) => format!("preset-file/{name}"),
            Node::FactoryPreset(preset, text) => format!("factory/{preset}/{text:x}"),
            Node::Account(file) => format!("account/{}", file.name()),
            Node::Token(token) => format!("account/tokens/{token}"),
            Node::Webhook(webhook) => format!("account/webhooks/{webhook}"),
            Node::Embed(embed) => format!("embed/{embed}"),
            Node::EmbedRecord(embed) => format!("embed-record/{embed}"),
        }
    }
}
