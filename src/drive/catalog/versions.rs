//! Versions of source models: which model replaces which, and how a name passes on to what takes the place of its holder.
//!
//! A model of this machine knows it by its record, every other by the note on the new version. So the names of models and
//! results come out the same on every machine: a new version has the plain name, its results have those that the
//! results of the same texts had, and of the results of one model the lowest id has the plain name. A folder gets
//! another name only at the moment at which something that goes before it appears.

use std::collections::{HashMap, HashSet};

use crate::drive::catalog::data::known::Known;
use crate::drive::catalog::parts::Catalog;
use crate::drive::values::known::{KnownAsset, KnownRapid};
use crate::drive::values::listing::{Changes, Record as _};
use crate::drive::values::names::{ends_in_id, safe_name};
use crate::drive::values::node::ListingKind;
use crate::outbox::KnownModel;
use crate::wire::{AllVersions, AssetId, UploadStatus};

/// `here` are the pairs of old and new that this machine recorded.
fn all_versions(known: &Known, here: impl IntoIterator<Item = (AssetId, AssetId)>) -> AllVersions {
    let noted = known.assets.rows();
    let noted = noted.flat_map(|row| row.notes.older().map(|old| (old, row.id)));
    let is_there = |(_, new): &(AssetId, AssetId)| known.assets.row(new.0).is_some();
    AllVersions::new(noted.chain(here).filter(is_there))
}

/// The models that were replaced, each with the next version.
pub fn replaced_models(catalog: &Catalog, known: &Known) -> HashMap<AssetId, AssetId> {
    replaced(known, catalog.outbox.uploads().replacements())
}

fn replaced(
    known: &Known,
    here: impl IntoIterator<Item = (AssetId, AssetId)>,
) -> HashMap<AssetId, AssetId> {
    all_versions(known, here).replaced(|version| known.assets.row(version.0).is_some())
}

/// The first version of a model, if it is a new version. That one may be deleted.
pub fn first_version(catalog: &Catalog, asset: AssetId) -> Option<AssetId> {
    let all = all_versions(&catalog.known(), catalog.outbox.uploads().replacements());
    all.before(asset).last()
}

/// The newest version of a model.
pub fn newest_version(replaced: &HashMap<AssetId, AssetId>, asset: AssetId) -> AssetId {
    let mut newest = asset;
    // Each is newer than the one before, so this ends.
    while let Some(next) = replaced.get(&newest) {
        newest = *next;
    }
    newest
}

/// The models that another one replaces or has replaced, as far as notes say.
pub(super) fn noted_old(known: &Known) -> HashSet<AssetId> {
    let replaced = replaced(known, []);
    let old = known.assets.rows().filter(|row| row.is_old_version);
    replaced.into_keys().chain(old.map(|row| row.id)).collect()
}

/// The model whose files have a checksum, as notes say. One that was not replaced goes before one that was, then the newest.
pub fn asset_with_source(catalog: &Catalog, hash: &str) -> Option<AssetId> {
    let known = catalog.known();
    let replaced = replaced_models(catalog, &known);
    complete_with_source(&known, hash)
        .map(|row| row.id)
        .max_by_key(|asset| (!replaced.contains_key(asset), *asset))
}

/// The oldest complete model with this name on the service whose note has the checksum `hash`, without those that were replaced.
pub fn model_like(catalog: &Catalog, name: &str, hash: &str) -> Option<KnownModel> {
    let known = catalog.known();
    let same = complete_with_source(&known, hash);
    let mut same = same
        .filter(|row| row.name == name && !row.is_old_version)
        .peekable();
    // Most drafts have files that no model has.
    same.peek()?;
    let all = all_versions(&known, catalog.outbox.uploads().replacements());
    let replaced = all.replaced(|version| known.assets.row(version.0).is_some());
    let present = same.filter(|row| !replaced.contains_key(&row.id));
    let asset = present.map(|row| row.id).min()?;
    Some(KnownModel {
        asset,
        before: all.before(asset).collect(),
    })
}

/// The complete models whose note has the checksum `hash`.
fn complete_with_source<'k>(
    known: &'k Known,
    hash: &'k str,
) -> impl Iterator<Item = &'k KnownAsset> {
    let rows = known.assets.rows();
    let same = rows.filter(move |row| row.notes.source.as_deref() == Some(hash));
    same.filter(|row| row.state == UploadStatus::Complete)
}

/// Passes names on to what has just appeared. Returns which results have other names if the listing is that of models.
pub(super) fn pass_names_on(
    catalog: &Catalog,
    known: &mut Known,
    which: ListingKind,
    changes: &mut Changes,
) -> Changes {
    match which {
        ListingKind::Assets => {
            let noted = pass_to_new_versions(catalog, known, changes);
            pass_to_results_of(catalog, known, &noted)
        }
        ListingKind::Rapids => {
            let news = changes.appeared.clone();
            pass_to_results(catalog, known, news, changes);
            Changes::default()
        }
        _ => Changes::default(),
    }
}

/// The results of models that turn out to be new versions: their names were given before that was known.
fn pass_to_results_of(catalog: &Catalog, known: &mut Known, models: &[AssetId]) -> Changes {
    let mut changes = Changes::default();
    if models.is_empty() {
        return changes;
    }
    let rows = known.rapids.rows();
    let of_models = rows.filter(|row| row.source.is_some_and(|it| models.contains(&it)));
    let news = of_models.map(|row| row.id.0).collect();
    pass_to_results(catalog, known, news, &mut changes);
    changes
}

/// A new version that another machine made has the name of the version before it. Those of this machine have it by their
/// records. Returns all that are new versions.
fn pass_to_new_versions(
    catalog: &Catalog,
    known: &mut Known,
    changes: &mut Changes,
) -> Vec<AssetId> {
    let mut news: Vec<AssetId> = {
        let ids = changes.appeared.iter().chain(&changes.changed);
        let rows = ids.filter_map(|id| known.assets.row(*id));
        let new = rows.filter(|row| row.notes.replaces.is_some());
        new.map(|row| row.id).collect()
    };
    news.sort_unstable();
    if news.is_empty() {
        return news;
    }
    let all = all_versions(known, catalog.outbox.uploads().replacements());
    for new in &news {
        let Some(row) = known.assets.row(new.0) else {
            continue;
        };
        if catalog.outbox.uploads().sent_record(row.id).is_some() {
            continue;
        }
        let has_plain_name = |old: &AssetId| {
            let is_same = known
                .assets
                .row(old.0)
                .is_some_and(|it| it.name == row.name);
            let name = known.assets.name(old.0);
            is_same && name.is_some_and(|name| !ends_in_id(name))
        };
        if let Some(old) = all.before(row.id).find(has_plain_name) {
            known.assets.hand_over(old.0, new.0, None, changes);
        }
    }
    news
}

fn pass_to_results(
    catalog: &Catalog,
    known: &mut Known,
    mut news: Vec<u64>,
    changes: &mut Changes,
) {
    if news.is_empty() {
        return;
    }
    news.sort_unstable();
    let all = all_versions(known, catalog.outbox.uploads().replacements());
    for new in news {
        let Some(row) = known.rapids.row(new).cloned() else {
            continue;
        };
        if let Some(old) = result_before(known, &all, &row) {
            known.rapids.hand_over(old, new, None, changes);
        } else if let Some((later, text)) = later_with_plain_name(known, &row) {
            known.rapids.hand_over(later, new, text.as_deref(), changes);
        }
    }
}

/// The result of the same text of an earlier version of the model, if it has a name to pass on.
fn result_before(known: &Known, all: &AllVersions, row: &KnownRapid) -> Option<u64> {
    let earlier: HashSet<AssetId> = all.before(row.source?).collect();
    if earlier.is_empty() {
        return None;
    }
    let same = |it: &&KnownRapid| {
        it.name == row.name
            && it.made_with == row.made_with
            && it.source.is_some_and(|source| earlier.contains(&source))
    };
    let named = known.rapids.rows().filter(same).filter_map(|it| {
        let name = known
            .rapids
            .name(it.id.0)
            .filter(|name| !ends_in_id(name))?;
        let is_plain = name == safe_name(it.service_name(), it.id.0);
        Some((is_plain, it.id.0))
    });
    // A text that was run again has several results: the plain name goes before one with the text in it.
    named.max().map(|(_, id)| id)
}

/// The result that has the plain name although one with a lower id is there now, with its text.
fn later_with_plain_name(known: &Known, row: &KnownRapid) -> Option<(u64, Option<String>)> {
    let plain = safe_name(row.service_name(), row.id.0);
    let holder = known.rapids.find(&plain)?;
    let is_later = holder.id > row.id
        && holder.source == row.source
        && row.source.is_some()
        && holder.name == row.name
        && known.rapids.name(holder.id.0) == Some(plain.as_str());
    is_later.then(|| (holder.id.0, holder.made_with.clone()))
}
