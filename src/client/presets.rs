//! Calls about presets: the user's own, the service's, their categories and zips.

use reqwest::Method;

use super::body::Download;
use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::groups::PresetCalls;
use crate::wire::paths::{fill, route};
use crate::wire::{
    CreatePreset, FactoryPreset, OptimizerConfig, Preset, PresetCategory, PresetId, RpdxRequest,
    UpdatePreset,
};

impl PresetCalls<'_> {
    pub async fn list(self, priority: Priority) -> Result<Vec<Preset>, ClientError> {
        let call = Call::get("list presets", route::PRESETS).at(priority);
        self.exchange.items(call).await
    }

    pub async fn factory(self, priority: Priority) -> Result<Vec<FactoryPreset>, ClientError> {
        let call = Call::get("list factory presets", route::FACTORY_PRESETS).at(priority);
        self.exchange.items(call).await
    }

    pub async fn get(self, id: PresetId, priority: Priority) -> Result<Preset, ClientError> {
        let call = Call::get("get a preset", fill(route::PRESET, &[&id])).at(priority);
        self.exchange.data(call).await
    }

    /// Creates a preset. Sent once. The API does not define the reply, so the new preset is found by listing.
    pub async fn create(self, request: &CreatePreset) -> Result<(), ClientError> {
        let call = Call::once("create a preset", Method::POST, route::CREATE_PRESET).json(request);
        self.exchange.done(call).await
    }

    /// Replaces the name and configuration of a preset.
    pub async fn update(self, request: &UpdatePreset) -> Result<(), ClientError> {
        let call = Call::idempotent("change a preset", Method::PATCH, route::UPDATE_PRESET);
        self.exchange.done(call.json(request)).await
    }

    pub async fn delete(self, id: PresetId) -> Result<(), ClientError> {
        let call = Call::delete("delete a preset", fill(route::PRESET, &[&id]));
        self.exchange.done(call).await
    }

    pub async fn categories(self, priority: Priority) -> Result<Vec<PresetCategory>, ClientError> {
        let call = Call::get("list preset categories", route::PRESET_CATEGORIES).at(priority);
        self.exchange.items(call).await
    }

    /// A preset in the API and command-line formats, as a zip.
    pub async fn zip(self, id: PresetId, priority: Priority) -> Result<Download, ClientError> {
        let call = Call::get("download a preset", fill(route::PRESET_ZIP, &[&id])).at(priority);
        self.exchange.download(call).await
    }

    /// A preset in the command-line format, as a zip.
    pub async fn rpdx(self, id: PresetId, priority: Priority) -> Result<Download, ClientError> {
        let call = Call::get("download a preset", fill(route::PRESET_RPDX, &[&id])).at(priority);
        self.exchange.download(call).await
    }

    /// A configuration in the command-line format, as a zip.
    pub async fn config_rpdx(self, config: &OptimizerConfig) -> Result<Download, ClientError> {
        let call = Call::idempotent("download a configuration", Method::POST, route::CONFIG_RPDX);
        self.exchange
            .download(call.json(&RpdxRequest {
                config: config.clone(),
            }))
            .await
    }
}
