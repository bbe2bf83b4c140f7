//! Drafts: models that are copied in, the rule when a copy has ended, and the upload. [`state`] is folded from the
//! journal's [`record`]s, [`settle`] and [`upload`] decide and act on it; [`Drafts`], [`Entries`], [`Uploads`],
//! [`Orphans`] and [`Deletions`] are the public interfaces. Imports neither jobs nor presets; [`ModelFate`]s report
//! to them what became of a draft.

mod activity;
mod draft;
mod entries;
mod info;
mod lone_zip;
mod memory;
mod open;
mod ops;
mod parts;
mod process;
mod record;
mod remove;
mod rename;
mod sent;
mod settle;
mod show;
mod staged_file;
mod start;
mod state;
mod tree;
mod upload;

#[cfg(test)]
pub use draft::AssetOrigin;
pub use draft::{Draft, Stage};
pub use entries::Entries;
pub use info::{
    AttributeChange, DraftInfo, DraftKind, DraftPhase, EntryInfo, EntryKind, OpenMode, Place,
    Renamed, Replaced,
};
pub use lone_zip::LoneZip;
pub use memory::FateListener;
pub use ops::Drafts;
pub use parts::{DraftParts, KnownModel};
pub use process::{process_of, program_of};
pub use record::{DraftRecord, Target, UploadRecord};
pub use sent::{SentEntry, SentRecord, source_hash};
pub use staged_file::StagedFile;
pub use start::start;
pub use state::{DraftsChange, DraftsMismatch, DraftsState, ModelFate};
#[cfg(test)]
pub use tree::{Attributes, FileState};
pub use upload::deletion::Deletions;
pub use upload::drain::drain;
pub use upload::info::{DrainReport, FileTransfer, Orphan, TransferInfo};
#[cfg(test)]
pub use upload::manifest::Manifest;
pub use upload::ops::Uploads;
pub use upload::orphans::Orphans;
