//! Shared parts of the mount tests: a service process, a mount process, temporary folders, and models to copy.

mod files;
mod fixture;
mod http;
mod models;
mod needs;
mod service;
mod shell;

pub use files::{assert_same_files, exists, file_names, names_in, read};
pub use fixture::{Fixture, MountPoint, SecondMachine};
pub use http::{fetch, post_json, put_file, request, status_of};
pub use models::{model, sample, small_chair, triangles_of};
pub use needs::fuse_works;
pub use service::ServeProcess;
pub use shell::{PATIENCE, assetfs, fails, run, shell, text, wait_until};

/// The binary under test.
pub const ASSETFS: &str = env!("CARGO_BIN_EXE_assetfs");
