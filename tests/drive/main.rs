//! The drive without a kernel, with the real local service.

#![allow(clippy::print_stdout, reason = "what is measured is printed")]

#[path = "../support/fault_server/mod.rs"]
mod fault_server;
#[path = "../support/mod.rs"]
mod support;

mod account;
mod archives;
mod by_source;
mod copying;
mod deleting;
mod embeds;
mod fault_table;
mod freshness;
mod jobs;
mod large;
mod late;
mod layout;
mod loose_files;
mod mended;
#[path = "../../crates/engine/tests/engine_mutations/mutate.rs"]
mod mutate;
mod mutated_replies;
mod names;
mod offline;
mod overwriting;
mod presets;
mod refusals;
mod refused_by_service;
mod reports;
mod requests;
mod service_faults;
mod sharing;
mod staged_zips;
mod stale;
mod webhooks;
mod written_texts;
mod wrong_lists;
