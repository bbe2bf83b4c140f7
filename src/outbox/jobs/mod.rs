//! Drop folders: parsing their texts ([`text`]), the files and their requests ([`book`], folded from the journal's
//! records), the planner ([`plan`]), sending exactly once ([`send`], [`sender`], [`request`], [`resolve`],
//! [`search`]), what is made already ([`made_before`], [`notes`], [`used_preset`]), polling running optimizations ([`follow`]), and states and statuses ([`show`]). [`Jobs`] is the
//! public interface. Jobs read drafts and presets through [`JobDeps`].

mod book;
mod deps;
mod embeds;
mod follow;
mod info;
mod log;
mod made_before;
mod memory;
mod notes;
mod ops;
mod parts;
mod plan;
mod preparation;
mod recent;
mod request;
mod resolve;
mod search;
mod send;
mod sender;
mod show;
mod tagged;
mod text;
mod used_preset;

#[cfg(test)]
pub use book::{EmbedStage, Submission, SubmissionStage};
pub use book::{JobBook, JobBookError, JobRecord, Wanted};
pub use deps::{DraftModel, ImportState, JobDeps, PresetSaved};
pub use info::{JobInfo, JobState};
pub use log::reason_in_log;
pub use memory::JobsMemory;
pub use notes::config_hash;
pub use ops::{Jobs, start};
pub use parts::{JobParts, JobTools};
pub use recent::RecentLists;
pub use text::{JobText, Settings as JobSettings, parse as parse_job_text};
