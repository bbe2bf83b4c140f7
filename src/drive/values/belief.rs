//! How far something that the service told can be believed: since when, and whether asking again
//! failed.

use std::time::{Duration, Instant};

/// How far a listing can be believed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Freshness {
    /// When the service last said that all this is so.
    confirmed: Option<Instant>,
    /// It was confirmed in this mount, though perhaps not any more.
    was_confirmed: bool,
    /// True once all of it was told, in this mount or an earlier one.
    is_known: bool,
    /// The last attempt failed.
    failed_at: Option<Instant>,
    /// Something changed then: answers to earlier requests do not tell of it.
    doubted_at: Option<Instant>,
}

impl Freshness {
    /// An earlier mount knew all of it.
    pub fn remembered(&mut self) {
        self.is_known = true;
    }

    /// The service said, in answer to a request that began at `asked`, that all of it is so.
    pub fn confirmed(&mut self, asked: Instant, now: Instant) {
        if self.doubted_at.is_none_or(|doubted| doubted < asked) {
            self.confirmed = Some(now);
            self.doubted_at = None;
        }
        self.was_confirmed = true;
        self.failed_at = None;
        self.is_known = true;
    }

    /// The service could not be asked.
    pub fn failed(&mut self, now: Instant) {
        self.failed_at = Some(now);
    }

    /// The next look must ask the service, by a request that begins later.
    pub fn doubt(&mut self, now: Instant) {
        self.confirmed = None;
        self.doubted_at = Some(now);
    }

    /// True while no request that began after the last doubt was answered.
    pub fn is_doubted(&self) -> bool {
        self.doubted_at.is_some()
    }

    /// True once all of it was ever told.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// True while the last word of the service is younger than `refresh`.
    pub fn is_fresh(&self, now: Instant, refresh: Duration) -> bool {
        self.confirmed
            .is_some_and(|at| now.saturating_duration_since(at) < refresh)
    }

    /// True once the service has confirmed it in this mount.
    pub fn was_confirmed(&self) -> bool {
        self.was_confirmed
    }

    /// True when the service could not be asked lately: what is shown may be old.
    pub fn is_stale(&self) -> bool {
        self.failed_at.is_some() || self.confirmed.is_none()
    }

    /// True in the time in which asking again would only fail again.
    pub fn failed_lately(&self, now: Instant, refresh: Duration) -> bool {
        self.failed_at
            .is_some_and(|at| now.saturating_duration_since(at) < refresh)
    }
}
