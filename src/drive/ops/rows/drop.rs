//! The rows of a drop folder: texts, and what became of them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::{ERROR_FILE, Row, free_name};
use crate::drive::error::DriveResult;
use crate::drive::fresh::listings::Which;
use crate::drive::ops::paths::job_part_name;
use crate::drive::shared::Shared;
use crate::drive::tree::node::{DropFolder, ErrorPlace, JobPart, Node};
use crate::outbox::{JobFolder, JobInfo, JobState, OwnerFolder};

/// An embed is in the service's list at the latest so long after it was asked for.
const LISTED_WITHIN: Duration = Duration::from_secs(60);

impl Shared {
    /// What became of each text, then the texts: whoever removes them in this order finds each.
    pub(super) fn drop_rows(&self, folder: DropFolder) -> Vec<Row> {
        let jobs = self.outbox.job_entries(&job_folder(folder));
        let texts: HashSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let mut taken: HashSet<String> = texts.iter().map(|name| (*name).to_owned()).collect();
        let mut rows = Vec::new();
        let place = ErrorPlace::Drop(folder);
        if self.error_text(place).is_some() {
            let name = free_name(ERROR_FILE, &taken);
            rows.push(Row::new(name, Node::ErrorText(place)));
        }
        let shown = jobs.iter().flat_map(shown_parts);
        for (job, part) in shown.filter(|(job, part)| !self.leads_nowhere(job, *part)) {
            let name = job_part_name(folder, &job.name, part);
            // A text of that name is the user's, and wins.
            if taken.insert(name.clone()) {
                let node = Node::Job(folder, job.name.as_str().into(), part);
                rows.push(Row::new(name, node));
            }
        }
        rows.extend(texts.into_iter().map(|name| {
            let node = Node::Job(folder, name.into(), JobPart::Text);
            Row::new(name, node)
        }));
        if let Some(subject) = folder.subject() {
            self.without_hidden(&mut rows, self.place_of(subject));
        }
        rows
    }

    /// True for the link to an embed that was deleted.
    fn leads_nowhere(&self, job: &JobInfo, part: JobPart) -> bool {
        let Some(embed) = job.embed.filter(|_| part == JobPart::Result) else {
            return false;
        };
        let known = self.known();
        // A new one may be made before it is listed.
        let is_old = job.mtime.elapsed().is_ok_and(|age| age > LISTED_WITHIN);
        let is_missing = known.embeds.belief.is_known() && known.embeds.row(embed.0).is_none();
        known.embeds.was_deleted(embed.0) || (is_old && is_missing)
    }

    /// `jobs/`: what was dropped, then links to what runs or failed.
    pub(super) async fn job_rows(self: &Arc<Self>) -> DriveResult<Vec<Row>> {
        let listed = self.refreshed(Which::Jobs).await;
        let mut rows = self.drop_rows(DropFolder::Jobs);
        if !self.is_listed(Which::Jobs) && rows.is_empty() {
            listed?;
        }
        let mut taken: HashSet<String> = rows.iter().map(|row| row.name.clone()).collect();
        let links: Vec<_> = {
            let known = self.known();
            let named = known.jobs.iter();
            named
                .filter_map(|rapid| Some((*rapid, known.rapids.name(rapid.0)?.to_owned())))
                .collect()
        };
        for (rapid, name) in links {
            let name = free_name(&name, &taken);
            taken.insert(name.clone());
            rows.push(Row::new(name, Node::JobLink(rapid)));
        }
        Ok(rows)
    }
}

/// A drop folder, in the outbox's words.
pub(in crate::drive) fn job_folder(folder: DropFolder) -> JobFolder {
    match folder {
        DropFolder::Optimize(asset) => JobFolder::Optimize(OwnerFolder::Asset(asset)),
        DropFolder::AssetEmbeds(asset) => JobFolder::Embeds(OwnerFolder::Asset(asset)),
        DropFolder::RapidEmbeds(rapid) => JobFolder::RapidEmbeds(rapid),
        DropFolder::Jobs => JobFolder::Multi,
    }
}

/// What a job shows beside its text.
pub(in crate::drive) fn shown_parts(job: &JobInfo) -> impl Iterator<Item = (&JobInfo, JobPart)> {
    let has_result = job.rapid.is_some() || job.embed.is_some();
    let result = (job.state == JobState::Done && has_result).then_some(JobPart::Result);
    let status = (job.state != JobState::Editing).then_some(JobPart::Status);
    result
        .into_iter()
        .chain(status)
        .map(move |part| (job, part))
}
