//! What drafts, their entries and drop folders are called. All three machines and their records use these names.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire::{AssetId, RapidId};

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

/// Whose folder a job was dropped into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerFolder {
    /// A draft that has been accepted; the same folder as its asset's.
    Draft(DraftId),
    /// An asset.
    Asset(AssetId),
}

/// A drop folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobFolder {
    /// `optimize/` of an asset.
    Optimize(OwnerFolder),
    /// `embeds/` of an asset.
    Embeds(OwnerFolder),
    /// `embeds/` of a rapid model.
    RapidEmbeds(RapidId),
    /// `jobs/`: optimizations of several assets in one request.
    Multi,
}

impl JobFolder {
    /// The draft or asset whose folder it is in.
    pub fn owner(self) -> Option<OwnerFolder> {
        match self {
            JobFolder::Optimize(owner) | JobFolder::Embeds(owner) => Some(owner),
            JobFolder::RapidEmbeds(_) | JobFolder::Multi => None,
        }
    }

    /// The same folder of another owner.
    pub fn of_owner(self, owner: OwnerFolder) -> JobFolder {
        match self {
            JobFolder::Optimize(_) => JobFolder::Optimize(owner),
            JobFolder::Embeds(_) => JobFolder::Embeds(owner),
            JobFolder::RapidEmbeds(_) | JobFolder::Multi => self,
        }
    }
}
