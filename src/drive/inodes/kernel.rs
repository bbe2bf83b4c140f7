//! Invalidates the kernel's caches after changes that the kernel did not make.
//!
//! One task makes all calls into [`KernelCache`], from a bounded queue that holds each change once. It never
//! runs inside a request or under a lock, because the kernel may wait for one of our replies before it returns.
//! If the queue is full, a change is dropped; the cache time of entries limits how long it goes unseen.
//!
//! While the kernel waits for the answer to a request, it holds the lock of the folder or file concerned, and a
//! call for the same folder or file waits for that lock. If this process is killed then, nobody answers, and a
//! thread that waits in the call keeps the process alive for ever. So such a call is made after the answer.
//! Only a request that the kernel has queued and that was not received yet is not known here.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::drive::posix::Ino;

/// The kernel's caches, implemented by the code that serves the drive. Calls may block.
pub trait KernelCache: Send + Sync {
    /// A name was added, or now belongs to another node.
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
    in_flight: LockCounts,
    is_closed: bool,
}

/// Number of unanswered requests for which the kernel holds a lock.
#[derive(Default)]
struct LockCounts {
    inodes: HashMap<Ino, usize>,
    unnamed_folders: usize,
}

/// The inodes that the kernel keeps locked while it waits for the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelLocks {
    /// The inode of the request: a folder in which a name is looked up or changed, a file that is changed, or
    /// the pages of a file that is read.
    Inode(Ino),
    /// These two folders, and a folder that is removed or moved, whose number the request does not contain.
    Folders(Ino, Ino),
}

/// A request that is not answered yet. Until it is dropped, no correction is sent that would wait for its locks.
#[must_use]
pub struct InFlight {
    corrections: Arc<Corrections>,
    locks: KernelLocks,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.corrections.lock();
        state.in_flight.remove(self.locks);
        let may_continue = !state.queue.is_empty();
        drop(state);
        if may_continue {
            self.corrections.wake.notify_one();
        }
    }
}

impl LockCounts {
    fn add(&mut self, locks: KernelLocks) {
        match locks {
            KernelLocks::Inode(ino) => self.add_inode(ino),
            KernelLocks::Folders(first, second) => {
                self.add_inode(first);
                self.add_inode(second);
                self.unnamed_folders += 1;
            }
        }
    }

    fn remove(&mut self, locks: KernelLocks) {
        match locks {
            KernelLocks::Inode(ino) => self.remove_inode(ino),
            KernelLocks::Folders(first, second) => {
                self.remove_inode(first);
                self.remove_inode(second);
                self.unnamed_folders -= 1;
            }
        }
    }

    fn add_inode(&mut self, ino: Ino) {
        *self.inodes.entry(ino).or_default() += 1;
    }

    fn remove_inode(&mut self, ino: Ino) {
        if let Entry::Occupied(mut count) = self.inodes.entry(ino) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// True if the kernel would wait for the answer to a request before it returns from this correction.
    fn is_in_the_way_of(&self, correction: &Correction) -> bool {
        let is_locked = |ino: &Ino| self.inodes.contains_key(ino);
        match correction {
            Correction::Attributes(_) => false,
            Correction::Content(ino) => is_locked(ino),
            Correction::Entry(parent, _) => self.unnamed_folders > 0 || is_locked(parent),
            Correction::Removed(parent, child, _) => {
                self.unnamed_folders > 0 || is_locked(parent) || is_locked(child)
            }
        }
    }
}

impl Corrections {
    /// Sets the kernel to correct.
    pub(super) fn attach(&self, kernel: Arc<dyn KernelCache>) {
        self.lock().kernel = Some(kernel);
    }

    /// A request has begun for which the kernel holds locks.
    pub(super) fn in_flight(self: Arc<Self>, locks: KernelLocks) -> InFlight {
        self.lock().in_flight.add(locks);
        InFlight {
            corrections: self,
            locks,
        }
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

    /// The task: makes one call after the other on a blocking thread.
    pub(super) async fn run(self: Arc<Self>) {
        while !self.lock().is_closed {
            let corrections = Arc::clone(&self);
            let told = tokio::task::spawn_blocking(move || corrections.tell_all()).await;
            if told.is_err() {
                tracing::error!("telling the kernel about a change panicked");
            }
            self.wake.notified().await;
        }
    }

    /// Makes every correction that has not to wait for a request. Each is chosen directly before its call,
    /// because a request may begin at any time.
    fn tell_all(&self) {
        while let Some((kernel, correction)) = self.next() {
            tell(&*kernel, &correction);
        }
    }

    fn next(&self) -> Option<(Arc<dyn KernelCache>, Correction)> {
        let mut state = self.lock();
        let CorrectionQueue {
            kernel,
            queue,
            waiting,
            in_flight,
            ..
        } = &mut *state;
        let kernel = Arc::clone(kernel.as_ref()?);
        let can_be_made = |correction: &Correction| !in_flight.is_in_the_way_of(correction);
        let correction = queue.remove(queue.iter().position(can_be_made)?)?;
        waiting.remove(&correction);
        Some((kernel, correction))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CorrectionQueue> {
        self.queue.lock().expect("the lock is never poisoned")
    }
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

    /// Corrections with a kernel that records its calls.
    fn recorded() -> (Arc<Corrections>, Arc<Recorder>) {
        let (corrections, recorder) = (Arc::<Corrections>::default(), Arc::<Recorder>::default());
        corrections.attach(recorder.clone());
        (corrections, recorder)
    }

    impl Recorder {
        fn take(&self) -> Vec<String> {
            std::mem::take(&mut self.0.lock().unwrap())
        }
    }

    #[test]
    fn what_a_request_locks_is_corrected_after_its_answer_and_the_rest_at_once() {
        let (top, folder, file, other) = (Ino(2), Ino(3), Ino(4), Ino(5));
        let cases = [
            (
                KernelLocks::Inode(top),
                vec!["removed 3 4 a", "content 4", "attributes 2", "entry 5 b"],
                vec!["entry 2 a", "removed 2 3 a"],
            ),
            (
                KernelLocks::Inode(file),
                vec!["entry 2 a", "removed 2 3 a", "attributes 2", "entry 5 b"],
                vec!["removed 3 4 a", "content 4"],
            ),
            (
                KernelLocks::Folders(other, other),
                vec!["content 4", "attributes 2"],
                vec!["entry 2 a", "removed 2 3 a", "removed 3 4 a", "entry 5 b"],
            ),
        ];
        for (locks, at_once, later) in cases {
            let (corrections, recorder) = recorded();
            let answered_too = Arc::clone(&corrections).in_flight(locks);
            let in_flight = Arc::clone(&corrections).in_flight(locks);
            for correction in [
                Correction::Entry(top, "a".into()),
                Correction::Removed(top, folder, "a".into()),
                Correction::Removed(folder, file, "a".into()),
                Correction::Content(file),
                Correction::Attributes(top),
                Correction::Entry(other, "b".into()),
            ] {
                corrections.tell(correction);
            }
            drop(answered_too);
            corrections.tell_all();
            assert_eq!(recorder.take(), at_once, "{locks:?}");
            drop(in_flight);
            corrections.tell_all();
            assert_eq!(recorder.take(), later, "{locks:?}");
            assert!(corrections.lock().in_flight.inodes.is_empty());
        }
    }

    #[tokio::test]
    async fn the_answer_wakes_the_task_that_corrects() {
        let (corrections, recorder) = recorded();
        let in_flight = Arc::clone(&corrections).in_flight(KernelLocks::Inode(Ino(1)));
        corrections.tell(Correction::Entry(Ino(1), "chair".into()));
        let task = tokio::spawn(Arc::clone(&corrections).run());
        corrections.tell(Correction::Attributes(Ino(9)));
        while recorder.0.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(recorder.take(), ["attributes 9"]);
        drop(in_flight);
        while recorder.0.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(recorder.take(), ["entry 1 chair"]);
        corrections.close();
        task.await.unwrap();
    }
}
