//! Copies the source into a draft, sends it, and waits until it is the model.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::claim::Claim;
use super::{ReplaceOutcome, Replacement, number};
use crate::cli::control::commit_until;
use crate::cli::exit::TimedOut;
use crate::cli::mounted::{self, CommandRefused, POLL_PERIOD, command_at};
use crate::cli::progress::Progress;
use crate::cli::wait::{NAME_PATIENCE, State, wait_for};
use crate::drive::{DraftStatus, NAME_TTL, StatusWord};
use crate::fuse::shell_quoted;

impl Replacement {
    /// Copies the files of the source into a draft. If that fails, the draft is removed: it is of no use.
    pub(super) fn fill(&self, claim: &Claim, copy: impl Fn() -> Result<()>) -> Result<()> {
        let copied = copy();
        if copied.is_err() {
            // If the draft was removed, the kernel may still find it by its name.
            std::thread::sleep(5 * NAME_TTL);
        }
        // Files of a removed draft can still be written, so a copy into it does not fail.
        if claim.is_gone_from(claim.path()) {
            return Err(self.taken_away(claim));
        }
        copied.map_err(|error| {
            // The error of the copy is the one to report; the next command removes what is left.
            let _ = command_at(claim.path(), "cancel");
            error.context("the copy failed, so nothing is replaced")
        })
    }

    /// Commits a draft. Without waiting it returns when the order is durable. `path` is where the draft is now.
    pub(super) fn send(&self, claim: &Claim, path: &Path) -> Result<()> {
        let Err(error) = self.order_upload(path) else {
            return Ok(());
        };
        if error.is::<TimedOut>() {
            return Err(error);
        }
        if claim.is_gone_from(path) {
            return Err(self.taken_away(claim));
        }
        // Nothing else was written into it.
        let is_own = || self.source.equals_staged(path).unwrap_or(false);
        // An upload that failed is kept, so that it can be repeated.
        let has_failed = || {
            let report = mounted::item_report(path).ok().flatten();
            report.is_some_and(|report| report.state == StatusWord::Failed)
        };
        let is_refused = error.is::<CommandRefused>() && !has_failed();
        if is_refused && is_own() && command_at(path, "cancel").is_ok() {
            return Err(error.context("nothing is replaced, and the copy on the drive is removed"));
        }
        let quoted = shell_quoted(path);
        Err(error.context(format!(
            "{quoted} keeps the new files: `assetfs why {quoted}` says what it waits for, `assetfs cancel {quoted}` removes it"
        )))
    }

    /// Sends a version that another command began: what keeps it from being sent is reported again.
    pub(super) fn send_joined(&self, version: &DraftStatus) -> Result<()> {
        if self.options.no_wait {
            return Ok(());
        }
        match self.order_upload(&self.path_of(version)) {
            Err(error) if error.is::<TimedOut>() || self.is_still(version)? => Err(error),
            _ => Ok(()),
        }
    }

    fn order_upload(&self, draft: &Path) -> Result<()> {
        const DOING: &str = "it was being uploaded";
        let is_enough = || {
            if self.options.no_wait
                && let Ok(Some(report)) = mounted::item_report(draft)
                && matches!(
                    report.state,
                    StatusWord::Uploading | StatusWord::Importing | StatusWord::Waiting
                )
            {
                return Ok(true);
            }
            self.time_left(DOING).map(|_| false)
        };
        match commit_until(draft, self.options.lacking, is_enough) {
            // The drive goes on; only the time that the command may take can be over.
            Err(error) if error.is::<TimedOut>() => self.time_left(DOING).map(drop),
            sent => sent,
        }
    }

    /// Waits until the new version has the name. `own` is its id; if that is not known, the files are compared.
    pub(super) fn wait_for_name(&self, old: &str, own: Option<u64>) -> Result<ReplaceOutcome> {
        if self.options.no_wait {
            return Ok(ReplaceOutcome::Uploading);
        }
        let mut task = Progress::new(self.options.quiet).task(shell_quoted(&self.model));
        let mut left = None;
        let path = shell_quoted(&self.model);
        loop {
            match self.version()? {
                Some(version) if version.state == StatusWord::Failed => {
                    let why = mounted::why(&self.path_of(&version))?.unwrap_or(version.status);
                    task.finish("failed");
                    bail!("{path}: the new version failed, so the old one is kept: {why}");
                }
                Some(version) => task.show(&version.status),
                None => {
                    let now = self.id()?;
                    if now.as_deref().is_some_and(|now| now != old) {
                        let is_own = own.is_some() && number(now.as_deref()) == own;
                        if !is_own && !self.source.equals_model(&self.model)? {
                            bail!("{path}: another version replaced it meanwhile");
                        }
                        task.finish("complete");
                        return Ok(ReplaceOutcome::Replaced);
                    }
                    if self.has_source()? {
                        task.finish("unchanged");
                        return Ok(ReplaceOutcome::Unchanged);
                    }
                    let since = *left.get_or_insert_with(Instant::now);
                    if since.elapsed() > NAME_PATIENCE {
                        bail!("{path}: the new version was cancelled");
                    }
                }
            }
            self.time_left("it was being uploaded")?;
            std::thread::sleep(POLL_PERIOD);
        }
    }

    /// Waits until the model is complete.
    pub(super) fn wait_for_model(&self, failed: impl Fn(String) -> anyhow::Error) -> Result<()> {
        let left = self.time_left("it was being uploaded")?;
        let ended = wait_for(std::slice::from_ref(&self.model), left, self.options.quiet)?;
        match ended.states.into_iter().next() {
            Some((_, State::Failed(_, why))) => Err(failed(why)),
            Some((_, State::Going(_, status))) => Err(self.timed_out(&status)),
            _ => Ok(()),
        }
    }

    fn taken_away(&self, claim: &Claim) -> anyhow::Error {
        anyhow::anyhow!(
            "{}: its new version was cancelled or removed before it was uploaded ({}); run this again to replace the model",
            shell_quoted(&self.model),
            shell_quoted(claim.path())
        )
    }

    /// What is left of the time to wait; an error when it is over. `doing` is what it was spent with.
    pub(super) fn time_left(&self, doing: &str) -> Result<Option<Duration>> {
        let Some(limit) = self.options.timeout else {
            return Ok(None);
        };
        match limit.0.checked_sub(self.begun.elapsed()) {
            Some(left) => Ok(Some(left)),
            None => Err(self.timed_out(doing)),
        }
    }

    fn timed_out(&self, status: &str) -> anyhow::Error {
        let path = shell_quoted(&self.model);
        TimedOut(format!(
            "{path}: timed out while {status}; what was begun goes on, and the same command waits for it again"
        ))
        .into()
    }
}

/// The asset that a claimed draft became, also after the name has moved.
pub(super) fn own_asset(claim: &Claim) -> Option<u64> {
    number(mounted::id_of(claim.itself()).as_deref())
}
