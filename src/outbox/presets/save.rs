//! Saves held texts as presets on the service.
//!
//! Invariant: a file name means one preset. Before one is created, the preset is looked for by
//! its name, or taken from where its file was parked, so a lost answer and an editor's detour over a
//! backup name never make a second one.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::client::{ClientError, Priority};
use crate::outbox::effect::{Effect, LATE_EFFECT, is_retryable};
use crate::outbox::error::OutboxResult;
use crate::outbox::events::OutboxEvent;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::presets::book::{HeldPreset, PresetRecord};
use crate::outbox::presets::parts::PresetParts;
use crate::outbox::presets::plan::{PresetStep, find, name_for, next_preset_step};
use crate::outbox::{failpoint, names, texts};
use crate::wire::{CreatePreset, OptimizerConfig, Preset, PresetId, PresetText, UpdatePreset};

/// The longest pause between two tries while the service cannot be reached.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(60);

/// The outcome of an attempt to save.
#[derive(Debug)]
pub enum SaveOutcome {
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
pub async fn run(parts: Arc<PresetParts>) {
    let mut pauses = Backoff::doubling(parts.config.first_poll * 2, MAX_RETRY_PAUSE);
    loop {
        let mut left = false;
        let wanted = if parts.config.paused {
            Vec::new()
        } else {
            wanted(&parts)
        };
        for name in wanted {
            let Some(outcome) = parts.tasks.until_closed(save(&parts, &name)).await else {
                return;
            };
            left |= matches!(outcome, Ok(SaveOutcome::Later(_)) | Err(_));
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
            () = parts.own.save_wake.notified() => {}
            () = parts.tasks.closed() => return,
        }
    }
}

fn wanted(parts: &PresetParts) -> Vec<String> {
    let memory = parts.memory();
    let held = memory.book.held.iter();
    held.filter(|(_, it)| it.wanted)
        .map(|(name, _)| name.clone())
        .collect()
}

/// Saves the text held under `name`, once.
pub async fn save(parts: &Arc<PresetParts>, name: &str) -> OutboxResult<SaveOutcome> {
    // One at a time: two files may be about the same preset.
    let _turn = parts.own.turn.lock().await;
    let (held, parked) = {
        let memory = parts.memory();
        let book = &memory.book;
        match book.held.get(name) {
            Some(held) if held.wanted => (held.clone(), book.parked.get(name).cloned()),
            _ => return Ok(SaveOutcome::Nothing),
        }
    };
    let preset = match texts::parse_config(name, &held.text.0) {
        Ok(preset) => preset,
        Err(reason) => return refuse(parts, name, reason).await,
    };
    let parked = parked.map(|parked| parked.preset);
    match put(parts, name, &held, &preset, parked).await? {
        Ok(id) => {
            finish(parts, name, &held, id).await?;
            Ok(SaveOutcome::Saved(id))
        }
        Err(error) if is_retryable(&error) => {
            if Effect::of(&error) == Effect::Unknown {
                let name = names::stem(name).to_owned();
                parts.memory().doubts.insert(name, Instant::now());
            }
            Ok(SaveOutcome::Later(error))
        }
        Err(ClientError::Rejected { message, .. }) => refuse(parts, name, message).await,
        Err(error) => refuse(parts, name, error.to_string()).await,
    }
}

async fn put(
    parts: &Arc<PresetParts>,
    name: &str,
    held: &HeldPreset,
    text: &PresetText,
    parked: Option<PresetId>,
) -> OutboxResult<Result<PresetId, ClientError>> {
    let preset_name = names::stem(name);
    let known = match known(parts, preset_name, parked).await {
        Ok(known) => known,
        Err(error) => return Ok(Err(error)),
    };
    let config = &text.config;
    let described = find(&known, preset_name, parked).and_then(|it| it.description.as_deref());
    let is_described = text.description.is_none() || text.description.as_deref() == described;
    let step = match next_preset_step(&known, preset_name, parked, config) {
        PresetStep::Same(id) if is_described => return Ok(Ok(id)),
        // Only its description is another one.
        PresetStep::Same(id) => PresetStep::Update(id),
        step => step,
    };
    if !held.in_doubt {
        let name = name.to_owned();
        parts.record(PresetRecord::Sent { name }).await?;
    }
    failpoint::hit(Failpoint::BeforePreset);
    let reply = match step {
        PresetStep::Same(id) => Ok(Some(id)),
        PresetStep::Update(id) => {
            let standing = known.iter().find(|preset| preset.id == id);
            let request = UpdatePreset {
                id,
                name: standing
                    .map_or(preset_name, |standing| name_for(standing, preset_name))
                    .to_owned(),
                config: config.clone(),
                description: text.description.clone(),
            };
            let updated = parts.client.presets().update(&request).await;
            updated.map(|()| Some(id))
        }
        PresetStep::Create => {
            let description = held.description.clone().or(text.description.clone());
            create(parts, preset_name, description, config).await
        }
    };
    failpoint::hit(Failpoint::AfterPreset);
    let id = match reply {
        Ok(Some(id)) => return Ok(Ok(id)),
        Ok(None) => parts.client.presets().list(Priority::Interactive).await,
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
    parts: &Arc<PresetParts>,
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
    parts.client.presets().create(&request).await.map(|()| None)
}

/// The preset of a file name, as the service has it now.
pub async fn lookup(parts: &PresetParts, file_name: &str) -> Result<Option<Preset>, ClientError> {
    let name = names::stem(file_name);
    let known = known(parts, name, None).await?;
    Ok(find(&known, name, None).cloned())
}

/// The service's presets. That one is not among them counts only when no lost request can bring it any
/// more.
async fn known(
    parts: &PresetParts,
    name: &str,
    parked: Option<PresetId>,
) -> Result<Vec<Preset>, ClientError> {
    let mut known = parts.client.presets().list(Priority::Interactive).await?;
    let lost_at = parts.memory().doubts.get(name).copied();
    if let Some(lost_at) = lost_at.filter(|_| find(&known, name, parked).is_none()) {
        let left = (lost_at + LATE_EFFECT).saturating_duration_since(Instant::now());
        parts.tasks.pause(left).await;
        known = parts.client.presets().list(Priority::Interactive).await?;
    }
    parts.memory().doubts.remove(name);
    Ok(known)
}

async fn finish(
    parts: &Arc<PresetParts>,
    name: &str,
    sent: &HeldPreset,
    preset: PresetId,
) -> OutboxResult<()> {
    let ticket = {
        let mut memory = parts.memory();
        let held = memory.book.held.get(name);
        // A text that was written meanwhile goes out on its own.
        if held.is_none_or(|held| held.text != sent.text) {
            return Ok(());
        }
        let ticket = memory.record(PresetRecord::Saved {
            name: name.to_owned(),
            preset: Some(preset),
        })?;
        memory.saves += 1;
        ticket
    };
    parts.journal.settle_async(ticket).await?;
    parts.events.send(OutboxEvent::PresetsChanged);
    Ok(())
}

async fn refuse(parts: &Arc<PresetParts>, name: &str, reason: String) -> OutboxResult<SaveOutcome> {
    let record = PresetRecord::Refused {
        name: name.to_owned(),
        reason: reason.clone(),
    };
    parts.record(record).await?;
    parts.events.send(OutboxEvent::PresetsChanged);
    Ok(SaveOutcome::Refused(reason))
}
