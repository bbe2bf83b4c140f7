//! Calls about base assets: upload, records, tags, files, conversion, and optimization.

use reqwest::Method;

use super::Client;
use super::body::Download;
use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use crate::wire::paths::{fill, route};
use crate::wire::{
    AssetId, AssetUpdate, BaseAsset, ConversionJob, Data, Downloads, FormatsAdded, FormatsRequest,
    IdList, Items, MultiOptimize, OptimizeRequest, PbrDownloads, RapidModel, StartUpload, TagId,
    TagName, UploadStarted,
};

impl Client {
    /// Starts an upload: creates an incomplete asset. Sent once.
    pub async fn start_upload(&self, request: &StartUpload) -> Result<UploadStarted, ClientError> {
        let call = Call::once("start an upload", Method::POST, route::START_UPLOAD);
        self.json(call.json(request).uncounted()).await
    }

    /// Completes an upload after all files are sent. Sent once; if the reply is lost, the state of the asset
    /// shows whether the call took effect.
    pub async fn complete_upload(&self, id: AssetId) -> Result<BaseAsset, ClientError> {
        let call = Call::once(
            "complete an upload",
            Method::GET,
            fill(route::COMPLETE_UPLOAD, &[&id]),
        );
        Ok(self.json::<Data<BaseAsset>>(call.uncounted()).await?.data)
    }

    /// Tries a failed import again. Sent once.
    pub async fn retry_import(&self, id: AssetId) -> Result<(), ClientError> {
        self.done(
            Call::once(
                "retry an import",
                Method::POST,
                fill(route::RETRY_IMPORT, &[&id]),
            )
            .uncounted(),
        )
        .await
    }

    /// Returns the record with all fields.
    pub async fn asset(&self, id: AssetId, priority: Priority) -> Result<BaseAsset, ClientError> {
        let call = Call::get("get a base asset", fill(route::ASSET, &[&id])).at(priority);
        Ok(self.json::<Data<BaseAsset>>(call).await?.data)
    }

    /// Adds tags or sets the scale. Sent once.
    pub async fn update_asset(&self, id: AssetId, update: &AssetUpdate) -> Result<(), ClientError> {
        self.done(
            Call::once(
                "change a base asset",
                Method::PUT,
                fill(route::ASSET, &[&id]),
            )
            .json(update),
        )
        .await
    }

    pub async fn delete_asset(&self, id: AssetId) -> Result<(), ClientError> {
        self.done(Call::delete(
            "delete a base asset",
            fill(route::ASSET, &[&id]),
        ))
        .await
    }

    pub async fn delete_assets(&self, ids: &[AssetId]) -> Result<(), ClientError> {
        let call = Call::idempotent("delete base assets", Method::POST, route::DELETE_ASSETS);
        self.done(call.json(&IdList { ids: ids.to_vec() })).await
    }

    pub async fn remove_asset_tag(&self, id: AssetId, tag: TagId) -> Result<(), ClientError> {
        self.done(Call::delete(
            "remove a tag",
            fill(route::ASSET_TAG, &[&id, &tag]),
        ))
        .await
    }

    /// Names of all tags on base assets.
    pub async fn asset_tags(&self, priority: Priority) -> Result<Vec<TagName>, ClientError> {
        let call = Call::get("list tags of base assets", route::ASSET_TAGS).at(priority);
        Ok(self.json::<Items<TagName>>(call).await?.0)
    }

    /// The uploaded files.
    pub async fn asset_downloads(
        &self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Downloads, ClientError> {
        self.json(
            Call::get(
                "list an asset's files",
                fill(route::ASSET_DOWNLOADS, &[&id]),
            )
            .at(priority),
        )
        .await
    }

    pub async fn asset_converted(
        &self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Downloads, ClientError> {
        self.json(
            Call::get("list converted files", fill(route::ASSET_CONVERTED, &[&id])).at(priority),
        )
        .await
    }

    pub async fn asset_pbr(
        &self,
        id: AssetId,
        priority: Priority,
    ) -> Result<PbrDownloads, ClientError> {
        self.json(
            Call::get("list converted materials", fill(route::ASSET_PBR, &[&id])).at(priority),
        )
        .await
    }

    /// All files as one zip.
    pub async fn asset_zip(
        &self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Download, ClientError> {
        self.download(
            Call::get("download an asset as zip", fill(route::ASSET_ZIP, &[&id])).at(priority),
        )
        .await
    }

    /// Rendered views.
    pub async fn asset_renders(
        &self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Downloads, ClientError> {
        self.json(
            Call::get("list an asset's views", fill(route::ASSET_RENDERS, &[&id])).at(priority),
        )
        .await
    }

    /// Converts the asset to further formats. Sent once.
    pub async fn add_formats(
        &self,
        id: AssetId,
        formats: &[String],
    ) -> Result<FormatsAdded, ClientError> {
        let call = Call::once(
            "convert an asset",
            Method::POST,
            fill(route::ADD_FORMATS, &[&id]),
        );
        self.json(call.json(&FormatsRequest {
            formats: formats.to_vec(),
        }))
        .await
    }

    pub async fn processed_formats(
        &self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Vec<ConversionJob>, ClientError> {
        let call =
            Call::get("list conversions", fill(route::PROCESSED_FORMATS, &[&id])).at(priority);
        Ok(self.json::<Items<ConversionJob>>(call).await?.0)
    }

    pub async fn asset_rapid_models(
        &self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Vec<RapidModel>, ClientError> {
        let call = Call::get(
            "list an asset's rapid models",
            fill(route::ASSET_RAPID_MODELS, &[&id]),
        )
        .at(priority);
        Ok(self.json::<Items<RapidModel>>(call).await?.0)
    }

    /// Optimizations of the last week that run or failed.
    pub async fn running_jobs(&self, priority: Priority) -> Result<Vec<RapidModel>, ClientError> {
        let call = Call::get("list running jobs", route::RUNNING_JOBS).at(priority);
        Ok(self.json::<Items<RapidModel>>(call).await?.0)
    }

    /// Optimizes a base asset; costs points. Sent once.
    pub async fn optimize(
        &self,
        id: AssetId,
        request: &OptimizeRequest,
    ) -> Result<RapidModel, ClientError> {
        let call = Call::once(
            "optimize an asset",
            Method::POST,
            fill(route::OPTIMIZE, &[&id]),
        )
        .json(request);
        Ok(self.json::<Data<RapidModel>>(call).await?.data)
    }

    /// Optimizes several base assets; costs points. Sent once.
    pub async fn multi_optimize(&self, request: &MultiOptimize) -> Result<(), ClientError> {
        self.done(Call::once("optimize assets", Method::POST, route::MULTI_OPTIMIZE).json(request))
            .await
    }
}
