//! After the service has accepted an upload: polls the import, then compares the service's files with those that were
//! sent.

use std::time::Duration;

use crate::client::{ClientError, Priority};
use crate::outbox::drafts::activity::Trouble;
use crate::outbox::drafts::draft::Attempt;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::upload::plan::ServiceView;
use crate::outbox::drafts::upload::run::{Flow, Upload};
use crate::outbox::drafts::upload::verify;
use crate::outbox::drafts::upload::verify::Comparison;
use crate::outbox::error::OutboxResult;
use crate::outbox::events::OutboxEvent;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::status::ItemStatus;
use crate::wire::{AssetId, BaseAsset, UploadStatus};

/// How late the drive may report that it deleted an asset.
const LATE_REPORT: Duration = Duration::from_secs(2);

impl Upload {
    pub(super) async fn ask(&mut self, asset: AssetId) -> Flow {
        let call = self.parts.client.assets().get(asset, Priority::Background);
        let Some(reply) = self.parts.tasks.until_closed(call).await else {
            return Flow::End;
        };
        match reply {
            Ok(record) => {
                self.set_trouble(None);
                self.retries.reset();
                self.service = self.seen(&record);
                self.record = Some(record);
                Flow::Again
            }
            Err(ClientError::NotFound { .. }) => {
                self.service = ServiceView::Gone;
                Flow::Again
            }
            Err(error) => {
                self.set_trouble(Some(Trouble::Service(error)));
                Flow::Pause(self.retries.next_pause())
            }
        }
    }

    /// Stores the state in an asset's record for the status.
    pub(super) fn seen(&self, record: &BaseAsset) -> ServiceView {
        let status = match &record.upload_status {
            UploadStatus::Incomplete => ItemStatus::Uploading {
                percent: 99,
                obstacle: None,
            },
            step => ItemStatus::importing(step, record.progress),
        };
        let mut memory = self.parts.memory();
        let activity = memory.activity(self.draft);
        if activity.import.as_ref() != Some(&status) {
            activity.import = Some(status);
            drop(memory);
            self.parts.events.send(OutboxEvent::AssetChanged(record.id));
            self.parts.status_changed(self.draft);
        }
        ServiceView::Status(record.upload_status.clone())
    }

    pub(super) async fn imported(&mut self) -> OutboxResult<Flow> {
        let replaced = {
            let memory = self.parts.memory();
            let draft = memory.state.drafts.get(&self.draft);
            draft.and_then(|draft| Some((draft.replaces.clone()?, draft.accepted_asset()?)))
        };
        self.write(UploadRecord::Imported { draft: self.draft })
            .await?;
        failpoint::hit(Failpoint::AfterImport);
        if let Some((replaced, new)) = replaced {
            let old = replaced.asset;
            self.parts.events.send(OutboxEvent::NameTaken { old, new });
        }
        self.report_asset_changed();
        Ok(Flow::Again)
    }

    pub(super) async fn import_failed(&mut self) -> OutboxResult<Flow> {
        let record = self.record.as_ref();
        let said = record.and_then(|record| {
            let texts = [&record.error_message, &record.import_status];
            texts
                .into_iter()
                .flatten()
                .find(|text| !text.trim().is_empty())
                .cloned()
        });
        let status = record.map_or("", |record| record.upload_status.as_str());
        let reason = said.unwrap_or_else(|| status.to_owned());
        let draft = self.draft;
        self.write(UploadRecord::ImportFailed { draft, reason })
            .await?;
        self.report_asset_changed();
        Ok(Flow::End)
    }

    pub(super) async fn lost(&mut self, attempt: &Attempt) -> OutboxResult<Flow> {
        // Deleted through the drive, which will remove the draft too.
        let asset = attempt.stage.asset();
        if asset.is_some_and(|asset| self.parts.memory().state.deletions.contains(&asset)) {
            self.service = ServiceView::Unknown;
            return Ok(Flow::Pause(LATE_REPORT));
        }
        // Another task may be about to report the deletion.
        if !std::mem::replace(&mut self.gone_before, true) {
            self.service = ServiceView::Unknown;
            return Ok(Flow::Pause(LATE_REPORT));
        }
        let draft = self.draft;
        self.drop_attempt(attempt.number).await?;
        let reason = "the asset was deleted on the service before it was complete; the copy is kept here: `assetfs retry` sends it again, `rm -r` removes it".to_owned();
        self.write(UploadRecord::Failed { draft, reason }).await?;
        if let Some(asset) = asset {
            self.parts.events.send(OutboxEvent::AssetChanged(asset));
        }
        self.parts.draft_changed(draft);
        Ok(Flow::End)
    }

    pub(super) async fn verify(&mut self, attempt: &Attempt, asset: AssetId) -> OutboxResult<Flow> {
        let compared = verify::compare(&self.parts, &attempt.manifest, asset);
        let Some(compared) = self.parts.tasks.until_closed(compared).await else {
            return Ok(Flow::End);
        };
        let note = match compared {
            Ok(Comparison::Same) => {
                failpoint::hit(Failpoint::AfterVerified);
                self.write(UploadRecord::Verified { draft: self.draft })
                    .await?;
                failpoint::hit(Failpoint::BeforeDrop);
                // The old version of a model may be unwanted now.
                self.parts.own.discard_news.notify_one();
                self.parts.remove_doomed().await?;
                self.parts.memory().forget_gone();
                self.parts.draft_changed(self.draft);
                self.parts.events.send(OutboxEvent::AssetChanged(asset));
                return Ok(Flow::End);
            }
            Ok(Comparison::Gone) => {
                self.service = ServiceView::Gone;
                return Ok(Flow::Again);
            }
            Ok(Comparison::Different(note)) => note,
            Err(error) => error.to_string(),
        };
        let mut memory = self.parts.memory();
        memory.activity(self.draft).comparison = Some(format!("the local copy is kept: {note}"));
        drop(memory);
        Ok(Flow::Pause(self.comparisons.next_pause()))
    }

    /// Sends the events that the asset changed.
    fn report_asset_changed(&self) {
        let asset = {
            let memory = self.parts.memory();
            memory
                .state
                .drafts
                .get(&self.draft)
                .and_then(|draft| draft.accepted_asset())
        };
        if let Some(asset) = asset {
            self.parts.events.send(OutboxEvent::AssetChanged(asset));
        }
        self.parts.draft_changed(self.draft);
        self.parts.events.asset_may_have_changed();
    }
}
