//! Invalidates the kernel's caches after changes that the kernel did not make.
//!
//! One task makes all calls into [`KernelCache`], from a bounded queue that holds each change once. It never
//! runs inside a request or under a lock, because the kernel may wait for one of our replies before it returns.
//! If the queue is full, a change is dropped; the cache time of entries limits how long it goes unseen.

use std::collections::{HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::drive::posix::Ino;

/// The kernel's caches, implemented by the code that serves the drive. Calls may block.
pub trait KernelCache: Send + Sync {
    /// A name was added, or stands for another node.
    fn entry_changed(&self, parent: Ino, name: &OsStr);
    /// Size, times or owner changed.
    fn attributes_changed(&self, ino: Ino);
    /// Cached pages are outdated. Never called for an open file.
    fn content_changed(&self, ino: Ino);
    /// A name was removed.
    fn entry_removed(&self, parent: Ino, child: Ino, name: &OsStr);
}

/// One correction of the kernel's caches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Correction {
    Entry(Ino, OsString),
    Attributes(Ino),
    Content(Ino),
    Removed(Ino, Ino, OsString),
}

/// Maximum length of the queue; more is dropped.
const MAX_WAITING: usize = 4096;

#[derive(Default)]
pub(super) struct Corrections {
    queue: Mutex<CorrectionQueue>,
    wake: Notify,
}

#[derive(Default)]
struct CorrectionQueue {
    kernel: Option<Arc<dyn KernelCache>>,
    queue: VecDeque<Correction>,
    waiting: HashSet<Correction>,
    is_closed: bool,
}

impl Corrections {
    /// Sets the kernel to correct.
    pub(super) fn attach(&self, kernel: Arc<dyn KernelCache>) {
        self.lock().kernel = Some(kernel);
    }

    /// Queues a correction, once. Without a kernel there is nothing to correct.
    pub(super) fn tell(&self, correction: Correction) {
        let mut state = self.lock();
        if state.kernel.is_none() || state.is_closed || state.queue.len() >= MAX_WAITING {
            return;
        }
        if state.waiting.insert(correction.clone()) {
            state.queue.push_back(correction);
            drop(state);
            self.wake.notify_one();
        }
    }

    /// Ends [`Corrections::run`] and drops the kernel.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.kernel = None;
        drop(state);
        self.wake.notify_one();
    }

    /// The task: makes one call after the other, each on a blocking thread.
    pub(super) async fn run(self: Arc<Self>) {
        loop {
            match self.next() {
                Next::Tell(kernel, correction) => {
                    let told =
                        tokio::task::spawn_blocking(move || tell(&*kernel, &correction)).await;
                    if told.is_err() {
                        tracing::error!("telling the kernel about a change panicked");
                    }
                }
                Next::Wait => self.wake.notified().await,
                Next::End => return,
            }
        }
    }

    fn next(&self) -> Next {
        let mut state = self.lock();
        if state.is_closed {
            return Next::End;
        }
        let Some(correction) = state.queue.pop_front() else {
            return Next::Wait;
        };
        state.waiting.remove(&correction);
        match &state.kernel {
            Some(kernel) => Next::Tell(Arc::clone(kernel), correction),
            None => Next::Wait,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CorrectionQueue> {
        self.queue
            .lock()
            .expect("no panic while corrections are held")
    }
}

enum Next {
    Tell(Arc<dyn KernelCache>, Correction),
    Wait,
    End,
}

fn tell(kernel: &dyn KernelCache, correction: &Correction) {
    match correction {
        Correction::Entry(parent, name) => kernel.entry_changed(*parent, name),
        Correction::Attributes(ino) => kernel.attributes_changed(*ino),
        Correction::Content(ino) => kernel.content_changed(*ino),
        Correction::Removed(parent, child, name) => kernel.entry_removed(*parent, *child, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Recorder(Mutex<Vec<String>>);

    impl KernelCache for Recorder {
        fn entry_changed(&self, parent: Ino, name: &OsStr) {
            self.0
                .lock()
                .unwrap()
                .push(format!("entry {parent} {}", name.display()));
        }
        fn attributes_changed(&self, ino: Ino) {
            self.0.lock().unwrap().push(format!("attributes {ino}"));
        }
        fn content_changed(&self, ino: Ino) {
            self.0.lock().unwrap().push(format!("content {ino}"));
        }
        fn entry_removed(&self, parent: Ino, child: Ino, name: &OsStr) {
            self.0
                .lock()
                .unwrap()
                .push(format!("removed {parent} {child} {}", name.display()));
        }
    }

    #[tokio::test]
    async fn each_change_is_told_once_and_in_order() {
        let corrections = Arc::new(Corrections::default());
        corrections.tell(Correction::Attributes(Ino(9)));
        let recorder = Arc::new(Recorder::default());
        corrections.attach(recorder.clone());
        corrections.tell(Correction::Attributes(Ino(4)));
        corrections.tell(Correction::Removed(Ino(1), Ino(4), "chair".into()));
        corrections.tell(Correction::Attributes(Ino(4)));
        let task = tokio::spawn(Arc::clone(&corrections).run());
        while recorder.0.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        corrections.close();
        task.await.unwrap();
        assert_eq!(
            *recorder.0.lock().unwrap(),
            ["attributes 4", "removed 1 4 chair"]
        );
    }
}
