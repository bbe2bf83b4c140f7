//! The outbox against the real local service, with faults between them.

mod crash;
mod drafts;
mod jobs;
mod presets;
mod support;
mod uploads;
