//! Links in `jobs/` to optimized models that are being made or have failed lately.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use super::attributes::created;
use super::errors::free_name;
use super::node::Row;
use super::place::{Answer, Lifetime, Place};
use super::rapid_links::linked_rapid;
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::wire::{ModelId, RapidId};

pub(in crate::drive) struct JobLink(pub(in crate::drive) RapidId);

impl Place for JobLink {
    fn identity(&self) -> String {
        format!("job-link/{}", self.0)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Link)
    }

    fn path(&self, tree: &Tree) -> String {
        let name = tree.catalog().rapid_name(self.0);
        format!("/jobs/{}", name.unwrap_or_else(|| self.0.to_string()))
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Brief
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        created(tree, ModelId::Rapid(self.0))
    }

    fn target<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, String> {
        Box::pin(async {
            let name = linked_rapid(tree, self.0).await?;
            Ok(format!("../rapidmodels/{name}"))
        })
    }
}

/// Adds the links under free names.
pub(super) fn job_link_rows(tree: &Tree, rows: &mut Vec<Row>) {
    let mut taken: HashSet<String> = rows.iter().map(|row| row.name.clone()).collect();
    let known = tree.catalog().known();
    for rapid in &known.jobs {
        let Some(name) = known.rapids.name(rapid.0) else {
            continue;
        };
        let name = free_name(name, &taken);
        taken.insert(name.clone());
        rows.push(Row::new(name, JobLink(*rapid)));
    }
}
