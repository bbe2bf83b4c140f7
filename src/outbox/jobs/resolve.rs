//! Resolves the settings of a job: presets by id, by name, or by a configuration that equals that of a known preset.
//! The lists are fetched right before, because presets change; only that no preset has a configuration is believed for some seconds.

use std::sync::Arc;

use crate::client::{ClientError, Priority};
use crate::outbox::jobs::deps::PresetSaved;
use crate::outbox::jobs::notes::config_hash;
use crate::outbox::jobs::parts::JobParts;
use crate::outbox::jobs::recent::KnownPreset;
use crate::outbox::jobs::text::Settings;
use crate::outbox::staging::ContentHash;
use crate::outbox::texts::preset_named;
use crate::wire::{OptimizeSettings, OptimizerConfig, PresetId};

/// Why the settings of a job cannot be resolved.
#[derive(Debug)]
pub enum Unresolved {
    /// They are wrong; the text says why.
    Wrong(String),
    /// The service cannot be reached.
    Trouble(ClientError),
    /// The outbox closes.
    Closed,
}

fn with_ids<'a>(presets: &[&'a KnownPreset]) -> Vec<(&'a str, PresetId)> {
    let presets = presets.iter();
    presets.map(|it| (it.name.as_str(), it.id)).collect()
}

/// The presets of the service, requested when first needed.
#[derive(Default)]
pub struct PresetLookup {
    known: Option<Arc<[KnownPreset]>>,
}

impl PresetLookup {
    /// The settings for a request.
    pub async fn resolve(
        &mut self,
        parts: &JobParts,
        settings: &Settings,
    ) -> Result<OptimizeSettings, Unresolved> {
        match settings {
            Settings::PresetId(id) => Ok(OptimizeSettings::Preset(*id)),
            Settings::Config(config) => {
                if self.had_no_preset_like(parts, config) {
                    return Ok(OptimizeSettings::Config(config.clone()));
                }
                let known = self.known(parts).await?;
                // A preset with an unsaved change may have another configuration when the job runs.
                let same = known.iter().find(|preset| {
                    preset.config.meaning_eq(config)
                        && parts.own.deps.unsaved_preset(&preset.name).is_none()
                });
                Ok(match same {
                    Some(preset) => OptimizeSettings::Preset(preset.id),
                    None => OptimizeSettings::Config(config.clone()),
                })
            }
            Settings::PresetName(name) => {
                if let Some(file) = parts.own.deps.unsaved_preset(name) {
                    save_first(parts, name, &file).await?;
                    self.known = None;
                }
                let known = self.known(parts).await?;
                let (own, factory): (Vec<_>, Vec<_>) = known.iter().partition(|it| it.is_own);
                let id = preset_named(name, &with_ids(&own), &with_ids(&factory));
                id.map(OptimizeSettings::Preset).map_err(Unresolved::Wrong)
            }
        }
    }

    /// The configuration that settings mean now; `None` if there is no such preset.
    pub async fn config_of(
        &mut self,
        parts: &JobParts,
        settings: &OptimizeSettings,
    ) -> Result<Option<OptimizerConfig>, Unresolved> {
        match settings {
            OptimizeSettings::Config(config) => Ok(Some(config.clone())),
            OptimizeSettings::Preset(id) => {
                let known = self.known(parts).await?.iter();
                let mut configs = known.filter(|preset| preset.id == *id);
                Ok(configs.next().map(|preset| preset.config.clone()))
            }
            OptimizeSettings::ServiceDefault => Ok(None),
        }
    }

    /// The checksum of the configuration that settings mean now. A job is never held up for it: `None` if it is not known.
    pub async fn config_hash_of(
        &mut self,
        parts: &JobParts,
        settings: &OptimizeSettings,
    ) -> Result<Option<ContentHash>, Unresolved> {
        match self.config_of(parts, settings).await {
            Ok(config) => Ok(config.as_ref().map(config_hash)),
            Err(Unresolved::Closed) => Err(Unresolved::Closed),
            Err(error) => {
                tracing::debug!(?error, "the configuration of a job is not noted");
                Ok(None)
            }
        }
    }

    async fn known(&mut self, parts: &JobParts) -> Result<&[KnownPreset], Unresolved> {
        if self.known.is_none() {
            let changes = parts.events.preset_changes();
            let asked = parts.tasks.until_closed(all_presets(parts)).await;
            let asked = asked.ok_or(Unresolved::Closed)?;
            let known: Arc<[_]> = asked.map_err(Unresolved::Trouble)?.into();
            parts.own.recent.presets.keep(changes, Arc::clone(&known));
            self.known = Some(known);
        }
        Ok(self.known.as_deref().unwrap_or_default())
    }

    /// True if no preset had this configuration a moment ago. The reverse would need a new look: the preset may have changed
    /// since.
    fn had_no_preset_like(&self, parts: &JobParts, config: &OptimizerConfig) -> bool {
        let known = parts.own.recent.presets.get(&parts.events.preset_changes());
        known.is_some_and(|known| known.iter().all(|it| !it.config.meaning_eq(config)))
    }
}

/// Saves the text of a preset that a job uses.
async fn save_first(parts: &JobParts, preset: &str, file: &str) -> Result<(), Unresolved> {
    let saving = parts.tasks.until_closed(parts.own.deps.save_preset(file));
    match saving.await.ok_or(Unresolved::Closed)? {
        Ok(PresetSaved::Saved) => Ok(()),
        Ok(PresetSaved::Trouble(error)) => Err(Unresolved::Trouble(error)),
        Ok(PresetSaved::Refused(reason)) => Err(Unresolved::Wrong(format!(
            "the preset {preset:?} has a text that cannot be saved: {reason}; correct presets/{file} first"
        ))),
        Err(error) => Err(Unresolved::Wrong(format!(
            "the preset {preset:?} could not be saved first: {error}"
        ))),
    }
}

/// The user's presets, then those of the service: of two with one name the user's is used.
async fn all_presets(parts: &JobParts) -> Result<Vec<KnownPreset>, ClientError> {
    let own = parts.client.presets().list(Priority::Interactive).await?;
    let factory = parts
        .client
        .presets()
        .factory(Priority::Interactive)
        .await?;
    let own = own.into_iter().map(|it| KnownPreset {
        id: it.id,
        name: it.name,
        config: it.config,
        is_own: true,
    });
    let factory = factory.into_iter().map(|it| KnownPreset {
        id: it.id,
        name: it.name,
        config: it.config,
        is_own: false,
    });
    Ok(own.chain(factory).collect())
}
