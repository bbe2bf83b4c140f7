//! The log: to standard error on a terminal, otherwise to a file. `ASSETFS_LOG` is the filter, in the syntax of
//! tracing's `EnvFilter` (`debug`, `assetfs::outbox=debug`).

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

/// Logs to standard error.
pub(super) fn to_stderr() {
    let _ = fmt()
        .with_env_filter(filter())
        .with_writer(std::io::stderr)
        // They would be printed to standard error, whose reader may have ended: that panics.
        .log_internal_errors(false)
        .try_init();
}

/// Logs to a file that only its owner can read. A file of more than 10 MB is renamed to `NAME.old` first.
pub(super) fn to_file(path: &Path) -> Result<()> {
    const KEEP_UP_TO_BYTES: u64 = 10_000_000;
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > KEEP_UP_TO_BYTES) {
        let mut old = path.as_os_str().to_owned();
        old.push(".old");
        std::fs::rename(path, old).with_context(|| format!("cannot rename {}", path.display()))?;
    }
    let file = File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
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
