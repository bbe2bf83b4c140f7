//! The log: to standard error on a terminal, otherwise to a file. `ASSETFS_LOG` is the filter, in the syntax of
//! tracing's `EnvFilter` (`debug`, `assetfs::outbox=debug`).

use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use super::rotated_file::{Kept, RotatedFile};

/// Logs to standard error.
pub(super) fn to_stderr() {
    let _ = fmt()
        .with_env_filter(filter())
        .with_writer(std::io::stderr)
        // The library would print its own errors to standard error, and panic if nobody reads that any more.
        .log_internal_errors(false)
        .try_init();
}

/// Logs to a file that only its owner can read. Whenever it reaches 10 MB it is renamed to `NAME.old`.
pub(super) fn to_file(path: &Path) -> Result<()> {
    let file = RotatedFile::open(path, Kept::One)
        .with_context(|| format!("cannot write the log file {}", path.display()))?;
    let _ = fmt()
        .with_env_filter(filter())
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(Mutex::new(file))
        .try_init();
    Ok(())
}

fn filter() -> EnvFilter {
    EnvFilter::try_from_env("ASSETFS_LOG").unwrap_or_else(|_| EnvFilter::new("assetfs=info,warn"))
}
