//! Counts the prims and instances of a stage before any of them is read.
//!
//! A few references say as many prims as one likes: each of 40 prims that refers twice to the next one makes 2^40. So what
//! prims with the same opinions have below them is counted once, and the count takes as long as the layers are large. The
//! count is an estimate: what namespaces add to it (relocates, inherits by a relative path) is counted where it is first seen.

use std::collections::HashMap;

use openusd::sdf::{Path, Specifier};
use openusd::usd::{Prim, Stage};

use super::super::super::settings::UsdPurpose;
use super::instances;
use super::transform::Visibility;
use super::unread::{is_of_purpose, is_walked};
use super::values::{of, targets, text, vectors};
use assetfs_formats::number_text::grouped;

/// Deeper trees than programs write.
pub(super) const MAX_DEPTH: usize = 400;
/// More prims than programs write. The memory of a job is full before, but a stage of so many is refused at once.
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
pub(super) fn excess(stage: &Stage, purpose: UsdPurpose) -> Option<String> {
    let mut counter = Counter {
        purpose,
        known: HashMap::new(),
    };
    let mut all = Count::default();
    for name in stage.root_prims().unwrap_or_default() {
        if let Ok(path) = Path::abs_root().append_path(name.as_str()) {
            all.add(counter.below(&stage.prim(path), 0));
        }
    }
    all.excess()
}

struct Counter {
    /// What is read besides prims without a purpose.
    purpose: UsdPurpose,
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
        if depth > MAX_DEPTH || !self.is_read(prim) {
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
        let prototypes = targets(prim, "prototypes");
        let places = of(prim, "positions")
            .and_then(vectors::<3>)
            .map_or(0, |it| it.len());
        let mut uses = vec![0; prototypes.len()];
        for (_, prototype) in instances::shown(prim, places, prototypes.len()) {
            uses[prototype] += 1;
        }
        for (prototype, uses) in prototypes.into_iter().zip(uses) {
            if uses > 0 {
                let one = self.below(&prim.stage().prim(prototype), depth + 1);
                count.add_instances(one, uses);
            }
        }
    }

    /// Whether the reader looks at what is below a prim. It looks at the parents first, so only the prim itself is asked.
    /// Children of a prim that is not read may set a purpose that is read. They are not counted here, but when they are
    /// read, with the same limits.
    fn is_read(&self, prim: &Prim) -> bool {
        let kind = prim.type_name().ok().flatten();
        matches!(prim.specifier(), Ok(Some(Specifier::Def)))
            && prim.is_active().unwrap_or_default()
            && is_walked(kind.as_ref().map_or("", |kind| kind.as_str()))
            && is_of_purpose(text(prim, "purpose").as_deref(), self.purpose)
            && !Visibility::of(prim).is_never()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_named() {
        let prototype = Count {
            prims: 10,
            ..Count::default()
        };
        for (times, said) in [
            (100_000, None),
            (400_001, Some("have more than 4,000,000 prims")),
            (1_000_001, Some("draw more than 1,000,000 instances")),
        ] {
            let mut count = Count::default();
            count.add_instances(prototype, times);
            let excess = count.excess();
            match said {
                None => assert_eq!(excess, None),
                Some(said) => assert!(excess.unwrap().ends_with(said)),
            }
        }
        let many = Count {
            prims: MAX_PRIMS + 1,
            ..Count::default()
        };
        assert!(many.excess().unwrap().contains("2,000,000 prims"));
    }
}
