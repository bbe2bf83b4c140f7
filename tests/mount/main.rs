//! The drive on a real mount: the binary, the kernel, the local service, and real tools.
//!
//! Without FUSE each test reports by name that it is skipped.

#![allow(clippy::print_stderr, reason = "long tests report what they measured")]

mod api;
mod at_the_shell;
mod bad_input;
mod browser;
mod bucket;
mod building;
mod bulk;
mod changed_preset;
mod commands;
mod copying;
mod crash;
mod desktop_notices;
mod documented;
mod embeds;
mod ending;
mod events;
#[path = "../support/fault_server/mod.rs"]
mod fault_server;
mod fstab;
mod history;
mod hostile;
mod inotify;
mod json;
#[path = "../support/json_schema.rs"]
mod json_schema;
mod keyring;
mod long;
mod next_steps;
mod optimizing;
mod others;
mod page_link;
mod pictures;
mod posix;
mod reading;
mod recipes;
mod refused;
#[path = "../support/s3.rs"]
mod s3;
mod samba;
mod samples;
mod secrets;
mod silent_service;
#[path = "../support/skip.rs"]
mod skip;
#[path = "../support/smbd.rs"]
mod smbd;
#[path = "../support/square_glb.rs"]
mod square_glb;
mod stale;
mod status_watch;
mod stuck;
mod supervised;
mod support;
mod sync;
#[path = "../support/tmpfs.rs"]
mod tmpfs;
mod two_machines;
#[path = "../support/validators.rs"]
mod validators;
mod watch;
mod ways;
mod whole_tree;
mod written_and_read;
mod written_in_place;
#[path = "../support/zips.rs"]
mod zips;
