//! Calls about rapid models: tags, exports and reports.

use reqwest::Method;

use super::body::Download;
use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::models::ModelCalls;
use crate::wire::paths::{fill, route};
use crate::wire::{ExportList, RapidId, RapidModel, TagsRequest};

/// Calls about rapid models.
pub type RapidCalls<'a> = ModelCalls<'a, RapidModel>;

impl RapidCalls<'_> {
    /// Adds tags to a rapid model. Sent once.
    pub async fn add_tags(self, id: RapidId, tags: &[String]) -> Result<(), ClientError> {
        self.add_tags_at(id, tags, Priority::Interactive).await
    }

    /// The same with a priority.
    pub async fn add_tags_at(
        self,
        id: RapidId,
        tags: &[String],
        priority: Priority,
    ) -> Result<(), ClientError> {
        let call = Call::once("add tags", Method::PUT, fill(route::RAPID_MODEL, &[&id]));
        let tags = tags.to_vec();
        let call = call.json(&TagsRequest { tags }).at(priority);
        self.exchange.done(call).await
    }

    pub async fn exports(self, id: RapidId, priority: Priority) -> Result<ExportList, ClientError> {
        let call = Call::get("list exports", fill(route::RAPID_EXPORTS, &[&id]));
        self.exchange.data(call.at(priority)).await
    }

    /// The preset that the model was made with, as a zip.
    pub async fn preset_zip(
        self,
        id: RapidId,
        priority: Priority,
    ) -> Result<Download, ClientError> {
        let path = fill(route::RAPID_PRESET_ZIP, &[&id]);
        let call = Call::get("download the preset", path).refusing_in_text();
        self.exchange.download(call.at(priority)).await
    }

    /// The quality report of one format.
    pub async fn quality_report(
        self,
        id: RapidId,
        format: &str,
        priority: Priority,
    ) -> Result<Download, ClientError> {
        let path = fill(route::RAPID_QC, &[&id, &format]);
        let call = Call::get("download the quality report", path).refusing_in_text();
        self.exchange.download(call.at(priority)).await
    }
}
