//! A guard against waiting for the disk where many requests wait for one thread.
//!
//! A thread that answers everybody marks itself while it does. What syncs, hashes or reads much calls [`check_may_block`], which
//! panics on such a thread in debug builds, so that every test that comes by finds the mistake. In release builds it is nothing.

use std::cell::Cell;

thread_local! {
    static ANSWERING: Cell<bool> = const { Cell::new(false) };
}

/// Drop guard: this thread answers requests of everybody until it goes.
#[derive(Debug)]
pub struct Answering {
    before: bool,
}

impl Answering {
    /// Marks this thread.
    pub fn begin() -> Answering {
        Answering {
            before: ANSWERING.replace(true),
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        ANSWERING.set(self.before);
    }
}

/// Panics in debug builds where `doing` may keep everybody waiting.
pub(crate) fn check_may_block(doing: &str) {
    debug_assert!(
        !ANSWERING.get(),
        "{doing} on a thread that answers all requests"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocking_work_is_refused_while_the_thread_answers() {
        check_may_block("a sync");
        let answering = Answering::begin();
        drop(Answering::begin());
        let refused = std::panic::catch_unwind(|| check_may_block("a sync"));
        assert_eq!(refused.is_err(), cfg!(debug_assertions));
        drop(answering);
        check_may_block("a sync");
    }
}
