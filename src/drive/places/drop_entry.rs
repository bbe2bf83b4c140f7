//! What a drop folder shows of a job: its text, its status, and the link to its result.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::attributes::{file, link, made_by};
use super::drop::job_status;
use super::errors::after_a_failed_job;
use super::hiding::is_removed_part;
use super::links::linked_rapid;
use super::place::{AttributeRule, Contents, Lifetime, Place, Removal, Text};
use super::refusals;
use crate::drive::catalog::{
    ask_for_name, mark_stale, rapid_ended, rapid_is_final, refresh_listing, refresh_rapid,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::{Attributes, FileKind, OpenFlags};
use crate::drive::tree::Tree;
use crate::drive::values::local::{JobEntry, JobPart, TextTarget};
use crate::drive::values::node::{Family, ListingKind, Model};
use crate::outbox::{ItemStatus, JobInfo, JobState, Maker, why_never_sent};
use crate::wire::{EmbedId, RapidId};

#[async_trait]
impl Place for JobEntry {
    fn identity(&self) -> String {
        format!("job/{}/{:?}/{}", self.folder, self.part, self.text_name)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(match self.part {
            JobPart::Text | JobPart::Status => FileKind::File,
            JobPart::Result => FileKind::Link,
        })
    }

    fn path(&self, tree: &Tree) -> String {
        format!("{}/{}", self.folder.path(tree), self.name())
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    async fn attributes(&self, tree: &Arc<Tree>) -> DriveResult<Attributes> {
        if is_removed_part(tree, self) {
            return Ok(match self.part {
                JobPart::Result => link(tree, "", tree.opened()),
                JobPart::Text | JobPart::Status => file(tree, 0, tree.opened()),
            });
        }
        if self.part == JobPart::Result {
            let job = self.job(tree);
            let target = match self.target(tree).await {
                // The result was deleted, and this name may just have been listed: it can be removed.
                Err(DriveError::NotFound) if job.is_some() => String::new(),
                target => target?,
            };
            // The time of the text: `make` compares the times of a link and of its source.
            let time = job.map_or(tree.opened(), |job| job.mtime);
            return Ok(link(tree, &target, time));
        }
        let Text { bytes, modified } = self.text_at_hand(tree)?;
        Ok(made_by(
            self.maker(tree),
            file(tree, bytes.len() as u64, modified),
        ))
    }

    fn maker(&self, tree: &Tree) -> Option<Maker> {
        match self.part {
            JobPart::Text => self.job(tree)?.maker,
            JobPart::Status | JobPart::Result => None,
        }
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        self.text_at_hand(tree)
    }

    async fn target(&self, tree: &Arc<Tree>) -> DriveResult<String> {
        if self.part != JobPart::Result {
            return Err(DriveError::Invalid("this is not a link".into()));
        }
        let job = self.job(tree).ok_or(DriveError::NotFound)?;
        if let Some(embed) = job.embed {
            let page = linked_embed(tree, embed).await?;
            return Ok(format!("../../../embeds/{page}"));
        }
        let rapid = job.rapid.ok_or(DriveError::NotFound)?;
        learn_end(tree, rapid).await;
        let name = settled_name(tree, rapid).await?;
        Ok(format!("../../../rapidmodels/{name}"))
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        match self.part {
            JobPart::Text | JobPart::Status => {
                let job = self.job(tree)?;
                let of_model = || match job_status(tree, self.folder.owner(tree), &job) {
                    status @ ItemStatus::WaitingForFailedModel { .. } => Some(status.to_string()),
                    _ => None,
                };
                let failure = job.failure.clone();
                // A text that was refused is corrected instead; its reason says so.
                let was_accepted = !job.rapids.is_empty();
                let is_over = matches!(job.state, JobState::Failed { .. }) && was_accepted;
                match failure {
                    Some(said) if is_over => Some(after_a_failed_job(&said)),
                    None if job.state == JobState::Editing => why_never_sent(&job.name),
                    said => said.or_else(of_model),
                }
            }
            JobPart::Result => None,
        }
    }

    fn owner(&self, tree: &Tree) -> Option<Model> {
        self.folder.owner(tree)
    }

    fn contents(&self, _: &Tree) -> DriveResult<Contents> {
        Ok(match self.part {
            JobPart::Text => {
                Contents::Editable(TextTarget::Job(self.folder, self.text_name.to_string()))
            }
            JobPart::Status | JobPart::Result => Contents::Snapshot,
        })
    }

    fn check_writable(&self, tree: &Tree, _: OpenFlags) -> DriveResult<()> {
        match self.part {
            JobPart::Text => Ok(()),
            _ => Err(refusals::made_by_service(&self.path(tree))),
        }
    }

    fn removal(&self) -> Removal {
        match self.part {
            JobPart::Text => Removal::Job(self.folder, Arc::clone(&self.text_name)),
            JobPart::Status | JobPart::Result => Removal::JobPart(self.clone()),
        }
    }

    fn attribute_rule(&self) -> AttributeRule {
        match self.part {
            JobPart::Text => AttributeRule::Text,
            JobPart::Status | JobPart::Result => AttributeRule::Refused,
        }
    }

    fn id(&self, tree: &Tree) -> Option<String> {
        let job = self.job(tree)?;
        let rapid = job.rapid.map(|rapid| rapid.to_string());
        rapid.or_else(|| Some(job.embed?.to_string()))
    }

    fn has_status(&self, _: &Tree) -> bool {
        self.part == JobPart::Text
    }

    async fn status(&self, tree: &Arc<Tree>) -> DriveResult<Option<ItemStatus>> {
        Ok(match self.part {
            JobPart::Text | JobPart::Status => {
                let owner = self.folder.owner(tree);
                self.job(tree).map(|job| job_status(tree, owner, &job))
            }
            JobPart::Result => None,
        })
    }
}

impl JobEntry {
    fn job(&self, tree: &Tree) -> Option<JobInfo> {
        tree.outbox()
            .jobs()
            .get(&self.folder.in_outbox(), &self.text_name)
    }

    fn text_at_hand(&self, tree: &Tree) -> DriveResult<Text> {
        let job = self.job(tree).ok_or(DriveError::NotFound)?;
        match self.part {
            JobPart::Text => Ok(Text {
                bytes: job.text.into(),
                modified: job.mtime,
            }),
            JobPart::Status => {
                let status = job_status(tree, self.folder.owner(tree), &job);
                Ok(Text::line(&status.to_string(), job.mtime))
            }
            JobPart::Result => Err(DriveError::NotFound),
        }
    }
}

/// The name of a result. One of the same model that goes before it may not be known yet, and would take the name over when the
/// link is followed, so the name is asked for first, as by who follows the link.
async fn settled_name(tree: &Arc<Tree>, rapid: RapidId) -> DriveResult<String> {
    let name = linked_rapid(tree, rapid).await?;
    if let Err(error) = ask_for_name(tree.catalog(), Family::Rapid, &name).await {
        tracing::debug!(%error, "the name of a result could not be confirmed");
    }
    linked_rapid(tree, rapid).await
}

/// The job is done, whatever the model's record said while the job ran. A request that is already in flight may
/// still return the old record, so one more follows.
async fn learn_end(tree: &Arc<Tree>, rapid: RapidId) {
    rapid_ended(tree.catalog(), rapid);
    for _ in 0..2 {
        if rapid_is_final(tree.catalog(), rapid) {
            break;
        }
        if let Err(error) = refresh_rapid(tree.catalog(), rapid, Duration::ZERO).await {
            tracing::debug!(rapid = %rapid, error = %error, "could not request a model whose job is done");
            break;
        }
    }
}

async fn linked_embed(tree: &Arc<Tree>, embed: EmbedId) -> DriveResult<String> {
    let known = || {
        tree.catalog()
            .known()
            .embeds
            .name(embed.0)
            .map(str::to_owned)
    };
    if let Some(name) = known() {
        return Ok(name);
    }
    mark_stale(tree.catalog(), ListingKind::Embeds);
    refresh_listing(tree.catalog(), ListingKind::Embeds).await?;
    known().ok_or(DriveError::NotFound)
}
