//! The asset of an upload on the service: ends the upload, polls the import, then compares the service's files with
//! those that were sent.

use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::client::{ClientError, Priority};
use crate::outbox::drafts::activity::Trouble;
use crate::outbox::drafts::draft::Attempt;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::upload::link::{DraftLink, Flow, MAX_RETRY_PAUSE};
use crate::outbox::drafts::upload::plan::ServiceView;
use crate::outbox::drafts::upload::room;
use crate::outbox::drafts::upload::verify;
use crate::outbox::drafts::upload::verify::Comparison;
use crate::outbox::effect::{Effect, LATE_EFFECT};
use crate::outbox::error::OutboxResult;
use crate::outbox::events::{OutboxEvent, SeenRecord};
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::status::ItemStatus;
use crate::wire::{AssetId, BaseAsset, UploadStatus};

/// The longest pause between two polls of an import.
const MAX_POLL_PAUSE: Duration = Duration::from_secs(10);
/// The longest pause between two comparisons that found a difference.
const MAX_COMPARISON: Duration = Duration::from_secs(3600);
/// How long a record may be sent with an event: later it may lack what others have changed.
const RECORD_IS_NEW: Duration = Duration::from_secs(5);
/// How late the drive may report that it deleted an asset.
const LATE_REPORT: Duration = Duration::from_secs(2);

/// The asset of one attempt, as the service showed it last.
pub(super) struct SentAsset {
    view: ServiceView,
    record: Option<BaseAsset>,
    /// When the record was requested; `None` for the reply to the completion, which has less in it.
    asked: Option<Instant>,
    /// The accepted asset was missing at the last poll.
    gone_before: bool,
    completion_sent: Option<Instant>,
    /// Requests to end the upload without an answer that settles it.
    completions_in_doubt: u32,
    polls: Backoff,
    comparisons: Backoff,
}

impl SentAsset {
    pub(super) fn new(first_poll: Duration) -> SentAsset {
        SentAsset {
            view: ServiceView::Unknown,
            record: None,
            asked: None,
            gone_before: false,
            completion_sent: None,
            completions_in_doubt: 0,
            polls: Backoff::polling(first_poll, MAX_POLL_PAUSE),
            comparisons: Backoff::doubling(first_poll * 4, MAX_COMPARISON),
        }
    }

    pub(super) fn view(&self) -> &ServiceView {
        &self.view
    }

    /// Time since the request that ends the upload was sent.
    pub(super) fn completion_age(&self) -> Option<Duration> {
        self.completion_sent.map(|at| at.elapsed())
    }

    /// How old the request that ends the upload must be before it is sent again. An order of the user ends the trouble,
    /// and the growth of the pauses with it.
    pub(super) fn completion_pause(&self, is_troubled: bool) -> Duration {
        let failures = if is_troubled {
            self.completions_in_doubt
        } else {
            0
        };
        Backoff::doubling(LATE_EFFECT, MAX_RETRY_PAUSE).after(failures)
    }

    /// The next attempt has another asset.
    pub(super) fn forget(&mut self) {
        self.view = ServiceView::Unknown;
        self.completion_sent = None;
        self.completions_in_doubt = 0;
    }

    /// What the service said last may be over.
    pub(super) fn ask_again(&mut self) {
        self.view = ServiceView::Unknown;
    }

    pub(super) fn ask_later(&mut self) -> Flow {
        self.view = ServiceView::Unknown;
        Flow::Pause(self.polls.next_pause())
    }

    /// Ends the upload.
    pub(super) async fn complete(
        &mut self,
        link: &mut DraftLink,
        attempt: &Attempt,
        asset: AssetId,
    ) -> OutboxResult<Flow> {
        let (draft, number) = (link.draft(), attempt.number);
        link.write(UploadRecord::CompleteSent {
            draft,
            attempt: number,
        })
        .await?;
        if link.is_stopped() {
            return Ok(Flow::Again);
        }
        failpoint::hit(Failpoint::BeforeComplete);
        self.completion_sent = Some(Instant::now());
        self.view = ServiceView::Unknown;
        let call = link.parts().client.assets().complete_upload(asset);
        let Some(reply) = link.parts().tasks.with_grace(call).await else {
            return Ok(Flow::End);
        };
        failpoint::hit(Failpoint::AfterComplete);
        let error = match reply {
            Ok(record) => {
                (self.record, self.asked) = (Some(record), None);
                return self.accept(link, attempt).await;
            }
            Err(error) => error,
        };
        let effect = Effect::of(&error);
        if effect == Effect::Unknown {
            // It may have taken effect: the asset's state decides.
            tracing::info!(draft = draft.0, asset = asset.0, %error, "the reply to the completion request was lost");
            self.completions_in_doubt = self.completions_in_doubt.saturating_add(1);
            link.set_trouble(Some(Trouble::Service(error)));
            return Ok(Flow::Again);
        }
        if effect == Effect::Refused {
            // Some files may not be stored, so the asset is given up: `retry` sends all files to a new one.
            link.drop_attempt(number).await?;
            self.forget();
            let needed = attempt.manifest.total_size();
            if let Some(flow) = room::why_refused(link, &error, needed).await.flow() {
                return Ok(flow);
            }
            return link.failed_or_again(error, "ending the upload").await;
        }
        link.write(UploadRecord::CompleteRefused {
            draft,
            attempt: number,
        })
        .await?;
        if effect == Effect::Gone {
            link.set_trouble(Some(Trouble::Service(error)));
            self.view = ServiceView::Gone;
            return Ok(Flow::Again);
        }
        link.failed_or_again(error, "ending the upload").await
    }

    pub(super) async fn accept(
        &mut self,
        link: &mut DraftLink,
        attempt: &Attempt,
    ) -> OutboxResult<Flow> {
        let draft = link.draft();
        link.write(UploadRecord::Accepted {
            draft,
            attempt: attempt.number,
        })
        .await?;
        failpoint::hit(Failpoint::AfterAccepted);
        link.is_answered();
        self.polls.reset();
        if let Some(asset) = attempt.stage.asset() {
            link.parts()
                .events
                .send(OutboxEvent::AssetCreated { draft, asset });
        }
        // The reply to the completion contains the first state of the import.
        self.view = self.show(link);
        link.parts().draft_changed(draft);
        Ok(Flow::Again)
    }

    pub(super) async fn ask(&mut self, link: &mut DraftLink, asset: AssetId) -> Flow {
        let call = link
            .parts()
            .client
            .assets()
            .get(asset, Priority::Background);
        let asked = Instant::now();
        let Some(reply) = link.parts().tasks.until_closed(call).await else {
            return Flow::End;
        };
        match reply {
            Ok(record) => {
                // A failure to end the upload stands until it has ended.
                if record.upload_status != UploadStatus::Incomplete {
                    link.is_answered();
                }
                (self.record, self.asked) = (Some(record), Some(asked));
                self.view = self.show(link);
                Flow::Again
            }
            Err(ClientError::NotFound { .. }) => {
                self.view = ServiceView::Gone;
                Flow::Again
            }
            Err(error) => link.retry_after(Trouble::Service(error)),
        }
    }

    /// Stores the state in the asset's record for the status.
    fn show(&self, link: &DraftLink) -> ServiceView {
        let Some(record) = &self.record else {
            return ServiceView::Unknown;
        };
        let status = match &record.upload_status {
            UploadStatus::Incomplete => ItemStatus::Uploading {
                percent: 99,
                obstacle: None,
            },
            step => {
                ItemStatus::importing(step, record.progress).with_obstacle(record.waits_because())
            }
        };
        let mut memory = link.parts().memory();
        let activity = memory.activity(link.draft());
        if activity.import.as_ref() != Some(&status) {
            activity.import = Some(status);
            drop(memory);
            // After the completion the draft becomes an asset, which is an event of its own.
            if self.asked.is_some() {
                self.report(link, record.id);
            }
            link.parts().status_changed(link.draft());
        }
        ServiceView::Status(record.upload_status.clone())
    }

    /// Sends the event that the asset changed, with its record if that is here.
    fn report(&self, link: &DraftLink, asset: AssetId) {
        let events = &link.parts().events;
        match (&self.record, self.asked) {
            (Some(record), Some(asked))
                if record.id == asset && asked.elapsed() < RECORD_IS_NEW =>
            {
                let record = record.clone();
                events.asset_seen(SeenRecord { record, asked });
            }
            _ => events.send(OutboxEvent::AssetChanged(asset)),
        }
    }

    pub(super) async fn finish_import(&self, link: &DraftLink) -> OutboxResult<Flow> {
        let replaced = {
            let memory = link.parts().memory();
            let draft = memory.state.drafts.get(&link.draft());
            draft.and_then(|draft| Some((draft.replaces.clone()?, draft.accepted_asset()?)))
        };
        link.write(UploadRecord::Imported {
            draft: link.draft(),
        })
        .await?;
        failpoint::hit(Failpoint::AfterImport);
        link.parts().own.note_wake.notify_one();
        if let Some((replaced, new)) = replaced {
            let old = replaced.asset;
            link.parts()
                .events
                .send(OutboxEvent::NameTaken { old, new });
        }
        report_asset_changed(link, self);
        Ok(Flow::Again)
    }

    pub(super) async fn handle_failed_import(&self, link: &DraftLink) -> OutboxResult<Flow> {
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
        let draft = link.draft();
        link.write(UploadRecord::ImportFailed { draft, reason })
            .await?;
        report_asset_changed(link, self);
        Ok(Flow::End)
    }

    pub(super) async fn handle_lost_import(
        &mut self,
        link: &DraftLink,
        attempt: &Attempt,
    ) -> OutboxResult<Flow> {
        // Deleted through the drive, which will remove the draft too.
        let asset = attempt.stage.asset();
        if asset.is_some_and(|asset| link.parts().memory().state.deletions.contains(&asset)) {
            self.view = ServiceView::Unknown;
            return Ok(Flow::Pause(LATE_REPORT));
        }
        // Another task may be about to report the deletion.
        if !std::mem::replace(&mut self.gone_before, true) {
            self.view = ServiceView::Unknown;
            return Ok(Flow::Pause(LATE_REPORT));
        }
        let draft = link.draft();
        link.drop_attempt(attempt.number).await?;
        let reason = "the model was deleted on the service before it was complete; the copy is kept here: `assetfs retry` sends it again, `rm -r` removes it".to_owned();
        link.write(UploadRecord::Failed { draft, reason }).await?;
        if let Some(asset) = asset {
            link.parts().events.send(OutboxEvent::AssetChanged(asset));
        }
        link.parts().draft_changed(draft);
        Ok(Flow::End)
    }

    pub(super) async fn verify(
        &mut self,
        link: &DraftLink,
        attempt: &Attempt,
        asset: AssetId,
    ) -> OutboxResult<Flow> {
        let compared = verify::compare(link.parts(), &attempt.manifest, asset);
        let Some(compared) = link.parts().tasks.until_closed(compared).await else {
            return Ok(Flow::End);
        };
        let note = match compared {
            // With the record the old version is to be deleted.
            Ok(Comparison::Same) if keeps_old_version(link) => {
                return Ok(Flow::Pause(MAX_COMPARISON));
            }
            Ok(Comparison::Same) => {
                failpoint::hit(Failpoint::AfterVerified);
                link.write(UploadRecord::Verified {
                    draft: link.draft(),
                })
                .await?;
                failpoint::hit(Failpoint::BeforeDrop);
                // The old version of a model may be unwanted now.
                link.parts().own.discard_wake.notify_one();
                link.parts().remove_pending().await?;
                link.parts().memory().forget_gone();
                link.parts().draft_changed(link.draft());
                self.report(link, asset);
                return Ok(Flow::End);
            }
            Ok(Comparison::Gone) => {
                self.view = ServiceView::Gone;
                return Ok(Flow::Again);
            }
            Ok(Comparison::Different(note)) => note,
            Err(error) => error.to_string(),
        };
        let mut memory = link.parts().memory();
        memory.activity(link.draft()).comparison = Some(format!("the local copy is kept: {note}"));
        drop(memory);
        Ok(Flow::Pause(self.comparisons.next_pause()))
    }
}

/// Sends the events that the asset changed.
fn report_asset_changed(link: &DraftLink, sent: &SentAsset) {
    let asset = {
        let memory = link.parts().memory();
        memory
            .state
            .drafts
            .get(&link.draft())
            .and_then(|draft| draft.accepted_asset())
    };
    if let Some(asset) = asset {
        sent.report(link, asset);
    }
    link.parts().draft_changed(link.draft());
    link.parts().events.assets.give();
}

/// True for the new version of a model whose old one is to be deleted by a later run only.
fn keeps_old_version(link: &DraftLink) -> bool {
    let is_replacing = || {
        let memory = link.parts().memory();
        memory
            .draft(link.draft())
            .is_ok_and(|draft| draft.outdated.is_some())
    };
    link.parts().config.keep_old_versions && is_replacing()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_whose_end_stays_in_doubt_is_ended_again_after_pauses_that_double_up_to_a_minute() {
        let mut asset = SentAsset::new(Duration::from_millis(500));
        let pauses = [1, 2, 3, 4, 5].map(|failures| {
            asset.completions_in_doubt = failures;
            asset.completion_pause(true).as_secs()
        });
        assert_eq!(pauses, [8, 16, 32, 60, 60]);
        let ordered = asset.completion_pause(false);
        assert_eq!(ordered, LATE_EFFECT, "the user has ordered it");
        asset.forget();
        assert_eq!(asset.completion_pause(true), LATE_EFFECT);
    }
}
