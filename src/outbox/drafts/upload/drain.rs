//! Sending what is ready before an unmount.

use std::time::Duration;

use tokio::time::Instant;

use crate::outbox::Outbox;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::settle::{readiness, watch};
use crate::outbox::drafts::upload::info::DrainReport;
use crate::outbox::drafts::upload::ops::Standing;
use crate::outbox::ids::DraftId;

/// How long a drain waits while nothing moves at all.
const DRAIN_PATIENCE: Duration = Duration::from_secs(60);

impl Outbox {
    /// Sends the drafts that are ready without waiting for quiet, and waits until the service has
    /// accepted them. `ready_only` leaves alone what only waits for references; otherwise that is
    /// sent, too, with its warning.
    pub async fn drain(&self, ready_only: bool) -> DrainReport {
        let mut report = DrainReport::default();
        let mut waiting = Vec::new();
        for info in self.drafts() {
            if info.phase.is_frozen() {
                continue;
            }
            match self.order_for_drain(info.id, ready_only).await {
                Ok(()) => waiting.push(info.id),
                Err(reason) => report.left.push((info.id, reason)),
            }
        }
        self.wait_for_all(&mut waiting, &mut report).await;
        for draft in waiting {
            report.left.push((draft, self.status_line(draft)));
        }
        report
    }

    /// Waits until all are decided, the outbox closes, or nothing has moved for long.
    async fn wait_for_all(&self, waiting: &mut Vec<DraftId>, report: &mut DrainReport) {
        let mut moved_at = Instant::now();
        let mut before = self.bytes_sent();
        let mut changes = self.shared.changes.subscribe();
        loop {
            waiting.retain(|draft| self.is_undecided(*draft, report));
            let patient = moved_at.elapsed() < DRAIN_PATIENCE;
            if waiting.is_empty() || self.shared.is_closing() || !patient {
                return;
            }
            // Bytes move without a change of anything else.
            let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
            let now = self.bytes_sent();
            if now != before {
                (before, moved_at) = (now, Instant::now());
            }
        }
    }

    fn is_undecided(&self, draft: DraftId, report: &mut DrainReport) -> bool {
        match self.standing(draft) {
            Ok(Standing::Accepted(asset)) => report.accepted.push((draft, asset)),
            Ok(Standing::Going) => return true,
            Ok(Standing::Failed(error)) | Err(error) => {
                report.left.push((draft, error.to_string()))
            }
        }
        false
    }

    async fn order_for_drain(&self, draft: DraftId, ready_only: bool) -> Result<(), String> {
        if self.is_uploading(draft) {
            return Ok(());
        }
        let facts = watch::look(&self.shared, draft)
            .await
            .map_err(|error| error.to_string())?;
        let Some(facts) = facts else {
            return Err("it is gone".to_owned());
        };
        let failed = self.draft(draft).is_some_and(|info| info.failure.is_some());
        match readiness::readiness(&facts) {
            Err(obstacle) => Err(obstacle.status().to_string()),
            Ok(_) if facts.version_control.is_some() || failed => Err(self.status_line(draft)),
            Ok(content) if ready_only && !content.missing.is_empty() => {
                Err(self.status_line(draft))
            }
            Ok(_) => {
                let order = UploadRecord::Ordered {
                    draft,
                    force: false,
                };
                self.shared
                    .record(order)
                    .await
                    .map_err(|error| error.to_string())?;
                self.shared.draft_changed(draft);
                Ok(())
            }
        }
    }

    fn status_line(&self, draft: DraftId) -> String {
        self.draft(draft)
            .map_or_else(String::new, |info| info.status.to_string())
    }

    fn bytes_sent(&self) -> u64 {
        self.transfers().iter().map(|transfer| transfer.sent).sum()
    }
}
