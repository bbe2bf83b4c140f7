//! Which results of the caller are stale and which models are replaced, for the page. What drives have noted in tags says so, as
//! in a drive: a result is stale if its source model was replaced, or if the preset that a text names has another configuration now.

use std::collections::{BTreeMap, HashMap};

use axum::Json;
use serde_json::json;

use super::error::ApiError;
use super::preset::stored_config;
use super::request::{ApiCall, JsonReply};
use crate::service::presets;
use crate::service::records::Search;
use crate::wire::{
    NotedPreset, OptimizerConfig, PresetId, PresetNamed, RapidId, ResultNotes, Staleness,
    find_preset,
};

/// Why each stale result is stale, by its id, and the ids of the models that were replaced.
pub const STALE: &str = "/page/stale.json";

pub async fn list(call: ApiCall) -> JsonReply {
    let rapids = call.records().rapids();
    let noted = rapids.list_noted(call.user).await?;
    let mut stale: BTreeMap<RapidId, Staleness> = BTreeMap::new();
    if !noted.is_empty() {
        let now = CurrentPresets::read(&call).await?;
        for made in &noted {
            let notes = ResultNotes::of_tags(std::iter::once(made.note.as_str()));
            let config = notes.preset.and_then(|preset| now.config_of(&preset));
            if config.is_some_and(|config| !is_same(config, &made.config)) {
                stale.insert(made.id, Staleness::PresetChanged);
            }
        }
    }
    let replaced = call.records().assets().ids_of_replaced(call.user).await?;
    let of_replaced = rapids.ids_of_assets(call.user, &replaced).await?;
    stale.extend(
        of_replaced
            .iter()
            .map(|id| (*id, Staleness::SourceReplaced)),
    );
    Ok(Json(json!({ "stale": stale, "replaced": replaced })))
}

/// A record that cannot be read tells nothing.
fn is_same(config: &OptimizerConfig, made_with: &str) -> bool {
    stored_config(made_with).map_or(true, |made_with| made_with.meaning_eq(config))
}

/// The presets that the caller can name now.
struct CurrentPresets {
    own: Vec<(String, PresetId)>,
    factory: Vec<(&'static str, PresetId)>,
    configs: HashMap<PresetId, OptimizerConfig>,
}

impl CurrentPresets {
    async fn read(call: &ApiCall) -> Result<CurrentPresets, ApiError> {
        let own = call.records().presets();
        let own = own.list(call.user, &Search::default()).await?;
        let factory = presets::FACTORY.iter();
        let mut configs: HashMap<_, _> = factory.map(|it| (it.id, it.config())).collect();
        for preset in &own {
            configs.insert(preset.id, stored_config(&preset.config)?);
        }
        let factory = presets::FACTORY.iter();
        Ok(CurrentPresets {
            own: own.into_iter().map(|it| (it.name, it.id)).collect(),
            factory: factory.map(|it| (it.name, it.id)).collect(),
            configs,
        })
    }

    /// The configuration that a preset has now; `None` if there is no such preset.
    fn config_of(&self, preset: &NotedPreset) -> Option<&OptimizerConfig> {
        let id = match preset {
            NotedPreset::Id(id) => *id,
            NotedPreset::Name(name) => {
                let own = self.own.iter().map(|(name, id)| (name.as_str(), *id));
                match find_preset(name, &own.collect::<Vec<_>>(), &self.factory) {
                    PresetNamed::One(id) => id,
                    PresetNamed::Nothing | PresetNamed::Several(_) => return None,
                }
            }
        };
        self.configs.get(&id)
    }
}
