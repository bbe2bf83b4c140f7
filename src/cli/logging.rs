//! The log: to standard error at a terminal, else to a file. `ASSETFS_LOG` sets what is
//! logged, in the words of tracing's `EnvFilter` (`debug`, `assetfs::outbox=debug`).

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
        .try_init();
}

/// Logs to a file that only its owner can read; an older one is kept as `NAME.old` once it passes
/// 10 MB.
pub(super) fn to_file(path: &Path) -> Result<()> {
    const KEEP_UP_TO_BYTES: u64 = 10_000_000;
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > KEEP_UP_TO_BYTES) {
        let mut old = path.as_os_str().to_owned();
        old.push(".old");
        std::fs::rename(path, old)
            .with_context(|| format!("cannot set {} aside", path.display()))?;
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
        .with_writer(Mutex::new(file))
        .try_init();
    Ok(())
}

fn filter() -> EnvFilter {
    EnvFilter::try_from_env("ASSETFS_LOG").unwrap_or_else(|_| EnvFilter::new("assetfs=info,warn"))
}
