//! Calls about base assets: upload, changes, files and conversion.

use reqwest::Method;

use super::body::Download;
use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::models::ModelCalls;
use crate::wire::paths::{ABANDON_UPLOAD, fill, route};
use crate::wire::{
    AssetId, AssetUpdate, BaseAsset, ConversionJob, Downloads, FormatsAdded, FormatsRequest,
    PbrDownloads, RapidModel, StartUpload, UploadStarted,
};

/// Calls about base assets.
pub type AssetCalls<'a> = ModelCalls<'a, BaseAsset>;

impl AssetCalls<'_> {
    /// The status of a request to give up an upload that another client has joined.
    pub const JOINED: u16 = 409;

    /// Starts an upload: creates an incomplete asset. Sent once.
    pub async fn start_upload(self, request: &StartUpload) -> Result<UploadStarted, ClientError> {
        self.start_upload_keyed(request, None, None).await
    }

    /// The same. A service that knows idempotency keys answers a second request with the key by the upload that the first
    /// has started. One that knows join keys does so for the requests of all clients with the same join key.
    pub async fn start_upload_keyed(
        self,
        request: &StartUpload,
        key: Option<&str>,
        join_key: Option<&str>,
    ) -> Result<UploadStarted, ClientError> {
        let call = Call::once("start an upload", Method::POST, route::START_UPLOAD);
        let call = call.keyed(key).joining(join_key).json(request).uncounted();
        self.exchange.json(call).await
    }

    /// Completes an upload after all files are sent. Sent once; if the reply is lost, the state of the asset
    /// shows whether the call took effect.
    pub async fn complete_upload(self, id: AssetId) -> Result<BaseAsset, ClientError> {
        let path = fill(route::COMPLETE_UPLOAD, &[&id]);
        let call = Call::once("complete an upload", Method::GET, path);
        self.exchange.data(call.uncounted()).await
    }

    /// Gives up an upload that others may have joined: its asset is deleted if nobody has.
    ///
    /// # Errors
    /// [`ClientError::Rejected`] with [`JOINED`](Self::JOINED) if somebody has: the asset stays.
    pub async fn abandon_upload(self, id: AssetId) -> Result<(), ClientError> {
        let path = fill(ABANDON_UPLOAD, &[&id]);
        let call = Call::idempotent("give up an upload", Method::POST, path);
        self.exchange.done(call.uncounted()).await
    }

    /// Tries a failed import again. Sent once.
    pub async fn retry_import(self, id: AssetId) -> Result<(), ClientError> {
        let path = fill(route::RETRY_IMPORT, &[&id]);
        let call = Call::once("retry an import", Method::POST, path);
        self.exchange.done(call.uncounted()).await
    }

    /// Adds tags or sets the scale. Sent once.
    pub async fn update(self, id: AssetId, update: &AssetUpdate) -> Result<(), ClientError> {
        let path = fill(route::ASSET, &[&id]);
        let call = Call::once("change a base asset", Method::PUT, path);
        self.exchange.done(call.json(update)).await
    }

    /// Adds tags. Sent once; adding the same again has no effect.
    pub async fn add_tags(
        self,
        id: AssetId,
        tags: &[String],
        priority: Priority,
    ) -> Result<(), ClientError> {
        let path = fill(route::ASSET, &[&id]);
        let call = Call::once("tag a base asset", Method::PUT, path);
        let tags = Some(tags.to_vec());
        let update = AssetUpdate {
            tags,
            ..AssetUpdate::default()
        };
        self.exchange.done(call.json(&update).at(priority)).await
    }

    /// The uploaded files.
    pub async fn downloads(
        self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Downloads, ClientError> {
        let path = fill(route::ASSET_DOWNLOADS, &[&id]);
        let call = Call::get("list an asset's files", path);
        self.exchange.json(call.at(priority)).await
    }

    pub async fn converted(
        self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Downloads, ClientError> {
        let path = fill(route::ASSET_CONVERTED, &[&id]);
        let call = Call::get("list converted files", path);
        self.exchange.json(call.at(priority)).await
    }

    pub async fn pbr(self, id: AssetId, priority: Priority) -> Result<PbrDownloads, ClientError> {
        let path = fill(route::ASSET_PBR, &[&id]);
        let call = Call::get("list converted materials", path);
        self.exchange.json(call.at(priority)).await
    }

    /// All files as one zip.
    pub async fn zip(self, id: AssetId, priority: Priority) -> Result<Download, ClientError> {
        let path = fill(route::ASSET_ZIP, &[&id]);
        let call = Call::get("download an asset as zip", path);
        self.exchange.download(call.at(priority)).await
    }

    /// Converts the asset to further formats. Sent once.
    pub async fn add_formats(
        self,
        id: AssetId,
        formats: &[String],
    ) -> Result<FormatsAdded, ClientError> {
        let path = fill(route::ADD_FORMATS, &[&id]);
        let call = Call::once("convert an asset", Method::POST, path);
        let formats = formats.to_vec();
        self.exchange
            .json(call.json(&FormatsRequest { formats }))
            .await
    }

    pub async fn processed_formats(
        self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Vec<ConversionJob>, ClientError> {
        let path = fill(route::PROCESSED_FORMATS, &[&id]);
        let call = Call::get("list conversions", path);
        self.exchange.items(call.at(priority)).await
    }

    pub async fn rapid_models(
        self,
        id: AssetId,
        priority: Priority,
    ) -> Result<Vec<RapidModel>, ClientError> {
        let path = fill(route::ASSET_RAPID_MODELS, &[&id]);
        let call = Call::get("list an asset's rapid models", path);
        self.exchange.items(call.at(priority)).await
    }
}
