//! Identifiers of the service's objects in the tree: models, listings, values of the account.

mod folders;
mod listing_kind;

pub use folders::{Family, RemoteFolder};
pub use listing_kind::ListingKind;

use std::fmt;

use crate::outbox::DraftId;
use crate::wire::{AssetId, RapidId};

/// A source model: created here, or found on the service. One that was created here stays so when it becomes an
/// asset, so that its inodes stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// Created through this drive.
    Made(DraftId),
    /// Found in the service's listing.
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

/// The two kinds of preset zips.
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
    pub const ALL: [AccountFile; 2] = [AccountFile::Points, AccountFile::StorageLeft];

    pub fn name(self) -> &'static str {
        match self {
            AccountFile::Points => "points",
            AccountFile::StorageLeft => "storage_left",
        }
    }
}

/// A model of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Model {
    /// A source model, draft or asset.
    Raw(Home),
    /// An optimized model.
    Rapid(RapidId),
}

/// The text is part of inode numbers.
impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Model::Raw(home) => write!(f, "model/{home}"),
            Model::Rapid(rapid) => write!(f, "rapid/{rapid}"),
        }
    }
}
