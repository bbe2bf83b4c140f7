//! Runs async work of a command that has no runtime of its own.

use anyhow::{Context, Result};

/// Runs a future to completion.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")?
        .block_on(work)
}
