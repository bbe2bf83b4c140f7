//! Commands that need no mount, run as in a shell.

mod bad_arguments;
mod build;
mod completions;
mod interrupted;
mod json;
#[path = "../support/json_schema.rs"]
mod json_schema;
mod lossless;
mod memory;
mod optimize;
mod presets;
mod refusals;
#[path = "../support/samples.rs"]
mod samples;
mod sandbox;
mod setup;
#[path = "../support/skip.rs"]
mod skip;
mod small_disk;
#[path = "../support/square_glb.rs"]
mod square_glb;
mod stdout;
mod support;
mod thumbnail;
#[path = "../support/tmpfs.rs"]
mod tmpfs;
mod watch;
#[path = "../support/zips.rs"]
mod zips;
