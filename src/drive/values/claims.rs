//! Assigns unique names to objects.
//!
//! Invariant: within a folder, names and objects correspond one to one. An object keeps its name as long as it
//! exists and its service name stays, whatever else appears. The first object keeps the plain name. A later one is
//! `name (qualifier)` if it has a qualifier and that name is free, else it gets `~<id>`; of objects that appear together
//! the lowest id is first. One exception: an object that lacks the plain name only because a draft has it gets it when the draft
//! gives it up. The state can be stored and read back by [`NameClaims::restore`], so that names are the same
//! after a remount.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::names::{NAME_MAX_BYTES, ends_in_id, safe_name, split_id, with_id};

/// The names of one folder. Ids are those of the folder's kind of object.
#[derive(Debug, Clone, Default)]
pub struct NameClaims {
    /// The name of each object, and the service name that it comes from.
    by_id: BTreeMap<u64, Claim>,
    by_name: HashMap<String, u64>,
    /// Objects that are shown as `name~<id>` because something else in the folder, such as a draft, has their plain name.
    yielding: BTreeSet<u64>,
    /// The suffix of every name: `.json` in `presets/`, empty in most folders.
    extension: &'static str,
}

/// What a name is made of.
#[derive(Debug, Clone, Copy)]
pub struct NameParts<'a> {
    /// The object's name on the service.
    pub service_name: &'a str,
    /// Tells it apart from others of its name.
    pub qualifier: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Claim {
    name: String,
    service_name: String,
    /// Named by this drive: it stays, whatever name the service uses.
    is_chosen: bool,
}

impl NameClaims {
    /// No names yet.
    pub fn new(extension: &'static str) -> NameClaims {
        NameClaims {
            extension,
            ..NameClaims::default()
        }
    }

    /// Restores stored names: id, shown name, service name.
    pub fn restore(&mut self, kept: impl IntoIterator<Item = (u64, String, String)>) {
        for (id, name, service_name) in kept {
            if !self.by_name.contains_key(&name) {
                self.insert(id, name, service_name);
            }
        }
    }

    /// The objects that are shown as `name~<id>` because a draft has their plain name.
    pub fn yielding(&self) -> &BTreeSet<u64> {
        &self.yielding
    }

    /// Sets them again after a restart.
    pub fn restore_yielding(&mut self, ids: impl IntoIterator<Item = u64>) {
        let there = ids.into_iter().filter(|id| self.by_id.contains_key(id));
        self.yielding = there.collect();
    }

    /// Everything to store.
    #[cfg(test)]
    pub fn kept(&self) -> impl Iterator<Item = (u64, &str, &str)> {
        self.by_id
            .iter()
            .map(|(id, claim)| (*id, claim.name.as_str(), claim.service_name.as_str()))
    }

    /// The shown name of an object.
    pub fn name(&self, id: u64) -> Option<&str> {
        self.by_id.get(&id).map(|claim| claim.name.as_str())
    }

    /// The object of a shown name.
    pub fn id(&self, name: &str) -> Option<u64> {
        self.by_name.get(name).copied()
    }

    /// The object of `name~<id>`, if it is shown under another name.
    pub fn id_by_suffix(&self, name: &str) -> Option<u64> {
        let (stem, id) = split_id(name.strip_suffix(self.extension)?)?;
        let claim = self.by_id.get(&id)?;
        (safe_name(&claim.service_name, id) == stem).then_some(id)
    }

    /// Gives an object exactly this name, as a draft keeps its name when it becomes an asset. An object that
    /// had the name gets another one and is returned.
    pub fn claim(&mut self, id: u64, name: &str, service_name: &str) -> Option<u64> {
        self.release(id);
        let displaced = self.by_name.get(name).copied();
        if let Some(other) = displaced {
            let other_service_name = self.by_id[&other].service_name.clone();
            self.release(other);
            self.insert(id, name.to_owned(), service_name.to_owned());
            let parts = NameParts {
                service_name: &other_service_name,
                qualifier: None,
            };
            self.name_one(other, parts, &HashSet::new());
        } else {
            self.insert(id, name.to_owned(), service_name.to_owned());
        }
        if let Some(claim) = self.by_id.get_mut(&id) {
            claim.is_chosen = true;
        }
        // What a draft has become keeps its name.
        let lost = |other: &u64| self.plain_name(*other).as_deref() == Some(name);
        let lost: Vec<u64> = self.yielding.iter().copied().filter(lost).collect();
        self.yielding.retain(|other| !lost.contains(other));
        displaced
    }

    /// Gives the name of one object to another. The first is then called by its qualifier if it has one and that name is
    /// free, else by its id.
    pub fn hand_over(&mut self, from: u64, to: u64, qualifier: Option<&str>) {
        let claims = (self.by_id.get(&from).cloned(), self.by_id.get(&to).cloned());
        let (Some(giver), Some(taker)) = claims else {
            return;
        };
        self.release(from);
        self.release(to);
        self.insert(to, giver.name, taker.service_name);
        let stem = safe_name(&giver.service_name, from);
        let qualified = qualifier
            .map(|qualifier| safe_name(&format!("{} ({qualifier})", giver.service_name), from))
            .filter(|stem| !ends_in_id(stem))
            .map(|stem| format!("{stem}{}", self.extension))
            .filter(|name| name.len() <= NAME_MAX_BYTES && !self.by_name.contains_key(name));
        let name = qualified.unwrap_or_else(|| with_id(&stem, from, self.extension));
        self.insert_with_care(from, name, &giver.service_name, &HashSet::new());
    }

    /// Names new objects (in any order) and renames objects whose service name changed.
    /// `taken` are names of other things in the folder, such as drafts. Returns the ids whose name changed.
    pub fn assign<'a>(
        &mut self,
        objects: impl IntoIterator<Item = (u64, NameParts<'a>)>,
        taken: &HashSet<String>,
    ) -> Vec<u64> {
        let mut unnamed: BTreeMap<u64, NameParts<'_>> = BTreeMap::new();
        for (id, parts) in objects {
            let service_name = parts.service_name;
            match self.by_id.get_mut(&id) {
                Some(claim) if claim.is_chosen => service_name.clone_into(&mut claim.service_name),
                Some(claim) if claim.service_name == service_name => {}
                _ => drop(unnamed.insert(id, parts)),
            }
        }
        for id in unnamed.keys() {
            self.release(*id);
        }
        for (id, parts) in &unnamed {
            self.name_one(*id, *parts, taken);
        }
        unnamed.into_keys().collect()
    }

    /// Gives an object a name that is free. Only one that is called by its id gets it; returns that name.
    pub fn inherit(&mut self, id: u64, name: &str) -> Option<String> {
        let claim = self.by_id.get(&id)?;
        let stem = |name: &str| name.strip_suffix(self.extension).map(ends_in_id);
        let is_by_id = stem(&claim.name)? && !stem(name)? && !claim.is_chosen;
        if !is_by_id || self.by_name.contains_key(name) {
            return None;
        }
        let Claim {
            name: old_name,
            service_name,
            ..
        } = claim.clone();
        self.release(id);
        self.insert(id, name.to_owned(), service_name);
        Some(old_name)
    }

    /// Gives their plain names to objects that lacked them only because of names that are not in `taken` any more; not to
    /// those in `passed_on`. Returns them with their old names.
    pub fn take_over(
        &mut self,
        taken: &HashSet<String>,
        passed_on: &HashSet<u64>,
    ) -> Vec<(u64, String)> {
        let mut renamed = Vec::new();
        for id in self.yielding.clone() {
            let Some(plain) = self.plain_name(id).filter(|name| !taken.contains(name)) else {
                continue;
            };
            self.yielding.remove(&id);
            if !passed_on.contains(&id)
                && let Some(old_name) = self.inherit(id, &plain)
            {
                renamed.push((id, old_name));
            }
        }
        renamed
    }

    /// The name that an object has if nothing else has it.
    fn plain_name(&self, id: u64) -> Option<String> {
        let claim = self.by_id.get(&id)?;
        let stem = safe_name(&claim.service_name, id);
        Some(format!("{stem}{}", self.extension))
    }

    /// Removes an object and frees its name.
    pub fn release(&mut self, id: u64) {
        self.yielding.remove(&id);
        if let Some(claim) = self.by_id.remove(&id) {
            self.by_name.remove(&claim.name);
        }
    }

    /// Removes every object for which `is_there` is false; returns them.
    #[cfg(test)]
    pub fn retain(&mut self, is_there: impl Fn(u64) -> bool) -> Vec<(u64, String)> {
        let gone: Vec<(u64, String)> = self
            .by_id
            .iter()
            .filter(|(id, _)| !is_there(**id))
            .map(|(id, claim)| (*id, claim.name.clone()))
            .collect();
        for (id, _) in &gone {
            self.release(*id);
        }
        gone
    }

    fn name_one(&mut self, id: u64, parts: NameParts<'_>, taken: &HashSet<String>) {
        let service_name = parts.service_name;
        let stem = safe_name(service_name, id);
        let plain = format!("{stem}{}", self.extension);
        let yields = taken.contains(&plain) && !self.by_name.contains_key(&plain);
        let is_free = |name: &String| {
            let is_taken = self.by_name.contains_key(name) || taken.contains(name);
            name.len() <= NAME_MAX_BYTES && !is_taken
        };
        let name = if is_free(&plain) && !ends_in_id(&stem) {
            plain
        } else {
            let qualified = parts
                .qualifier
                .map(|qualifier| safe_name(&format!("{service_name} ({qualifier})"), id))
                .filter(|stem| !ends_in_id(stem));
            let stem = qualified.unwrap_or(stem);
            let name = format!("{stem}{}", self.extension);
            match is_free(&name) && !ends_in_id(&stem) {
                true => name,
                false => with_id(&stem, id, self.extension),
            }
        };
        self.insert_with_care(id, name, service_name, taken);
        if yields {
            self.yielding.insert(id);
        }
    }

    /// `name~<id>` is only taken if a user chose that name; then the id is appended again.
    fn insert_with_care(
        &mut self,
        id: u64,
        mut name: String,
        service_name: &str,
        taken: &HashSet<String>,
    ) {
        let mut stem_with_ids = name
            .strip_suffix(self.extension)
            .unwrap_or(&name)
            .to_owned();
        while self.by_name.contains_key(&name) || taken.contains(&name) {
            stem_with_ids = with_id(&stem_with_ids, id, "");
            name = with_id(&stem_with_ids, id, self.extension);
            if stem_with_ids.len() + 64 > super::names::NAME_MAX_BYTES {
                stem_with_ids.truncate(stem_with_ids.floor_char_boundary(64));
            }
        }
        self.insert(id, name, service_name.to_owned());
    }

    fn insert(&mut self, id: u64, name: String, service_name: String) {
        self.by_name.insert(name.clone(), id);
        self.by_id.insert(
            id,
            Claim {
                name,
                service_name,
                is_chosen: false,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assign(claims: &mut NameClaims, objects: &[(u64, &str)]) {
        assign_beside(claims, objects, &HashSet::new());
    }

    fn assign_beside(claims: &mut NameClaims, objects: &[(u64, &str)], taken: &HashSet<String>) {
        let objects = objects.iter().map(|(id, service_name)| {
            let qualifier = None;
            (
                *id,
                NameParts {
                    service_name,
                    qualifier,
                },
            )
        });
        claims.assign(objects, taken);
    }

    fn assign_qualified(claims: &mut NameClaims, objects: &[(u64, &str, &str)]) {
        let objects = objects.iter().map(|(id, service_name, qualifier)| {
            let qualifier = Some(*qualifier);
            (
                *id,
                NameParts {
                    service_name,
                    qualifier,
                },
            )
        });
        claims.assign(objects, &HashSet::new());
    }

    #[test]
    fn a_later_object_is_named_by_its_qualifier_and_by_its_id_only_if_that_name_is_taken() {
        let mut claims = NameClaims::new("");
        assign_qualified(
            &mut claims,
            &[
                (4, "chair", "web"),
                (7, "chair", "web"),
                (9, "chair", "web"),
                (8, "chair", "ar"),
            ],
        );
        assert_eq!(claims.name(4), Some("chair"));
        assert_eq!(claims.name(7), Some("chair (web)"));
        assert_eq!(claims.name(8), Some("chair (ar)"));
        assert_eq!(claims.name(9), Some("chair (web)~9"));
        assign(&mut claims, &[(11, "chair"), (12, "chair (ar)")]);
        assert_eq!(claims.name(11), Some("chair~11"), "no qualifier is known");
        assert_eq!(claims.name(12), Some("chair (ar)~12"));
        for id in [4, 7, 8, 9, 11] {
            assert_eq!(claims.id_by_suffix(&format!("chair~{id}")), Some(id));
        }
    }

    #[test]
    fn a_name_keeps_standing_for_its_object_whatever_qualifier_is_learned_later() {
        let mut claims = NameClaims::new("");
        assign(&mut claims, &[(4, "chair"), (7, "chair")]);
        assign_qualified(&mut claims, &[(4, "chair", "web"), (7, "chair", "web")]);
        assert_eq!(claims.name(4), Some("chair"));
        assert_eq!(claims.name(7), Some("chair~7"));
    }

    #[test]
    fn any_qualifier_makes_a_safe_name() {
        let mut claims = NameClaims::new("");
        let long = "x".repeat(300);
        let mut named = |id, qualifier: &str| {
            assign_qualified(&mut claims, &[(id, "chair", qualifier)]);
            claims.name(id).unwrap().to_owned()
        };
        assert_eq!(named(1, "plain"), "chair");
        assert_eq!(named(2, "a/b\n"), "chair (a%2Fb%0A)");
        assert_eq!(named(3, "\u{202e}"), "chair (%E2%80%AE)");
        assert_eq!(named(4, "50%25"), "chair (50%25)");
        assert_eq!(named(5, "~1"), "chair (~1)");
        let cut = named(6, &long);
        assert!(cut.ends_with("~6") && cut.len() <= NAME_MAX_BYTES, "{cut}");
    }

    #[test]
    fn a_name_that_is_escaped_and_one_that_has_the_escape_are_two() {
        let mut claims = NameClaims::new("");
        assign(&mut claims, &[(4, "a/b"), (7, "a%2Fb")]);
        assert_eq!(claims.name(4), Some("a%2Fb"));
        assert_eq!(claims.name(7), Some("a%2Fb~7"));
        for id in [4, 7] {
            assert_eq!(claims.id_by_suffix(&format!("a%2Fb~{id}")), Some(id));
        }
    }

    #[test]
    fn the_one_first_seen_keeps_the_name_and_at_first_sight_the_lowest_id_is_first() {
        let mut claims = NameClaims::new("");
        assign(&mut claims, &[(9, "chair"), (4, "chair"), (7, "table")]);
        assert_eq!(claims.name(4), Some("chair"));
        assert_eq!(claims.name(9), Some("chair~9"));
        assign(&mut claims, &[(2, "chair"), (4, "chair"), (9, "chair")]);
        assert_eq!(claims.name(2), Some("chair~2"));
        assert_eq!(claims.name(4), Some("chair"));
        claims.retain(|id| id != 4);
        assert_eq!(claims.name(9), Some("chair~9"), "an object keeps its name");
        assign(&mut claims, &[(12, "chair")]);
        assert_eq!(claims.name(12), Some("chair"));
    }

    #[test]
    fn a_server_name_that_ends_in_digits_always_gets_its_own_suffix_and_every_suffix_resolves() {
        let mut claims = NameClaims::new("");
        assign(
            &mut claims,
            &[(1, "chair"), (2, "chair~1"), (3, "chair~01")],
        );
        assert_eq!(claims.name(2), Some("chair~1~2"));
        assert_eq!(claims.name(3), Some("chair~01~3"));
        assert_eq!(claims.id("chair~1"), None);
        assert_eq!(claims.id_by_suffix("chair~1"), Some(1));
        assert_eq!(claims.id_by_suffix("chair~1~2"), Some(2));
        assert_eq!(claims.id_by_suffix("table~1"), None);
    }

    #[test]
    fn a_name_that_is_handed_over_stands_for_the_other_object_and_the_first_keeps_a_name() {
        let mut claims = NameClaims::new("");
        assign_qualified(&mut claims, &[(4, "chair", "web"), (7, "chair", "ar")]);
        claims.hand_over(4, 7, Some("web"));
        assert_eq!(claims.name(7), Some("chair"));
        assert_eq!(claims.name(4), Some("chair (web)"));
        assign_qualified(&mut claims, &[(9, "chair", "web")]);
        assert_eq!(claims.name(9), Some("chair (web)~9"));
        claims.hand_over(4, 9, None);
        assert_eq!(claims.name(9), Some("chair (web)"));
        assert_eq!(claims.name(4), Some("chair~4"));
        for id in [4, 7, 9] {
            assert_eq!(claims.id_by_suffix(&format!("chair~{id}")), Some(id));
        }
    }

    #[test]
    fn presets_carry_their_suffix_before_the_extension() {
        let mut claims = NameClaims::new(".json");
        assign(&mut claims, &[(1, "web"), (5, "web")]);
        assert_eq!(claims.name(1), Some("web.json"));
        assert_eq!(claims.name(5), Some("web~5.json"));
        assert_eq!(claims.id_by_suffix("web~1.json"), Some(1));
        let long = "x".repeat(400);
        assign(&mut claims, &[(6, &long)]);
        assert!(claims.name(6).unwrap().ends_with("~6.json"));
    }

    #[test]
    fn a_draft_keeps_its_name_when_it_becomes_an_asset() {
        let mut claims = NameClaims::new("");
        let drafts = HashSet::from(["chair".to_owned()]);
        assign_beside(&mut claims, &[(3, "chair")], &drafts);
        assert_eq!(claims.name(3), Some("chair~3"));
        assert_eq!(claims.claim(8, "chair", "chair"), None);
        assert_eq!(claims.name(8), Some("chair"));
        assert_eq!(claims.name(3), Some("chair~3"));
    }

    #[test]
    fn an_object_gets_the_plain_name_that_a_draft_gives_up_unless_an_asset_has_taken_it() {
        let (draft, none) = (HashSet::from(["chair".to_owned()]), HashSet::new());
        let beside_draft = || {
            let mut claims = NameClaims::new("");
            assign_beside(
                &mut claims,
                &[(3, "chair"), (5, "chair"), (6, "table")],
                &draft,
            );
            claims
        };
        let mut claims = beside_draft();
        assert_eq!(claims.take_over(&draft, &HashSet::new()), []);
        let freed = claims.take_over(&none, &HashSet::new());
        assert_eq!(freed, [(3, "chair~3".to_owned())]);
        assert_eq!(
            (claims.name(3), claims.name(5)),
            (Some("chair"), Some("chair~5"))
        );
        claims.release(3);
        assert_eq!(
            claims.take_over(&none, &HashSet::new()),
            [],
            "names are stable again"
        );

        let mut claims = beside_draft();
        claims.take_over(&none, &HashSet::from([3]));
        assert_eq!(claims.name(5), Some("chair"), "the newer version");

        let mut claims = beside_draft();
        claims.claim(8, "chair", "chair");
        claims.release(8);
        assert_eq!(claims.take_over(&none, &HashSet::new()), []);

        let mut claims = beside_draft();
        let kept: Vec<u64> = claims.yielding().iter().copied().collect();
        claims.restore_yielding([]);
        assert_eq!(claims.take_over(&none, &HashSet::new()), []);
        claims.restore_yielding(kept);
        assert_eq!(claims.take_over(&none, &HashSet::new()).len(), 1);
    }

    #[test]
    fn what_a_name_stands_for_is_kept_over_remounts() {
        let mut claims = NameClaims::new("");
        assign(&mut claims, &[(9, "chair")]);
        assign(&mut claims, &[(4, "chair"), (9, "chair")]);
        let mut remounted = NameClaims::new("");
        remounted.restore(
            claims
                .kept()
                .map(|(id, a, b)| (id, a.to_owned(), b.to_owned())),
        );
        assign(&mut remounted, &[(4, "chair"), (9, "chair")]);
        assert_eq!(remounted.name(9), Some("chair"));
        assert_eq!(remounted.name(4), Some("chair~4"));
    }

    proptest! {
        #[test]
        fn names_are_unique_stable_and_resolve(
            rounds in prop::collection::vec(prop::collection::btree_map(1u64..30, "[ab]{0,1}(~[0-9]{1,2})?", 0..12), 1..6),
            drafts in prop::collection::hash_set("[ab](~[0-9])?", 0..3),
        ) {
            let mut claims = NameClaims::new("");
            for round in rounds {
                let before: BTreeMap<u64, (String, String)> = claims.kept()
                    .map(|(id, name, service)| (id, (name.to_owned(), service.to_owned()))).collect();
                claims.retain(|id| round.contains_key(&id));
                let objects: Vec<(u64, &str)> = round.iter().map(|(id, name)| (*id, name.as_str())).collect();
                assign_beside(&mut claims, &objects, &drafts);
                let mut seen = HashSet::new();
                for (id, service_name) in &round {
                    let name = claims.name(*id).expect("every object has a name").to_owned();
                    prop_assert!(seen.insert(name.clone()), "{} twice", name);
                    prop_assert_eq!(claims.id(&name), Some(*id));
                    if let Some((kept, kept_service)) = before.get(id) && kept_service == service_name {
                        prop_assert_eq!(kept, &name);
                    } else {
                        prop_assert!(!drafts.contains(&name), "{} hides a draft", name);
                    }
                }
            }
        }
    }
}
