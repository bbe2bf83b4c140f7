//! Circuit breaker of a store: after a failure it is not used for a while, longer after each further failure.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::store::StoreError;
use crate::backoff::Backoff;
use crate::locks::Locked;

const FIRST_PAUSE: Duration = Duration::from_secs(30);
const PAUSES: Backoff = Backoff::doubling(FIRST_PAUSE, Duration::from_secs(300));

/// The health of one way to use a store.
#[derive(Debug, Default)]
pub(super) struct Health {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    outage: Option<Outage>,
    last_success: Option<Instant>,
}

#[derive(Debug)]
struct Outage {
    until: Instant,
    pauses: Backoff,
    pause: Duration,
    /// One caller tries again.
    is_tried: bool,
    why: String,
}

impl Health {
    /// False while the store is left alone. When the pause is over, one caller may try.
    pub(super) fn may_try(&self) -> bool {
        let now = Instant::now();
        match &mut self.state.locked().outage {
            None => true,
            Some(outage) if now < outage.until => false,
            Some(outage) => {
                outage.until = now + outage.pause;
                outage.is_tried = true;
                true
            }
        }
    }

    /// Why the store is not used, and the time until it is tried again.
    pub(super) fn outage_now(&self) -> Option<(String, Duration)> {
        let state = self.state.locked();
        let outage = state.outage.as_ref()?;
        let left = outage.until.saturating_duration_since(Instant::now());
        Some((outage.why.clone(), left))
    }

    pub(super) fn note_success(&self, place: &str, doing: &str) {
        let mut state = self.state.locked();
        state.last_success = Some(Instant::now());
        if state.outage.take().is_some() {
            tracing::info!("the shared cache {place} can be {doing} again");
        }
    }

    /// Notes that there was no answer within `limit`. If another request was answered in that time, the store is only
    /// busy, and is used on.
    pub(super) fn note_late(&self, place: &str, doing: &str, limit: Duration) {
        let mut state = self.state.locked();
        let is_busy = state
            .last_success
            .is_some_and(|answered| answered.elapsed() < limit);
        if !is_busy {
            let late = StoreError::Late(limit.as_secs());
            state.begin_outage(place, doing, &late);
        }
    }

    pub(super) fn note_failure(&self, place: &str, doing: &str, error: &StoreError) {
        self.state.locked().begin_outage(place, doing, error);
    }
}

impl State {
    /// Leaves the store alone, or for longer if this was the request that tried it again.
    fn begin_outage(&mut self, place: &str, doing: &str, error: &StoreError) {
        let why = error.to_string();
        let mut pauses = match &self.outage {
            None => {
                tracing::warn!(
                    "the shared cache {place} cannot be {doing}: {why}. Files are read from the service until it can; \
                     it is tried again after {} s",
                    FIRST_PAUSE.as_secs()
                );
                PAUSES
            }
            Some(outage) if outage.is_tried => outage.pauses,
            // This request was in flight when the outage began; it does not extend the outage.
            Some(_) => return,
        };
        let pause = pauses.next_pause();
        self.outage = Some(Outage {
            until: Instant::now() + pause,
            pauses,
            pause,
            is_tried: false,
            why,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_fail_together_are_one_failure() {
        let health = Health::default();
        assert!(health.may_try() && health.may_try());
        for _ in 0..5 {
            health.note_failure("/farm", "read", &StoreError::Late(3));
        }
        assert!(!health.may_try());
        let (why, left) = health.outage_now().unwrap();
        assert_eq!(why, "it did not answer within 3 s");
        assert!(left <= FIRST_PAUSE, "{left:?}");
    }

    #[test]
    fn one_caller_tries_again_after_the_pause_and_a_failure_doubles_it() {
        let health = Health::default();
        health.note_failure("/farm", "read", &StoreError::Late(3));
        for pause in [60, 120, 240, 300, 300] {
            health.state.locked().outage.as_mut().unwrap().until = Instant::now();
            assert!(health.may_try() && !health.may_try());
            health.note_failure("/farm", "read", &StoreError::Late(3));
            let left = health.outage_now().unwrap().1;
            assert!(left.as_secs_f64().round() == f64::from(pause), "{left:?}");
        }
        health.note_success("/farm", "read");
        assert!(health.may_try() && health.may_try());
        assert_eq!(health.outage_now(), None);
    }

    #[test]
    fn a_late_answer_is_an_outage_only_if_nothing_else_was_answered_meanwhile() {
        let health = Health::default();
        health.note_success("/farm", "read");
        health.note_late("/farm", "read", Duration::from_secs(3));
        assert!(health.may_try(), "it is only busy");
        let long_ago = Instant::now() - Duration::from_secs(4);
        health.state.locked().last_success = Some(long_ago);
        health.note_late("/farm", "read", Duration::from_secs(3));
        assert!(!health.may_try(), "it hangs");
    }
}
