//! Runs work that blocks on local disk off the async threads.

use crate::outbox::error::{OutboxError, OutboxResult};

/// The outcome of blocking work. It fails only if the work panicked or the runtime is shutting down.
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> OutboxResult<T> {
    #[cfg(test)]
    if crate::outbox::simulator::hook::is_active() {
        // In virtual time everything happens on one thread, so that a run can be repeated.
        tokio::task::yield_now().await;
        return Ok(work());
    }
    let outcome = tokio::task::spawn_blocking(work).await;
    outcome.map_err(|_stopped| OutboxError::ShutDown)
}
