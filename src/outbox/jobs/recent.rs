//! Lists of the service that were just requested. Many jobs that are sent together need the same ones.
//!
//! Invariant: nothing is paid or given up because of such a list alone. What was not there is protected by an idempotency key. An
//! asset that was complete and is deleted since is refused with its job; a result that was there is requested by itself when its job is
//! followed, and the job fails with a reason if it is deleted since. A result that had failed is not taken from here.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::locks::Locked;
use crate::outbox::jobs::tagged::TaggedModels;
use crate::wire::{AssetId, OptimizerConfig, PresetId};

/// How long a list counts.
const IS_RECENT: Duration = Duration::from_secs(5);

/// A preset of the account or of the service.
#[derive(Clone)]
pub struct KnownPreset {
    pub id: PresetId,
    pub name: String,
    pub config: OptimizerConfig,
    /// It is of the account, not of the service.
    pub is_own: bool,
}

/// The lists that jobs ask for.
#[derive(Default)]
pub struct RecentLists {
    /// By how often presets were changed here when they were requested.
    pub presets: Recent<u64, Arc<[KnownPreset]>>,
    pub factory_presets: Recent<(), Arc<[KnownPreset]>>,
    /// The assets that were complete. They stay so; one that is deleted is refused when its job is sent.
    pub complete: Recent<AssetId, ()>,
    /// The results of each asset.
    pub results: Recent<AssetId, Arc<TaggedModels>>,
}

/// Values that are forgotten soon.
pub struct Recent<K, V>(Mutex<HashMap<K, (Instant, V)>>);

impl<K, V> Default for Recent<K, V> {
    fn default() -> Recent<K, V> {
        Recent(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    /// Keeps a value that was just received.
    pub fn keep(&self, key: K, value: V) {
        let mut kept = self.0.locked();
        kept.retain(|_, (at, _)| at.elapsed() < IS_RECENT);
        kept.insert(key, (Instant::now(), value));
    }

    pub fn forget_if(&self, is_it: impl Fn(&V) -> bool) {
        self.0.locked().retain(|_, (_, value)| !is_it(value));
    }

    pub fn get(&self, key: &K) -> Option<V> {
        let kept = self.0.locked();
        let (at, value) = kept.get(key)?;
        (at.elapsed() < IS_RECENT).then(|| value.clone())
    }
}
