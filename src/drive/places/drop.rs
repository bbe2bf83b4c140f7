//! Drop folders: `optimize/` and `embeds/` of a model, and `jobs/`. A text that is copied into one is sent as a
//! job; its status and its result are shown in the same folder.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use super::attributes::{changed, created};
use super::elsewhere::elsewhere_rows;
use super::errors::{end_of_model, error_row};
use super::hiding::{find_removed_part, without_hidden};
use super::links::job_link_rows;
use super::node::{Node, Row};
use super::place::{AttributeRule, Container, Place, Removal};
use super::time_left::with_time_left;
use crate::drive::catalog::{is_listed, learn_results_of, model_path, refresh_listing, shown_as};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::tree::Tree;
use crate::drive::values::local::{DropFolder, ErrorParent, HiddenParent, JobPart};
use crate::drive::values::node::{Home, ListingKind, Model};
use crate::outbox::{ItemStatus, JobFolder, JobInfo, JobState, OwnerFolder, is_text_name};

/// Time within which the service lists a new embed.
pub const EMBED_LISTED_WITHIN: Duration = Duration::from_secs(60);

#[async_trait]
impl Place for DropFolder {
    fn identity(&self) -> String {
        match self {
            DropFolder::Jobs => "top/jobs".to_owned(),
            DropFolder::Optimize(asset) => format!("asset/{asset}/optimize"),
            folder => format!("drop/{folder}"),
        }
    }

    fn path(&self, tree: &Tree) -> String {
        let model = self
            .subject()
            .map(|of| model_path(tree.catalog(), shown_as(tree.catalog(), of)));
        format!("{}/{}", model.unwrap_or_default(), self.name())
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        match self.subject() {
            Some(subject) => created(tree, subject),
            None => changed(tree, ListingKind::Jobs),
        }
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        if let DropFolder::Optimize(asset) = self {
            learn_results_of(tree.catalog(), *asset).await;
        }
        if *self != DropFolder::Jobs {
            return Ok(self.rows_at_hand(tree));
        }
        let listed = refresh_listing(tree.catalog(), ListingKind::Jobs).await;
        let mut rows = self.own_rows(tree);
        if !is_listed(tree.catalog(), ListingKind::Jobs) && rows.is_empty() {
            listed?;
        }
        job_link_rows(tree, &mut rows);
        Ok(rows)
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        let found = |rows: Vec<Row>| rows.into_iter().find(|row| row.name == name);
        // A text that is about to be copied in needs no request.
        let is_here = *self != DropFolder::Jobs
            && (is_text_name(name) || found(self.own_rows(tree)).is_some());
        let row = match is_here {
            true => found(self.rows_at_hand(tree)),
            false => found(self.rows(tree).await?),
        };
        // Parts that were removed with their job resolve for a while, for tools that listed the folder
        // before.
        let left = || match self {
            DropFolder::Jobs => None,
            folder => find_removed_part(tree, *folder, name).map(Node::from),
        };
        let found = row.map(|row| row.node).or_else(left);
        found.ok_or(DriveError::NotFound)
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        if *self == DropFolder::Jobs {
            return None;
        }
        let jobs = tree.outbox().jobs().in_folder(&self.in_outbox());
        jobs.into_iter().find_map(|job| {
            let failure = job.failure?;
            Some(format!("{}: {failure}", job.name))
        })
    }

    fn hidden_parent(&self) -> Option<HiddenParent> {
        (*self == DropFolder::Jobs).then_some(HiddenParent::Jobs)
    }

    fn owner(&self, tree: &Tree) -> Option<Model> {
        self.subject()
            .map(|subject| shown_as(tree.catalog(), subject))
    }

    fn container(&self) -> Option<Container> {
        Some(Container::Jobs(*self))
    }

    fn removal(&self) -> Removal {
        match self {
            DropFolder::Jobs => Removal::Refused,
            _ => Removal::Part,
        }
    }

    fn attribute_rule(&self) -> AttributeRule {
        AttributeRule::Accepted
    }
}

impl DropFolder {
    /// The row of its model.
    pub(super) fn row(self) -> Row {
        Row::new(self.name(), self)
    }

    /// The rows of its texts, and of results of texts that this machine does not have.
    fn rows_at_hand(self, tree: &Tree) -> Vec<Row> {
        let mut rows = self.own_rows(tree);
        let DropFolder::Optimize(asset) = self else {
            return rows;
        };
        let taken: HashSet<String> = rows.iter().map(|row| row.name.clone()).collect();
        let mut elsewhere = elsewhere_rows(tree, asset);
        elsewhere.retain(|row| !taken.contains(&row.name));
        if let Some(model) = self.owner(tree) {
            without_hidden(tree, &mut elsewhere, model);
        }
        rows.append(&mut elsewhere);
        rows
    }

    /// Status and result of each job, then the texts: a tool that removes them in this order finds each.
    fn own_rows(self, tree: &Tree) -> Vec<Row> {
        let jobs = tree.outbox().jobs().in_folder(&self.in_outbox());
        let texts: HashSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let mut taken: HashSet<String> = texts.iter().map(|name| (*name).to_owned()).collect();
        let mut rows = Vec::new();
        rows.extend(error_row(tree, ErrorParent::Drop(self), &taken));
        let shown = jobs.iter().flat_map(shown_parts);
        for (job, part) in shown.filter(|(job, part)| !leads_nowhere(tree, job, *part)) {
            let entry = self.entry(&job.name, part);
            // If a text has that name, the text is shown.
            if taken.insert(entry.name()) {
                rows.push(Row::new(entry.name(), entry));
            }
        }
        let texts = texts.into_iter();
        rows.extend(texts.map(|name| Row::new(name, self.entry(name, JobPart::Text))));
        if let Some(model) = self.owner(tree) {
            without_hidden(tree, &mut rows, model);
        }
        rows
    }
}

/// The path of a drop folder of the outbox.
pub fn job_folder_path(tree: &Tree, folder: &JobFolder) -> String {
    match folder {
        JobFolder::Optimize(OwnerFolder::Draft(draft)) => {
            format!("{}/optimize", tree.catalog().home_path(Home::Made(*draft)))
        }
        JobFolder::Embeds(OwnerFolder::Draft(draft)) => {
            format!("{}/embeds", tree.catalog().home_path(Home::Made(*draft)))
        }
        folder => {
            DropFolder::of_outbox(folder).map_or_else(String::new, |folder| folder.path(tree))
        }
    }
}

/// The model of a drop folder of the outbox; `None` for `jobs/`.
pub fn model_of_folder(tree: &Tree, folder: &JobFolder) -> Option<Model> {
    match folder {
        JobFolder::Optimize(OwnerFolder::Draft(draft))
        | JobFolder::Embeds(OwnerFolder::Draft(draft)) => Some(Model::Raw(Home::Made(*draft))),
        folder => DropFolder::of_outbox(folder)?.owner(tree),
    }
}

/// The status of a job of a model, which may have failed before the job was sent.
pub(super) fn job_status(tree: &Tree, model: Option<Model>, job: &JobInfo) -> ItemStatus {
    let ended = match (&job.status, model) {
        (ItemStatus::WaitingForModel { .. }, Some(model)) => end_of_model(tree, model),
        _ => None,
    };
    match ended {
        Some(why) => ItemStatus::WaitingForFailedModel { why },
        None => with_time_left(tree, model, job),
    }
}

/// The parts that a job shows in addition to its text.
pub fn shown_parts(job: &JobInfo) -> impl Iterator<Item = (&JobInfo, JobPart)> {
    let has_result = job.rapid.is_some() || job.embed.is_some();
    let result = (job.state == JobState::Done && has_result).then_some(JobPart::Result);
    let status = (job.state != JobState::Editing).then_some(JobPart::Status);
    result
        .into_iter()
        .chain(status)
        .map(move |part| (job, part))
}

/// True for the link to a result that was deleted.
fn leads_nowhere(tree: &Tree, job: &JobInfo, part: JobPart) -> bool {
    if part != JobPart::Result {
        return false;
    }
    let known = tree.catalog().known();
    let Some(embed) = job.embed else {
        // One that was deleted elsewhere is noticed when the link is looked at.
        return job
            .rapid
            .is_some_and(|rapid| known.rapids.was_deleted(rapid.0));
    };
    // A new embed may not be listed yet.
    let is_old = job
        .mtime
        .elapsed()
        .is_ok_and(|age| age > EMBED_LISTED_WITHIN);
    let is_missing = known.embeds.belief.is_known() && known.embeds.row(embed.0).is_none();
    known.embeds.was_deleted(embed.0) || (is_old && is_missing)
}
