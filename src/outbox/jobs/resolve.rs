//! What a job's settings mean to the service: presets by their id, by their name, or by a configuration
//! that says the same as a known one. The lists are fetched right before, because presets change; a
//! preset whose text is still held here is saved first, so a job never runs with the text before.

use std::sync::Arc;

use crate::client::{ClientError, Priority};
use crate::outbox::jobs::text::{Settings, is_sendable_name};
use crate::outbox::names;
use crate::outbox::presets::save;
use crate::outbox::presets::save::Outcome;
use crate::outbox::shared::Shared;
use crate::wire::{OptimizeSettings, OptimizerConfig, PresetId};

/// Why a job's settings cannot be used yet.
#[derive(Debug)]
pub enum Unresolved {
    /// They name nothing; the text says what.
    Wrong(String),
    /// The service could not be asked.
    Trouble(ClientError),
    /// The outbox closes.
    Closed,
}

struct Known {
    id: PresetId,
    name: String,
    config: OptimizerConfig,
}

/// The presets that settings can mean, fetched only when one of them needs it.
#[derive(Default)]
pub struct Presets {
    known: Option<Vec<Known>>,
}

impl Presets {
    /// What a request has to say for these settings.
    pub async fn resolve(
        &mut self,
        shared: &Arc<Shared>,
        settings: &Settings,
    ) -> Result<OptimizeSettings, Unresolved> {
        match settings {
            Settings::PresetId(id) => Ok(OptimizeSettings::Preset(*id)),
            Settings::Config(config) => {
                let known = self.known(shared).await?;
                // One that is about to change may say something else when the job is read.
                let same = known.iter().find(|preset| {
                    preset.config.meaning_eq(config) && held_file(shared, &preset.name).is_none()
                });
                Ok(match same {
                    Some(preset) => OptimizeSettings::Preset(preset.id),
                    None => OptimizeSettings::Config(config.clone()),
                })
            }
            Settings::PresetName(name) => {
                if let Some(file) = held_file(shared, name) {
                    save_first(shared, name, &file).await?;
                    self.known = None;
                }
                let known = self.known(shared).await?;
                let named = known.iter().find(|preset| preset.name == *name);
                let named = named.map(|preset| OptimizeSettings::Preset(preset.id));
                named.ok_or_else(|| {
                    let names: Vec<&str> =
                        known.iter().map(|preset| preset.name.as_str()).collect();
                    let names = names.join(", ");
                    Unresolved::Wrong(format!("there is no preset {name:?}; there are: {names}"))
                })
            }
        }
    }

    async fn known(&mut self, shared: &Shared) -> Result<&[Known], Unresolved> {
        if self.known.is_none() {
            let asked = shared.until_closed(all_presets(shared)).await;
            let asked = asked.ok_or(Unresolved::Closed)?;
            self.known = Some(asked.map_err(Unresolved::Trouble)?);
        }
        Ok(self.known.as_deref().unwrap_or_default())
    }
}

/// The file whose text, held here, is to become the preset of that name or was refused as such.
fn held_file(shared: &Shared, preset: &str) -> Option<String> {
    let core = shared.core();
    let held = core.state.presets.held.iter();
    let mut meant = held.filter(|(file, held)| {
        let is_of_it = is_sendable_name(file) && names::stem(file) == preset;
        is_of_it && (held.wanted || held.failure.is_some())
    });
    meant.next().map(|(file, _)| file.clone())
}

/// Saves the text of a preset that a job names.
async fn save_first(shared: &Arc<Shared>, preset: &str, file: &str) -> Result<(), Unresolved> {
    let refused = |reason: &str| {
        Err(Unresolved::Wrong(format!(
            "the preset {preset:?} has a text that cannot be saved: {reason}; correct presets/{file} first"
        )))
    };
    let saving = shared.until_closed(save::save(shared, file)).await;
    match saving.ok_or(Unresolved::Closed)? {
        Ok(Outcome::Saved(_)) => Ok(()),
        Ok(Outcome::Refused(reason)) => refused(&reason),
        Ok(Outcome::Later(error)) => Err(Unresolved::Trouble(error)),
        Ok(Outcome::Nothing) => {
            let core = shared.core();
            let held = core.state.presets.held.get(file);
            match held.and_then(|held| held.failure.as_deref()) {
                Some(reason) => refused(reason),
                None => Ok(()),
            }
        }
        Err(error) => Err(Unresolved::Wrong(format!(
            "the preset {preset:?} could not be saved first: {error}"
        ))),
    }
}

/// The user's own presets, then the factory's: of two with one name the user's is meant.
async fn all_presets(shared: &Shared) -> Result<Vec<Known>, ClientError> {
    let own = shared.client.presets().list(Priority::Interactive).await?;
    let factory = shared
        .client
        .presets()
        .factory(Priority::Interactive)
        .await?;
    let own = own.into_iter().map(|it| Known {
        id: it.id,
        name: it.name,
        config: it.config,
    });
    let factory = factory.into_iter().map(|it| Known {
        id: it.id,
        name: it.name,
        config: it.config,
    });
    Ok(own.chain(factory).collect())
}
