//! Calls about base assets: upload, records, tags, files and conversion.

use std::sync::Arc;

use reqwest::Method;

use super::body::Download;
use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::exchange::Exchange;
use super::listing::{List, ListQuery, PageOrder, PageStream, collect};
use crate::wire::paths::{fill, route};
use crate::wire::{
    AssetId, AssetUpdate, BaseAsset, ConversionJob, Data, Downloads, FormatsAdded, FormatsRequest,
    IdList, Items, Page, PbrDownloads, RapidModel, StartUpload, TagId, TagName, UploadStarted,
};

const LIST: List<BaseAsset> = List {
    what: "list base assets",
    path: route::ASSETS,
    id: |asset| asset.id.0,
};

/// Calls about base assets.
#[derive(Clone, Copy)]
pub struct AssetCalls<'a> {
    pub(super) exchange: &'a Arc<Exchange>,
}

impl AssetCalls<'_> {
    /// Starts an upload: creates an incomplete asset. Sent once.
    pub async fn start_upload(self, request: &StartUpload) -> Result<UploadStarted, ClientError> {
        let call = Call::once("start an upload", Method::POST, route::START_UPLOAD);
        self.exchange.json(call.json(request).uncounted()).await
    }

    /// Completes an upload after all files are sent. Sent once; if the reply is lost, the state of the asset
    /// shows whether the call took effect.
    pub async fn complete_upload(self, id: AssetId) -> Result<BaseAsset, ClientError> {
        let call = Call::once(
            "complete an upload",
            Method::GET,
            fill(route::COMPLETE_UPLOAD, &[&id]),
        );
        Ok(self
            .exchange
            .json::<Data<BaseAsset>>(call.uncounted())
            .await?
            .data)
    }

    /// Tries a failed import again. Sent once.
    pub async fn retry_import(self, id: AssetId) -> Result<(), ClientError> {
        self.exchange
            .done(
                Call::once(
                    "retry an import",
                    Method::POST,
                    fill(route::RETRY_IMPORT, &[&id]),
                )
                .uncounted(),
            )
            .await
    }

    pub async fn list(
        self,
        query: ListQuery,
        priority: Priority,
    ) -> Result<Page<BaseAsset>, ClientError> {
        LIST.page(self.exchange, query.pairs(), priority).await
    }

    /// All base assets, or those with this name or tag, page by page in order.
    pub fn pages(self, q: Option<String>, priority: Priority) -> PageStream<BaseAsset> {
        self.pages_in(ListQuery::all_with(q), PageOrder::AsListed, priority)
    }

    /// All base assets. If the service lists the newest first, pages come in reverse order, so lower ids
    /// come first.
    pub fn pages_oldest_first(self, priority: Priority) -> PageStream<BaseAsset> {
        self.pages_in(ListQuery::all(), PageOrder::OldestFirst, priority)
    }

    fn pages_in(
        self,
        query: ListQuery,
        order: PageOrder,
        priority: Priority,
    ) -> PageStream<BaseAsset> {
        let at_page = move |page| query.clone().at_page(page).pairs();
        LIST.pages(self.exchange, at_page, order, priority)
    }

    pub async fn all(
        self,
        q: Option<String>,
        priority: Priority,
    ) -> Result<Vec<BaseAsset>, ClientError> {
        collect(self.pages(q, priority)).await
    }

    /// Returns the record with all fields.
    pub async fn get(self, id: AssetId, priority: Priority) -> Result<BaseAsset, ClientError> {
        let call = Call::get("get a base asset", fill(route::ASSET, &[&id])).at(priority);
        Ok(self.exchange.json::<Data<BaseAsset>>(call).await?.data)
    }

    /// Adds tags or sets the scale. Sent once.
    pub async fn update(self, id: AssetId, update: &AssetUpdate) -> Result<(), ClientError> {
        self.exchange
            .done(
                Call::once(
                    "change a base asset",
                    Method::PUT,
                    fill(route::ASSET, &[&id]),
                )
                .json(update),
            )
            .await
    }

    pub async fn delete(self, id: AssetId) -> Result<(), ClientError> {
        self.exchange
            .done(Call::delete(
                "delete a base asset",
                fill(route::ASSET, &[&id]),
            ))
            .await
    }

    pub async fn delete_many(self, ids: &[AssetId]) -> Result<(), ClientError> {
        let call = Call::idempotent("delete base assets", Method::POST, route::DELETE_ASSETS);
        self.exchange
            .done(call.json(&IdList { ids: ids.to_vec() }))
            .await
    }

    /// Names of all tags on base assets.
    pub async fn tags(self, priority: Priority) -> Result<Vec<TagName>, ClientError> {
        let call = Call::get("list tags of base assets", route::ASSET_TAGS).at(priority);
        Ok(self.exchange.json::<Items<TagName>>(call).await?.0)
    }

    pub async fn remove_tag(self, id: AssetId, tag: TagId) -> Result<(), ClientError> {
        self.exchange
            .done(Call::delete(
                "remove a tag",
                fill(route::ASSET_TAG, &[&id, &tag]),
            ))
            .await
    }

    /// The uploaded files.
    pub async fn downloads(
        self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Downloads, ClientError> {
        self.exchange
            .json(
                Call::get(
                    "list an asset's files",
                    fill(route::ASSET_DOWNLOADS, &[&id]),
                )
                .at(priority),
            )
            .await
    }

    pub async fn converted(
        self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Downloads, ClientError> {
        self.exchange
            .json(
                Call::get("list converted files", fill(route::ASSET_CONVERTED, &[&id]))
                    .at(priority),
            )
            .await
    }

    pub async fn pbr(self, id: AssetId, priority: Priority) -> Result<PbrDownloads, ClientError> {
        self.exchange
            .json(
                Call::get("list converted materials", fill(route::ASSET_PBR, &[&id])).at(priority),
            )
            .await
    }

    /// All files as one zip.
    pub async fn zip(self, id: AssetId, priority: Priority) -> Result<Download, ClientError> {
        self.exchange
            .download(
                Call::get("download an asset as zip", fill(route::ASSET_ZIP, &[&id])).at(priority),
            )
            .await
    }

    /// Rendered views.
    pub async fn renders(self, id: AssetId, priority: Priority) -> Result<Downloads, ClientError> {
        self.exchange
            .json(
                Call::get("list an asset's views", fill(route::ASSET_RENDERS, &[&id])).at(priority),
            )
            .await
    }

    /// Converts the asset to further formats. Sent once.
    pub async fn add_formats(
        self,
        id: AssetId,
        formats: &[String],
    ) -> Result<FormatsAdded, ClientError> {
        let call = Call::once(
            "convert an asset",
            Method::POST,
            fill(route::ADD_FORMATS, &[&id]),
        );
        self.exchange
            .json(call.json(&FormatsRequest {
                formats: formats.to_vec(),
            }))
            .await
    }

    pub async fn processed_formats(
        self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Vec<ConversionJob>, ClientError> {
        let call =
            Call::get("list conversions", fill(route::PROCESSED_FORMATS, &[&id])).at(priority);
        Ok(self.exchange.json::<Items<ConversionJob>>(call).await?.0)
    }

    pub async fn rapid_models(
        self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Vec<RapidModel>, ClientError> {
        let call = Call::get(
            "list an asset's rapid models",
            fill(route::ASSET_RAPID_MODELS, &[&id]),
        )
        .at(priority);
        Ok(self.exchange.json::<Items<RapidModel>>(call).await?.0)
    }
}
