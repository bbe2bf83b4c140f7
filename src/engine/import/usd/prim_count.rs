//! Counts the prims and instances of a stage before any of them is read.
//!
//! A few references say as many prims as one likes: each of 40 prims that refers twice to the next one makes 2^40. So what
//! prims with the same opinions have below them is counted once, and the count takes as long as the layers are large. The
//! count is an estimate: what namespaces add to it (relocates, inherits by a relative path) is counted where it is first seen.

use std::collections::HashMap;

use openusd::sdf::{Path, Specifier};
use openusd::usd::{Prim, Stage};

use super::super::super::number_text::grouped;
use super::nodes::{MAX_DEPTH, is_walked};
use super::transform::Visibility;
use super::values::{integers, of, targets};

/// More prims than programs write, and about ten times what fits into the memory of a job.
pub(super) const MAX_PRIMS: u64 = 2_000_000;
/// Instances of all point instancers, and the prims of their copies. Each takes some kilobytes.
const MAX_INSTANCES: u64 = 1_000_000;
const MAX_COPIES: u64 = 4_000_000;

/// The layers and paths that hold a prim's opinions, the strongest first.
type Sites = Vec<(String, Path)>;

/// What a prim and all below it make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) prims: u64,
    pub(super) instances: u64,
    /// Prims in instances.
    pub(super) copies: u64,
}

impl Count {
    fn add(&mut self, other: Count) {
        self.prims = self.prims.saturating_add(other.prims);
        self.instances = self.instances.saturating_add(other.instances);
        self.copies = self.copies.saturating_add(other.copies);
    }

    /// So many instances of a prototype. Its prims are read once.
    fn add_instances(&mut self, prototype: Count, times: u64) {
        let all = |one: u64, more: u64| one.saturating_add(more).saturating_mul(times);
        self.add(Count {
            prims: prototype.prims,
            instances: all(prototype.instances, 1),
            copies: all(prototype.prims, prototype.copies),
        });
    }

    /// What of this is more than a stage may have.
    pub(super) fn excess(&self) -> Option<String> {
        if self.prims > MAX_PRIMS {
            let most = grouped(MAX_PRIMS);
            Some(format!(
                "it has more than {most} prims once its references are followed"
            ))
        } else if self.instances > MAX_INSTANCES {
            let most = grouped(MAX_INSTANCES);
            Some(format!(
                "its point instancers draw more than {most} instances"
            ))
        } else if self.copies > MAX_COPIES {
            let most = grouped(MAX_COPIES);
            Some(format!(
                "the instances of its point instancers have more than {most} prims"
            ))
        } else {
            None
        }
    }
}

/// Says what is too large in a stage; `None` if it can be read.
pub(super) fn excess(stage: &Stage) -> Option<String> {
    let mut counter = Counter::default();
    let mut all = Count::default();
    for name in stage.root_prims().unwrap_or_default() {
        if let Ok(path) = Path::abs_root().append_path(name.as_str()) {
            all.add(counter.below(&stage.prim(path), 0));
        }
    }
    all.excess()
}

#[derive(Default)]
struct Counter {
    /// `None` while a prim is being counted.
    known: HashMap<Sites, Option<Count>>,
}

impl Counter {
    fn below(&mut self, prim: &Prim, depth: usize) -> Count {
        let own = Count {
            prims: 1,
            ..Count::default()
        };
        // The reader refuses what is deeper.
        if depth > MAX_DEPTH || !is_read(prim) {
            return own;
        }
        let sites = prim.prim_stack().unwrap_or_default();
        if let Some(known) = self.known.get(&sites) {
            return known.unwrap_or(own);
        }
        self.known.insert(sites.clone(), None);
        let mut count = own;
        let kind = prim.type_name().ok().flatten();
        if kind.is_some_and(|kind| kind.as_str() == "PointInstancer") {
            self.add_instances(prim, depth, &mut count);
        } else {
            for child in prim.children().unwrap_or_default() {
                count.add(self.below(&child, depth + 1));
            }
        }
        self.known.insert(sites, Some(count));
        count
    }

    /// A prototype is read once, and copied for each of its instances.
    fn add_instances(&mut self, prim: &Prim, depth: usize, count: &mut Count) {
        let mut uses: HashMap<i64, u64> = HashMap::new();
        for chosen in of(prim, "protoIndices")
            .and_then(integers)
            .into_iter()
            .flatten()
        {
            *uses.entry(chosen).or_default() += 1;
        }
        for (index, prototype) in (0..).zip(targets(prim, "prototypes")) {
            if let Some(uses) = uses.get(&index) {
                let one = self.below(&prim.stage().prim(prototype), depth + 1);
                count.add_instances(one, *uses);
            }
        }
    }
}

/// Whether the reader looks at what is below a prim. It looks at the parents first, so only the prim itself is asked.
fn is_read(prim: &Prim) -> bool {
    let kind = prim.type_name().ok().flatten();
    matches!(prim.specifier(), Ok(Some(Specifier::Def)))
        && prim.is_active().unwrap_or_default()
        && is_walked(kind.as_ref().map_or("", |kind| kind.as_str()))
        && !Visibility::of(prim).is_never()
}
