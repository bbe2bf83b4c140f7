//! `ctl` files: one command a line; the write's error is the command's error.

mod buffer;
mod command;

pub(in crate::drive) use buffer::ControlBuffer;

use std::sync::Arc;
use std::time::Duration;

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::failures::Deed;
use crate::drive::fresh::listings::Which;
use crate::drive::places::{DropFolder, HiddenParent, Model, Node, RawModels, Root, refusals};
use crate::drive::shared::Shared;
use crate::drive::tree::node::{Home, RemoteFolder};
use crate::outbox::{DraftId, OutboxError};
use crate::wire::{AssetId, AssetUpdate, ModelId, RapidId};
use command::Command;

/// How long `allow-delete` lifts the limit.
pub(in crate::drive) const DELETE_ALLOWED_FOR: Duration = Duration::from_secs(600);

impl Shared {
    /// Runs the whole lines of what was written, up to the first that fails.
    pub(in crate::drive) async fn write_control(
        self: &Arc<Self>,
        control: &ControlBuffer,
        data: &[u8],
    ) -> DriveResult<()> {
        for line in control.lines(data)? {
            self.run_line(control.parent(), &line).await?;
        }
        Ok(())
    }

    /// Runs a last line that was not ended.
    pub(in crate::drive) async fn flush_control(
        self: &Arc<Self>,
        control: &ControlBuffer,
    ) -> DriveResult<()> {
        match control.rest() {
            Some(line) => self.run_line(control.parent(), &line).await,
            None => Ok(()),
        }
    }

    async fn run_line(self: &Arc<Self>, parent: HiddenParent, line: &str) -> DriveResult<()> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        tracing::info!(place = %parent, command = line, "a command was written");
        let loose = match parent {
            HiddenParent::RawModels => self.order_to_loose_file(line),
            _ => None,
        };
        let (parent, line) = loose.unwrap_or((parent, line));
        let result = self.run_at(parent, line).await;
        // The sentence belongs to what the order was given to, not to its `ctl` file alone.
        match parent {
            HiddenParent::Model(model) => self.noted_node(&model.folder(), result),
            HiddenParent::RawModels => self.noted_node(&RawModels.into(), result),
            _ => self.noted_node(&Root.into(), result),
        }
    }

    async fn run_at(self: &Arc<Self>, parent: HiddenParent, line: &str) -> DriveResult<()> {
        if parent == HiddenParent::RawModels {
            return Err(DriveError::Invalid(
                "this order is for a model or for a loose file that is there; read this file for the commands".into(),
            ));
        }
        let command: Command = line.parse()?;
        if self.config.read_only && command.changes_something() {
            return Err(refusals::read_only_mount());
        }
        match (parent, command) {
            (HiddenParent::Root, command) => self.run_on_mount(command).await,
            (HiddenParent::Model(Model::Raw(home)), command) => {
                self.run_on_model(home, command).await
            }
            (HiddenParent::Model(Model::Rapid(rapid)), Command::Run(name)) => {
                let name = name.strip_prefix("embeds/").unwrap_or(&name).to_owned();
                self.run_job(DropFolder::RapidEmbeds(rapid), name).await
            }
            (HiddenParent::Model(Model::Rapid(rapid)), Command::Refresh) => {
                self.refresh_rapid(rapid).await
            }
            _ => Err(not_here()),
        }
    }

    /// The command of a line that ends in the name of a loose file, and the model that the file is or
    /// becomes. Commands have no folder of such a file to be written to before there is an asset.
    fn order_to_loose_file<'line>(&self, line: &'line str) -> Option<(HiddenParent, &'line str)> {
        let mut splits = line.match_indices(' ');
        splits.find_map(|(at, _)| {
            let draft = RawModels::loose_draft(self, &line[at + 1..])?;
            let model = Model::Raw(Home::Made(draft));
            Some((HiddenParent::Model(model), &line[..at]))
        })
    }

    async fn run_on_mount(self: &Arc<Self>, command: Command) -> DriveResult<()> {
        match command {
            Command::Drain { ready_only } => {
                let outbox = self.outbox.clone();
                let report = self
                    .detached(async move { Ok(outbox.drain(ready_only).await) })
                    .await?;
                match report.left.first() {
                    None => Ok(()),
                    Some(_) if ready_only => Ok(()),
                    Some((draft, reason)) => {
                        let name = self
                            .outbox
                            .draft(*draft)
                            .map_or_else(|| draft.to_string(), |draft| draft.name);
                        Err(DriveError::Busy(format!(
                            "{name} is not sent yet: {reason}"
                        )))
                    }
                }
            }
            Command::CancelOrphan(asset) => {
                let shared = Arc::clone(self);
                self.detached(async move {
                    match shared.outbox.cancel_orphan(asset).await {
                        Err(error @ OutboxError::NotFound(_)) => {
                            return Err(DriveError::Invalid(format!(
                                "{error}; `assetfs status` lists those there are"
                            )));
                        }
                        outcome => outcome?,
                    }
                    shared.asset_gone(asset);
                    shared.known().orphans = None;
                    Ok(())
                })
                .await
            }
            Command::Run(name) => {
                let name = name.strip_prefix("jobs/").unwrap_or(&name).to_owned();
                self.run_job(DropFolder::Jobs, name).await
            }
            Command::ClearCache => self.clear_cache().await,
            Command::VerifyCache => {
                self.verify_cache();
                Ok(())
            }
            Command::Pin(path) => self.pin(&path).await,
            Command::Unpin(path) => self.unpin(&path).await,
            Command::Delete(subjects) => self.delete_many(subjects).await,
            Command::AllowDelete => {
                self.deletions().allow(DELETE_ALLOWED_FOR);
                Ok(())
            }
            Command::Refresh => {
                for which in [
                    Which::Assets,
                    Which::Rapids,
                    Which::Presets,
                    Which::Factory,
                    Which::Embeds,
                    Which::Jobs,
                    Which::Tokens,
                    Which::Webhooks,
                ] {
                    self.doubt(which);
                }
                self.refreshed(Which::Assets).await
            }
            _ => Err(not_here()),
        }
    }

    async fn run_on_model(self: &Arc<Self>, home: Home, command: Command) -> DriveResult<()> {
        let asset = self.asset_of(home);
        match (command, home, asset) {
            // Accepted already: there is nothing left to commit.
            (Command::Commit { .. }, _, Some(_)) => Ok(()),
            (Command::Commit { force }, Home::Made(draft), None) => self.commit(draft, force).await,
            (Command::Cancel, Home::Made(draft), _) if self.outbox.draft(draft).is_some() => {
                let outbox = self.outbox.clone();
                self.detached(async move { Ok(outbox.cancel(draft).await?) })
                    .await?;
                if let Some(asset) = asset {
                    self.asset_gone(asset);
                }
                Ok(())
            }
            (Command::Cancel, ..) => Err(DriveError::Invalid(
                "there is nothing to cancel; `rm -r` deletes an asset".into(),
            )),
            (Command::Retry, Home::Made(draft), _) if self.outbox.draft(draft).is_some() => {
                let outbox = self.outbox.clone();
                self.detached(async move { Ok(outbox.retry(draft).await?) })
                    .await
            }
            (Command::Retry, _, Some(asset)) => {
                self.asked(self.client.retry_import(asset)).await?;
                self.refreshed_asset(asset, Duration::ZERO)
                    .await
                    .map(|_| ())
            }
            (Command::Convert(formats), _, Some(asset)) => {
                self.asked(self.client.add_formats(asset, &formats)).await?;
                self.maps
                    .doubt(&self.meta, RemoteFolder::AssetConverted(asset));
                self.watch_conversions(asset);
                Ok(())
            }
            (Command::Scale(factor), _, Some(asset)) => {
                let update = AssetUpdate {
                    scale_factor: Some(factor),
                    ..AssetUpdate::default()
                };
                self.asked(self.client.update_asset(asset, &update)).await?;
                self.refreshed_asset(asset, Duration::ZERO)
                    .await
                    .map(|_| ())
            }
            (Command::Run(name), _, Some(asset)) => {
                let (folder, name) = self.job_named(asset, &name);
                self.run_job(folder, name.to_owned()).await
            }
            (Command::Refresh, _, Some(asset)) => self.refresh_asset(asset).await,
            (Command::Refresh, _, None) => Ok(()),
            (
                Command::Convert(_) | Command::Scale(_) | Command::Run(_) | Command::Retry,
                _,
                None,
            ) => Err(DriveError::Invalid(
                "this is a draft yet; commit it first".into(),
            )),
            (Command::Commit { .. }, Home::Found(_), None)
            | (
                Command::CancelOrphan(_)
                | Command::Drain { .. }
                | Command::AllowDelete
                | Command::ClearCache
                | Command::VerifyCache
                | Command::Pin(_)
                | Command::Unpin(_)
                | Command::Delete(_),
                ..,
            ) => Err(not_here()),
        }
    }

    /// The job of an asset that a command names: with its folder, or alone where that tells one.
    fn job_named<'name>(&self, asset: AssetId, name: &'name str) -> (DropFolder, &'name str) {
        let (optimize, embeds) = (DropFolder::Optimize(asset), DropFolder::AssetEmbeds(asset));
        if let Some(name) = name.strip_prefix("optimize/") {
            return (optimize, name);
        }
        if let Some(name) = name.strip_prefix("embeds/") {
            return (embeds, name);
        }
        let is_in = |folder: DropFolder| self.outbox.job(&folder.in_outbox(), name).is_some();
        match is_in(embeds) && !is_in(optimize) {
            true => (embeds, name),
            false => (optimize, name),
        }
    }

    /// Sends a job again, which pays again.
    async fn run_job(self: &Arc<Self>, folder: DropFolder, name: String) -> DriveResult<()> {
        let outbox = self.outbox.clone();
        self.detached(async move {
            outbox.run_job(&folder.in_outbox(), &name).await?;
            Ok(())
        })
        .await
    }

    /// Asks anew for all that is known of a source model.
    async fn refresh_asset(self: &Arc<Self>, asset: AssetId) -> DriveResult<()> {
        for folder in [
            RemoteFolder::AssetFiles(asset),
            RemoteFolder::AssetAnalysis(asset),
            RemoteFolder::AssetRenders(asset),
            RemoteFolder::AssetConverted(asset),
            RemoteFolder::AssetPbr(asset),
        ] {
            self.maps.doubt(&self.meta, folder);
        }
        self.forget_reason(ModelId::Asset(asset));
        self.doubt_rapids_of(asset);
        self.refreshed_asset(asset, Duration::ZERO).await?;
        Ok(())
    }

    async fn refresh_rapid(self: &Arc<Self>, rapid: RapidId) -> DriveResult<()> {
        for folder in [
            RemoteFolder::RapidFiles(rapid),
            RemoteFolder::RapidAnalysis(rapid),
            RemoteFolder::RapidRenders(rapid),
            RemoteFolder::RapidQc(rapid),
        ] {
            self.maps.doubt(&self.meta, folder);
        }
        self.forget_reason(ModelId::Rapid(rapid));
        self.refreshed_rapid(rapid, Duration::ZERO).await?;
        Ok(())
    }

    /// Sends a draft and waits until the service has accepted it, for as long as `sync` may take.
    pub(in crate::drive) async fn commit(
        self: &Arc<Self>,
        draft: DraftId,
        force: bool,
    ) -> DriveResult<()> {
        let shared = Arc::clone(self);
        let accepted = self.detached(async move {
            let asset = shared.outbox.commit(draft, force).await?;
            shared
                .made
                .lock()
                .expect("no panic while models are held")
                .insert(draft, asset);
            Ok(())
        });
        match tokio::time::timeout(self.config.sync_deadline, accepted).await {
            Ok(result) => result,
            Err(_) => Err(DriveError::TimedOut(format!(
                "the upload takes longer than {} s and goes on in the background; `assetfs wait` waits for its end",
                self.config.sync_deadline.as_secs()
            ))),
        }
    }

    /// Keeps the sentence of a failure for a thing.
    pub(in crate::drive) fn noted_node<T>(
        &self,
        node: &Node,
        result: DriveResult<T>,
    ) -> DriveResult<T> {
        match &result {
            Err(error) if error.is_worth_a_sentence() => {
                self.note_failure(node, None, Deed::Behind, &error.to_string())
            }
            Err(_) => {}
            Ok(_) => {
                self.failures.clear(&node.path(self));
            }
        }
        result
    }
}

fn not_here() -> DriveError {
    DriveError::Invalid("this command does nothing here; read this file for the commands".into())
}
