//! Runs work that blocks on local disk off the async threads.

use crate::outbox::error::{OutboxError, OutboxResult};

/// Runs blocking work. Fails only if the work panicked or the runtime is shutting down.
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> OutboxResult<T> {
    #[cfg(test)]
    if crate::outbox::simulator::hook::is_active() {
        // A simulation runs on one thread, so that it is deterministic.
        tokio::task::yield_now().await;
        return Ok(work());
    }
    let outcome = tokio::task::spawn_blocking(work).await;
    outcome.map_err(|_stopped| OutboxError::ShutDown)
}
