//! The words in which the outbox speaks to the drive: ids, places, what an entry, a draft, a job or
//! a preset file looks like, and the events it reports. Plain values without behaviour; nothing here
//! knows inodes or paths of the tree.

mod jobs;

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::wire::{AssetId, RapidId};

pub use jobs::{
    JobFolder, JobInfo, JobState, OwnerFolder, PresetFile, PresetOverlay, PresetState, SavedPreset,
};

macro_rules! local_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

local_id! {
    /// The number of a draft. Never used twice in one state directory.
    DraftId
}
local_id! {
    /// The number of an entry of a draft. Never used twice in one state directory, so an entry keeps
    /// it when it is renamed, moved to another folder or moved to another draft.
    EntryId
}

impl EntryId {
    /// The draft's folder itself, the same number in every draft.
    pub const ROOT: EntryId = EntryId(0);
}

/// Who asks. `pid` is the id of a thread, which is what the kernel reports; zero where it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The thread that made the system call.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

/// How the outbox is opened.
#[derive(Debug, Clone)]
pub struct OutboxConfig {
    /// The private directory of one account: journal and staged bytes live below it.
    pub dir: PathBuf,
    /// How long a whole, well-referenced copy has to be quiet; scales the other waiting times.
    pub settle: Duration,
    /// How many files are sent at once, over all drafts.
    pub parallel_puts: usize,
    /// How long a lost optimize reply is looked for.
    pub look_for_lost: Duration,
    /// How long `submit_job` and the preset calls wait for an answer.
    pub answer_within: Duration,
    /// The first pause between two looks at running work; later ones grow.
    pub first_poll: Duration,
    /// Nothing goes out by itself: drafts can be made and read.
    pub paused: bool,
}

impl OutboxConfig {
    /// The defaults, for the given private directory.
    pub fn new(dir: impl Into<PathBuf>) -> OutboxConfig {
        OutboxConfig {
            dir: dir.into(),
            settle: Duration::from_secs(2),
            parallel_puts: 6,
            look_for_lost: Duration::from_secs(60),
            answer_within: Duration::from_secs(10),
            first_poll: Duration::from_millis(500),
            paused: false,
        }
    }
}

/// File or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file with staged bytes.
    File,
    /// A folder.
    Folder,
}

/// What an entry of a draft shows. `uid`, `gid` are `None` until someone sets them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryInfo {
    /// The entry's number.
    pub id: EntryId,
    /// The folder it is in; the root is its own parent.
    pub parent: EntryId,
    /// Its name; for the root the draft's name.
    pub name: String,
    /// File or folder.
    pub kind: EntryKind,
    /// Bytes written so far.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Owner to show.
    pub uid: Option<u32>,
    /// Group to show.
    pub gid: Option<u32>,
    /// Time of the last change of content, or what was set.
    pub mtime: SystemTime,
    /// Time of the last change of anything.
    pub ctime: SystemTime,
    /// Number of folders directly in it.
    pub subfolders: u32,
}

/// What `set_attributes` changes; what is `None` stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttributeChange {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner to show.
    pub uid: Option<u32>,
    /// Group to show.
    pub gid: Option<u32>,
    /// New length of a file.
    pub size: Option<u64>,
    /// Modification time.
    pub mtime: Option<SystemTime>,
}

/// What a staged file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Reading alone: does not count as a writer and wakes nothing.
    Read,
    /// Writing, with or without reading.
    Write,
    /// Writing, after cutting the file to nothing.
    Truncate,
}

/// A name somewhere: at the top (a draft) or in a folder of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A draft's own name.
    Top(String),
    /// A name in a folder of a draft.
    In {
        /// The draft.
        draft: DraftId,
        /// The folder in it.
        parent: EntryId,
        /// The name in that folder.
        name: String,
    },
}

/// Where a renamed thing is now. Entries below it keep their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renamed {
    /// The draft it is in.
    pub draft: DraftId,
    /// Its number there; `ROOT` when it became a draft of its own.
    pub entry: EntryId,
}

/// What kind of copy a draft is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftKind {
    /// A folder that becomes an asset.
    Folder,
    /// One file beside the folders: its root holds exactly one file, of the draft's name.
    LooseFile,
}

/// How far a draft is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftPhase {
    /// It may change; nothing of it has left.
    Editing,
    /// Its files are on their way. A change sends it back to editing.
    Uploading {
        /// Bytes sent of all bytes.
        percent: u8,
    },
    /// The service has it and works on it; nothing can change any more.
    Accepted,
    /// The service is done, and it is checked that it holds what was sent.
    Complete,
    /// The service could not import it; the staged copy is kept.
    ImportFailed,
}

impl DraftPhase {
    /// True once the service has accepted the upload: no file can be added or changed.
    pub fn is_frozen(&self) -> bool {
        matches!(
            self,
            DraftPhase::Accepted | DraftPhase::Complete | DraftPhase::ImportFailed
        )
    }
}

/// What a draft shows. It exists until its staged copy is dropped; then a [`SentRecord`] stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftInfo {
    /// The draft's number.
    pub id: DraftId,
    /// Its name at the top.
    pub name: String,
    /// Folder or loose file.
    pub kind: DraftKind,
    /// How far it is.
    pub phase: DraftPhase,
    /// The one line of its status.
    pub status_text: String,
    /// Every file that the model names and that is not there, and when it goes, as a sentence.
    pub lacking: Option<String>,
    /// The asset it became, once the service has accepted it.
    pub asset: Option<AssetId>,
    /// Something that did not stop it but that its owner should know.
    pub warning: Option<String>,
    /// The last failure, as a sentence: what, why, what to do.
    pub failure: Option<String>,
    /// Why the service gave no answer to the last attempt to send it.
    pub no_answer: Option<String>,
    /// Bytes staged.
    pub size: u64,
    /// When it was made.
    pub created: SystemTime,
}

/// One file or folder of what was copied in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentEntry {
    /// The number it had in the draft.
    pub id: EntryId,
    /// Its path from the draft's folder, with `/` between names.
    pub path: String,
    /// File or folder.
    pub kind: EntryKind,
    /// Its length.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Owner to show.
    pub uid: Option<u32>,
    /// Group to show.
    pub gid: Option<u32>,
    /// Modification time as it was set.
    #[serde(with = "crate::outbox::moment::as_moment")]
    pub mtime: SystemTime,
    /// Checksum of the staged bytes (XXH3, 128 bits, hex).
    pub hash: Option<String>,
    /// The name under which the service has it; `None` for what was kept back.
    pub sent_as: Option<String>,
}

/// The tree that was copied in; kept for as long as the asset exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRecord {
    /// The asset it became.
    pub asset: AssetId,
    /// The draft it was.
    pub draft: DraftId,
    /// The draft's name at the top (for a loose file with its extension).
    pub name: String,
    /// Folder or loose file.
    pub kind: DraftKind,
    /// The name of the zip it was sent as, if it was.
    pub zip_name: Option<String>,
    /// When the draft was made.
    #[serde(with = "crate::outbox::moment::as_moment")]
    pub created: SystemTime,
    /// Permission bits of the draft's folder.
    pub mode: u32,
    /// Modification time of the draft's folder.
    #[serde(with = "crate::outbox::moment::as_moment")]
    pub mtime: SystemTime,
    /// Everything in it, folders before what they hold.
    pub entries: Vec<SentEntry>,
}

/// An incomplete asset that an upload of ours may have left: its `start` reply was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// The asset on the service.
    pub id: AssetId,
    /// Its name.
    pub name: String,
    /// When the service says it was made.
    pub created: Option<SystemTime>,
}

/// One upload under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferInfo {
    /// The draft that is sent.
    pub draft: DraftId,
    /// Its name.
    pub name: String,
    /// Bytes the service has taken so far.
    pub sent: u64,
    /// All bytes.
    pub total: u64,
    /// Files sent completely.
    pub files_sent: usize,
    /// All files.
    pub files: usize,
    /// Files on their way at this moment.
    pub current: Vec<FileTransfer>,
    /// How fast it is, as soon as that can be told.
    pub bytes_per_second: Option<u64>,
    /// How long the rest will take at that speed.
    pub time_left: Option<Duration>,
}

/// One file of an upload under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTransfer {
    /// Its name in the asset.
    pub name: String,
    /// Bytes of it that have gone out.
    pub sent: u64,
    /// All of them.
    pub total: u64,
}

/// What happened, for whoever shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxEvent {
    /// A draft's phase, status or content changed, or it is gone.
    DraftChanged(DraftId),
    /// The service has accepted a draft.
    AssetCreated {
        /// The draft.
        draft: DraftId,
        /// The asset it became.
        asset: AssetId,
    },
    /// An asset that is watched has another state.
    AssetChanged(AssetId),
    /// A job has another state.
    JobChanged(JobFolder, String),
    /// A rapid model came to be or changed.
    RapidFound(RapidId),
    /// An embed was made.
    EmbedsChanged,
    /// A preset was made, changed or deleted.
    PresetsChanged,
}

/// What a drain left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrainReport {
    /// Drafts that the service accepted meanwhile.
    pub accepted: Vec<(DraftId, AssetId)>,
    /// Drafts that stay, each with the reason.
    pub left: Vec<(DraftId, String)>,
}
