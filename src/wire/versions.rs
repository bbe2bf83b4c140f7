//! Which models are versions of one: what notes and records say, for the drive and for the page of a service.

use std::collections::{BTreeSet, HashMap};

use super::id::AssetId;

/// The versions of each model: all that replace each other, in the order of their ids.
///
/// Two machines may replace the same version at the same moment. Then the later one counts as the next version of the
/// earlier, so that all agree which is the newest.
#[derive(Debug)]
pub struct AllVersions {
    chains: Vec<BTreeSet<AssetId>>,
    /// Where a version is in `chains`.
    index: HashMap<AssetId, usize>,
}

impl AllVersions {
    /// `replacements` are pairs of old and new. One whose new version is not the later one tells nothing.
    pub fn new(replacements: impl IntoIterator<Item = (AssetId, AssetId)>) -> AllVersions {
        let mut all = AllVersions {
            chains: Vec::new(),
            index: HashMap::new(),
        };
        for (old, new) in replacements {
            if old < new {
                all.join(old, new);
            }
        }
        all
    }

    fn join(&mut self, old: AssetId, new: AssetId) {
        let at = self.index_of(old);
        let from = self.index_of(new);
        if at == from {
            return;
        }
        for version in std::mem::take(&mut self.chains[from]) {
            self.index.insert(version, at);
            self.chains[at].insert(version);
        }
    }

    fn index_of(&mut self, version: AssetId) -> usize {
        *self.index.entry(version).or_insert_with(|| {
            self.chains.push(BTreeSet::from([version]));
            self.chains.len() - 1
        })
    }

    /// The versions before this one, the latest first.
    pub fn before(&self, version: AssetId) -> impl Iterator<Item = AssetId> {
        let versions = self.index.get(&version).map(|at| &self.chains[*at]);
        let before = versions.map(|versions| versions.range(..version).rev().copied());
        before.into_iter().flatten()
    }

    /// Each version that is not the newest, with the next one that is there.
    pub fn replaced(&self, is_there: impl Fn(AssetId) -> bool) -> HashMap<AssetId, AssetId> {
        let mut replaced = HashMap::new();
        for versions in &self.chains {
            let mut next = None;
            for version in versions.iter().rev() {
                replaced.extend(next.map(|next| (*version, next)));
                if is_there(*version) {
                    next = Some(*version);
                }
            }
        }
        replaced
    }
}
