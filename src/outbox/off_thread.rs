//! Runs work that blocks on local disk off the async threads.

use tokio::task::JoinError;

/// The outcome of work that blocks. An error means that it panicked, or that the runtime goes down.
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    #[cfg(test)]
    if crate::outbox::simulator::hook::is_active() {
        // In virtual time everything happens on one thread, so that a run can be repeated.
        tokio::task::yield_now().await;
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await
}
