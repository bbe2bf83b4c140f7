//! How records about uploads change the state.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::outbox::drafts::draft::{AssetOrigin, Attempt, OpenStart, Stage, StartKey};
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::state::{Applied, DraftsMismatch, DraftsState, ModelFate};
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::moment::Moment;
use crate::wire::AssetId;

impl DraftsState {
    pub fn apply_upload(&mut self, record: &UploadRecord) -> Applied {
        match record {
            UploadRecord::Ordered { draft, force } => {
                let draft = self.draft_mut(*draft)?;
                draft.ordered = Some(draft.ordered.unwrap_or(false) || *force);
                draft.failure = None;
                Ok(())
            }
            UploadRecord::StartSent { .. } => self.start_sent(record),
            UploadRecord::StartRefused { draft, attempt } => {
                self.start_refused(*draft, *attempt);
                Ok(())
            }
            UploadRecord::Started {
                draft,
                attempt,
                asset,
                urls,
                origin,
            } => {
                self.started((*draft, *attempt), (*asset, *origin), urls.as_deref());
                Ok(())
            }
            UploadRecord::FilePut {
                draft,
                attempt,
                file,
            } => {
                self.attempt_mut(*draft, *attempt)?.put.insert(*file);
                Ok(())
            }
            UploadRecord::CompleteSent { draft, attempt } => {
                self.advance(*draft, *attempt, |asset| Stage::CompleteSent { asset })
            }
            UploadRecord::CompleteRefused { draft, attempt } => {
                self.advance(*draft, *attempt, |asset| Stage::Started { asset })
            }
            UploadRecord::Accepted { draft, attempt } => self.accepted(*draft, *attempt),
            UploadRecord::AttemptDropped { draft, attempt } => {
                self.attempt_dropped(*draft, *attempt)
            }
            UploadRecord::Failed { draft, reason } => {
                let draft = self.draft_mut(*draft)?;
                draft.failure = Some(reason.clone());
                draft.ordered = None;
                Ok(())
            }
            UploadRecord::Retried { draft } => self.retried(*draft),
            UploadRecord::Imported { draft } => {
                self.advance_present(*draft, |asset| Stage::Imported { asset })?;
                self.take_name(*draft)
            }
            UploadRecord::ImportFailed { draft, reason } => {
                self.advance_present(*draft, |asset| Stage::ImportFailed { asset })?;
                self.draft_mut(*draft)?.failure = Some(reason.clone());
                Ok(())
            }
            UploadRecord::Verified { draft } => {
                self.drop_outdated(*draft)?;
                self.end_draft(*draft)
            }
            UploadRecord::Discarded { .. }
            | UploadRecord::Noted { .. }
            | UploadRecord::CopiedAgain { .. }
            | UploadRecord::DeletionSent { .. }
            | UploadRecord::DeletionRefused { .. }
            | UploadRecord::AssetGone { .. }
            | UploadRecord::StartForgotten { .. } => self.apply_to_assets(record),
        }
    }

    fn attempt_dropped(&mut self, id: DraftId, attempt: u64) -> Applied {
        self.attempt_mut(id, attempt)?;
        let draft = self.draft_mut(id)?;
        let begun = draft.begun_asset();
        draft.attempt = None;
        // The old version may be the only one now.
        draft.outdated = None;
        if let Some((asset, _)) = begun {
            self.fates.push(ModelFate::Reopened { draft: id, asset });
        }
        self.give_up(begun);
        Ok(())
    }

    /// Records about assets on the service.
    fn apply_to_assets(&mut self, record: &UploadRecord) -> Applied {
        match record {
            UploadRecord::Discarded { asset } => {
                self.no_discard(*asset);
            }
            UploadRecord::Noted { asset } => {
                if let Some(record) = self.sent.get_mut(asset) {
                    Arc::make_mut(record).is_noted = true;
                }
            }
            UploadRecord::CopiedAgain {
                asset,
                entry,
                mtime,
            } => self.copied_again(*asset, *entry, *mtime),
            UploadRecord::DeletionSent { asset } => {
                self.deletions.insert(*asset);
            }
            UploadRecord::DeletionRefused { asset } => {
                self.deletions.remove(asset);
            }
            UploadRecord::AssetGone { asset } => self.asset_gone(*asset)?,
            UploadRecord::StartForgotten { attempt } => {
                self.open_starts.remove(attempt);
            }
            _ => unreachable!("is about a draft"),
        }
        Ok(())
    }

    fn copied_again(&mut self, asset: AssetId, entry: EntryId, mtime: Moment) {
        let record = self.sent.get_mut(&asset).map(Arc::make_mut);
        let mut sent = record.into_iter().flat_map(|record| &mut record.entries);
        if let Some(sent) = sent.find(|sent| sent.id == entry) {
            sent.mtime = mtime.into();
        }
        // The staged copy may still be kept.
        let kept = self
            .draft_of(asset)
            .and_then(|kept| self.draft_mut(kept).ok());
        if let Some(node) = kept.and_then(|kept| kept.tree.node_mut(entry).ok()) {
            node.attributes.mtime = mtime;
        }
    }

    fn start_sent(&mut self, record: &UploadRecord) -> Applied {
        let UploadRecord::StartSent {
            draft,
            attempt,
            at,
            manifest,
            key,
            warning,
        } = record
        else {
            unreachable!("only called for this record")
        };
        self.used(*attempt);
        let key = key.clone().map(|token| StartKey {
            draft: *draft,
            token,
        });
        let draft = self.draft_mut(*draft)?;
        draft.warning.clone_from(warning);
        draft.failure = None;
        draft.attempt = Some(Attempt {
            number: *attempt,
            manifest: manifest.clone(),
            stage: Stage::StartSent,
            put: BTreeSet::new(),
            urls: None,
            origin: AssetOrigin::Own,
        });
        let open = OpenStart {
            model_name: manifest.model_name.clone(),
            at: *at,
            key,
        };
        self.open_starts.insert(*attempt, open);
        Ok(())
    }

    fn start_refused(&mut self, draft: DraftId, attempt: u64) {
        self.open_starts.remove(&attempt);
        if self.attempt_mut(draft, attempt).is_ok()
            && let Ok(draft) = self.draft_mut(draft)
        {
            draft.attempt = None;
        }
    }

    fn started(&mut self, of: (DraftId, u64), begun: (AssetId, AssetOrigin), urls: Option<&str>) {
        let ((draft, attempt), (asset, origin)) = (of, begun);
        let answered = self.open_starts.remove(&attempt);
        // No later request may join this asset: once this attempt is given up, it is deleted.
        if let Some(key) = answered.and_then(|start| start.key) {
            for start in self.open_starts.values_mut() {
                start.key.take_if(|other| *other == key);
            }
        }
        match self.attempt_mut(draft, attempt) {
            Ok(attempt) => {
                attempt.stage = Stage::Started { asset };
                attempt.urls = urls.map(str::to_owned);
                attempt.origin = origin;
                // One that was given up here, and that another machine has joined before it was deleted.
                self.no_discard(asset);
            }
            // The draft was changed or removed during the request: the asset is unwanted.
            Err(_) if origin == AssetOrigin::Joined => {}
            Err(_) => self.give_up(Some(begun)),
        }
    }

    fn accepted(&mut self, id: DraftId, attempt: u64) -> Applied {
        self.advance(id, attempt, |asset| Stage::Accepted { asset })?;
        let draft = self.draft_mut(id)?;
        draft.failure = None;
        draft.ordered = None;
        let attempt = draft
            .attempt
            .as_mut()
            .ok_or(DraftsMismatch::WrongStage(id))?;
        attempt.urls = None;
        let attempt = draft
            .attempt
            .as_ref()
            .ok_or(DraftsMismatch::WrongStage(id))?;
        let asset = attempt
            .stage
            .asset()
            .ok_or(DraftsMismatch::WrongStage(id))?;
        let record = draft.sent_record(id, asset, &attempt.manifest);
        self.sent.insert(asset, Arc::new(record));
        self.fates.push(ModelFate::Accepted { draft: id, asset });
        Ok(())
    }

    fn retried(&mut self, draft: DraftId) -> Applied {
        let draft = self.draft_mut(draft)?;
        draft.failure = None;
        if let Some(attempt) = &mut draft.attempt
            && let Stage::ImportFailed { asset } = attempt.stage
        {
            attempt.stage = Stage::Accepted { asset };
        }
        Ok(())
    }

    /// Ends a draft; its asset remains.
    pub(super) fn end_draft(&mut self, draft: DraftId) -> Applied {
        let gone = self
            .drafts
            .remove(&draft)
            .ok_or(DraftsMismatch::NoDraft(draft))?;
        self.top.remove(&gone.name);
        self.freed.extend(gone.contents());
        Ok(())
    }

    fn asset_gone(&mut self, asset: AssetId) -> Applied {
        if let Some(draft) = self.draft_of(asset) {
            self.end_draft(draft)?;
        }
        self.sent.remove(&asset);
        self.no_discard(asset);
        self.deletions.remove(&asset);
        self.fates.push(ModelFate::AssetGone(asset));
        Ok(())
    }

    fn advance(&mut self, draft: DraftId, attempt: u64, stage: fn(AssetId) -> Stage) -> Applied {
        let present = self.attempt_mut(draft, attempt)?;
        let asset = present
            .stage
            .asset()
            .ok_or(DraftsMismatch::WrongStage(draft))?;
        present.stage = stage(asset);
        Ok(())
    }

    fn advance_present(&mut self, draft: DraftId, stage: fn(AssetId) -> Stage) -> Applied {
        let attempt = self.draft(draft)?.attempt.as_ref();
        let number = attempt.ok_or(DraftsMismatch::WrongStage(draft))?.number;
        self.advance(draft, number, stage)
    }
}
