//! What `optimize/` shows of a text that this machine does not have: the status of its result and the link to it, as the
//! tags of the result say.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::node::Row;
use super::place::{Lifetime, Place, Removal, Text};
use crate::drive::catalog::{done_result, rapid_status, results_by_text};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileKind;
use crate::drive::tree::Tree;
use crate::drive::values::known::{KnownRapid, system_time};
use crate::drive::values::local::{DropFolder, JobPart};
use crate::drive::values::names::{safe_name, with_ending};
use crate::drive::values::node::Model;
use crate::outbox::text_stem;
use crate::wire::{AssetId, OptimizationStatus};

/// A part of a text that was written on another machine.
struct ElsewhereText {
    asset: AssetId,
    text: Arc<str>,
    part: ShownPart,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownPart {
    Status,
    Result,
}

/// Rows for the known results of an asset, without a request to the service. A text that this machine has makes rows of its
/// own; a name that was removed on this machine gets none.
pub(super) fn elsewhere_rows(tree: &Tree, asset: AssetId) -> Vec<Row> {
    let folder = DropFolder::Optimize(asset).in_outbox();
    let jobs = tree.outbox().jobs();
    let here: HashSet<String> = jobs
        .in_folder(&folder)
        .iter()
        .map(|job| text_stem(&job.name).to_owned())
        .collect();
    let results = results_by_text(tree.catalog(), asset).into_iter();
    let elsewhere =
        results.filter(|(text, row)| !here.contains(text) && !jobs.has_removed_name(row.id, text));
    elsewhere
        .flat_map(|(text, row)| rows_of(asset, &text, &row))
        .collect()
}

fn rows_of(asset: AssetId, text: &str, row: &KnownRapid) -> Vec<Row> {
    let stem = safe_name(text, row.id.0);
    let part = |name: String, part: ShownPart| {
        let text = Arc::from(text);
        Row::new(name, ElsewhereText { asset, text, part })
    };
    let mut rows = Vec::new();
    if row.state == OptimizationStatus::Done {
        rows.push(part(stem.clone(), ShownPart::Result));
    }
    rows.push(part(with_ending(&stem, ".status"), ShownPart::Status));
    rows
}

impl ElsewhereText {
    fn current(&self, tree: &Tree) -> Option<KnownRapid> {
        results_by_text(tree.catalog(), self.asset).remove(&*self.text)
    }
}

#[async_trait]
impl Place for ElsewhereText {
    fn identity(&self) -> String {
        let part = match self.part {
            ShownPart::Status => JobPart::Status,
            ShownPart::Result => JobPart::Result,
        };
        format!("elsewhere/{}/{part:?}/{}", self.asset, self.text)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(match self.part {
            ShownPart::Status => FileKind::File,
            ShownPart::Result => FileKind::Link,
        })
    }

    fn path(&self, tree: &Tree) -> String {
        let folder = DropFolder::Optimize(self.asset).path(tree);
        let ending = match self.part {
            ShownPart::Status => ".status",
            ShownPart::Result => "",
        };
        format!("{folder}/{}{ending}", self.text)
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        let row = self.current(tree);
        row.map_or(tree.opened(), |row| system_time(row.created))
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let row = self.current(tree).ok_or(DriveError::NotFound)?;
        let status = rapid_status(tree.catalog(), &row);
        Ok(Text::line(
            &status.to_string(),
            system_time(row.updated.or(row.created)),
        ))
    }

    async fn target(&self, tree: &Arc<Tree>) -> DriveResult<String> {
        let row = done_result(tree.catalog(), self.asset, &self.text);
        let row = row.ok_or(DriveError::NotFound)?;
        let name = tree
            .catalog()
            .rapid_name(row.id)
            .ok_or(DriveError::NotFound)?;
        Ok(format!("../../../rapidmodels/{name}"))
    }

    fn owner(&self, tree: &Tree) -> Option<Model> {
        Some(Model::Raw(tree.catalog().home_of(self.asset)))
    }

    fn removal(&self) -> Removal {
        Removal::Part
    }

    fn id(&self, tree: &Tree) -> Option<String> {
        Some(self.current(tree)?.id.to_string())
    }
}
