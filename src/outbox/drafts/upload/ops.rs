//! The commands for uploads: commit, cancel, retry; and records of what was sent.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use assetfs_formats::number_text;

use crate::outbox::drafts::activity::Trouble;
use crate::outbox::drafts::draft::{Draft, Stage};
use crate::outbox::drafts::info::{DraftKind, DraftPhase};
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::open::open_file;
use crate::outbox::drafts::parts::{DraftParts, KnownModels};
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::remove::remove_draft_if;
use crate::outbox::drafts::sent::{SentEntry, SentRecord};
use crate::outbox::drafts::settle::{look, readiness};
use crate::outbox::drafts::show::draft_info;
use crate::outbox::drafts::staged_file::StagedFile;
use crate::outbox::drafts::upload::info::{FileTransfer, TransferInfo};
use crate::outbox::drafts::upload::unchanged;
use crate::outbox::drafts::upload::verify;
use crate::outbox::drafts::upload::verify::Comparison;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::events::OutboxEvent;
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::off_thread::off_thread;
use crate::wire::AssetId;

/// How late the kernel may report the close of a file.
const LATE_RELEASE: Duration = Duration::from_secs(2);

/// The state of an upload that the user waits for.
pub(super) enum UploadStanding {
    Accepted(AssetId),
    /// It is ordered or running.
    Going,
    /// No upload is ordered: a change of the draft has cancelled the order.
    NotOrdered,
    /// It needs an action of the user.
    Failed(OutboxError),
}

/// How long the check of a model is waited for. It takes longer only while the service does not answer.
const LONGEST_CHECK: Duration = Duration::from_secs(10);

/// Uploads of drafts, and records of what was sent.
#[derive(Clone)]
pub struct Uploads {
    pub(in crate::outbox) parts: Arc<DraftParts>,
}

impl Uploads {
    /// Sets the function that finds models of the account. From then on, a loose file is not sent if the account has a complete
    /// model with the same name and bytes: the file becomes that model. This also holds for a file that is the next version
    /// of a model, if another machine has already sent that version. `known` is called without a lock. Further calls of this
    /// change nothing.
    pub fn join_known_models(&self, known: Box<KnownModels>) {
        let _ = self.parts.own.known_models.set(known);
    }

    /// Removes a draft, or the staged copy of a failed import together with its asset. A complete asset is never
    /// cancelled, even while its staged copy is kept: [`OutboxError::NotFound`].
    pub async fn cancel(&self, draft: DraftId) -> OutboxResult<()> {
        let parts = Arc::clone(&self.parts);
        let is_unfinished = |_: &DraftsMemory, draft: &Draft| {
            !matches!(draft.stage(), Some(Stage::Imported { .. }))
        };
        off_thread(move || remove_draft_if(&parts, draft, is_unfinished)).await?
    }

    /// Sends the draft now and returns when the service has accepted it. `force` sends an incomplete draft. Dropping
    /// the future does not stop the upload. A new version that equals the old one is removed, and the old one returned.
    pub async fn commit(&self, draft: DraftId, force: bool) -> OutboxResult<AssetId> {
        if let UploadStanding::Accepted(asset) = self.standing(draft)? {
            return Ok(asset);
        }
        if self.parts.config.paused {
            return Err(OutboxError::NotPermitted(
                "a read-only mount sends nothing".to_owned(),
            ));
        }
        loop {
            if !self.is_uploading(draft) {
                self.check_before_order(draft, force).await?;
                if let Some(old) = unchanged::remove_unchanged(&self.parts, draft).await? {
                    return Ok(old);
                }
                self.parts
                    .record(UploadRecord::Ordered { draft, force })
                    .await?;
                self.end_pauses(draft);
                self.parts.draft_changed(draft);
            }
            // A change of the draft cancels the order: the new content is checked and ordered again.
            if let Some(asset) = self.wait_until_decided(draft).await? {
                return Ok(asset);
            }
        }
    }

    /// Waits until the file of a loose draft whose model was just imported is checked: before that, the model can have no
    /// next version. Returns after [`LONGEST_CHECK`] in any case. Does not wait for a folder.
    pub async fn until_checked(&self, draft: DraftId) {
        let is_checked = || {
            let memory = self.parts.memory();
            let draft = memory.state.drafts.get(&draft);
            let loose = draft.filter(|draft| draft.kind == DraftKind::LooseFile);
            let stage = loose.and_then(Draft::stage);
            (!matches!(stage, Some(Stage::Imported { .. }))).then_some(())
        };
        let checked = self.parts.until(is_checked);
        let _ = tokio::time::timeout(LONGEST_CHECK, checked).await;
    }

    /// The asset that a draft became; the outer `None` if there is no such draft.
    pub fn asset_of_draft(&self, draft: DraftId) -> Option<Option<AssetId>> {
        let memory = self.parts.memory();
        Some(memory.state.drafts.get(&draft)?.accepted_asset())
    }

    /// An entry of a draft whose upload the service may have accepted, without a confirmation yet.
    pub fn frozen_entry(&self, draft: DraftId, entry: EntryId) -> Option<SentEntry> {
        let memory = self.parts.memory();
        let draft = memory.state.drafts.get(&draft)?;
        let attempt = draft.attempt.as_ref().filter(|_| draft.is_frozen())?;
        let entries = draft.sent_entries(&attempt.manifest);
        entries.into_iter().find(|sent| sent.id == entry)
    }

    /// True once nothing in a draft can change any more.
    pub fn is_frozen(&self, draft: DraftId) -> bool {
        let memory = self.parts.memory();
        let draft = memory.state.drafts.get(&draft);
        draft.is_some_and(|draft| draft.is_frozen())
    }

    /// Makes a draft whose import failed an ordinary draft again, so that its files can be changed. Its asset is deleted, and
    /// the texts in its drop folders wait for the next one. Durable on return; false if the import did not fail.
    pub fn reopen_failed_import(&self, draft: DraftId) -> OutboxResult<bool> {
        let (ticket, asset) = {
            let mut memory = self.parts.memory();
            let found = memory.state.drafts.get(&draft);
            let attempt = found.and_then(|found| found.attempt.as_ref());
            let Some((attempt, Stage::ImportFailed { asset })) =
                attempt.map(|attempt| (attempt.number, attempt.stage))
            else {
                return Ok(false);
            };
            memory.stop_upload(draft);
            let ticket = memory.record(UploadRecord::AttemptDropped { draft, attempt })?;
            (ticket, asset)
        };
        self.parts.journal.settle(ticket)?;
        self.parts.events.send(OutboxEvent::AssetChanged(asset));
        self.parts.draft_changed(draft);
        self.parts.own.discard_wake.notify_one();
        Ok(true)
    }

    /// Retries a failed upload, or a failed import on the service.
    pub async fn retry(&self, draft: DraftId) -> OutboxResult<()> {
        let (name, stage) = {
            let memory = self.parts.memory();
            let found = memory.draft(draft)?;
            (found.name.clone(), found.stage())
        };
        if let Some(Stage::ImportFailed { asset }) = stage
            && !self.send_again_if_different(draft, asset).await?
        {
            let reply = self.parts.client.assets().retry_import(asset).await;
            reply.map_err(|source| OutboxError::Service {
                what: format!("trying the import of {name} again"),
                source,
            })?;
        }
        self.parts.record(UploadRecord::Retried { draft }).await?;
        self.end_pauses(draft);
        self.parts.draft_changed(draft);
        Ok(())
    }

    /// Sends the files of a failed import again if the service lacks some of them. Returns false if it has all of them or
    /// if the comparison fails.
    async fn send_again_if_different(&self, draft: DraftId, asset: AssetId) -> OutboxResult<bool> {
        let attempt = self.parts.memory().draft(draft)?.attempt.clone();
        let Some(attempt) = attempt else {
            return Ok(false);
        };
        let compared = verify::compare(&self.parts, &attempt.manifest, asset).await;
        if !matches!(compared, Ok(Comparison::Different(_) | Comparison::Gone)) {
            return Ok(false);
        }
        let parts = self.clone();
        off_thread(move || parts.reopen_failed_import(draft)).await??;
        // The draft was accepted as it is when it was first sent, so it is not checked again.
        let force = true;
        self.parts
            .record(UploadRecord::Ordered { draft, force })
            .await?;
        Ok(true)
    }

    /// The running uploads.
    pub fn transfers(&self) -> Vec<TransferInfo> {
        let memory = self.parts.memory();
        let drafts = memory.state.drafts.iter();
        drafts
            .filter(|(_, draft)| draft.attempt.is_some() && draft.accepted_asset().is_none())
            .filter_map(|(id, draft)| {
                let live = memory.activity_of(*id)?.upload.as_ref()?;
                let sent = live.sent.load(Ordering::Relaxed).min(live.total);
                let rate = *live.rate();
                let objects = live.objects().clone();
                let current = objects.into_values().map(|file| FileTransfer {
                    sent: file.sent.min(file.total),
                    ..file
                });
                Some(TransferInfo {
                    draft: *id,
                    name: draft.name.clone(),
                    sent,
                    total: live.total,
                    files_sent: live.files_sent,
                    files: live.files,
                    current: current.collect(),
                    bytes_per_second: rate.bytes_per_second(),
                    time_left: rate.time_left(live.total - sent),
                })
            })
            .collect()
    }

    /// Whether an asset that was given up here is deleted for sure: another machine may need one that it has joined or started.
    pub fn is_deleted_for_sure(&self, asset: AssetId) -> bool {
        let memory = self.parts.memory();
        memory.state.discards.contains(&asset) && !memory.state.shared_discards.contains(&asset)
    }

    /// Assets that are not shown: those of running uploads, and those that are being deleted.
    pub fn unseen_assets(&self) -> HashSet<AssetId> {
        let memory = self.parts.memory();
        let sending = memory.state.drafts.values();
        let sending = sending.filter(|draft| draft.accepted_asset().is_none());
        let sending = sending.filter_map(|draft| draft.stage()?.asset());
        let unwanted = memory.state.discards.iter().chain(&memory.state.deletions);
        sending.chain(unwanted.copied()).collect()
    }

    /// The record of what was sent for an asset. Kept as long as the asset exists.
    pub fn sent_record(&self, asset: AssetId) -> Option<Arc<SentRecord>> {
        self.parts.memory().state.sent.get(&asset).cloned()
    }

    /// Records that a file of an asset was copied in again with the same bytes, and gives the file the modification time of
    /// the copy, so that tools that compare times do not copy it once more. Durable within a second.
    pub fn copied_again(
        &self,
        asset: AssetId,
        entry: EntryId,
        mtime: SystemTime,
    ) -> OutboxResult<()> {
        unchanged::copied_again(&mut self.parts.memory(), asset, entry, mtime)
    }

    /// All such records.
    pub fn sent_records(&self) -> Vec<Arc<SentRecord>> {
        self.parts.memory().state.sent.values().cloned().collect()
    }

    /// The assets that were replaced from here, each with a newer version.
    pub fn replacements(&self) -> Vec<(AssetId, AssetId)> {
        let memory = self.parts.memory();
        let sent = memory.state.sent.values();
        sent.flat_map(|record| record.older().map(|old| (old, record.asset)))
            .collect()
    }

    /// The staged bytes of a file that was sent, while they are kept.
    pub fn open_sent(&self, asset: AssetId, path: &str) -> Option<StagedFile> {
        let mut memory = self.parts.memory();
        let draft = memory.state.draft_of(asset)?;
        let record = memory.state.sent.get(&asset)?;
        let entry = record.entries.iter().find(|entry| entry.path == path)?.id;
        open_file(&self.parts, &mut memory, draft, entry, None).ok()
    }

    async fn check_before_order(&self, draft: DraftId, force: bool) -> OutboxResult<()> {
        // The kernel may report the close of a file shortly after the tool has ended.
        let closed = self.parts.until(|| {
            let being_written = self.parts.memory().being_written(draft);
            being_written.is_empty().then_some(())
        });
        if let Ok(ended) = tokio::time::timeout(LATE_RELEASE, closed).await {
            ended?;
        }
        let facts = look::look(&self.parts, draft).await?;
        let facts = facts.ok_or_else(|| OutboxError::NotFound(format!("draft {draft}")))?;
        match readiness::readiness(&facts) {
            Ok(_) => Ok(()),
            Err(obstacle) if force && obstacle.can_be_forced() => Ok(()),
            Err(obstacle) => Err(obstacle.into_error()),
        }
    }

    /// The asset that a draft became; `None` if a change of the draft has cancelled the order.
    async fn wait_until_decided(&self, draft: DraftId) -> OutboxResult<Option<AssetId>> {
        let decided = self.parts.until(|| match self.standing(draft) {
            Ok(UploadStanding::Going) => None,
            Ok(UploadStanding::Accepted(asset)) => Some(Ok(Some(asset))),
            Ok(UploadStanding::NotOrdered) => Some(Ok(None)),
            Ok(UploadStanding::Failed(error)) | Err(error) => Some(Err(error)),
        });
        decided.await?
    }

    pub(super) fn standing(&self, draft: DraftId) -> OutboxResult<UploadStanding> {
        let memory = self.parts.memory();
        let Some(found) = memory.state.drafts.get(&draft) else {
            // A draft whose staged copy was deleted has become an asset.
            let mut sent = memory.state.sent.values();
            return match sent.find(|record| record.draft == draft) {
                Some(record) => Ok(UploadStanding::Accepted(record.asset)),
                None => Err(OutboxError::Cancelled(format!("draft {draft}"))),
            };
        };
        if let Some(asset) = found.accepted_asset() {
            return Ok(UploadStanding::Accepted(asset));
        }
        let name = found.name.clone();
        if let Some(reason) = &found.failure {
            return Ok(UploadStanding::Failed(OutboxError::UploadFailed {
                name,
                reason: reason.clone(),
            }));
        }
        let trouble = memory
            .activity_of(draft)
            .and_then(|activity| activity.trouble.clone());
        Ok(match trouble {
            Some(Trouble::Quota { needed, left }) => {
                UploadStanding::Failed(OutboxError::QuotaExceeded {
                    name,
                    needed: number_text::bytes(needed),
                    left: number_text::bytes(left),
                })
            }
            Some(Trouble::Service(source)) if source.is_about_token() => {
                UploadStanding::Failed(OutboxError::Service {
                    what: format!("sending {name}"),
                    source,
                })
            }
            _ if found.attempt.is_none() && found.ordered.is_none() => UploadStanding::NotOrdered,
            _ => UploadStanding::Going,
        })
    }

    /// True while an upload runs.
    pub(super) fn is_uploading(&self, draft: DraftId) -> bool {
        let info = draft_info(&self.parts.memory(), draft);
        info.is_some_and(|info| {
            matches!(info.phase, DraftPhase::Uploading { .. }) && info.failure.is_none()
        })
    }

    /// The user orders the upload: it begins or continues at once, whatever failed before.
    fn end_pauses(&self, draft: DraftId) {
        let mut memory = self.parts.memory();
        let activity = memory.activity(draft);
        activity.trouble = None;
        activity.begun = None;
        drop(memory);
        self.poke(draft);
    }

    /// Ends the pause of an upload.
    fn poke(&self, draft: DraftId) {
        let memory = self.parts.memory();
        let live = memory
            .activity_of(draft)
            .and_then(|activity| activity.upload.as_ref());
        if let Some(live) = live {
            live.poke.give();
        }
    }

    /// Handles a webhook about an asset: its state is polled now.
    pub fn asset_changed(&self, asset: AssetId) {
        let draft = self.parts.memory().state.draft_of(asset);
        if let Some(draft) = draft {
            self.poke(draft);
        }
        self.parts.events.assets.give();
    }
}
