//! The local service, driven over HTTP as any client would.

#![allow(clippy::print_stderr, reason = "what is skipped is said loudly")]

mod archives;
mod chaos;
mod embeds;
mod formats;
mod hostile;
mod kill_9;
mod listings;
mod main_job;
mod presets;
mod real_engine;
#[path = "../support/samples.rs"]
mod samples;
mod support;
mod tokens;
mod uploads;
mod webhooks;
mod workers;
#[path = "../support/zips.rs"]
mod zips;
