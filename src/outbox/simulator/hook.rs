//! Hooks of the simulation in the outbox: killing the process at a point, a full disk, a wrong clock, seeded random
//! numbers. Without effect on threads without a simulation.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::client::scripted;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::moment::Moment;

/// The wall clock at the beginning of every run.
const EPOCH_SECS: i64 = 1_700_000_000;

thread_local! {
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
    static DEAD: Cell<bool> = const { Cell::new(false) };
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
    static DISK_FULL: Cell<bool> = const { Cell::new(false) };
    static SKEW_SECS: Cell<i64> = const { Cell::new(0) };
    static TICKS: Cell<u32> = const { Cell::new(0) };
    static DEATH: RefCell<Option<Arc<Notify>>> = const { RefCell::new(None) };
    static TRACE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Begins a run on this thread.
pub fn begin(seed: u64) -> Arc<Notify> {
    scripted::seed_chance(seed);
    let death = Arc::new(Notify::new());
    DEATH.set(Some(death.clone()));
    TRACE.take();
    TICKS.set(0);
    SKEW_SECS.set(0);
    ACTIVE.set(true);
    live(None);
    death
}

/// Ends the run and returns its trace.
pub fn end() -> Vec<String> {
    ACTIVE.set(false);
    DEATH.set(None);
    TRACE.take()
}

/// Starts a new process, which is killed when it passes a failpoint for the `fuse`-th time.
pub fn live(fuse: Option<u32>) {
    DEAD.set(false);
    DISK_FULL.set(false);
    FUSE.set(fuse);
}

/// Kills the process: nothing that it still does has an effect.
pub fn die() {
    if !DEAD.replace(true) {
        note("died");
        DEATH.with_borrow(|death| {
            if let Some(death) = death {
                death.notify_one();
            }
        });
    }
}

/// True on a thread with a simulation.
pub fn is_active() -> bool {
    ACTIVE.get()
}

/// True once the process has died.
pub fn is_dead() -> bool {
    ACTIVE.get() && DEAD.get()
}

/// The disk is full from now on, or has room again.
pub fn fill_disk(full: bool) {
    DISK_FULL.set(full);
}

/// The wall clock jumps.
pub fn skew(secs: i64) {
    SKEW_SECS.set(SKEW_SECS.get() + secs);
}

/// Writes a line of the trace.
pub fn note(line: impl Into<String>) {
    if ACTIVE.get() {
        let line = line.into();
        TRACE.with_borrow_mut(|trace| trace.push(line));
    }
}

/// The process passes a failpoint.
pub fn hit(point: Failpoint) {
    let Some(left) = FUSE.get().filter(|_| ACTIVE.get() && !DEAD.get()) else {
        return;
    };
    FUSE.set(left.checked_sub(1).filter(|left| *left > 0));
    if left == 1 {
        note(format!("at {}", point.name()));
        die();
    }
}

/// Fails when the disk is full, and for a process that has died.
pub fn check_disk() -> io::Result<()> {
    match (DEAD.get(), DISK_FULL.get()) {
        _ if !ACTIVE.get() => Ok(()),
        (true, _) => Err(io::Error::from_raw_os_error(libc::EIO)),
        (false, true) => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
        (false, false) => Ok(()),
    }
}

/// The wall clock of a simulation. It counts its readings, so that no two are equal.
pub fn moment() -> Option<Moment> {
    ACTIVE.get().then(|| {
        TICKS.set(TICKS.get() + 1);
        Moment {
            secs: EPOCH_SECS + SKEW_SECS.get(),
            nanos: TICKS.get() % 1_000_000_000,
        }
    })
}

/// A number below `bound`, from the seed.
pub fn below(bound: u64) -> u64 {
    scripted::draw().expect("a seeded thread") % bound.max(1)
}

/// True with this probability.
pub fn chance(percent: u64) -> bool {
    below(100) < percent
}
