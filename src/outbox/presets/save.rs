//! Saves held texts as presets on the service.
//!
//! Invariant: a file name stands for one preset. Before anything is made, the preset is looked for by
//! its name, or taken from where its file was parked, so a lost answer and an editor's detour over a
//! backup name never make a second one.

use std::sync::Arc;
use std::time::Duration;

use crate::client::{ClientError, Priority};
use crate::outbox::drafts::upload::plan::COMPLETION_PATIENCE as LATE_EFFECT;
use crate::outbox::effect::{Effect, passes};
use crate::outbox::error::OutboxResult;
use crate::outbox::events::OutboxEvent;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::jobs::text;
use crate::outbox::names;
use crate::outbox::pauses::Pauses;
use crate::outbox::presets::book::{HeldPreset, PresetRecord};
use crate::outbox::presets::plan::{PresetStep, find, next_preset_step};
use crate::outbox::shared::Shared;
use crate::wire::{CreatePreset, OptimizerConfig, Preset, PresetId, PresetText, UpdatePreset};

/// The longest pause between two tries while the service cannot be reached.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// What trying to save gave.
#[derive(Debug)]
pub enum Outcome {
    /// The service has it.
    Saved(PresetId),
    /// The service, or we, refuse it.
    Refused(String),
    /// It is tried again later.
    Later(ClientError),
    /// Nothing is to be saved under that name any more.
    Nothing,
}

/// Saves what is wanted and could not be saved at once. Runs until the outbox closes.
pub async fn run(shared: Arc<Shared>) {
    let mut pauses = Pauses::new(shared.config.first_poll * 2, LONGEST_RETRY);
    loop {
        let mut left = false;
        let wanted = if shared.config.paused {
            Vec::new()
        } else {
            wanted(&shared)
        };
        for name in wanted {
            let Some(outcome) = shared.until_closed(save(&shared, &name)).await else {
                return;
            };
            left |= matches!(outcome, Ok(Outcome::Later(_)) | Err(_));
        }
        let wait = if left {
            pauses.next_pause()
        } else {
            Duration::from_secs(3600)
        };
        if !left {
            pauses.reset();
        }
        tokio::select! {
            biased;
            () = tokio::time::sleep(wait) => {}
            () = shared.preset_news.notified() => {}
            () = shared.closed() => return,
        }
    }
}

fn wanted(shared: &Shared) -> Vec<String> {
    let core = shared.core();
    let held = core.state.presets.held.iter();
    held.filter(|(_, it)| it.wanted)
        .map(|(name, _)| name.clone())
        .collect()
}

/// Saves the text held under `name`, once.
pub async fn save(shared: &Arc<Shared>, name: &str) -> OutboxResult<Outcome> {
    // One at a time: two files may be about the same preset.
    let _turn = shared.presets.lock().await;
    let (held, parked) = {
        let core = shared.core();
        let book = &core.state.presets;
        match book.held.get(name) {
            Some(held) if held.wanted => (held.clone(), book.parked.get(name).cloned()),
            _ => return Ok(Outcome::Nothing),
        }
    };
    let preset = match text::parse_config(name, &held.text.0) {
        Ok(preset) => preset,
        Err(reason) => return refuse(shared, name, reason).await,
    };
    let parked = parked.map(|parked| parked.preset);
    match put(shared, name, &held, &preset, parked).await? {
        Ok(id) => {
            finish(shared, name, &held, id).await?;
            Ok(Outcome::Saved(id))
        }
        Err(error) if passes(&error) => {
            if Effect::of(&error) == Effect::Unknown {
                let (name, now) = (names::stem(name).to_owned(), shared.now());
                shared.core().preset_doubts.insert(name, now);
            }
            Ok(Outcome::Later(error))
        }
        Err(ClientError::Rejected { message, .. }) => refuse(shared, name, message).await,
        Err(error) => refuse(shared, name, error.to_string()).await,
    }
}

async fn put(
    shared: &Arc<Shared>,
    name: &str,
    held: &HeldPreset,
    text: &PresetText,
    parked: Option<PresetId>,
) -> OutboxResult<Result<PresetId, ClientError>> {
    let preset_name = names::stem(name);
    let known = match known(shared, preset_name, parked).await {
        Ok(known) => known,
        Err(error) => return Ok(Err(error)),
    };
    let config = &text.config;
    let step = next_preset_step(&known, preset_name, parked, config);
    if let PresetStep::Same(id) = step {
        return Ok(Ok(id));
    }
    if !held.in_doubt {
        let name = name.to_owned();
        shared.record(PresetRecord::Sent { name }).await?;
    }
    failpoint::hit(Failpoint::BeforePreset);
    let reply = match step {
        PresetStep::Same(id) => Ok(Some(id)),
        PresetStep::Update(id) => {
            let request = UpdatePreset {
                id,
                name: preset_name.to_owned(),
                config: config.clone(),
            };
            let updated = shared.client.presets().update(&request).await;
            updated.map(|()| Some(id))
        }
        PresetStep::Create => {
            let description = held.description.clone().or(text.description.clone());
            create(shared, preset_name, description, config).await
        }
    };
    failpoint::hit(Failpoint::AfterPreset);
    let id = match reply {
        Ok(Some(id)) => return Ok(Ok(id)),
        Ok(None) => shared.client.presets().list(Priority::Interactive).await,
        Err(error) => return Ok(Err(error)),
    };
    // The service does not answer a creation with the id: it is in the list.
    Ok(id.and_then(|known| {
        let found = find(&known, preset_name, None).map(|preset| preset.id);
        found.ok_or_else(|| ClientError::Protocol {
            what: "create a preset".to_owned(),
            reason: "it is not in the list of presets".to_owned(),
        })
    }))
}

async fn create(
    shared: &Arc<Shared>,
    preset_name: &str,
    description: Option<String>,
    config: &OptimizerConfig,
) -> Result<Option<PresetId>, ClientError> {
    let request = CreatePreset {
        name: preset_name.to_owned(),
        description,
        engine_core_version: None,
        config: config.clone(),
    };
    shared
        .client
        .presets()
        .create(&request)
        .await
        .map(|()| None)
}

/// The preset of a file name, as the service has it now.
pub async fn lookup(shared: &Shared, file_name: &str) -> Result<Option<Preset>, ClientError> {
    let name = names::stem(file_name);
    let known = known(shared, name, None).await?;
    Ok(find(&known, name, None).cloned())
}

/// The service's presets. That one is not among them counts only when no lost request can bring it any
/// more.
async fn known(
    shared: &Shared,
    name: &str,
    parked: Option<PresetId>,
) -> Result<Vec<Preset>, ClientError> {
    let mut known = shared.client.presets().list(Priority::Interactive).await?;
    let lost_at = shared.core().preset_doubts.get(name).copied();
    if let Some(lost_at) = lost_at.filter(|_| find(&known, name, parked).is_none()) {
        let left = (lost_at + LATE_EFFECT).saturating_sub(shared.now());
        shared.pause(left).await;
        known = shared.client.presets().list(Priority::Interactive).await?;
    }
    shared.core().preset_doubts.remove(name);
    Ok(known)
}

async fn finish(
    shared: &Arc<Shared>,
    name: &str,
    sent: &HeldPreset,
    preset: PresetId,
) -> OutboxResult<()> {
    let ticket = {
        let mut core = shared.core();
        let held = core.state.presets.held.get(name);
        // A text that was written meanwhile goes out on its own.
        if held.is_none_or(|held| held.text != sent.text) {
            return Ok(());
        }
        let ticket = core.record(PresetRecord::Saved {
            name: name.to_owned(),
            preset: Some(preset),
        })?;
        core.preset_saves += 1;
        ticket
    };
    shared.settle(ticket).await?;
    shared.events.tell(OutboxEvent::PresetsChanged);
    Ok(())
}

async fn refuse(shared: &Arc<Shared>, name: &str, reason: String) -> OutboxResult<Outcome> {
    let record = PresetRecord::Refused {
        name: name.to_owned(),
        reason: reason.clone(),
    };
    shared.record(record).await?;
    shared.events.tell(OutboxEvent::PresetsChanged);
    Ok(Outcome::Refused(reason))
}
