//! Panics as errors: libraries panic on damaged files.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::EngineError;

/// The result of some work, also if it panics.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    outcome.unwrap_or_else(|panic| Err(failure_of(text_of(&*panic))))
}

/// Some libraries panic when memory runs out; this is reported as lack of memory, not as a bug.
fn failure_of(panic: String) -> EngineError {
    if panic.contains("AllocError") || panic.contains("memory allocation") {
        EngineError::OutOfMemory
    } else {
        EngineError::Internal(panic)
    }
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason given".to_owned())
}
