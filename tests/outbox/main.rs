//! The outbox with the real local service, and faults between them.

mod crash;
mod drafts;
mod embeds;
#[path = "../support/fault_server/mod.rs"]
mod fault_server;
mod full_disk;
mod jobs;
mod presets;
mod recovery;
mod replacing;
#[path = "../support/skip.rs"]
mod skip;
mod speed;
mod support;
#[path = "../support/tmpfs.rs"]
mod tmpfs;
mod uploads;
mod waiting;
