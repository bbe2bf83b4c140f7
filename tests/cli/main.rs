//! The commands that need no mount, as a person or a script runs them.

mod optimize;
mod refusals;
mod support;
#[path = "../support/zips.rs"]
mod zips;
