//! Paths: one file for each kind, which implements the trait [`Place`].
//!
//! A place describes a path: its identity, rows, attributes and text, and what may be done with it. The
//! operations in `ops` ask the place and do not know the kinds. A new kind of path is a new file here and one
//! row in the folder that shows it.

mod account;
mod account_record;
mod attributes;
mod bundles;
mod by_id;
mod cache_status;
mod changes;
mod drop;
mod embeds;
mod entry;
mod errors;
mod factory;
mod hidden;
mod hidden_text;
mod hiding;
mod job_links;
mod kept;
mod listing_folder;
mod long;
mod metrics;
mod model;
mod mount_status;
mod node;
mod page;
mod place;
mod presets;
mod rapid;
mod rapid_links;
mod rapidmodels;
mod rawmodels;
pub(in crate::drive) mod refusals;
mod remote;
mod root;
mod search;
mod sent_entry;
mod staged_zip;
#[cfg(test)]
mod tests;
mod vanished;
mod walk;
mod zip_origin;

pub(in crate::drive) use attributes::{file, folder};
pub(in crate::drive) use changes::{changed_file, touched};
pub(in crate::drive) use drop::{job_folder_path, shown_parts};
pub(in crate::drive) use entry::{DraftEntry, loose_row, removed_entry, sent_loose_file};
pub(in crate::drive) use errors::{dismiss_error, end_of_model, note_failure_time};
pub(in crate::drive) use hidden_text::control_help;
pub(in crate::drive) use hiding::{is_ghost, is_hidden};
pub(in crate::drive) use long::{own_rows, rows_after, rows_at_hand};
pub(in crate::drive) use model::ModelFolder;
pub(in crate::drive) use mount_status::mount_status;
pub(in crate::drive) use node::{Node, Row};
pub(in crate::drive) use place::{AttributeRule, Container, Contents, Lifetime, Place, Removal};
pub(in crate::drive) use presets::{HeldPreset, PresetFolder};
pub(in crate::drive) use rawmodels::RawModels;
pub(in crate::drive) use remote::path_in;
pub(in crate::drive) use root::Root;
pub(in crate::drive) use sent_entry::can_be_compared;
pub(in crate::drive) use vanished::Vanished;
pub(in crate::drive) use walk::{child, resolve};
