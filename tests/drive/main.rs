//! The drive without a kernel, over the real local service: its promises, one test each.

#[path = "../support/mod.rs"]
mod support;

mod copying;
mod deleting;
mod freshness;
mod jobs;
mod layout;
mod names;
mod offline;
mod presets;
mod refusals;
