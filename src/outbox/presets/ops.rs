//! What the drive does to the files of the presets folder.

use std::future::Future;
use std::sync::Arc;

use crate::client::ClientError;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::events::OutboxEvent;
use crate::outbox::ids::{Caller, Maker};
use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;
use crate::outbox::presets::book::{HeldPreset, PresetRecord};
use crate::outbox::presets::file_name::check_preset_name;
use crate::outbox::presets::info::{PresetFile, PresetOverlay, PresetState, SavedPreset};
use crate::outbox::presets::parts::PresetParts;
use crate::outbox::presets::save;
use crate::outbox::presets::save::SaveOutcome;
use crate::outbox::presets::written::{self, is_shown_name};
use crate::outbox::texts::{check_length, is_sendable_name};
use crate::outbox::{names, texts};
use crate::wire::{Preset, PresetId, UpdatePreset};

/// The files of the presets folder.
#[derive(Clone)]
pub struct Presets {
    pub(in crate::outbox) parts: Arc<PresetParts>,
}

impl Presets {
    /// The file whose text, held here, is to become the preset of that name or was refused as such.
    pub fn unsaved_file(&self, preset: &str) -> Option<String> {
        let memory = self.parts.memory();
        let mut meant = memory.book.held.iter().filter(|(file, held)| {
            let is_of_it = is_sendable_name(file) && names::stem(file) == preset;
            is_of_it && (held.wanted || held.failure.is_some() || held.text.0.is_empty())
        });
        meant.next().map(|(file, _)| file.clone())
    }

    /// Saves the text held under a name, if it is not saved yet.
    pub async fn save_held(&self, file_name: &str) -> OutboxResult<SaveOutcome> {
        let outcome = save::save(&self.parts, file_name).await?;
        if matches!(outcome, SaveOutcome::Nothing) {
            let memory = self.parts.memory();
            let held = memory.book.held.get(file_name);
            if let Some(reason) = held.and_then(|held| held.failure.clone()) {
                return Ok(SaveOutcome::Refused(reason));
            }
            if held.is_some_and(|held| held.text.0.is_empty()) {
                return Ok(SaveOutcome::Refused("it is empty".to_owned()));
            }
        }
        Ok(outcome)
    }

    /// The files of the presets folder that the outbox holds.
    pub fn overlay(&self) -> PresetOverlay {
        let memory = self.parts.memory();
        let book = &memory.book;
        let local = book.held.iter().filter(|(_, held)| held.is_local());
        let files = local.map(|(name, held)| PresetFile {
            name: name.clone(),
            text: held.text.0.clone(),
            state: match &held.failure {
                Some(reason) => PresetState::Failed {
                    reason: reason.clone(),
                },
                None if held.wanted => PresetState::Queued,
                None => PresetState::Local,
            },
            description: held.description.clone(),
            mtime: held.at.into(),
        });
        PresetOverlay {
            saves: memory.saves,
            files: files.collect(),
            hidden: book.parked.values().map(|parked| parked.preset).collect(),
        }
    }

    /// The written texts of presets that the service has.
    pub fn saved(&self) -> Vec<SavedPreset> {
        let memory = self.parts.memory();
        let held = memory.book.held.iter();
        held.filter_map(|(name, held)| written::saved(name, held))
            .collect()
    }

    /// Compares the texts with `presets`, a list that was requested after [`Presets::saved`] returned `texts` and that
    /// is stored durably. A text stays as long as the service has its value. What was written since stays too.
    pub async fn note_listed_presets(
        &self,
        texts: &[SavedPreset],
        presets: &[Preset],
    ) -> OutboxResult<()> {
        let ticket = {
            let mut memory = self.parts.memory();
            let mut ticket = None;
            for record in written::records_of_list(&memory.book, texts, presets) {
                ticket = Some(memory.record(record)?);
            }
            while let Some(name) = written::surplus(&memory.book) {
                ticket = Some(memory.record(PresetRecord::Dropped { name })?);
            }
            ticket
        };
        match ticket {
            Some(ticket) => self.parts.journal.settle_async(ticket).await,
            None => Ok(()),
        }
    }

    /// Says what a preset is for, as long as the service does not have it: it takes this only with a
    /// new one. Local, durable on return.
    pub async fn describe(&self, file_name: &str, description: &str) -> OutboxResult<()> {
        check_length(file_name, description.as_bytes())?;
        if !self.is_here(file_name).0 {
            return Err(OutboxError::NotFound(file_name.to_owned()));
        }
        let record = PresetRecord::Described {
            name: file_name.to_owned(),
            description: description.to_owned(),
        };
        self.parts.record(record).await
    }

    /// Makes an empty file, which belongs to the caller. Local.
    pub async fn create(&self, file_name: &str, caller: &Caller) -> OutboxResult<()> {
        check_preset_name(file_name)?;
        let maker = Maker::of(caller, self.parts.config.owner);
        let (text, at) = (Blob::default(), Moment::now().whole_micros());
        self.keep(file_name, text, at, maker).await?;
        Ok(())
    }

    /// Who made a file that is held here, if not the owner of the drive.
    pub fn maker(&self, file_name: &str) -> Option<Maker> {
        self.parts.memory().book.held.get(file_name)?.maker
    }

    /// Keeps the text and, under the name of a preset's file, makes or updates the preset.
    pub async fn save(&self, file_name: &str, text: &[u8]) -> OutboxResult<PresetState> {
        check_preset_name(file_name)?;
        check_length(file_name, text)?;
        // The precision of the service's times: the time is the same before and after the service has the text.
        let at = Moment::now().whole_micros();
        self.save_written(file_name, Blob(text.to_vec()), at).await
    }

    async fn save_written(
        &self,
        file_name: &str,
        text: Blob,
        at: Moment,
    ) -> OutboxResult<PresetState> {
        if !self.keep(file_name, text, at, None).await? {
            return Ok(PresetState::Local);
        }
        self.send_preset(file_name).await
    }

    /// Keeps a text; true if it is to be saved on the service.
    async fn keep(
        &self,
        file_name: &str,
        text: Blob,
        at: Moment,
        maker: Option<Maker>,
    ) -> OutboxResult<bool> {
        let wanted = texts::is_sendable(file_name, &text.0);
        let record = PresetRecord::TextKept {
            name: file_name.to_owned(),
            text,
            at,
            wanted,
            maker,
        };
        let (ticket, before, written) = {
            let mut memory = self.parts.memory();
            let before = memory.book.held.get(file_name).cloned();
            let ticket = memory.record(record)?;
            (ticket, before, memory.book.held.get(file_name).cloned())
        };
        if let Err(error) = self.parts.journal.settle_async(ticket).await {
            self.put_back(file_name, before, written.as_ref());
            return Err(error);
        }
        self.parts.events.send(OutboxEvent::PresetsChanged);
        Ok(wanted)
    }

    /// Takes back a text whose record is not durable, unless it was changed meanwhile: without this it would be sent when there is
    /// room again, although its `close` has failed.
    fn put_back(&self, file_name: &str, before: Option<HeldPreset>, written: Option<&HeldPreset>) {
        let mut memory = self.parts.memory();
        if memory.book.held.get(file_name) == written {
            let name = file_name.to_owned();
            // Fails only if far too much waits for the journal already; then the text stays.
            let _ = memory.record(PresetRecord::PutBack { name, before });
        }
        drop(memory);
        self.parts.events.send(OutboxEvent::PresetsChanged);
    }

    /// Renames a preset file: to a backup name locally, a temporary file over a preset as an update,
    /// else on the service. Gives the preset that is gone because another took its name.
    pub async fn rename(&self, from: &str, to: &str) -> OutboxResult<Option<PresetId>> {
        check_preset_name(to)?;
        if from == to {
            return Ok(None);
        }
        // Texts in flight under the old name are finished first.
        let turn = self.preset_turn().await?;
        let (held, parked) = self.is_here(from);
        if held {
            let (text, at) = match self.rename_parked(from, to).await? {
                // The backup may have been edited, or be written in another form.
                Some(written) => written,
                None => self.rename_held(from, to).await?,
            };
            drop(turn);
            // Under a name that does not go to the service this cancels the pending save.
            self.save_written(to, text, at).await?;
            return Ok(None);
        }
        let preset = match parked {
            true => None,
            false => call_with_timeout(&self.parts, save::lookup(&self.parts, from)).await?,
        };
        let Some(preset) = preset.filter(|_| is_shown_name(from)) else {
            return Err(OutboxError::NotFound(from.to_owned()));
        };
        if is_shown_name(to) {
            self.rename_on_service(preset, from, to).await
        } else {
            self.park(preset, from, to).await?;
            Ok(None)
        }
    }

    /// Gives the preset of a backup the name to which the backup is renamed, and returns the backup's text with its time.
    /// `None` if it is no backup of a preset, or if another preset has the new name.
    async fn rename_parked(&self, backup: &str, to: &str) -> OutboxResult<Option<(Blob, Moment)>> {
        let parked = {
            let memory = self.parts.memory();
            let mut parked = memory.book.parked.iter();
            let found = parked.find(|(_, parked)| parked.backup == backup);
            found.map(|(own, parked)| (own.clone(), parked.preset))
        };
        let Some((own, id)) = parked.filter(|(own, _)| own != to && is_shown_name(to)) else {
            return Ok(None);
        };
        let named = call_with_timeout(&self.parts, save::lookup(&self.parts, &own)).await?;
        let Some(preset) = named.filter(|preset| preset.id == id) else {
            return Ok(None);
        };
        if call_with_timeout(&self.parts, save::lookup(&self.parts, to))
            .await?
            .is_some()
        {
            return Ok(None);
        }
        let held = self.parts.memory().book.held.get(backup).cloned();
        self.rename_on_service(preset, backup, to).await?;
        Ok(held.map(|held| (held.text, held.at)))
    }

    /// Removes a preset file: a local one here, a preset on the service. Gives the preset that is gone.
    pub async fn remove(&self, file_name: &str) -> OutboxResult<Option<PresetId>> {
        // Texts in flight under that name are finished first, so that they cannot take effect after the removal.
        let _turn = self.preset_turn().await?;
        let (held, parked) = self.is_here(file_name);
        let preset = match is_shown_name(file_name) && !parked {
            true => call_with_timeout(&self.parts, save::lookup(&self.parts, file_name)).await?,
            false => None,
        };
        if !held && preset.is_none() {
            // An earlier removal may not be durable yet: "not there" has to be true tomorrow, too.
            self.parts
                .journal
                .settle_async(self.parts.journal.last())
                .await?;
            return Err(OutboxError::NotFound(file_name.to_owned()));
        }
        if let Some(preset) = &preset {
            self.delete_on_service(preset).await?;
        }
        let preset = preset.map(|preset| preset.id);
        for name in self.texts_of(file_name, preset) {
            self.parts.record(PresetRecord::Dropped { name }).await?;
        }
        self.parts.events.send(OutboxEvent::PresetsChanged);
        Ok(preset)
    }

    async fn delete_on_service(&self, preset: &Preset) -> OutboxResult<()> {
        match call_with_timeout(&self.parts, self.parts.client.presets().delete(preset.id)).await {
            Err(OutboxError::Service {
                source: ClientError::NotFound { .. },
                ..
            }) => Ok(()),
            removed => removed,
        }
    }

    /// Waits until no other request about presets is under way: they are found by name.
    async fn preset_turn(&self) -> OutboxResult<tokio::sync::MutexGuard<'_, ()>> {
        call_with_timeout(&self.parts, async { Ok(self.parts.own.turn.lock().await) }).await
    }

    /// Whether a text is held under a name that the service does not have, and whether the preset of that name is parked.
    fn is_here(&self, file_name: &str) -> (bool, bool) {
        let memory = self.parts.memory();
        let book = &memory.book;
        (
            book.held.get(file_name).is_some_and(HeldPreset::is_local),
            book.parked.contains_key(file_name),
        )
    }

    /// The names under which a text of this file or of this preset is held.
    fn texts_of(&self, file_name: &str, preset: Option<PresetId>) -> Vec<String> {
        let memory = self.parts.memory();
        let held = memory.book.held.iter();
        held.filter(|(name, held)| *name == file_name || (preset.is_some() && held.saved == preset))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Keeps a preset under a backup's name; the file that then appears under its own updates it.
    async fn park(&self, preset: Preset, from: &str, to: &str) -> OutboxResult<()> {
        let (text, at) = written::shown(&self.parts.memory().book, &preset);
        let record = PresetRecord::Parked {
            name: from.to_owned(),
            preset: preset.id,
            backup: to.to_owned(),
            text,
            at,
        };
        self.parts.record(record).await?;
        self.parts.events.send(OutboxEvent::PresetsChanged);
        Ok(())
    }

    /// Sends a held text and waits for the answer for a while.
    async fn send_preset(&self, file_name: &str) -> OutboxResult<PresetState> {
        let parts = Arc::clone(&self.parts);
        let name = file_name.to_owned();
        let (told, outcome) = tokio::sync::oneshot::channel();
        // On a task of its own: a request that is under way is not cut off when the caller goes.
        self.parts.tasks.spawn(async move {
            let outcome = save::save(&parts, &name).await;
            if matches!(outcome, Ok(SaveOutcome::Later(_)) | Err(_)) {
                parts.own.save_wake.notify_one();
            }
            // Nobody listens when the caller has gone.
            let _ = told.send(outcome);
        });
        let outcome = match tokio::time::timeout(self.parts.config.answer_within, outcome).await {
            Err(_elapsed) => return Ok(PresetState::Queued),
            Ok(Err(_gone)) => return Err(OutboxError::ShutDown),
            Ok(Ok(outcome)) => outcome?,
        };
        match outcome {
            SaveOutcome::Saved(preset) => Ok(PresetState::Saved { preset }),
            SaveOutcome::Refused(reason) => Err(OutboxError::Invalid(reason)),
            SaveOutcome::Later(source) if source.is_about_token() => Err(OutboxError::Service {
                what: format!("saving {file_name}"),
                source,
            }),
            SaveOutcome::Later(_) => Ok(PresetState::Queued),
            // The background task has sent it already.
            SaveOutcome::Nothing => self.background_outcome(file_name).await,
        }
    }

    async fn background_outcome(&self, file_name: &str) -> OutboxResult<PresetState> {
        let held = {
            let memory = self.parts.memory();
            memory.book.held.get(file_name).cloned()
        };
        if let Some(held) = held {
            return match (held.failure, held.saved) {
                (Some(reason), _) => Err(OutboxError::Invalid(reason)),
                (None, Some(preset)) => Ok(PresetState::Saved { preset }),
                (None, None) => Ok(PresetState::Queued),
            };
        }
        let preset = call_with_timeout(&self.parts, save::lookup(&self.parts, file_name)).await?;
        Ok(
            preset.map_or(PresetState::Queued, |preset| PresetState::Saved {
                preset: preset.id,
            }),
        )
    }

    /// Renames a held text, and returns it with the time when it was written.
    async fn rename_held(&self, from: &str, to: &str) -> OutboxResult<(Blob, Moment)> {
        let (ticket, written) = {
            let mut memory = self.parts.memory();
            let held = memory.book.held.get(from);
            let held = held
                .ok_or_else(|| OutboxError::NotFound(from.to_owned()))?
                .clone();
            let ticket = memory.record(PresetRecord::Renamed {
                from: from.to_owned(),
                to: to.to_owned(),
            })?;
            (ticket, (held.text, held.at))
        };
        self.parts.journal.settle_async(ticket).await?;
        Ok(written)
    }

    async fn rename_on_service(
        &self,
        preset: Preset,
        from: &str,
        to: &str,
    ) -> OutboxResult<Option<PresetId>> {
        let new_name = names::stem(to).to_owned();
        let standing = call_with_timeout(&self.parts, save::lookup(&self.parts, to)).await?;
        let target = standing.as_ref().map_or(preset.id, |standing| standing.id);
        let request = UpdatePreset {
            id: target,
            name: new_name,
            config: preset.config.clone(),
            description: standing.as_ref().and(preset.description.clone()),
        };
        call_with_timeout(&self.parts, self.parts.client.presets().update(&request)).await?;
        if standing.is_some() {
            // The other name's preset has the content now; this one has become its double.
            call_with_timeout(&self.parts, self.parts.client.presets().delete(preset.id)).await?;
        }
        let ticket = {
            let mut memory = self.parts.memory();
            let (text, at) = written::shown(&memory.book, &preset);
            if memory.book.held.contains_key(from) {
                let name = from.to_owned();
                memory.record(PresetRecord::Dropped { name })?;
            }
            let ticket = memory.record(PresetRecord::RenamedThere {
                name: to.to_owned(),
                preset: target,
                text,
                at,
            })?;
            memory.saves += 1;
            ticket
        };
        self.parts.journal.settle_async(ticket).await?;
        tracing::info!(from, to, "renamed a preset");
        self.parts.events.send(OutboxEvent::PresetsChanged);
        Ok(standing.map(|_| preset.id))
    }
}

/// The outcome of a request that a tool waits for, within the time it may take.
async fn call_with_timeout<T>(
    parts: &PresetParts,
    call: impl Future<Output = Result<T, ClientError>>,
) -> OutboxResult<T> {
    let what = "working on presets";
    match tokio::time::timeout(parts.config.answer_within * 3, call).await {
        Ok(outcome) => outcome.map_err(|source| OutboxError::Service {
            what: what.to_owned(),
            source,
        }),
        Err(_elapsed) => Err(OutboxError::Service {
            what: what.to_owned(),
            source: ClientError::Timeout {
                what: what.to_owned(),
                after: parts.config.answer_within * 3,
            },
        }),
    }
}
