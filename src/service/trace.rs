//! The trace of what runs: a request belongs to the trace of its header `traceparent`, a job to the trace of the
//! request that queued it, whichever process runs it.

use std::future::Future;

use crate::wire::TraceParent;

tokio::task_local! {
    static CURRENT: TraceParent;
}

/// The trace of the running request or job.
pub fn current() -> Option<TraceParent> {
    CURRENT.try_with(|trace| *trace).ok()
}

/// Runs a future as a part of a trace.
pub async fn within<F: Future>(trace: TraceParent, future: F) -> F::Output {
    CURRENT.scope(trace, future).await
}
