//! Resolves the settings of a job: presets by id, by name, or by a configuration that equals that of a known preset.
//! The lists are fetched right before, because presets of the account change. Those of the service,
//! and that no preset has a configuration, are believed for some seconds.

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
                if let Some(settings) = settled_lately(parts, config) {
                    return Ok(settings);
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
                if let Some(config) = factory_config(parts, *id) {
                    return Ok(Some(config));
                }
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
}

/// The settings that a configuration means, if they are the same as a moment ago. A preset of the account may have been changed
/// since.
fn settled_lately(parts: &JobParts, config: &OptimizerConfig) -> Option<OptimizeSettings> {
    let recent = &parts.own.recent.presets;
    let known = recent.get(&parts.events.preset_changes())?;
    let same = known.iter().find(|preset| preset.config.meaning_eq(config));
    match same {
        None => Some(OptimizeSettings::Config(config.clone())),
        Some(preset) if !preset.is_own => Some(OptimizeSettings::Preset(preset.id)),
        Some(_) => None,
    }
}

/// The configuration of a preset of the service.
fn factory_config(parts: &JobParts, id: PresetId) -> Option<OptimizerConfig> {
    let known = parts.own.recent.factory_presets.get(&())?;
    let found = known.iter().find(|preset| preset.id == id)?;
    Some(found.config.clone())
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
    let own = own.into_iter().map(|it| KnownPreset {
        id: it.id,
        name: it.name,
        config: it.config,
        is_own: true,
    });
    let factory = factory_presets(parts).await?;
    Ok(own.chain(factory.iter().cloned()).collect())
}

/// The presets of the service. They do not change while it runs.
async fn factory_presets(parts: &JobParts) -> Result<Arc<[KnownPreset]>, ClientError> {
    if let Some(lately) = parts.own.recent.factory_presets.get(&()) {
        return Ok(lately);
    }
    let calls = parts.client.presets();
    let listed = calls.factory(Priority::Interactive).await?.into_iter();
    let listed = listed.map(|it| KnownPreset {
        id: it.id,
        name: it.name,
        config: it.config,
        is_own: false,
    });
    let listed: Arc<[_]> = listed.collect();
    let recent = &parts.own.recent.factory_presets;
    recent.keep((), Arc::clone(&listed));
    Ok(listed)
}
