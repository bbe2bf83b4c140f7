//! The outbox against the real local service, with faults between them.

#![expect(clippy::print_stderr, reason = "a test says loudly what it skips")]

mod crash;
mod drafts;
mod embeds;
mod full_disk;
mod jobs;
mod presets;
mod recovery;
#[path = "../support/skip.rs"]
mod skip;
mod speed;
mod support;
mod uploads;
mod waiting;
