//! Everything that a path of the drive can be, as plain values.
//!
//! A node says *what* a thing is, never where it is shown: names come from the claims and from the
//! drafts, so a node stays itself when it is renamed. Its [`Node::identity`] is the text that its
//! inode number is made from; what has other content has another identity.

use std::fmt;
use std::sync::Arc;

use crate::drive::types::FileKind;
use crate::outbox::{DraftId, EntryId};
use crate::wire::{AssetId, PresetId, RapidId};

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

/// The folders at the top, and the one below `presets/`.
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
    /// `account/`.
    Account,
}

impl Top {
    /// The folders in `/`, in the order in which they are listed.
    pub const IN_ROOT: [Top; 4] = [Top::RawModels, Top::RapidModels, Top::Presets, Top::Account];

    /// The folder's name.
    pub fn name(self) -> &'static str {
        match self {
            Top::RawModels => "rawmodels",
            Top::RapidModels => "rapidmodels",
            Top::Presets => "presets",
            Top::FactoryPresets => "factory",
            Top::Account => "account",
        }
    }
}

/// A place that has a hidden `.assetfs` folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The top of the drive.
    Root,
    /// A top folder.
    Top(Top),
    /// A source model.
    Model(Home),
    /// An optimized model.
    Rapid(RapidId),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => f.write_str("root"),
            Place::Top(top) => write!(f, "top/{}", top.name()),
            Place::Model(home) => write!(f, "model/{home}"),
            Place::Rapid(rapid) => write!(f, "rapid/{rapid}"),
        }
    }
}

/// The files of a hidden folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HiddenFile {
    /// `status.json`: the mount.
    MountStatus,
    /// `ctl`: commands, one a line.
    Control,
    /// `status`: one line.
    Status,
    /// `detail.json`: the service's record.
    Detail,
    /// `exports.json`: the service's list of exports.
    Exports,
    /// `categories.json`: the categories of presets.
    Categories,
}

impl HiddenFile {
    /// The file's name.
    pub fn name(self) -> &'static str {
        match self {
            HiddenFile::MountStatus => "status.json",
            HiddenFile::Control => "ctl",
            HiddenFile::Status => "status",
            HiddenFile::Detail => "detail.json",
            HiddenFile::Exports => "exports.json",
            HiddenFile::Categories => "categories.json",
        }
    }

    /// The files of the hidden folder of a place.
    pub fn of(place: Place) -> &'static [HiddenFile] {
        match place {
            Place::Root => &[HiddenFile::MountStatus, HiddenFile::Control],
            Place::Top(Top::RawModels) => &[HiddenFile::Control],
            Place::Top(Top::Presets) => &[HiddenFile::Categories],
            Place::Top(_) => &[],
            Place::Model(_) => &[HiddenFile::Status, HiddenFile::Detail, HiddenFile::Control],
            Place::Rapid(_) => &[
                HiddenFile::Status,
                HiddenFile::Detail,
                HiddenFile::Exports,
                HiddenFile::Control,
            ],
        }
    }
}

/// The two kinds of models, where something is the same for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Source models.
    Raw,
    /// Optimized models.
    Rapid,
}

impl Family {
    /// The top folder.
    pub fn top(self) -> Top {
        match self {
            Family::Raw => Top::RawModels,
            Family::Rapid => Top::RapidModels,
        }
    }
}

/// A folder whose files are a map of names to signed URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RemoteFolder {
    /// The uploaded files, directly in the asset's folder.
    AssetFiles(AssetId),
    /// `analysis/` of an asset.
    AssetAnalysis(AssetId),
    /// `renders/` of an asset.
    AssetRenders(AssetId),
    /// `converted/` of an asset.
    AssetConverted(AssetId),
    /// The optimized files, directly in the rapid model's folder.
    RapidFiles(RapidId),
    /// `analysis/` of a rapid model.
    RapidAnalysis(RapidId),
    /// `renders/` of a rapid model.
    RapidRenders(RapidId),
}

impl RemoteFolder {
    /// The name of the service folder; `None` for files that stand directly in the model's folder.
    pub fn name(self) -> Option<&'static str> {
        match self {
            RemoteFolder::AssetFiles(_) | RemoteFolder::RapidFiles(_) => None,
            RemoteFolder::AssetAnalysis(_) | RemoteFolder::RapidAnalysis(_) => Some("analysis"),
            RemoteFolder::AssetRenders(_) | RemoteFolder::RapidRenders(_) => Some("renders"),
            RemoteFolder::AssetConverted(_) => Some("converted"),
        }
    }

    /// The service's number of the model it belongs to, for names.
    pub fn owner_number(self) -> u64 {
        match self {
            RemoteFolder::AssetFiles(asset)
            | RemoteFolder::AssetAnalysis(asset)
            | RemoteFolder::AssetRenders(asset)
            | RemoteFolder::AssetConverted(asset) => asset.0,
            RemoteFolder::RapidFiles(rapid)
            | RemoteFolder::RapidAnalysis(rapid)
            | RemoteFolder::RapidRenders(rapid) => rapid.0,
        }
    }
}

/// Stable: the names of cached objects and of known sizes begin with it.
impl fmt::Display for RemoteFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoteFolder::AssetFiles(id) => write!(f, "raw/{id}/files"),
            RemoteFolder::AssetAnalysis(id) => write!(f, "raw/{id}/analysis"),
            RemoteFolder::AssetRenders(id) => write!(f, "raw/{id}/renders"),
            RemoteFolder::AssetConverted(id) => write!(f, "raw/{id}/converted"),
            RemoteFolder::RapidFiles(id) => write!(f, "rapid/{id}/files"),
            RemoteFolder::RapidAnalysis(id) => write!(f, "rapid/{id}/analysis"),
            RemoteFolder::RapidRenders(id) => write!(f, "rapid/{id}/renders"),
        }
    }
}

/// The folders of an asset that are not maps of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AssetFolder {
    /// `optimize/`: the drop folder.
    Optimize,
    /// `rapidmodels/`: links.
    RapidLinks,
}

impl AssetFolder {
    /// The folder's own name.
    pub fn name(self) -> &'static str {
        match self {
            AssetFolder::Optimize => "optimize",
            AssetFolder::RapidLinks => "rapidmodels",
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
    /// The `optimize/` of an asset.
    Optimize(AssetId),
    /// The folder of an optimized model.
    Rapid(RapidId),
}

impl fmt::Display for ErrorPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorPlace::Model(home) => write!(f, "model/{home}"),
            ErrorPlace::Optimize(asset) => write!(f, "optimize/{asset}"),
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
    /// `rapidmodels/NAME/.assetfs/source`.
    SourceLink(RapidId),
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
    /// Another service folder of an asset.
    AssetFolder(AssetId, AssetFolder),
    /// Something that a job shows, by the name of its text.
    Job(AssetId, Arc<str>, JobPart),
    /// A link of an asset's `rapidmodels/`.
    RapidLink(AssetId, RapidId),
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
}

impl Node {
    /// Folder, file or link; `None` where only the outbox can tell.
    pub fn kind(&self) -> Option<FileKind> {
        Some(match self {
            Node::Root
            | Node::Top(_)
            | Node::Hidden(_)
            | Node::ById(_)
            | Node::Model(_)
            | Node::RemoteFolder(_)
            | Node::RemoteSubfolder(..)
            | Node::AssetFolder(..)
            | Node::Rapid(_) => FileKind::Folder,
            Node::ByIdLink(..)
            | Node::SourceLink(_)
            | Node::RapidLink(..)
            | Node::Job(_, _, JobPart::Result) => FileKind::Link,
            Node::HiddenFile(..)
            | Node::RemoteFile(..)
            | Node::Job(..)
            | Node::ErrorText(_)
            | Node::Preset(..)
            | Node::PresetFile(_)
            | Node::FactoryPreset(..)
            | Node::Account(_) => FileKind::File,
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
            Node::AssetFolder(asset, folder) => format!("asset/{asset}/{}", folder.name()),
            Node::Job(asset, name, part) => format!("job/{asset}/{part:?}/{name}"),
            Node::RapidLink(asset, rapid) => format!("link/{asset}/{rapid}"),
            Node::Rapid(rapid) => format!("rapid/{rapid}"),
            Node::ErrorText(place) => format!("error/{place}"),
            Node::Preset(preset, text) => format!("preset/{preset}/{text:x}"),
            Node::PresetFile(name) => format!("preset-file/{name}"),
            Node::FactoryPreset(preset, text) => format!("factory/{preset}/{text:x}"),
            Node::Account(file) => format!("account/{}", file.name()),
        }
    }
}
