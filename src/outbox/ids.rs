//! The ids of drafts, entries and drop folders, and the random tokens of requests.

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
    /// The id of a draft. Never reused in one state directory.
    DraftId
}

local_id! {
    /// The id of an entry of a draft. Never reused in one state directory. An entry keeps it when it is renamed or
    /// moved, also to another draft.
    EntryId
}

impl EntryId {
    /// The draft's folder itself, the same in every draft.
    pub const ROOT: EntryId = EntryId(0);
}

/// The caller of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The id of the thread that made the system call, as the kernel reports it; 0 if it does not.
    pub pid: u32,
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

/// A user other than the owner of the drive, whom the files belong to that the user made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maker {
    pub uid: u32,
    pub gid: u32,
}

impl Maker {
    /// The maker of what this caller makes; `None` for the owner of the drive.
    pub fn of(caller: &Caller, owner: Option<u32>) -> Option<Maker> {
        let is_other = owner.is_some_and(|owner| owner != caller.uid);
        is_other.then_some(Maker {
            uid: caller.uid,
            gid: caller.gid,
        })
    }
}

/// The owner of a drop folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerFolder {
    /// A draft. After it is accepted, this is the same folder as its asset's.
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
    /// The draft or asset that it belongs to.
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

/// A token that no other request has, on whichever machine.
pub fn random_token() -> String {
    #[cfg(test)]
    if let Some(drawn) = crate::client::scripted::draw() {
        return format!("{drawn:032x}");
    }
    format!("{:032x}", rand::random::<u128>())
}
