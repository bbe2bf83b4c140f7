//! What the service has already of a request that is about to be sent: results with the note of its text, results of other texts
//! with the note of the same configuration, and results without a note that were made with it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::client::{ClientError, Priority};
use crate::outbox::jobs::notes::tagged_models;
use crate::outbox::jobs::parts::JobParts;
use crate::outbox::jobs::resolve::{PresetLookup, Unresolved};
use crate::outbox::jobs::tagged::TaggedModels;
use crate::outbox::jobs::used_preset::used_config;
use crate::wire::{AssetId, OptimizeSettings, OptimizerConfig, RapidId, RapidModel};

/// Maximum number of results without a note of one asset whose presets are compared, the newest first.
const COMPARED: usize = 20;

/// One result that is wanted.
#[derive(Debug)]
pub struct WantedResult {
    /// Its one-off tag.
    pub tag: String,
    pub asset: AssetId,
    pub note: String,
    /// The note of its configuration, if that is known.
    pub config_note: Option<String>,
    /// The tag with the name of its text.
    pub name: String,
    pub settings: OptimizeSettings,
    /// The tags that the text asks for.
    pub tags: Vec<String>,
    pub export_name: Option<String>,
}

/// The results of an asset without a note, with the configurations they were made with.
type Compared = Vec<(RapidModel, OptimizerConfig)>;

/// Finds results, and requests each list and each preset once.
pub struct Finder<'a> {
    pub parts: &'a JobParts,
    pub presets: PresetLookup,
    tagged: HashMap<AssetId, Arc<TaggedModels>>,
    compared: HashMap<AssetId, Compared>,
}

impl<'a> Finder<'a> {
    pub fn new(parts: &'a JobParts, presets: PresetLookup) -> Finder<'a> {
        Finder {
            parts,
            presets,
            tagged: HashMap::new(),
            compared: HashMap::new(),
        }
    }

    /// The results that are there, by the one-off tags of those that are wanted; true if each is
    /// the newest result with the name of its text.
    pub async fn find(
        mut self,
        wanted: &[WantedResult],
    ) -> Result<(Vec<(String, RapidId)>, bool), Unresolved> {
        let mut made: Vec<(String, RapidId)> = Vec::new();
        let mut are_named = true;
        // Those of a text for several models may be sent without a key.
        if let [result] = wanted
            && let Some(looked) = self.parts.own.recent.results.get(&result.asset)
        {
            if self.parts.client.keeps_idempotency_keys() && had_none_of_it(&looked, result) {
                return Ok((made, are_named));
            }
            if looked.has_sound(&result.note) {
                self.tagged.insert(result.asset, looked);
            }
        }
        for result in wanted {
            let noted = self.models(result.asset).await?.find(&[&result.note]);
            let found = match noted {
                Some(rapid) => Some(rapid),
                None => match self.of_same_config(result, &made).await? {
                    Some(rapid) => Some(rapid),
                    None => self.like(result, &made).await?,
                },
            };
            if let Some(rapid) = found {
                are_named &= self
                    .models(result.asset)
                    .await?
                    .is_newest_with(rapid, &result.name);
                made.push((result.tag.clone(), rapid));
            }
        }
        Ok((made, are_named))
    }

    /// A result of another text with the same configuration, which is named like this one, and has its tags. Items of one text
    /// never share one.
    async fn of_same_config(
        &mut self,
        wanted: &WantedResult,
        made: &[(String, RapidId)],
    ) -> Result<Option<RapidId>, Unresolved> {
        let Some(note) = &wanted.config_note else {
            return Ok(None);
        };
        let is_it = |model: &&RapidModel| {
            let is_taken = made.iter().any(|(_, rapid)| *rapid == model.id);
            !is_taken && is_named_and_tagged(model, wanted)
        };
        let models = self.models(wanted.asset).await?;
        Ok(models.sound_with(note).find(is_it).map(|model| model.id))
    }

    async fn models(&mut self, asset: AssetId) -> Result<&TaggedModels, Unresolved> {
        match self.tagged.entry(asset) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let models = tagged_models(self.parts, asset, Priority::Interactive).await;
                let models = match models {
                    Err(ClientError::NotFound { .. }) => TaggedModels::default(),
                    models => models.map_err(Unresolved::Trouble)?,
                };
                let models = Arc::new(models);
                self.parts
                    .own
                    .recent
                    .results
                    .keep(asset, Arc::clone(&models));
                Ok(unknown.insert(models))
            }
        }
    }

    /// A result without a note that was made with the same configuration, is named like this one, and has its tags.
    /// Items of one text never share one.
    async fn like(
        &mut self,
        wanted: &WantedResult,
        made: &[(String, RapidId)],
    ) -> Result<Option<RapidId>, Unresolved> {
        let models = self.models(wanted.asset).await?.without_note();
        let models: Vec<RapidModel> = models.take(COMPARED).cloned().collect();
        if models.is_empty() {
            return Ok(None);
        }
        let Some(config) = self.presets.config_of(self.parts, &wanted.settings).await? else {
            return Ok(None);
        };
        let compared = match self.compared.entry(wanted.asset) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(compare(self.parts, models).await?),
        };
        let is_it = |(model, used): &&(RapidModel, OptimizerConfig)| {
            let is_taken = made.iter().any(|(_, rapid)| *rapid == model.id);
            !is_taken && used.meaning_eq(&config) && is_named_and_tagged(model, wanted)
        };
        Ok(compared.iter().find(is_it).map(|(model, _)| model.id))
    }
}

/// True if the service had no such result a moment ago. If another drive has requested one since, both requests have the same
/// idempotency key, so the service returns that result and makes no second one. A result that was made since without a key,
/// for example on the page, is not noticed.
fn had_none_of_it(looked: &TaggedModels, wanted: &WantedResult) -> bool {
    let of_config = wanted.config_note.as_deref();
    looked.find(&[&wanted.note]).is_none()
        && !of_config.is_some_and(|note| looked.has_sound(note))
        && looked.without_note().next().is_none()
}

async fn compare(parts: &JobParts, models: Vec<RapidModel>) -> Result<Compared, Unresolved> {
    let mut compared = Vec::new();
    for model in models {
        let used = used_config(parts, model.id).await;
        let used = used.map_err(Unresolved::Trouble)?;
        compared.extend(used.map(|used| (model, used)));
    }
    Ok(compared)
}

fn is_named_and_tagged(model: &RapidModel, wanted: &WantedResult) -> bool {
    let has = |tag: &String| model.tags.iter().any(|found| found.name == *tag);
    model.own_export_name() == wanted.export_name.as_deref() && wanted.tags.iter().all(has)
}
