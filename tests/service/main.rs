//! The local service, driven over HTTP as any client would.

mod hostile;
mod listings;
mod main_job;
mod presets;
mod support;
mod tokens;
mod uploads;
mod workers;
