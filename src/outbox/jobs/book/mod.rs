//! The files of drop folders and their requests, as the journal records them. Pure.
//!
//! Invariant: a submission is kept as long as its asset exists, so that its text is never paid for twice
//! automatically, whatever happens to its file.

mod embed;
mod find;
mod record;
mod submission;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outbox::ids::{DraftId, JobFolder, Maker, OwnerFolder};
use crate::outbox::journal::forms::{Blob, as_pairs};
use crate::outbox::moment::Moment;
use crate::outbox::texts::text_stem;
use crate::wire::{AssetId, EmbedId, ModelId, RapidId};

pub use embed::{EmbedStage, EmbedSubmission};
pub use record::JobRecord;
pub use submission::{Submission, SubmissionStage};

/// A file of a drop folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobKey {
    pub folder: JobFolder,
    pub name: String,
}

/// The text of a file of a drop folder, and its request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobFile {
    pub text: Blob,
    pub at: Moment,
    /// Who made it, if not the owner of the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<Maker>,
    /// Whether it is to be sent.
    #[serde(default)]
    pub wanted: Wanted,
    /// The result that is made again, if it is wanted for that. Machines that make the same result again at the same moment
    /// then make one, because the idempotency key names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<RapidId>,
    /// The tag of its submission or group of submissions, which an earlier file may have made.
    #[serde(default)]
    pub submission: Option<String>,
    /// The assets of the paths in its text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<String, OwnerFolder>,
    /// Its result carries its name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_named: bool,
    /// Why it was refused.
    #[serde(default)]
    pub failure: Option<String>,
    /// It was refused because the account has no room for the result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub account_full: bool,
}

/// Whether a file is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// No.
    #[default]
    No,
    /// Yes, unless its text was sent for this asset before.
    Once,
    /// Yes, also if its text was sent before: this pays again.
    Again,
}

/// Why a record cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobBookError {
    /// There is no such file.
    #[error("the job {0} does not exist")]
    NoFile(String),
    /// There is no such submission.
    #[error("the submission {0} does not exist")]
    NoSubmission(String),
}

/// All files of drop folders, and all submissions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobBook {
    #[serde(with = "as_pairs")]
    pub files: BTreeMap<JobKey, JobFile>,
    /// Submissions by one-off tag.
    pub submissions: BTreeMap<String, Submission>,
    /// Requests for embeds by tag.
    #[serde(default)]
    pub embeds: BTreeMap<String, EmbedSubmission>,
}

impl JobBook {
    pub fn apply(&mut self, record: &JobRecord) -> Result<(), JobBookError> {
        match record {
            JobRecord::TextKept {
                job,
                text,
                at,
                maker,
            } => self.keep_text(job, text, *at, *maker),
            JobRecord::Renamed { job, to } => {
                self.leave_request(job);
                let mut file = self.files.remove(job).ok_or_else(|| no_file(job))?;
                let name = to.clone();
                file.is_named &= text_stem(to) == text_stem(&job.name);
                self.files.insert(
                    JobKey {
                        name,
                        ..job.clone()
                    },
                    file,
                );
            }
            JobRecord::Removed { job } => {
                self.leave_request(job);
                self.files.remove(job);
            }
            JobRecord::Wanted { job, again, after } => {
                let file = self.file_mut(job)?;
                file.after = *after;
                file.wanted = if *again { Wanted::Again } else { Wanted::Once };
                file.failure = None;
            }
            JobRecord::Held { job, reason } => {
                let file = self.file_mut(job)?;
                file.wanted = Wanted::No;
                file.failure = Some(reason.clone());
                file.account_full = false;
            }
            JobRecord::Joined { job, tag } => {
                self.leave_request(job);
                let file = self.file_mut(job)?;
                file.wanted = Wanted::No;
                file.failure = None;
                file.submission = Some(tag.clone());
                file.is_named = false;
            }
            // The file may have been removed meanwhile.
            JobRecord::Named { job, is_named } => {
                if let Some(file) = self.files.get_mut(job) {
                    file.is_named = *is_named;
                }
            }
            JobRecord::RapidGone { rapid } => self.rapid_gone(*rapid),
            JobRecord::PathsFound { job, paths } => {
                self.file_mut(job)?.paths.clone_from(paths);
            }
            _ => self.apply_to_requests(record)?,
        }
        Ok(())
    }

    /// The records about sent requests.
    fn apply_to_requests(&mut self, record: &JobRecord) -> Result<(), JobBookError> {
        match record {
            JobRecord::Sent {
                job,
                asset,
                tag,
                text_hash,
                at,
                note,
                is_keyed,
            } => {
                let submission = Submission::sent(*asset, *text_hash, *at, note.as_ref(), None);
                self.submissions
                    .insert(tag.clone(), submission.keyed(*is_keyed));
                self.went_out(job, tag);
            }
            JobRecord::ManySent {
                job,
                group,
                items,
                text_hash,
                at,
                notes,
            } => {
                for (item, (tag, asset)) in items.iter().enumerate() {
                    let note = notes.get(item);
                    let submission = Submission::sent(*asset, *text_hash, *at, note, Some(group));
                    self.submissions.insert(tag.clone(), submission);
                }
                self.went_out(job, group);
            }
            JobRecord::EmbedSent { job, tag, embed } => {
                self.embeds.insert(tag.clone(), embed.clone());
                self.went_out(job, tag);
            }
            JobRecord::EmbedMade { tag, embed } => self.embed_made(tag, *embed)?,
            JobRecord::Taken { tag, rapid } => {
                self.submission_mut(tag)?.stage = SubmissionStage::Taken { rapid: *rapid };
            }
            JobRecord::NotSent { tag, again } => {
                for file in self.forget(tag) {
                    file.wanted = if *again { Wanted::Again } else { Wanted::Once };
                }
            }
            JobRecord::Refused {
                tag,
                reason,
                account_full,
            } => self.refuse(tag, reason, *account_full),
            JobRecord::Lost { tag } => match self.embeds.get_mut(tag) {
                Some(embed) => embed.stage = EmbedStage::Unknown,
                None => self.submission_mut(tag)?.stage = SubmissionStage::Unknown,
            },
            JobRecord::TagRemoved { tag } => self.submission_mut(tag)?.tagged = false,
            JobRecord::Ended { tag, failure } => self.end(tag, failure.as_deref())?,
            JobRecord::TextKept { .. }
            | JobRecord::Renamed { .. }
            | JobRecord::Removed { .. }
            | JobRecord::Wanted { .. }
            | JobRecord::Held { .. }
            | JobRecord::Joined { .. }
            | JobRecord::PathsFound { .. }
            | JobRecord::Named { .. }
            | JobRecord::RapidGone { .. } => unreachable!("is about a file"),
        }
        Ok(())
    }

    fn embed_made(&mut self, tag: &str, embed: EmbedId) -> Result<(), JobBookError> {
        let found = self.embeds.get_mut(tag);
        let found = found.ok_or_else(|| JobBookError::NoSubmission(tag.to_owned()))?;
        found.stage = EmbedStage::Made { embed };
        Ok(())
    }

    /// The service refused a request: what it was for fails, and is sent again only when somebody says so.
    fn refuse(&mut self, tag: &str, reason: &str, account_full: bool) {
        for file in self.forget(tag) {
            file.failure = Some(reason.to_owned());
            file.account_full = account_full;
        }
    }

    /// A draft became an asset: its drop folders are the asset's now.
    pub fn draft_became(&mut self, draft: DraftId, asset: AssetId) {
        self.change_owner(OwnerFolder::Draft(draft), OwnerFolder::Asset(asset));
    }

    /// A draft that was an asset can change again: its texts wait for the next asset.
    pub fn draft_reopened(&mut self, draft: DraftId, asset: AssetId) {
        self.change_owner(OwnerFolder::Asset(asset), OwnerFolder::Draft(draft));
    }

    /// A draft has the place of another one, and its texts.
    pub fn draft_replaced(&mut self, old: DraftId, new: DraftId) {
        self.change_owner(OwnerFolder::Draft(old), OwnerFolder::Draft(new));
    }

    /// An asset is the new version of another one: the texts that still wait for the old one, because its import failed or is
    /// not over, wait for the new one. What was sent for the old one stays with it.
    pub fn version_complete(&mut self, old: AssetId, new: AssetId) {
        let (old, new) = (OwnerFolder::Asset(old), OwnerFolder::Asset(new));
        let waits = |file: &JobFile| file.wanted != Wanted::No && file.submission.is_none();
        for key in self.keys_in(old) {
            let to = JobKey {
                folder: key.folder.of_owner(new),
                ..key.clone()
            };
            if !self.files.contains_key(&to)
                && self.files.get(&key).is_some_and(waits)
                && let Some(file) = self.files.remove(&key)
            {
                self.files.insert(to, file);
            }
        }
        let waiting = self.files.values_mut().filter(|file| waits(file));
        give_paths(waiting, old, new);
    }

    fn change_owner(&mut self, from: OwnerFolder, to: OwnerFolder) {
        for key in self.keys_in(from) {
            let file = self.files.remove(&key).expect("the key was just read");
            let folder = key.folder.of_owner(to);
            self.files.insert(JobKey { folder, ..key }, file);
        }
        give_paths(self.files.values_mut(), from, to);
    }

    /// A draft was removed: its drop folders are removed too.
    pub fn draft_gone(&mut self, draft: DraftId) {
        for key in self.keys_in(OwnerFolder::Draft(draft)) {
            self.files.remove(&key);
        }
    }

    /// An asset is gone: its files and requests are removed.
    pub fn asset_gone(&mut self, asset: AssetId) {
        for key in self.keys_in(OwnerFolder::Asset(asset)) {
            self.files.remove(&key);
        }
        self.submissions
            .retain(|_, submission| submission.asset != asset);
        self.embeds
            .retain(|_, embed| embed.of != ModelId::Asset(asset));
    }

    fn rapid_gone(&mut self, rapid: RapidId) {
        self.files
            .retain(|key, _| key.folder != JobFolder::RapidEmbeds(rapid));
        self.embeds
            .retain(|_, embed| embed.of != ModelId::Rapid(rapid));
    }

    fn keys_in(&self, owner: OwnerFolder) -> Vec<JobKey> {
        let keys = self.files.keys();
        keys.filter(|key| key.folder.owner() == Some(owner))
            .cloned()
            .collect()
    }

    /// A file's request is about to be sent.
    fn went_out(&mut self, job: &JobKey, request: &str) {
        self.leave_request(job);
        // The file may have been removed while its request was prepared.
        if let Some(file) = self.files.get_mut(job) {
            file.wanted = Wanted::No;
            file.failure = None;
            file.submission = Some(request.to_owned());
            file.is_named = true;
        }
    }

    /// A file is about to be without its request, or to have another name: the results of the request are not shown under
    /// its name any more.
    fn leave_request(&mut self, job: &JobKey) {
        let Some(request) = self.files.get(job).and_then(|it| it.submission.as_deref()) else {
            return;
        };
        for (tag, submission) in &mut self.submissions {
            if tag == request || submission.group.as_deref() == Some(request) {
                let name = text_stem(&job.name).to_owned();
                submission.former_names.insert(name);
            }
        }
    }

    /// Removes a request that had no effect, and returns its files.
    fn forget(&mut self, request: &str) -> impl Iterator<Item = &mut JobFile> {
        let group = self
            .submissions
            .get(request)
            .and_then(|it| it.group.clone());
        self.embeds.remove(request);
        self.submissions
            .retain(|tag, it| tag != request && it.group.as_deref() != Some(request));
        self.files.values_mut().filter_map(move |file| {
            let its = file.submission.as_deref()?;
            if its != request {
                // One request of a group: the others continue.
                return (group.as_deref() == Some(its)).then_some(file);
            }
            file.submission = None;
            Some(file)
        })
    }

    fn keep_text(&mut self, job: &JobKey, text: &Blob, at: Moment, maker: Option<Maker>) {
        match self.files.get_mut(job) {
            // The same text again only changes the time.
            Some(file) if file.text == *text => file.at = at,
            before => {
                let maker = before.map_or(maker, |before| before.maker);
                self.leave_request(job);
                let file = JobFile {
                    text: text.clone(),
                    at,
                    maker,
                    wanted: Wanted::No,
                    after: None,
                    submission: None,
                    is_named: false,
                    failure: None,
                    account_full: false,
                    paths: BTreeMap::new(),
                };
                self.files.insert(job.clone(), file);
            }
        }
    }

    fn end(&mut self, tag: &str, failure: Option<&str>) -> Result<(), JobBookError> {
        let submission = self.submission_mut(tag)?;
        if let Some(rapid) = submission.stage.rapid() {
            submission.stage = match failure {
                None => SubmissionStage::Done { rapid },
                Some(reason) => SubmissionStage::Failed {
                    rapid,
                    reason: reason.to_owned(),
                },
            };
        }
        Ok(())
    }

    fn file_mut(&mut self, job: &JobKey) -> Result<&mut JobFile, JobBookError> {
        self.files.get_mut(job).ok_or_else(|| no_file(job))
    }

    fn submission_mut(&mut self, tag: &str) -> Result<&mut Submission, JobBookError> {
        let found = self.submissions.get_mut(tag);
        found.ok_or_else(|| JobBookError::NoSubmission(tag.to_owned()))
    }
}

/// The paths in texts that lead to `from` lead to `to` then.
fn give_paths<'a>(
    files: impl Iterator<Item = &'a mut JobFile>,
    from: OwnerFolder,
    to: OwnerFolder,
) {
    let owners = files.flat_map(|file| file.paths.values_mut());
    owners
        .filter(|owner| **owner == from)
        .for_each(|owner| *owner = to);
}

fn no_file(job: &JobKey) -> JobBookError {
    JobBookError::NoFile(job.name.clone())
}
