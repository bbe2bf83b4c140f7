//! Injected faults: a plan says which requests get which fault, and its seed makes each run the same.
//!
//! Faults are injected in front of the service: a request is delayed, cut, answered wrongly or not at all. The
//! service itself is unchanged. Without a plan, requests pass directly.

pub mod apply;
mod body;
mod plan;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::http::{Method, Uri};

pub use plan::{ChaosError, ChaosPlan, ConnectionFault, Fault};

use plan::{ConnectionRule, When};

use crate::locks::Locked;

/// The faults of one service. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Chaos {
    active: Arc<Mutex<Option<Arc<Active>>>>,
}

/// A plan and the counters of its rules.
#[derive(Debug)]
struct Active {
    plan: ChaosPlan,
    rules: Vec<Count>,
    connections: Vec<Count>,
}

#[derive(Debug, Default)]
struct Count {
    matched: AtomicU64,
    fired: AtomicU64,
}

impl Chaos {
    /// Starts a plan from its beginning; `None` ends all faults.
    pub fn set(&self, plan: Option<ChaosPlan>) {
        let active = plan.map(|plan| {
            Arc::new(Active {
                rules: plan.rules.iter().map(|_| Count::default()).collect(),
                connections: plan.connections.iter().map(|_| Count::default()).collect(),
                plan,
            })
        });
        *self.active.locked() = active;
    }

    /// How often each request rule fired, then how often each connection rule fired.
    pub fn fired(&self) -> Vec<u64> {
        let active = self.active();
        let counts = active
            .iter()
            .flat_map(|active| active.rules.iter().chain(&active.connections));
        counts
            .map(|count| count.fired.load(Ordering::Relaxed))
            .collect()
    }

    /// The current plan.
    pub fn plan(&self) -> Option<ChaosPlan> {
        Some(self.active()?.plan.clone())
    }

    fn active(&self) -> Option<Arc<Active>> {
        self.active.locked().clone()
    }

    /// The faults for a request, in the order of the plan.
    fn faults(&self, method: &Method, uri: &Uri) -> Vec<Fault> {
        let Some(active) = self.active() else {
            return Vec::new();
        };
        let mut faults = Vec::new();
        for (number, rule) in active.plan.rules.iter().enumerate() {
            if rule.matches(method, uri)
                && active.rules[number].fires(&rule.when, active.plan.seed, number as u64)
            {
                tracing::info!(%method, path = uri.path(), fault = ?rule.fault, "chaos");
                faults.push(rule.fault.clone());
            }
        }
        faults
    }

    /// The fault for a new connection.
    pub fn on_connection(&self) -> Option<ConnectionFault> {
        let active = self.active()?;
        let met = |(number, rule): (usize, &ConnectionRule)| {
            let stream = (number as u64) << 32;
            let fires = active.connections[number].fires(&rule.when, active.plan.seed, stream);
            fires.then_some(rule.fault)
        };
        active.plan.connections.iter().enumerate().find_map(met)
    }
}

impl Count {
    /// Counts a match and decides whether the rule fires. The decision depends only on the seed, the rule and the
    /// number of the match.
    fn fires(&self, when: &When, seed: u64, stream: u64) -> bool {
        let number = self.matched.fetch_add(1, Ordering::Relaxed);
        if number < when.after || draw(seed, stream, number) >= when.chance {
            return false;
        }
        let most = when.times.unwrap_or(u64::MAX);
        let counted = |fired| (fired < most).then_some(fired + 1);
        self.fired
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted)
            .is_ok()
    }
}

/// A number in [0, 1) computed only from the three inputs (SplitMix64).
fn draw(seed: u64, stream: u64, number: u64) -> f64 {
    let mut state = seed;
    for part in [stream, number] {
        state = state
            .wrapping_add(part.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
    }
    // A float holds 53 bits exactly.
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(plan: &str) -> Vec<bool> {
        let chaos = Chaos::default();
        chaos.set(Some(ChaosPlan::parse(plan).unwrap()));
        let uri = Uri::from_static("/api/v2/rawmodel?page=2");
        (0..200)
            .map(|_| !chaos.faults(&Method::GET, &uri).is_empty())
            .collect()
    }

    #[test]
    fn a_seed_makes_a_run_repeat() {
        let plan = |seed: u64| {
            format!(
                "seed = {seed}\n[[rule]]\nchance = 0.3\nfault = {{ kind = \"status\", status = 503 }}"
            )
        };
        let once = run(&plan(7));
        assert_eq!(once, run(&plan(7)));
        assert_ne!(once, run(&plan(8)));
        let share = once.iter().filter(|&&fired| fired).count();
        assert!((30..=90).contains(&share), "{share}");
    }

    #[test]
    fn a_rule_begins_and_ends_where_it_says() {
        let fired = run(
            "seed = 1\n[[rule]]\nmethod = \"GET\"\npath = \"/api/*/rawmodel\"\nafter = 2\ntimes = 3\n\
             fault = { kind = \"drop_before\" }",
        );
        let numbers: Vec<usize> = (0..200).filter(|&number| fired[number]).collect();
        assert_eq!(numbers, [2, 3, 4]);
        let other = run("seed = 1\n[[rule]]\nmethod = \"PUT\"\nfault = { kind = \"drop_after\" }");
        assert!(!other.contains(&true));
    }
}
