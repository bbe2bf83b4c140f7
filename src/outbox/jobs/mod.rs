//! Drop folders: what their files ask for ([`text`]), what became of each ([`book`], folded from the journal's records),
//! what to do next ([`plan`]), sending exactly once ([`send`], [`sender`], [`request`], [`resolve`], [`search`]), following
//! what runs ([`follow`]), and what the files show ([`show`]). [`Jobs`] is the face. What a job needs to know of drafts and
//! presets is asked through [`JobNeeds`].

mod book;
mod embeds;
mod follow;
mod info;
mod log;
mod memory;
mod needs;
mod ops;
mod parts;
mod plan;
mod request;
mod resolve;
mod search;
mod send;
mod sender;
mod show;
mod text;

#[cfg(test)]
pub use book::{EmbedStage, Submission, SubmissionStage};
pub use book::{JobBook, JobBookError, JobRecord, Wanted};
pub use info::{JobInfo, JobState};
pub use log::reason_in_log;
pub use memory::JobsMemory;
pub use needs::{DraftModel, JobNeeds, PresetSaved};
pub use ops::Jobs;
pub use parts::JobParts;
pub use text::{JobText, Settings as JobSettings, parse as parse_job_text};
