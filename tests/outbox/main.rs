//! The outbox against the real local service, with faults between them.

mod crash;
mod drafts;
mod embeds;
mod jobs;
mod presets;
mod speed;
mod support;
mod uploads;
mod waiting;
