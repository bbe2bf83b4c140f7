//! The rows of an optimized model.

use std::collections::HashSet;
use std::sync::Arc;

use super::{ERROR_FILE, Row, free_name, map_rows};
use crate::drive::error::DriveResult;
use crate::drive::shared::Shared;
use crate::drive::tree::node::{DropFolder, ErrorPlace, Node, Place, RemoteFolder};
use crate::wire::{OptimizationStatus, RapidId};

impl Shared {
    pub(super) async fn rapid_rows(self: &Arc<Self>, rapid: RapidId) -> DriveResult<Vec<Row>> {
        let row = self.known_rapid(rapid).await?;
        self.learn_reason(&Node::Rapid(rapid)).await;
        let mut rows = Vec::new();
        if row.state.is_final() {
            let folder = RemoteFolder::RapidFiles(rapid);
            let map = self.file_map(folder).await?;
            rows = map_rows(folder, &map, "", |path| self.contents.count(folder, path));
        }
        let mut taken: HashSet<String> = rows.iter().map(|row| row.name.clone()).collect();
        let renders = RemoteFolder::RapidRenders(rapid);
        let has_renders = self.known_map(renders).is_some_and(|map| !map.is_empty());
        let is_done = row.state == OptimizationStatus::Done;
        let reports = RemoteFolder::RapidQc(rapid);
        let has_reports = self.known_map(reports).is_some_and(|map| !map.is_empty());
        let folders = [
            (row.state.is_final(), RemoteFolder::RapidAnalysis(rapid)),
            (has_renders, renders),
            (has_reports, reports),
        ];
        for (_, folder) in folders.into_iter().filter(|(is_there, _)| *is_there) {
            let name = free_name(folder.name().unwrap_or_default(), &taken);
            taken.insert(name.clone());
            rows.push(Row::new(name, Node::RemoteFolder(folder)));
        }
        if is_done {
            let folder = DropFolder::RapidEmbeds(rapid);
            let name = free_name(folder.name(), &taken);
            taken.insert(name.clone());
            rows.push(Row::new(name, folder.node()));
        }
        let place = ErrorPlace::Rapid(rapid);
        if self.error_text(place).is_some() {
            rows.push(Row::new(
                free_name(ERROR_FILE, &taken),
                Node::ErrorText(place),
            ));
        }
        self.without_hidden(&mut rows, Place::Rapid(rapid));
        Ok(rows)
    }
}
