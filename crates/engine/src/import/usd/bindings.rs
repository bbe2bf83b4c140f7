//! Which material a prim has: direct and collection bindings of it and its parents, as `UsdShadeMaterialBindingAPI`
//! defines it. Bindings count without the API schema as well, because older files lack it.

use std::collections::HashMap;

use openusd::sdf::{Path, Value};
use openusd::usd::{Collection, MembershipQuery, Stage, is_collection_api_path};

use super::values::{targets, text_of};

const BINDING: &str = "material:binding";

/// Purposes of materials in the order of preference: for viewers, for all, for renderers.
const PURPOSES: [&str; 3] = ["preview", "", "full"];

#[derive(Clone)]
struct Binding {
    purpose: String,
    /// For a binding of a collection.
    collection: Option<Path>,
    material: Path,
    beats_descendants: bool,
}

/// The bindings that were read so far.
#[derive(Default)]
pub(super) struct Bindings {
    at: HashMap<String, Vec<Binding>>,
    members: HashMap<String, Option<MembershipQuery>>,
}

impl Bindings {
    /// The material of a prim.
    pub(super) fn material_of(&mut self, stage: &Stage, prim: &Path) -> Option<Path> {
        let ancestors: Vec<Path> = prim.ancestors_below_root().collect();
        let found = ancestors
            .iter()
            .map(|path| self.read(stage, path))
            .collect::<Vec<_>>();
        PURPOSES.iter().find_map(|purpose| {
            let mut winner: Option<Path> = None;
            for bindings in &found {
                let of_purpose = bindings
                    .iter()
                    .filter(|binding| binding.purpose == *purpose);
                let mut applying = of_purpose.filter(|binding| match &binding.collection {
                    Some(collection) => self.is_member(stage, collection, prim),
                    None => true,
                });
                // Collections come first in the list.
                if let Some(binding) = applying.next()
                    && (winner.is_none() || binding.beats_descendants)
                {
                    winner = Some(binding.material.clone());
                }
            }
            winner
        })
    }

    /// Whether a prim has a binding of its own.
    pub(super) fn has_own(&mut self, stage: &Stage, prim: &Path) -> bool {
        !self.read(stage, prim).is_empty()
    }

    /// The bindings that a prim itself has, those of collections first.
    fn read(&mut self, stage: &Stage, path: &Path) -> Vec<Binding> {
        if let Some(known) = self.at.get(path.as_str()) {
            return known.clone();
        }
        let prim = stage.prim(path.clone());
        let names = prim.property_names().unwrap_or_default();
        let mut bindings: Vec<Binding> = names
            .iter()
            .filter_map(|name| {
                let rest = name.as_str().strip_prefix(BINDING)?;
                let relationship = prim.relationship(name.as_str());
                let targets = targets(&prim, name.as_str());
                let field = stage.attribute(relationship.path().clone());
                let strength = field.get_metadata::<Value>("bindMaterialAs").ok().flatten();
                let strength = strength.and_then(|value| text_of(&value));
                let (purpose, collection, material) = match rest.strip_prefix(":collection:") {
                    None => (rest.trim_start_matches(':'), None, targets.first()?),
                    Some(rest) => {
                        let [collection, material] = targets.as_slice() else {
                            return None;
                        };
                        let purpose = rest.split_once(':').map_or("", |(purpose, _)| purpose);
                        (purpose, Some(collection.clone()), material)
                    }
                };
                Some(Binding {
                    purpose: purpose.to_owned(),
                    collection,
                    material: material.clone(),
                    beats_descendants: strength.as_deref() == Some("strongerThanDescendants"),
                })
            })
            .collect();
        bindings.sort_by_key(|binding| binding.collection.is_none());
        self.at.insert(path.as_str().to_owned(), bindings.clone());
        bindings
    }

    fn is_member(&mut self, stage: &Stage, collection: &Path, prim: &Path) -> bool {
        let key = collection.as_str().to_owned();
        let query = self.members.entry(key).or_insert_with(|| {
            let (owner, name) = is_collection_api_path(collection)?;
            Collection::new(owner, name)
                .compute_membership_query(stage)
                .ok()
        });
        query
            .as_ref()
            .is_some_and(|query| query.is_path_included(prim))
    }
}
