//! The commands that need no mount, as a person or a script runs them.

#![allow(clippy::print_stderr, reason = "what is skipped is said loudly")]

mod memory;
mod optimize;
mod presets;
mod refusals;
#[path = "../support/samples.rs"]
mod samples;
mod support;
#[path = "../support/zips.rs"]
mod zips;
