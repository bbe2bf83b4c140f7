//! The freshness of listings: when the service last confirmed one, and whether a request failed.

use std::time::Duration;

use tokio::time::Instant;

/// The freshness of a listing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Freshness {
    /// When the service last confirmed it.
    confirmed: Option<Instant>,
    /// It was confirmed in this mount, though perhaps it is no longer true.
    was_confirmed: bool,
    /// True once it was complete, in this mount or an earlier one.
    is_known: bool,
    /// The last attempt failed.
    failed_at: Option<Instant>,
    /// The time of a change: answers to earlier requests lack it.
    doubted_at: Option<Instant>,
}

impl Freshness {
    /// An earlier mount knew all of it.
    pub fn remembered(&mut self) {
        self.is_known = true;
    }

    /// The service confirmed it, in answer to a request that began at `asked`.
    pub fn confirmed(&mut self, asked: Instant, now: Instant) {
        if self.doubted_at.is_none_or(|doubted| doubted < asked) {
            self.confirmed = Some(now);
            self.doubted_at = None;
        }
        self.was_confirmed = true;
        self.failed_at = None;
        self.is_known = true;
    }

    /// A request failed.
    pub fn failed(&mut self, now: Instant) {
        self.failed_at = Some(now);
    }

    /// The next access must send a request.
    pub fn mark_stale(&mut self, now: Instant) {
        self.confirmed = None;
        self.doubted_at = Some(now);
    }

    /// True until a request that began after the last change is answered.
    pub fn is_doubted(&self) -> bool {
        self.doubted_at.is_some()
    }

    /// True once it was complete.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// True while the last confirmation is younger than `refresh`.
    pub fn is_fresh(&self, now: Instant, refresh: Duration) -> bool {
        self.confirmed
            .is_some_and(|at| now.saturating_duration_since(at) < refresh)
    }

    /// True once the service has confirmed it in this mount.
    pub fn was_confirmed(&self) -> bool {
        self.was_confirmed
    }

    /// True if the last request failed: it may be old.
    pub fn is_stale(&self) -> bool {
        self.failed_at.is_some() || self.confirmed.is_none()
    }

    /// True for a while after a failure, when another request would probably fail too.
    pub fn failed_lately(&self, now: Instant, refresh: Duration) -> bool {
        self.failed_at
            .is_some_and(|at| now.saturating_duration_since(at) < refresh)
    }
}
