//! The connection limit: slots for connections, and which connection is closed for a new one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::activity::{Activity, Traffic, Use};
use super::limits::{ConnectionLimits, Peer};
use crate::locks::Locked;

/// For this time after a connection got its slot, it does not lose the slot to another one that waited at the same time,
/// even if it has sent no request yet.
const FIRST_BYTES_TIME: Duration = Duration::from_secs(1);

/// The connections of one or several listeners. Clones share the slots.
#[derive(Debug, Clone)]
pub struct Connections {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limits: ConnectionLimits,
    taken: Mutex<Taken>,
    /// A slot became free.
    freed: Notify,
    traffic: Arc<Traffic>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    waiting: usize,
    by_number: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    peer: Peer,
    activity: Arc<Activity>,
    end: CancellationToken,
}

/// Drop guard: the slot of one connection.
#[derive(Debug)]
pub struct Slot {
    shared: Arc<Shared>,
    number: u64,
    pub activity: Arc<Activity>,
    /// Cancelled when the slot is given to another connection.
    pub lost: CancellationToken,
}

impl Connections {
    pub fn new(limits: ConnectionLimits) -> Connections {
        Connections {
            shared: Arc::new(Shared {
                limits,
                taken: Mutex::default(),
                freed: Notify::new(),
                traffic: Arc::default(),
            }),
        }
    }

    /// The bytes of all connections so far.
    pub fn traffic(&self) -> &Traffic {
        &self.shared.traffic
    }

    pub(super) fn limits(&self) -> &ConnectionLimits {
        &self.shared.limits
    }

    /// A slot for a connection of `peer`. If all are taken, closes the least useful connection. If all connections
    /// are in use, waits; `None` after a timeout or if too many already wait.
    pub(super) async fn slot(&self, peer: Peer) -> Option<Slot> {
        let limits = self.limits();
        let arrived = {
            let mut taken = self.taken();
            let arrived = taken.next;
            if let Some(slot) = self.try_slot(&mut taken, peer, arrived) {
                return Some(slot);
            }
            if taken.waiting >= limits.total {
                return None;
            }
            taken.waiting += 1;
            arrived
        };
        let _waiting = Waiting(self);
        let waiting = async {
            loop {
                let freed = self.shared.freed.notified();
                if let Some(slot) = self.try_slot(&mut self.taken(), peer, arrived) {
                    return slot;
                }
                // A connection may stall meanwhile, so this is checked repeatedly.
                let again = tokio::time::sleep(limits.stalled() / 5);
                tokio::select! { () = freed => {}, () = again => {} }
            }
        };
        // The timeout error carries no details.
        tokio::time::timeout(limits.queue, waiting).await.ok()
    }

    #[track_caller]
    fn taken(&self) -> std::sync::MutexGuard<'_, Taken> {
        self.shared.taken.locked()
    }

    /// `arrived` is the number of the next slot at the time when the connection came: slots from this number on were given
    /// away while it waited.
    fn try_slot(&self, taken: &mut Taken, peer: Peer, arrived: u64) -> Option<Slot> {
        let of_peer = |entry: &Entry| entry.peer == peer;
        let theirs = taken.by_number.values().filter(|&entry| of_peer(entry));
        if theirs.count() >= self.limits().per_peer {
            taken.make_room(self.limits(), arrived, of_peer)?;
        } else if taken.by_number.len() >= self.limits().total {
            taken.make_room(self.limits(), arrived, |_| true)?;
        }
        let slot = Slot {
            shared: Arc::clone(&self.shared),
            number: taken.next,
            activity: Arc::new(Activity::begin(Arc::clone(&self.shared.traffic))),
            lost: CancellationToken::new(),
        };
        taken.next += 1;
        taken.by_number.insert(
            slot.number,
            Entry {
                peer,
                activity: Arc::clone(&slot.activity),
                end: slot.lost.clone(),
            },
        );
        Some(slot)
    }
}

impl Taken {
    /// Closes the least useful of the connections that `may_end`; `None` if all are in use.
    fn make_room(
        &mut self,
        limits: &ConnectionLimits,
        arrived: u64,
        may_end: impl Fn(&Entry) -> bool,
    ) -> Option<()> {
        let candidates = self.by_number.iter().filter(|(_, entry)| may_end(entry));
        // A connection that waited at the same time and has just got its slot had no time to send a request.
        let just_began = |number: u64, (kind, since): &(Use, Duration)| {
            number >= arrived && *kind == Use::NeverAsked && *since < FIRST_BYTES_TIME
        };
        let (number, (kind, _)) = candidates
            .filter_map(|(&number, entry)| Some((number, entry.activity.use_of(limits)?)))
            .filter(|(number, found)| !just_began(*number, found))
            .min_by(|(_, (kind, since)), (_, (other, other_since))| {
                kind.cmp(other).then(other_since.cmp(since))
            })?;
        let entry = self.by_number.remove(&number)?;
        entry.end.cancel();
        if kind != Use::NeverAsked {
            tracing::debug!(?kind, "a connection makes room for another");
        }
        Some(())
    }
}

/// Drop guard: counts a connection that waits for a slot.
struct Waiting<'a>(&'a Connections);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.taken().waiting -= 1;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.shared.taken.locked();
        taken.by_number.remove(&self.number);
        drop(taken);
        self.shared.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn peer(last: u8) -> Peer {
        Peer::of([10, 0, 0, last].into())
    }

    #[tokio::test(start_paused = true)]
    async fn the_least_useful_connection_makes_room() {
        let connections = Connections::new(ConnectionLimits {
            per_peer: 3,
            ..ConnectionLimits::new(4)
        });
        let busy = connections.slot(peer(1)).await.unwrap();
        busy.activity.begin_request();
        let idle = connections.slot(peer(1)).await.unwrap();
        idle.activity.begin_request();
        idle.activity.end_request();
        let silent = connections.slot(peer(1)).await.unwrap();
        advance(Duration::from_secs(1)).await;
        let silent_too = connections.slot(peer(1)).await.unwrap();
        assert!(silent.lost.is_cancelled(), "the fourth of one peer");
        let other = connections.slot(peer(2)).await.unwrap();
        assert!(!silent_too.lost.is_cancelled(), "room was kept for others");
        other.activity.begin_request();
        let another = connections.slot(peer(2)).await.unwrap();
        assert!(silent_too.lost.is_cancelled());
        another.activity.begin_request();
        let last = connections.slot(peer(2)).await.unwrap();
        assert!(idle.lost.is_cancelled());
        last.activity.begin_request();
        assert!(connections.slot(peer(2)).await.is_none(), "all are of use");
        busy.activity.wait();
        advance(Duration::from_secs(6)).await;
        assert!(connections.slot(peer(3)).await.is_some());
        assert!(busy.lost.is_cancelled(), "its client has stalled");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_gets_the_place_that_becomes_free() {
        let connections = Connections::new(ConnectionLimits::new(4));
        let mut busy = Vec::new();
        for last in 0..4 {
            let slot = connections.slot(peer(last)).await.unwrap();
            slot.activity.begin_request();
            busy.push(slot);
        }
        let waiting = tokio::spawn({
            let connections = connections.clone();
            async move { connections.slot(peer(9)).await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        busy.pop();
        let slot = waiting.await.unwrap().expect("a slot");
        slot.activity.begin_request();
        let began = tokio::time::Instant::now();
        assert!(connections.slot(peer(8)).await.is_none(), "in vain");
        assert_eq!(began.elapsed(), Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_waited_together_take_no_slot_from_each_other() {
        let connections = Connections::new(ConnectionLimits::new(4));
        let mut stalling = Vec::new();
        for last in 0..4 {
            let slot = connections.slot(peer(last)).await.unwrap();
            slot.activity.begin_request();
            slot.activity.wait();
            stalling.push(slot);
        }
        let waiting: Vec<_> = (4..8)
            .map(|last| {
                let connections = connections.clone();
                tokio::spawn(async move { connections.slot(peer(last)).await })
            })
            .collect();
        let mut slots = Vec::new();
        for waiting in waiting {
            slots.push(waiting.await.unwrap().expect("a slot"));
        }
        assert!(stalling.iter().all(|slot| slot.lost.is_cancelled()));
        assert!(!slots.iter().any(|slot| slot.lost.is_cancelled()));
    }
}
