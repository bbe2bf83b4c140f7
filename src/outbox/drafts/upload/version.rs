//! New versions of assets: a draft that is marked as one takes the name of the asset when its import is complete.

use std::sync::Arc;

use crate::outbox::drafts::draft::Draft;
use crate::outbox::drafts::info::DraftInfo;
use crate::outbox::drafts::info::Replaced;
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::record::DraftRecord;
use crate::outbox::drafts::remove::remove_draft_if;
use crate::outbox::drafts::show::draft_info;
use crate::outbox::drafts::upload::ops::Uploads;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::DraftId;
use crate::outbox::off_thread::off_thread;
use crate::wire::AssetId;

impl Uploads {
    /// Marks a draft as the new version of an asset. Only a command sends it then, unless it is a loose file. A draft
    /// that has the mark goes on being uploaded: only what becomes of the old version changes. Durable on return.
    pub fn make_version(&self, draft: DraftId, replaced: &Replaced) -> OutboxResult<()> {
        let ticket = {
            let mut memory = self.parts.memory();
            check_only_version(&memory, draft, replaced.asset)?;
            let marked = memory.draft(draft)?.replaces.as_ref();
            if marked.is_none_or(|marked| marked.asset != replaced.asset) {
                memory.begin_change(draft)?;
            }
            let replaced = replaced.clone();
            memory.record(DraftRecord::Replaces { draft, replaced })?
        };
        self.parts.journal.settle(ticket)?;
        self.parts.draft_changed(draft);
        self.parts.own.discard_wake.notify_one();
        Ok(())
    }

    /// Removes the new version of an asset, unless it has taken the name. Its asset, if the service has created one, is
    /// deleted.
    pub async fn cancel_version(&self, version: DraftId) -> OutboxResult<()> {
        let parts = Arc::clone(&self.parts);
        let is_version = |_: &DraftsMemory, draft: &Draft| draft.replaces.is_some();
        off_thread(move || remove_draft_if(&parts, version, is_version)).await?
    }

    /// The draft that is the new version of an asset and has not taken its name yet.
    pub fn version_of(&self, asset: AssetId) -> Option<DraftInfo> {
        let memory = self.parts.memory();
        let draft = version_of(&memory, asset)?;
        draft_info(&memory, draft)
    }
}

fn version_of(memory: &DraftsMemory, asset: AssetId) -> Option<DraftId> {
    let replaces = |draft: &Draft| {
        let replaced = draft.replaces.as_ref();
        replaced.is_some_and(|replaced| replaced.asset == asset)
    };
    let mut drafts = memory.state.drafts.iter();
    drafts.find(|(_, draft)| replaces(draft)).map(|(id, _)| *id)
}

/// Refuses a second new version of an asset.
fn check_only_version(memory: &DraftsMemory, draft: DraftId, asset: AssetId) -> OutboxResult<()> {
    let other = version_of(memory, asset).filter(|other| *other != draft);
    let other = other.and_then(|other| memory.state.drafts.get(&other));
    match other {
        None => Ok(()),
        Some(other) => Err(OutboxError::NotPermitted(format!(
            "{} is a new version of the same model already; wait until it is complete, or `assetfs cancel` it",
            other.name
        ))),
    }
}
