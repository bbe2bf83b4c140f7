//! A signal that tasks wait for: a change, an order, the end of the outbox.
//!
//! Invariants: no signal is missed by a task that counted the signals before it looked at what they are about; and tasks
//! that wait continue in the order in which they began to wait, so that a simulated run is the same each time. Those of
//! `tokio::sync::watch` continue in a random order.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// A notification that counts how often it was sent.
#[derive(Debug, Default)]
pub struct Signal {
    given: AtomicU64,
    notify: Notify,
}

impl Signal {
    /// Wakes all tasks that wait for it.
    pub fn give(&self) {
        self.given.fetch_add(1, Ordering::SeqCst);
        self.notify.notify_waiters();
    }

    /// How often it was given.
    pub fn count(&self) -> u64 {
        self.given.load(Ordering::SeqCst)
    }

    pub fn is_given(&self) -> bool {
        self.count() > 0
    }

    /// Waits until it was given more than `seen` times.
    pub async fn after(&self, seen: u64) {
        self.until(|| (self.count() > seen).then_some(())).await;
    }

    /// Returns what `look` finds. It looks at once, and again each time the signal was given.
    pub async fn until<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        loop {
            let given = self.notify.notified();
            tokio::pin!(given);
            // Before the look, so that no signal in between is missed.
            given.as_mut().enable();
            if let Some(found) = look() {
                return found;
            }
            given.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn tasks_that_wait_continue_in_the_order_in_which_they_began() {
        let signal = Arc::new(Signal::default());
        for _ in 0..20 {
            let woken = Arc::new(Mutex::new(Vec::new()));
            let seen = signal.count();
            let tasks = (0..16).map(|number| {
                let (signal, woken) = (signal.clone(), woken.clone());
                tokio::spawn(async move {
                    signal.after(seen).await;
                    woken.lock().unwrap().push(number);
                })
            });
            let tasks: Vec<_> = tasks.collect();
            tokio::task::yield_now().await;
            signal.give();
            for task in tasks {
                task.await.unwrap();
            }
            assert!(woken.lock().unwrap().is_sorted());
        }
    }

    #[tokio::test]
    async fn a_signal_between_the_look_and_the_wait_is_not_missed() {
        let signal = Signal::default();
        assert!(!signal.is_given());
        let mut looks = 0;
        let found = signal.until(|| {
            looks += 1;
            if looks == 1 {
                signal.give();
            }
            (looks == 2).then_some(looks)
        });
        assert_eq!(found.now_or_never(), Some(2));
        assert_eq!(signal.after(0).now_or_never(), Some(()));
        assert_eq!(signal.after(1).now_or_never(), None);
    }
}
