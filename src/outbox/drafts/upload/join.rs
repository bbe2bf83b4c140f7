//! Loose files that are not sent, because another machine has sent a model with the same name and bytes.

use crate::outbox::drafts::draft::AssetOrigin;
use crate::outbox::drafts::info::{DraftKind, Replaced};
use crate::outbox::drafts::parts::KnownModel;
use crate::outbox::drafts::record::{DraftRecord, UploadRecord};
use crate::outbox::drafts::sent::source_hash;
use crate::outbox::drafts::settle::facts;
use crate::outbox::drafts::upload::link::Flow;
use crate::outbox::drafts::upload::manifest::Manifest;
use crate::outbox::drafts::upload::start::{Joining, Start, Starter, is_taken, join_key_for};
use crate::outbox::drafts::upload::verify::{self, Comparison};
use crate::outbox::error::OutboxResult;
use crate::wire::AssetId;

/// A draft as it is compared with a model of the account.
struct Candidate {
    manifest: Manifest,
    replaces: Option<Replaced>,
}

impl Candidate {
    /// True if the draft may become this model. A draft that is a new version may only become the model that it replaces, or
    /// a newer version of that model.
    fn may_be(&self, model: &KnownModel) -> bool {
        self.replaces.as_ref().is_none_or(|replaced| {
            replaced.asset == model.asset || model.before.contains(&replaced.asset)
        })
    }
}

impl Starter<'_> {
    /// Finds a complete model of the account that has the same name and bytes as this loose file. Returns it with the join key
    /// of the draft. Returns `None` if this machine has sent the model, because the user then wants a second copy. Also
    /// returns `None` if the draft is a folder: the draft already has the plain name on this machine, so the model would
    /// keep its name with the id.
    pub(super) async fn known_model(&self) -> OutboxResult<Option<(AssetId, String)>> {
        let parts = self.link.parts();
        let Some(draft) = self.candidate() else {
            return Ok(None);
        };
        let known = parts.own.known_models.get();
        let hash = source_hash(&draft.manifest.contents());
        let model = known.and_then(|known| known(&draft.manifest.model_name, &hash));
        let Some(model) = model.filter(|model| draft.may_be(model)) else {
            return Ok(None);
        };
        if is_taken(&parts.memory(), model.asset) || !self.has_same_files(&draft, &model).await {
            return Ok(None);
        }
        if !self.replace_the_one_before(&draft, &model).await? {
            return Ok(None);
        }
        let key = join_key_for(&parts.memory(), self.link.draft(), &draft.manifest);
        Ok(key.map(|key| (model.asset, key)))
    }

    /// `None` if the draft may join no model.
    fn candidate(&self) -> Option<Candidate> {
        let memory = self.link.parts().memory();
        let draft = memory.state.drafts.get(&self.link.draft())?;
        let may_join = *self.joining == Joining::Allowed && draft.kind == DraftKind::LooseFile;
        let manifest = facts::manifest_of(&memory, draft);
        // Another draft here that sends the same is a second copy.
        join_key_for(&memory, self.link.draft(), &manifest).filter(|_| may_join)?;
        Some(Candidate {
            manifest,
            replaces: draft.replaces.clone(),
        })
    }

    /// Anybody may write a note, and the list may be old: the draft is sent if the files are others, or gone.
    async fn has_same_files(&self, draft: &Candidate, model: &KnownModel) -> bool {
        let parts = self.link.parts();
        let compared = verify::compare(parts, &draft.manifest, model.asset);
        let compared = parts.tasks.until_closed(self.link.in_turn(compared)).await;
        let Some(compared) = compared else {
            return false;
        };
        if !matches!(compared, Ok(Comparison::Same)) {
            tracing::info!(
                asset = model.asset.0,
                ?compared,
                "not joined, although its note says that it has the same files"
            );
        }
        matches!(compared, Ok(Comparison::Same))
    }

    /// If the draft is marked as the next version of the model that it becomes, marks it as the next version of the one before
    /// that model. False if there is none, or if the draft has changed.
    async fn replace_the_one_before(
        &self,
        draft: &Candidate,
        model: &KnownModel,
    ) -> OutboxResult<bool> {
        let Some(replaced) = draft.replaces.clone() else {
            return Ok(true);
        };
        if replaced.asset != model.asset {
            return Ok(true);
        }
        let parts = self.link.parts();
        let ticket = {
            let mut memory = parts.memory();
            let mut before = model.before.iter();
            // Its loose file here has the name that the model is given.
            let sent = before.clone().find(|it| memory.state.sent.contains_key(it));
            let Some(asset) = sent.or_else(|| before.next()) else {
                return Ok(false);
            };
            let Some(now) = memory.state.drafts.get(&self.link.draft()) else {
                return Ok(false);
            };
            let contents = facts::manifest_of(&memory, now).contents();
            let is_same = contents == draft.manifest.contents();
            if !is_same || now.replaces != draft.replaces {
                return Ok(false);
            }
            memory.record(DraftRecord::Replaces {
                draft: self.link.draft(),
                replaced: Replaced {
                    asset: *asset,
                    ..replaced
                },
            })?
        };
        parts.journal.settle_async(ticket).await?;
        Ok(true)
    }

    /// Records that the draft joins `asset`, unless the draft has changed or another one has taken the asset meanwhile. The
    /// upload goes on as one that another machine has begun.
    pub(super) async fn join(
        &self,
        start: &Start,
        (asset, key): (AssetId, String),
    ) -> OutboxResult<Flow> {
        let parts = self.link.parts();
        if start.join_key.as_ref() != Some(&key) || is_taken(&parts.memory(), asset) {
            self.record_refusal(start).await?;
            return Ok(Flow::Again);
        }
        parts
            .record(UploadRecord::Started {
                draft: self.link.draft(),
                attempt: start.attempt,
                asset,
                urls: None,
                origin: AssetOrigin::Joined,
            })
            .await?;
        parts.own.discard_wake.notify_one();
        Ok(Flow::Again)
    }
}
