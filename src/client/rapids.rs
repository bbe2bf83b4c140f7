//! Calls about rapid models: records, tags, exports, views and reports.

use std::sync::Arc;

use reqwest::Method;

use super::body::Download;
use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::exchange::Exchange;
use super::listing::{List, ListQuery, PageOrder, PageStream};
use crate::wire::paths::{fill, route};
use crate::wire::{
    Data, Downloads, ExportList, IdList, Items, Page, RapidId, RapidModel, TagId, TagName,
    TagsRequest,
};

const LIST: List<RapidModel> = List {
    what: "list rapid models",
    path: route::RAPID_MODELS,
    id: |rapid| rapid.id.0,
};

/// Calls about rapid models.
#[derive(Clone, Copy)]
pub struct RapidCalls<'a> {
    pub(super) exchange: &'a Arc<Exchange>,
}

impl RapidCalls<'_> {
    pub async fn list(
        self,
        query: ListQuery,
        priority: Priority,
    ) -> Result<Page<RapidModel>, ClientError> {
        LIST.page(self.exchange, query.pairs(), priority).await
    }

    /// All rapid models, or those with this name or tag, page by page in order.
    pub fn pages(self, q: Option<String>, priority: Priority) -> PageStream<RapidModel> {
        self.pages_in(ListQuery::all_with(q), PageOrder::AsListed, priority)
    }

    /// All rapid models in the order of [`AssetCalls::pages_oldest_first`](super::AssetCalls::pages_oldest_first).
    pub fn pages_oldest_first(self, priority: Priority) -> PageStream<RapidModel> {
        self.pages_in(ListQuery::all(), PageOrder::OldestFirst, priority)
    }

    fn pages_in(
        self,
        query: ListQuery,
        order: PageOrder,
        priority: Priority,
    ) -> PageStream<RapidModel> {
        let at_page = move |page| query.clone().at_page(page).pairs();
        LIST.pages(self.exchange, at_page, order, priority)
    }

    /// Returns the record with all fields.
    pub async fn get(self, id: RapidId, priority: Priority) -> Result<RapidModel, ClientError> {
        let call = Call::get("get a rapid model", fill(route::RAPID_MODEL, &[&id])).at(priority);
        Ok(self.exchange.json::<Data<RapidModel>>(call).await?.data)
    }

    pub async fn delete(self, id: RapidId) -> Result<(), ClientError> {
        self.exchange
            .done(Call::delete(
                "delete a rapid model",
                fill(route::RAPID_MODEL, &[&id]),
            ))
            .await
    }

    pub async fn delete_many(self, ids: &[RapidId]) -> Result<(), ClientError> {
        let call = Call::idempotent(
            "delete rapid models",
            Method::POST,
            route::DELETE_RAPID_MODELS,
        );
        self.exchange
            .done(call.json(&IdList { ids: ids.to_vec() }))
            .await
    }

    /// Names of all tags on rapid models.
    pub async fn tags(self, priority: Priority) -> Result<Vec<TagName>, ClientError> {
        let call = Call::get("list tags of rapid models", route::RAPID_TAGS).at(priority);
        Ok(self.exchange.json::<Items<TagName>>(call).await?.0)
    }

    /// Adds tags to a rapid model. Sent once.
    pub async fn add_tags(self, id: RapidId, tags: &[String]) -> Result<(), ClientError> {
        let call = Call::once("add tags", Method::PUT, fill(route::RAPID_MODEL, &[&id]));
        self.exchange
            .done(call.json(&TagsRequest {
                tags: tags.to_vec(),
            }))
            .await
    }

    pub async fn remove_tag(self, id: RapidId, tag: TagId) -> Result<(), ClientError> {
        self.exchange
            .done(Call::delete(
                "remove a tag",
                fill(route::RAPID_TAG, &[&id, &tag]),
            ))
            .await
    }

    pub async fn exports(self, id: RapidId, priority: Priority) -> Result<ExportList, ClientError> {
        let call = Call::get("list exports", fill(route::RAPID_EXPORTS, &[&id])).at(priority);
        Ok(self.exchange.json::<Data<ExportList>>(call).await?.data)
    }

    /// Rendered views of the model, of its source, and of the differences.
    pub async fn renders(self, id: RapidId, priority: Priority) -> Result<Downloads, ClientError> {
        self.exchange
            .json(
                Call::get(
                    "list a rapid model's views",
                    fill(route::RAPID_RENDERS, &[&id]),
                )
                .at(priority),
            )
            .await
    }

    /// The preset that the model was made with, as a zip.
    pub async fn preset_zip(
        self,
        id: RapidId,
        priority: Priority,
    ) -> Result<Download, ClientError> {
        self.exchange
            .download(
                Call::get("download the preset", fill(route::RAPID_PRESET_ZIP, &[&id]))
                    .at(priority),
            )
            .await
    }

    /// The quality report of one format.
    pub async fn quality_report(
        self,
        id: RapidId,
        format: &str,
        priority: Priority,
    ) -> Result<Download, ClientError> {
        self.exchange
            .download(
                Call::get(
                    "download the quality report",
                    fill(route::RAPID_QC, &[&id, &format]),
                )
                .at(priority),
            )
            .await
    }
}
