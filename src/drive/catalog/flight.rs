//! Single flight: callers that request something already in flight wait for the same result.
//!
//! Invariant: a flight continues if all waiters leave, so that an interrupted reader wastes no request. Its
//! result is stored before waiters are woken.

use std::collections::HashMap;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::drive::background::Background;
use crate::drive::error::{DriveError, DriveResult};
use crate::locks::Locked;

/// A waiter's handle to the end of a flight.
#[derive(Clone)]
pub struct FlightEnd {
    end: Shared<BoxFuture<'static, DriveResult<()>>>,
    started: Instant,
}

impl FlightEnd {
    /// Waits until the flight has lasted for `patience`; `None` if it continues.
    pub async fn within(self, patience: Duration) -> Option<DriveResult<()>> {
        let left = patience.saturating_sub(self.started.elapsed());
        tokio::time::timeout(left, self).await.ok()
    }
}

impl Future for FlightEnd {
    type Output = DriveResult<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<DriveResult<()>> {
        self.end.poll_unpin(context)
    }
}

/// The flights by key.
pub struct Flights<K> {
    background: Background,
    under_way: Arc<Mutex<HashMap<K, FlightEnd>>>,
}

impl<K: Eq + Hash + Clone + Send + 'static> Flights<K> {
    pub fn new(background: Background) -> Flights<K> {
        Flights {
            background,
            under_way: Arc::default(),
        }
    }

    /// Joins the flight for `key`, or starts `work` as a new one. `work` stores what it fetched; the result
    /// says whether it succeeded.
    pub fn join<F>(&self, key: K, work: impl FnOnce() -> F) -> FlightEnd
    where
        F: Future<Output = DriveResult<()>> + Send + 'static,
    {
        let mut under_way = self.under_way.locked();
        if let Some(fetch_end) = under_way.get(&key) {
            return fetch_end.clone();
        }
        let fetch_end = FlightEnd {
            end: self.start(key.clone(), work()).boxed().shared(),
            started: Instant::now(),
        };
        under_way.insert(key, fetch_end.clone());
        fetch_end
    }

    fn start<F>(&self, key: K, work: F) -> impl Future<Output = DriveResult<()>> + Send + use<F, K>
    where
        F: Future<Output = DriveResult<()>> + Send + 'static,
    {
        let under_way = Arc::clone(&self.under_way);
        let (sender, receiver) = oneshot::channel();
        self.background.spawn(async move {
            // A flight that panics must not block its key.
            let result = std::panic::AssertUnwindSafe(work).catch_unwind().await;
            under_way.locked().remove(&key);
            // All waiters may have left.
            let _ = sender.send(result.unwrap_or_else(|_| Err(failed_inside())));
        });
        async move {
            // Only the end of the drive aborts a flight.
            receiver.await.unwrap_or_else(|_| {
                Err(DriveError::Unreachable("the drive is shutting down".into()))
            })
        }
    }
}

fn failed_inside() -> DriveError {
    DriveError::Local("internal error; the log has details".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::runtime::Handle;
    use tokio::sync::Notify;

    #[tokio::test]
    async fn two_who_ask_for_one_thing_share_one_request() {
        let flights: Flights<u8> = Flights::new(Background::new(Handle::current()));
        let (starts, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let ask = || {
            let (starts, go) = (Arc::clone(&starts), Arc::clone(&go));
            flights.join(1, || async move {
                starts.fetch_add(1, Ordering::SeqCst);
                go.notified().await;
                Ok(())
            })
        };
        let (first, second) = (ask(), ask());
        go.notify_one();
        assert_eq!(first.await, Ok(()));
        assert_eq!(second.await, Ok(()));
        assert_eq!(starts.load(Ordering::SeqCst), 1);
        go.notify_one();
        assert_eq!(ask().await, Ok(()));
        assert_eq!(starts.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_flight_goes_on_when_nobody_waits() {
        let flights: Flights<u8> = Flights::new(Background::new(Handle::current()));
        let has_started = Arc::new(Notify::new());
        let inside = Arc::clone(&has_started);
        drop(flights.join(1, || async move {
            inside.notify_one();
            Ok(())
        }));
        has_started.notified().await;
    }
}
