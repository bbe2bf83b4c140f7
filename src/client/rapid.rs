//! Calls about rapid models: records, tags, exports, views and reports.

use reqwest::Method;

use super::Client;
use super::body::Download;
use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use crate::wire::paths::{fill, route};
use crate::wire::{
    Data, Downloads, ExportList, IdList, Items, RapidId, RapidModel, TagId, TagName, TagsRequest,
};

impl Client {
    /// Returns the record with all fields.
    pub async fn rapid_model(
        &self,
        id: RapidId,
        priority: Priority,
    ) -> Result<RapidModel, ClientError> {
        let call = Call::get("get a rapid model", fill(route::RAPID_MODEL, &[&id])).at(priority);
        Ok(self.json::<Data<RapidModel>>(call).await?.data)
    }

    pub async fn delete_rapid_model(&self, id: RapidId) -> Result<(), ClientError> {
        self.done(Call::delete(
            "delete a rapid model",
            fill(route::RAPID_MODEL, &[&id]),
        ))
        .await
    }

    pub async fn delete_rapid_models(&self, ids: &[RapidId]) -> Result<(), ClientError> {
        let call = Call::idempotent(
            "delete rapid models",
            Method::POST,
            route::DELETE_RAPID_MODELS,
        );
        self.done(call.json(&IdList { ids: ids.to_vec() })).await
    }

    /// Adds tags to a rapid model. Sent once.
    pub async fn add_rapid_tags(&self, id: RapidId, tags: &[String]) -> Result<(), ClientError> {
        let call = Call::once("add tags", Method::PUT, fill(route::RAPID_MODEL, &[&id]));
        self.done(call.json(&TagsRequest {
            tags: tags.to_vec(),
        }))
        .await
    }

    pub async fn remove_rapid_tag(&self, id: RapidId, tag: TagId) -> Result<(), ClientError> {
        self.done(Call::delete(
            "remove a tag",
            fill(route::RAPID_TAG, &[&id, &tag]),
        ))
        .await
    }

    /// Names of all tags on rapid models.
    pub async fn rapid_tags(&self, priority: Priority) -> Result<Vec<TagName>, ClientError> {
        let call = Call::get("list tags of rapid models", route::RAPID_TAGS).at(priority);
        Ok(self.json::<Items<TagName>>(call).await?.0)
    }

    pub async fn rapid_exports(
        &self,
        id: RapidId,
        priority: Priority,
    ) -> Result<ExportList, ClientError> {
        let call = Call::get("list exports", fill(route::RAPID_EXPORTS, &[&id])).at(priority);
        Ok(self.json::<Data<ExportList>>(call).await?.data)
    }

    /// Rendered views of the model, of its source, and of the differences.
    pub async fn rapid_renders(
        &self,
        id: RapidId,
        priority: Priority,
    ) -> Result<Downloads, ClientError> {
        self.json(
            Call::get(
                "list a rapid model's views",
                fill(route::RAPID_RENDERS, &[&id]),
            )
            .at(priority),
        )
        .await
    }

    /// The preset that the model was made with, as a zip.
    pub async fn rapid_preset_zip(
        &self,
        id: RapidId,
        priority: Priority,
    ) -> Result<Download, ClientError> {
        self.download(
            Call::get("download the preset", fill(route::RAPID_PRESET_ZIP, &[&id])).at(priority),
        )
        .await
    }

    /// The quality report of one format.
    pub async fn rapid_qc(
        &self,
        id: RapidId,
        format: &str,
        priority: Priority,
    ) -> Result<Download, ClientError> {
        self.download(
            Call::get(
                "download the quality report",
                fill(route::RAPID_QC, &[&id, &format]),
            )
            .at(priority),
        )
        .await
    }
}
