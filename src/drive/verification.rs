//! The verification of the block cache that `cache verify` starts: whether one is running, and what the last
//! one found.

use std::sync::Mutex;

use super::status::VerifyStatus;
use crate::cache::VerifyReport;
use crate::locks::Locked;

#[derive(Debug, Default)]
pub(super) struct Verification(Mutex<VerifyStatus>);

impl Verification {
    pub(super) fn status(&self) -> VerifyStatus {
        self.0.locked().clone()
    }

    /// True if no verification was running, which starts one.
    pub(super) fn begin(&self) -> bool {
        let mut status = self.0.locked();
        let begins = !status.running;
        status.running = true;
        begins
    }

    pub(super) fn end(&self, report: VerifyReport) {
        let mut status = self.0.locked();
        *status = VerifyStatus {
            running: false,
            done: status.done + 1,
            objects: report.objects,
            blocks: report.blocks,
            bad_blocks: report.bad_blocks,
        };
    }
}
