//! Sends the drafts that are ready before an unmount.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::settle::{look, readiness};
use crate::outbox::drafts::show::draft_info;
use crate::outbox::drafts::upload::info::DrainReport;
use crate::outbox::drafts::upload::ops::{UploadStanding, Uploads};
use crate::outbox::ids::DraftId;

/// A drain ends if no byte is sent and nothing changes for this time.
const DRAIN_PATIENCE: Duration = Duration::from_secs(60);

/// Sends the drafts that are ready without waiting for the quiet time, and waits until the service has accepted them.
/// With `ready_only`, drafts with missing files stay; otherwise they are sent with a warning.
pub async fn drain(parts: &Arc<DraftParts>, ready_only: bool) -> DrainReport {
    let mut drain = Drain {
        parts,
        uploads: Uploads {
            parts: Arc::clone(parts),
        },
        waiting: Vec::new(),
        report: DrainReport::default(),
    };
    let drafts: Vec<DraftId> = parts.memory().state.drafts.keys().copied().collect();
    for draft in drafts {
        let info = draft_info(&parts.memory(), draft);
        if info.is_none_or(|info| info.phase.is_frozen()) {
            continue;
        }
        match drain.order(draft, ready_only).await {
            Ok(()) => drain.waiting.push(draft),
            Err(reason) => drain.report.left.push((draft, reason)),
        }
    }
    drain.wait_for_all(ready_only).await;
    for draft in std::mem::take(&mut drain.waiting) {
        let status = drain.status(draft);
        drain.report.left.push((draft, status));
    }
    drain.report
}

struct Drain<'a> {
    parts: &'a Arc<DraftParts>,
    uploads: Uploads,
    waiting: Vec<DraftId>,
    report: DrainReport,
}

impl Drain<'_> {
    /// Waits until all uploads have succeeded or failed, the outbox closes, or nothing changes for a long time.
    async fn wait_for_all(&mut self, ready_only: bool) {
        let mut moved_at = Instant::now();
        let mut before = self.bytes_sent();
        loop {
            for draft in std::mem::take(&mut self.waiting) {
                if self.is_undecided(draft, ready_only).await {
                    self.waiting.push(draft);
                }
            }
            let patient = moved_at.elapsed() < DRAIN_PATIENCE;
            if self.waiting.is_empty() || self.parts.tasks.is_closing() || !patient {
                return;
            }
            let is_decided = |draft: &DraftId| {
                !matches!(self.uploads.standing(*draft), Ok(UploadStanding::Going))
            };
            let change = self
                .parts
                .until(|| self.waiting.iter().any(is_decided).then_some(()));
            // Sending bytes changes no state. When the outbox closes, the check above ends the drain.
            let _ = tokio::time::timeout(Duration::from_secs(1), change).await;
            let now = self.bytes_sent();
            if now != before {
                (before, moved_at) = (now, Instant::now());
            }
        }
    }

    async fn is_undecided(&mut self, draft: DraftId, ready_only: bool) -> bool {
        match self.uploads.standing(draft) {
            Ok(UploadStanding::Going) => return true,
            Ok(UploadStanding::Accepted(asset)) => self.report.accepted.push((draft, asset)),
            Ok(UploadStanding::Failed(error)) | Err(error) => {
                self.report.left.push((draft, error.to_string()));
            }
            // The draft was changed: its new content is checked and ordered again.
            Ok(UploadStanding::NotOrdered) => match self.order(draft, ready_only).await {
                Ok(()) => return true,
                Err(reason) => self.report.left.push((draft, reason)),
            },
        }
        false
    }

    async fn order(&self, draft: DraftId, ready_only: bool) -> Result<(), String> {
        if self.uploads.is_uploading(draft) {
            return Ok(());
        }
        let facts = look::look(self.parts, draft).await;
        let Some(facts) = facts.map_err(|error| error.to_string())? else {
            return Err("it is gone".to_owned());
        };
        let info = draft_info(&self.parts.memory(), draft);
        let failed = info.is_some_and(|info| info.failure.is_some());
        match readiness::readiness(&facts) {
            Err(obstacle) => Err(obstacle.status().to_string()),
            Ok(_) if facts.held_for_command().is_some() || failed => Err(self.status(draft)),
            Ok(content) if ready_only && !content.missing.is_empty() => Err(self.status(draft)),
            Ok(_) => {
                let order = UploadRecord::Ordered {
                    draft,
                    force: false,
                };
                let recorded = self.parts.record(order).await;
                recorded.map_err(|error| error.to_string())?;
                self.parts.draft_changed(draft);
                Ok(())
            }
        }
    }

    fn status(&self, draft: DraftId) -> String {
        let info = draft_info(&self.parts.memory(), draft);
        info.map_or_else(String::new, |info| info.status.to_string())
    }

    fn bytes_sent(&self) -> u64 {
        let transfers = self.uploads.transfers();
        transfers.iter().map(|transfer| transfer.sent).sum()
    }
}
