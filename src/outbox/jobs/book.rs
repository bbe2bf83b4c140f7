//! The files of drop folders and what became of each, as the journal has it. Pure.
//!
//! Invariant: a submission, once made, stays for as long as its asset exists, so that its text is
//! never paid for twice by itself, whatever happens to the file it came from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outbox::journal::record::{Blob, as_pairs};
use crate::outbox::moment::Moment;
use crate::outbox::staging::ContentHash;
use crate::outbox::types::{DraftId, JobFolder, OwnerFolder};
use crate::wire::{AssetId, RapidId};

/// A file of a drop folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobKey {
    /// The folder.
    pub folder: JobFolder,
    /// The file's name.
    pub name: String,
}

/// What a file of a drop folder holds, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobFile {
    /// The text.
    pub text: Blob,
    /// When it was written.
    pub at: Moment,
    /// It is to go out as soon as it can.
    #[serde(default)]
    pub wanted: Wanted,
    /// The tag of the submission that it made or joined.
    #[serde(default)]
    pub submission: Option<String>,
    /// Why it was refused.
    #[serde(default)]
    pub failure: Option<String>,
}

/// Whether a file is to go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// No.
    #[default]
    No,
    /// Yes, unless its text was sent for this asset before.
    Once,
    /// Yes, even so: this pays again.
    Again,
}

/// One request to the service to make a rapid model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Of which asset.
    pub asset: AssetId,
    /// The checksum of the text.
    pub text_hash: ContentHash,
    /// When it was sent.
    pub at: Moment,
    /// How far it is.
    pub stage: SubmissionStage,
    /// The one-off tag is still on the rapid model.
    pub tagged: bool,
}

/// How far a submission is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubmissionStage {
    /// It went out, or was about to; nobody knows more.
    Sent,
    /// The service works on it.
    Taken {
        /// The rapid model.
        rapid: RapidId,
    },
    /// The rapid model is done.
    Done {
        /// The rapid model.
        rapid: RapidId,
    },
    /// The service failed at it.
    Failed {
        /// The rapid model.
        rapid: RapidId,
        /// Why.
        reason: String,
    },
    /// It was looked for and not found; nobody will ever know by itself.
    Unknown,
}

impl SubmissionStage {
    /// The rapid model, where it is known.
    pub fn rapid(&self) -> Option<RapidId> {
        match self {
            SubmissionStage::Taken { rapid }
            | SubmissionStage::Done { rapid }
            | SubmissionStage::Failed { rapid, .. } => Some(*rapid),
            SubmissionStage::Sent | SubmissionStage::Unknown => None,
        }
    }
}

/// A change of the drop folders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobRecord {
    /// A file's text was written.
    TextKept {
        /// The file.
        job: JobKey,
        /// Its text.
        text: Blob,
        /// When.
        at: Moment,
    },
    /// A file was renamed; one at the target is gone.
    Renamed {
        /// The file.
        job: JobKey,
        /// Its new name.
        to: String,
    },
    /// A file was removed.
    Removed {
        /// The file.
        job: JobKey,
    },
    /// A file is to go out.
    Wanted {
        /// The file.
        job: JobKey,
        /// Even if its text was sent before.
        again: bool,
    },
    /// A file was refused before it was sent.
    Held {
        /// The file.
        job: JobKey,
        /// Why, as a sentence.
        reason: String,
    },
    /// A file takes part in a submission that was made before.
    Joined {
        /// The file.
        job: JobKey,
        /// The submission.
        tag: String,
    },
    /// A request is about to go out.
    Sent {
        /// The file it comes from.
        job: JobKey,
        /// The asset.
        asset: AssetId,
        /// The one-off tag.
        tag: String,
        /// The checksum of the text.
        text_hash: ContentHash,
        /// When.
        at: Moment,
    },
    /// The service has it.
    Taken {
        /// The submission.
        tag: String,
        /// The rapid model.
        rapid: RapidId,
    },
    /// It did not go out, for sure, and may go out again.
    NotSent {
        /// The submission.
        tag: String,
        /// It was to be sent even though its text was sent before.
        #[serde(default)]
        again: bool,
    },
    /// The service refused it.
    Refused {
        /// The submission.
        tag: String,
        /// Why.
        reason: String,
    },
    /// It was looked for and not found.
    Lost {
        /// The submission.
        tag: String,
    },
    /// The one-off tag is gone from the rapid model.
    TagRemoved {
        /// The submission.
        tag: String,
    },
    /// The service is done with it.
    Ended {
        /// The submission.
        tag: String,
        /// Why it failed, if it did.
        #[serde(default)]
        failure: Option<String>,
    },
}

/// Why a record does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobBookError {
    /// There is no such file.
    #[error("the job {0} is not there")]
    NoFile(String),
    /// There is no such submission.
    #[error("the submission {0} is not there")]
    NoSubmission(String),
}

/// All files of drop folders, and all submissions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobBook {
    /// The files.
    #[serde(with = "as_pairs")]
    pub files: BTreeMap<JobKey, JobFile>,
    /// Submissions by their one-off tag.
    pub submissions: BTreeMap<String, Submission>,
}

impl JobBook {
    /// Makes the change that the record tells of.
    pub fn apply(&mut self, record: &JobRecord) -> Result<(), JobBookError> {
        match record {
            JobRecord::TextKept { job, text, at } => self.keep_text(job, text, *at),
            JobRecord::Renamed { job, to } => {
                let file = self.files.remove(job).ok_or_else(|| no_file(job))?;
                let name = to.clone();
                self.files.insert(
                    JobKey {
                        name,
                        ..job.clone()
                    },
                    file,
                );
            }
            JobRecord::Removed { job } => drop(self.files.remove(job)),
            JobRecord::Wanted { job, again } => {
                let file = self.file_mut(job)?;
                file.wanted = if *again { Wanted::Again } else { Wanted::Once };
                file.failure = None;
            }
            JobRecord::Held { job, reason } => {
                let file = self.file_mut(job)?;
                file.wanted = Wanted::No;
                file.failure = Some(reason.clone());
            }
            JobRecord::Joined { job, tag } => {
                let file = self.file_mut(job)?;
                file.wanted = Wanted::No;
                file.failure = None;
                file.submission = Some(tag.clone());
            }
            JobRecord::Sent {
                job,
                asset,
                tag,
                text_hash,
                at,
            } => {
                let submission = Submission {
                    asset: *asset,
                    text_hash: *text_hash,
                    at: *at,
                    stage: SubmissionStage::Sent,
                    tagged: true,
                };
                self.submissions.insert(tag.clone(), submission);
                // The file may have been removed while its request was prepared.
                if let Some(file) = self.files.get_mut(job) {
                    file.wanted = Wanted::No;
                    file.failure = None;
                    file.submission = Some(tag.clone());
                }
            }
            JobRecord::Taken { tag, rapid } => {
                self.submission_mut(tag)?.stage = SubmissionStage::Taken { rapid: *rapid };
            }
            JobRecord::NotSent { tag, again } => {
                self.submissions.remove(tag);
                for file in self.files_of(tag) {
                    file.submission = None;
                    file.wanted = if *again { Wanted::Again } else { Wanted::Once };
                }
            }
            JobRecord::Refused { tag, reason } => {
                self.submissions.remove(tag);
                for file in self.files_of(tag) {
                    file.submission = None;
                    file.failure = Some(reason.clone());
                }
            }
            JobRecord::Lost { tag } => self.submission_mut(tag)?.stage = SubmissionStage::Unknown,
            JobRecord::TagRemoved { tag } => self.submission_mut(tag)?.tagged = false,
            JobRecord::Ended { tag, failure } => self.end(tag, failure.as_deref())?,
        }
        Ok(())
    }

    /// The latest submission of a text for an asset.
    pub fn sent_before(
        &self,
        asset: AssetId,
        text_hash: ContentHash,
    ) -> Option<(&String, &Submission)> {
        self.submissions
            .iter()
            .filter(|(_, it)| it.asset == asset && it.text_hash == text_hash)
            .max_by_key(|(_, it)| it.at)
    }

    /// The files that made or joined a submission.
    pub fn keys_of(&self, tag: &str) -> Vec<JobKey> {
        let of_tag = |file: &JobFile| file.submission.as_deref() == Some(tag);
        let files = self.files.iter().filter(|(_, file)| of_tag(file));
        files.map(|(key, _)| key.clone()).collect()
    }

    /// A draft has become an asset: its drop folder is the asset's.
    pub fn draft_became(&mut self, draft: DraftId, asset: AssetId) {
        for key in self.keys_in(OwnerFolder::Draft(draft)) {
            let file = self.files.remove(&key).expect("the key was just read");
            let folder = JobFolder::Optimize(OwnerFolder::Asset(asset));
            self.files.insert(JobKey { folder, ..key }, file);
        }
    }

    /// A draft is gone, and its drop folder with it.
    pub fn draft_gone(&mut self, draft: DraftId) {
        for key in self.keys_in(OwnerFolder::Draft(draft)) {
            self.files.remove(&key);
        }
    }

    /// An asset is gone, and all that was made for it.
    pub fn asset_gone(&mut self, asset: AssetId) {
        for key in self.keys_in(OwnerFolder::Asset(asset)) {
            self.files.remove(&key);
        }
        self.submissions
            .retain(|_, submission| submission.asset != asset);
    }

    fn keys_in(&self, owner: OwnerFolder) -> Vec<JobKey> {
        let folder = JobFolder::Optimize(owner);
        let keys = self.files.keys().filter(|key| key.folder == folder);
        keys.cloned().collect()
    }

    fn keep_text(&mut self, job: &JobKey, text: &Blob, at: Moment) {
        match self.files.get_mut(job) {
            // The same text again changes nothing but the time.
            Some(file) if file.text == *text => file.at = at,
            _ => {
                let file = JobFile {
                    text: text.clone(),
                    at,
                    wanted: Wanted::No,
                    submission: None,
                    failure: None,
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

    fn files_of(&mut self, tag: &str) -> impl Iterator<Item = &mut JobFile> {
        self.files
            .values_mut()
            .filter(move |file| file.submission.as_deref() == Some(tag))
    }

    fn file_mut(&mut self, job: &JobKey) -> Result<&mut JobFile, JobBookError> {
        self.files.get_mut(job).ok_or_else(|| no_file(job))
    }

    fn submission_mut(&mut self, tag: &str) -> Result<&mut Submission, JobBookError> {
        let found = self.submissions.get_mut(tag);
        found.ok_or_else(|| JobBookError::NoSubmission(tag.to_owned()))
    }
}

fn no_file(job: &JobKey) -> JobBookError {
    JobBookError::NoFile(job.name.clone())
}
