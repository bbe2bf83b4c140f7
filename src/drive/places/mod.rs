//! Paths: one file for each kind, which implements the trait [`Place`].
//!
//! A place describes a path: its identity, rows, attributes and text, and what may be done with it. The
//! operations in `ops` ask the place and do not know the kinds. A new kind of path is a new file here and one
//! row in the folder that shows it.

mod account;
mod attributes;
mod bundles;
mod by_hash;
mod by_source;
mod changes;
mod drop;
mod drop_entry;
mod elsewhere;
mod embeds;
mod entry;
mod errors;
mod hidden;
mod hidden_text;
mod hiding;
mod kept;
mod links;
mod listing_folder;
mod metrics;
mod model;
mod model_lists;
mod mount_status;
mod node;
mod page;
mod place;
mod presets;
mod rapid;
mod rapidmodels;
mod rawmodels;
pub mod refusals;
mod remote;
mod root;
mod sent_entry;
mod staged_zip;
mod stale_jobs;
#[cfg(test)]
mod tests;
mod time_left;
mod vanished;
mod walk;
mod zip_origin;

pub use attributes::{file, folder};
pub use changes::{changed_file, touched};
pub use drop::{EMBED_LISTED_WITHIN, job_folder_path, model_of_folder, shown_parts};
pub use entry::{
    DraftEntry, WriteRefusal, file_beside, has_failed, loose_row, refusal_to_change, removed_entry,
};
pub use errors::{dismiss_error, end_of_model, note_failure_time};
pub use hidden_text::control_help;
pub use hiding::{is_hidden, is_removed_part};
pub use model::ModelFolder;
pub use mount_status::{forget_gone, mount_status};
pub use node::{Node, Row};
pub use place::{AttributeRule, Container, Contents, Lifetime, Place, Removal};
pub use presets::{HeldPreset, PresetFolder};
pub use rawmodels::RawModels;
pub use remote::path_in;
pub use root::{Root, own_rows, rows_after};
pub use sent_entry::can_be_compared;
pub use stale_jobs::{runnable_texts, text_in};
pub use time_left::source_size;
pub use vanished::Vanished;
pub use walk::{child, resolve};
