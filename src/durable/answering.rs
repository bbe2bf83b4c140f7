//! A check that finds slow disk work on a thread that answers requests.
//!
//! A thread marks itself while it answers requests of all programs. Functions that sync, hash or read much call
//! [`check_may_block`], which panics on a marked thread in debug builds, so that tests find the mistake. In release
//! builds it does nothing.

use std::cell::Cell;

thread_local! {
    static ANSWERING: Cell<bool> = const { Cell::new(false) };
}

/// Drop guard: the thread is marked until it is dropped.
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

/// Panics in debug builds on a marked thread, where `doing` could delay all requests.
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
