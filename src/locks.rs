//! Locks after a panic: one rule for all parts of the program. And a record of who waits for which lock, for the log of a
//! program that hangs.
//!
//! A panic ends the call or task that caused it, and nothing else. So the next holder of a lock that was held then takes
//! the data as they are. What is done under a lock must therefore not leave them half changed where it may panic.

/// For code whose interleavings `scripts/check/interleavings` tries: with `--cfg shuttle` these are its locks, so that it decides
/// which thread goes on.
#[cfg(shuttle)]
pub use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(shuttle))]
pub use std::sync::{Condvar, Mutex, MutexGuard};

use std::fmt;
use std::panic::Location;
use std::sync::{self, PoisonError, TryLockError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::backoff::LogPauses;

/// Takes locks by that rule.
pub trait Locked<T: ?Sized> {
    /// Unlocks when it is dropped.
    type Held<'a>
    where
        Self: 'a,
        T: 'a;

    /// Waits for the lock and takes it, also after a panic of another holder.
    fn locked(&self) -> Self::Held<'_>;
}

#[cfg(shuttle)]
impl<T: ?Sized> Locked<T> for Mutex<T> {
    type Held<'a>
        = MutexGuard<'a, T>
    where
        T: 'a;

    fn locked(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Locked<T> for sync::Mutex<T> {
    type Held<'a>
        = sync::MutexGuard<'a, T>
    where
        T: 'a;

    #[track_caller]
    fn locked(&self) -> sync::MutexGuard<'_, T> {
        let (lock, place) = (address(self), Location::caller());
        let guard = match self.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let _waiting = ListedWait::begin(lock, place);
                self.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        note_holder(lock, place);
        guard
    }
}

/// A thread that waits for a lock.
#[derive(Debug, Clone)]
pub struct LockWait {
    /// The name of the thread, or its number.
    pub thread: String,
    /// Where it takes the lock.
    pub place: &'static Location<'static>,
    /// Where the lock was taken by the one who holds it, if that is known.
    pub taken_at: Option<&'static Location<'static>>,
    pub lasts: Duration,
}

impl fmt::Display for LockWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LockWait { thread, place, .. } = self;
        let seconds = self.lasts.as_secs();
        write!(
            f,
            "thread {thread} has waited for {seconds} s at {place} for a lock"
        )?;
        match self.taken_at {
            Some(holder) => write!(f, " that was taken at {holder}"),
            None => Ok(()),
        }
    }
}

/// The threads that have waited for a lock for `patience` now, and again whenever their waits have doubled; the longest wait first.
pub fn take_long_lock_waits(patience: Duration) -> Vec<LockWait> {
    let mut found = Vec::new();
    for wait in waits().iter_mut() {
        let lasts = wait.since.elapsed();
        if wait.logged.is_due(lasts, patience) {
            found.push(wait.shown(lasts));
        }
    }
    found.sort_by_key(|wait| std::cmp::Reverse(wait.lasts));
    found
}

static WAITS: sync::Mutex<Vec<WaitingThread>> = sync::Mutex::new(Vec::new());

struct WaitingThread {
    thread: ThreadId,
    name: Option<String>,
    lock: usize,
    place: &'static Location<'static>,
    since: Instant,
    logged: LogPauses,
}

impl WaitingThread {
    fn shown(&self, lasts: Duration) -> LockWait {
        LockWait {
            thread: self
                .name
                .clone()
                .unwrap_or_else(|| format!("{:?}", self.thread)),
            place: self.place,
            taken_at: holder(self.lock),
            lasts,
        }
    }
}

fn waits() -> sync::MutexGuard<'static, Vec<WaitingThread>> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Drop guard: this thread is listed as one that waits for a lock. It waits for one at a time.
struct ListedWait;

impl ListedWait {
    fn begin(lock: usize, place: &'static Location<'static>) -> ListedWait {
        let thread = thread::current();
        waits().push(WaitingThread {
            thread: thread.id(),
            name: thread.name().map(str::to_owned),
            lock,
            place,
            since: Instant::now(),
            logged: LogPauses::default(),
        });
        ListedWait
    }
}

impl Drop for ListedWait {
    fn drop(&mut self) {
        let own = thread::current().id();
        waits().retain(|wait| wait.thread != own);
    }
}

/// Where a lock was taken last, for the log. Several locks share a slot, so the place is not known if another lock of the slot
/// was taken since, or if another thread used the slot at that moment: nobody waits for a slot.
type LastTaken = sync::Mutex<Option<(usize, &'static Location<'static>)>>;

const SLOTS: usize = 256;

static LAST_TAKEN: [LastTaken; SLOTS] = [const { sync::Mutex::new(None) }; SLOTS];

fn last_taken(lock: usize) -> &'static LastTaken {
    // Locks are aligned, so the lowest bits are the same for all.
    &LAST_TAKEN[(lock >> 4) % SLOTS]
}

fn note_holder(lock: usize, place: &'static Location<'static>) {
    if let Ok(mut last) = last_taken(lock).try_lock() {
        *last = Some((lock, place));
    }
}

fn holder(lock: usize) -> Option<&'static Location<'static>> {
    let last = *last_taken(lock).try_lock().ok()?;
    last.filter(|(taken, _)| *taken == lock)
        .map(|(_, place)| place)
}

fn address<T: ?Sized>(lock: &sync::Mutex<T>) -> usize {
    std::ptr::from_ref(lock).cast::<()>().addr()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, mpsc};

    use super::*;

    #[test]
    fn a_thread_that_waits_is_named_with_the_place_that_holds_the_lock() {
        let lock = Arc::new(Mutex::new(0));
        let held = lock.locked();
        let held_at = line!() - 1;
        let waiter = {
            let lock = Arc::clone(&lock);
            let waits = move || *lock.locked() += 1;
            thread::Builder::new()
                .name("the-waiter".to_owned())
                .spawn(waits)
                .unwrap()
        };
        let is_it = |wait: &LockWait| wait.thread == "the-waiter";
        let deadline = Instant::now() + Duration::from_secs(30);
        let found = loop {
            match take_long_lock_waits(Duration::ZERO).into_iter().find(is_it) {
                Some(found) => break found,
                None => assert!(Instant::now() < deadline, "nobody waits"),
            }
            thread::yield_now();
        };
        assert_eq!(found.taken_at.map(Location::line), Some(held_at));
        let said = found.to_string();
        assert!(
            said.contains("thread the-waiter has waited for 0 s at src/locks.rs:"),
            "{said}"
        );
        assert!(
            said.ends_with(&format!("taken at src/locks.rs:{held_at}:25")),
            "{said}"
        );
        drop(held);
        waiter.join().unwrap();
        assert!(!take_long_lock_waits(Duration::ZERO).iter().any(is_it));
        assert_eq!(*lock.locked(), 1);
    }

    #[test]
    fn a_lock_is_taken_after_a_panic_of_its_holder() {
        let lock = Arc::new(Mutex::new(7));
        let (began, begins) = mpsc::channel();
        let panics = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || {
                let _held = lock.locked();
                began.send(()).unwrap();
                panic!("on purpose");
            })
        };
        begins.recv().unwrap();
        assert!(panics.join().is_err());
        assert_eq!(*lock.locked(), 7);
    }
}
