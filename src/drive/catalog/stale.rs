//! Results that are stale: their source model was replaced, or the preset that their text names has another configuration
//! now.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::drive::catalog::data::known::Known;
use crate::drive::catalog::data::stale_count::StaleCount;
use crate::drive::catalog::listings::refresh_listing;
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::versions::{newest_version, replaced_models};
use crate::drive::values::known::{KnownPreset, KnownRapid};
use crate::drive::values::node::ListingKind;
use crate::locks::Locked as _;
use crate::outbox::{config_hash, preset_named};
use crate::wire::{AssetId, NotedPreset, PresetId, PresetText, RapidId, Staleness};

/// A text that is to be run again.
#[derive(Debug, Clone)]
pub struct StaleText {
    /// Its stale result.
    pub result: RapidId,
    /// The newest version of the model.
    pub model: AssetId,
    /// The name of the text, without extension.
    pub text: String,
    pub why: Staleness,
}

/// Tells stale results by what is known of models and presets at one moment.
pub struct StaleCheck {
    replaced: HashMap<AssetId, AssetId>,
    own: Vec<(String, PresetId)>,
    factory: Vec<(String, PresetId)>,
    texts: HashMap<PresetId, String>,
    /// The checksums of the configurations that were asked for.
    hashes: RefCell<HashMap<NotedPreset, Option<String>>>,
}

impl StaleCheck {
    pub fn new(catalog: &Catalog) -> StaleCheck {
        let known = catalog.known();
        let named = |row: &KnownPreset| (row.name.clone(), row.id);
        let texts = known.presets.rows().chain(known.factory.rows());
        StaleCheck {
            replaced: replaced_models(catalog, &known),
            own: known.presets.rows().map(named).collect(),
            factory: known.factory.rows().map(named).collect(),
            texts: texts.map(|row| (row.id, row.text.clone())).collect(),
            hashes: RefCell::default(),
        }
    }

    /// Why a result is stale; `None` if it is not, or if that cannot be known.
    pub fn of(&self, row: &KnownRapid) -> Option<Staleness> {
        if row
            .source
            .is_some_and(|source| self.replaced.contains_key(&source))
        {
            return Some(Staleness::SourceReplaced);
        }
        let made = row.notes.config.as_ref()?;
        let now = self.config_of(row.notes.preset.as_ref()?)?;
        (*made != now).then_some(Staleness::PresetChanged)
    }

    /// The newest version of a source model.
    pub fn newest(&self, asset: AssetId) -> AssetId {
        newest_version(&self.replaced, asset)
    }

    /// The checksum of the configuration that a preset has now; `None` if there is no such preset.
    fn config_of(&self, preset: &NotedPreset) -> Option<String> {
        if let Some(known) = self.hashes.borrow().get(preset) {
            return known.clone();
        }
        let hash = self.hash_of(preset);
        self.hashes
            .borrow_mut()
            .insert(preset.clone(), hash.clone());
        hash
    }

    fn hash_of(&self, preset: &NotedPreset) -> Option<String> {
        let id = match preset {
            NotedPreset::Id(id) => *id,
            NotedPreset::Name(name) => {
                preset_named(name, &borrowed(&self.own), &borrowed(&self.factory)).ok()?
            }
        };
        let text = self.texts.get(&id)?;
        let text = PresetText::from_value(serde_json::from_str(text).ok()?).ok()?;
        Some(config_hash(&text.config).to_string())
    }
}

fn borrowed(presets: &[(String, PresetId)]) -> Vec<(&str, PresetId)> {
    let presets = presets.iter();
    presets.map(|(name, id)| (name.as_str(), *id)).collect()
}

/// How many texts have a stale current result: what is to be run again. Counted again only after a change, because the status
/// of the mount is read often.
pub fn stale_count(catalog: &Catalog) -> u64 {
    let replaced_here = catalog.outbox.uploads().replacements();
    let versions = {
        let known = catalog.known();
        [
            known.assets.version(),
            known.rapids.version(),
            known.presets.version(),
            known.factory.version(),
        ]
    };
    let last = catalog.stale_count.locked();
    if last.versions == versions && last.replaced_here == replaced_here {
        return last.count;
    }
    drop(last);
    let count = stale_texts(catalog, &StaleCheck::new(catalog)).len() as u64;
    *catalog.stale_count.locked() = StaleCount {
        versions,
        replaced_here,
        count,
    };
    count
}

/// The texts whose current result is stale, each with its newest one. What is being made again already is left out.
pub fn stale_texts(catalog: &Catalog, check: &StaleCheck) -> Vec<StaleText> {
    let known = catalog.known();
    let stale = newest_results(&known, check).into_iter();
    let stale = stale.filter_map(|((model, text), row)| {
        let why = check.of(row).filter(|_| row.state.is_final())?;
        let result = row.id;
        Some(StaleText {
            result,
            model,
            text: text.to_owned(),
            why,
        })
    });
    stale.collect()
}

/// The newest result of a text of this one, if it is another.
pub fn newer_result(catalog: &Catalog, check: &StaleCheck, row: &KnownRapid) -> Option<RapidId> {
    let known = catalog.known();
    let newest = newest_results(&known, check);
    let model = check.newest(row.source?);
    let mut of_texts = row
        .text_names()
        .filter_map(|text| newest.get(&(model, text)));
    of_texts.find(|it| it.id != row.id).map(|it| it.id)
}

/// The newest result of each text of each model, over all its versions; of the results of one version the newest that is not
/// stale, if there is one.
fn newest_results<'a>(
    known: &'a Known,
    check: &StaleCheck,
) -> BTreeMap<(AssetId, &'a str), &'a KnownRapid> {
    let mut newest: BTreeMap<(AssetId, &str), &KnownRapid> = BTreeMap::new();
    for row in known.rapids.rows() {
        let Some(source) = row.source else { continue };
        for text in row.text_names() {
            let key = (check.newest(source), text);
            // A result of the newest version goes before those of earlier ones.
            let rank = |row: &KnownRapid| (row.source, check.of(row).is_none(), row.id);
            match newest.get(&key) {
                Some(other) if rank(other) > rank(row) => {}
                _ => drop(newest.insert(key, row)),
            }
        }
    }
    newest
}

/// Requests what results are compared with: the source models, and the presets if a result names one. Without an answer,
/// what is known stands.
pub async fn learn_versions(catalog: &Arc<Catalog>) {
    let (has_results, names_preset) = {
        let known = catalog.known();
        let mut rows = known.rapids.rows();
        let names_preset = rows.any(|row| row.notes.preset.is_some());
        (known.rapids.len() > 0, names_preset)
    };
    let needed = [
        (has_results, ListingKind::Assets),
        (names_preset, ListingKind::Presets),
        (names_preset, ListingKind::Factory),
    ];
    for (_, which) in needed.into_iter().filter(|(is_needed, _)| *is_needed) {
        if let Err(error) = refresh_listing(catalog, which).await {
            tracing::debug!(%error, "what results are compared with could not be listed");
        }
    }
}
