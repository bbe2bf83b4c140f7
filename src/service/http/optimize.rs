//! Starts one or several optimizations. Nothing is queued or paid unless the whole request is valid.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::StatusCode;
use serde_json::{Map, Value};

use super::body::{Fields, RequestedConfig};
use super::error::ApiError;
use super::preset::{self, stored_config};
use super::rapidmodel;
use super::rawmodel;
use super::record_forms::{self, RelatedRows};
use super::request::{ApiCall, JsonReply};
use crate::service::app::App;
use crate::service::presets::{self, CORE_VERSION};
use crate::service::records::{AssetRow, NewRapid, Started};
use crate::wire::{
    AssetId, FilenameRule, OptimizerConfig, PresetId, RapidForm, RapidId, UploadStatus,
};

/// The most optimizations of one request.
const MAX_AT_ONCE: usize = 1_000;

/// The settings of an optimization, and the preset that they come from.
struct RequestedSettings {
    config: OptimizerConfig,
    preset: Option<(PresetId, String)>,
    filename_rule: FilenameRule,
}

pub async fn one(call: ApiCall, mut fields: Fields) -> JsonReply {
    let id = call.ids.asset()?;
    // The whole body may be a preset file.
    let is_preset = fields.has("config");
    if is_preset && fields.has("preset_id") {
        fields.refuse("config", "and the preset_id field exclude each other");
    }
    let mut asked = fields.optional_asked("config").unwrap_or_default();
    asked.preset = fields
        .optional_id("preset_id")
        .map(PresetId)
        .or(asked.preset);
    let tags = fields.optional_tags("tags");
    asked.tags = merged(tags, asked.tags);
    asked.export_name = fields.optional_name("exportName").or(asked.export_name);
    if is_preset {
        fields.leave_out_preset_fields();
    }
    fields.finish()?;
    let asset = rawmodel::existing(&call, id).await?;
    let new = NewRapid {
        request_key: call.request_key.clone(),
        ..new_rapid(&call, &asset, asked).await?
    };
    let rapid = start(&call, &[new]).await?[0];
    summary(&call, rapid).await
}

/// The tags of the request and of its configuration.
fn merged(one: Option<Vec<String>>, two: Option<Vec<String>>) -> Option<Vec<String>> {
    match (one, two) {
        (Some(one), Some(two)) => Some([one, two].concat()),
        (one, two) => one.or(two),
    }
}

/// The short form of a new rapid model, in its first state, even if a worker already runs it.
async fn summary(call: &ApiCall, rapid: RapidId) -> JsonReply {
    let row = rapidmodel::existing(call, rapid).await?.into_accepted();
    let summary = record_forms::rapid(&call.app, &row, &RelatedRows::default(), RapidForm::Summary);
    Ok(Json(summary))
}

/// The settings of a factory preset or of a preset of the caller.
async fn preset_settings(call: &ApiCall, id: PresetId) -> Result<RequestedSettings, ApiError> {
    if let Some(preset) = presets::factory(id) {
        return Ok(RequestedSettings {
            config: preset.config(),
            preset: Some((id, preset.name.to_owned())),
            filename_rule: FilenameRule::default(),
        });
    }
    let preset = preset::existing(call, id).await?;
    if presets::needs_newer_core(&preset.core_version) == Some(true) {
        let problem = presets::too_old_for(&preset.core_version);
        let message = format!("The preset {:?} {problem}.", preset.name);
        return Err(ApiError::field("preset_id", message));
    }
    Ok(RequestedSettings {
        config: stored_config(&preset.config)?,
        preset: Some((id, preset.name)),
        filename_rule: preset.filename_rule,
    })
}

/// An optimization of `asset`, which must be complete.
pub(super) async fn new_rapid(
    call: &ApiCall,
    asset: &AssetRow,
    asked: RequestedConfig,
) -> Result<NewRapid, ApiError> {
    if asset.status != UploadStatus::Complete {
        return Err(not_complete(asset.id, Some(&asset.status)));
    }
    let settings = match asked.preset {
        Some(preset) => preset_settings(call, preset).await?,
        None => RequestedSettings {
            config: asked.config,
            preset: None,
            filename_rule: FilenameRule::default(),
        },
    };
    Ok(NewRapid {
        asset: asset.id,
        asset_name: asset.name.clone(),
        scale_factor: asset.scale_factor,
        name: asset.name.clone(),
        config: settings.config.to_text(),
        preset: settings.preset,
        filename_rule: settings.filename_rule,
        export_name: asked.export_name,
        tags: asked.tags.unwrap_or_default(),
        core_version: CORE_VERSION.to_owned(),
        request_key: None,
    })
}

fn not_complete(asset: AssetId, status: Option<&UploadStatus>) -> ApiError {
    let state = match status {
        Some(status) => format!("its upload_status is {:?}", status.as_str()),
        None => "it was deleted or changed in the meantime".to_owned(),
    };
    ApiError::field(
        "id",
        format!("The base asset {asset} is not complete, {state}."),
    )
}

/// Queues and pays all optimizations, or none.
pub(super) async fn start(call: &ApiCall, new: &[NewRapid]) -> Result<Vec<RapidId>, ApiError> {
    let optimizations = call.records().optimizations();
    match optimizations.start(call.user, call.token, new).await? {
        Started::Queued(ids) => {
            call.app.queue.announce();
            Ok(ids)
        }
        Started::NoPoints { left } => Err(ApiError::NoPoints(format!(
            "{} rapid points are needed and {left} are left.",
            new.len()
        ))),
        Started::NoRoom => Err(ApiError::no_storage()),
        Started::NotComplete(asset) => Err(not_complete(asset, None)),
    }
}

/// Reads the request itself: what is wrong with its head or its body is refused in plain text, too.
pub async fn many(State(app): State<Arc<App>>, request: Request) -> Result<StatusCode, ApiError> {
    let queued = async {
        let (mut parts, body) = request.into_parts();
        let call = ApiCall::from_request_parts(&mut parts, &app).await?;
        let fields = Fields::read(body).await?;
        queue_all(&call, fields).await
    };
    queued.await.map_err(ApiError::in_plain_text)
}

async fn queue_all(call: &ApiCall, mut fields: Fields) -> Result<StatusCode, ApiError> {
    let items = fields.objects("optimizations");
    if items.len() > MAX_AT_ONCE {
        let problem = format!("must not have more than {MAX_AT_ONCE} items");
        fields.refuse("optimizations", &problem);
    }
    fields.finish()?;
    let mut new = Vec::with_capacity(items.len());
    for (number, item) in items.into_iter().enumerate() {
        let rapid = item_of(call, item).await;
        let rapid = rapid.map_err(|error| named(number, error))?;
        let key = call.request_key.as_ref();
        new.push(NewRapid {
            request_key: key.map(|key| format!("{key}/{number}")),
            ..rapid
        });
    }
    if !new.is_empty() {
        start(call, &new).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn item_of(call: &ApiCall, item: Map<String, Value>) -> Result<NewRapid, ApiError> {
    let mut item = Fields::of(item);
    let model = AssetId(item.id("model_id"));
    let asked = item.asked("config");
    item.finish()?;
    let asset = rawmodel::existing(call, model).await?;
    new_rapid(call, &asset, asked).await
}

/// Adds the index of the optimization to an error.
fn named(number: usize, error: ApiError) -> ApiError {
    match error {
        ApiError::Invalid { message, errors } => ApiError::Invalid {
            message: format!("optimizations[{number}]: {message}"),
            errors,
        },
        ApiError::NotFound(message) => {
            ApiError::NotFound(format!("optimizations[{number}]: {message}"))
        }
        other => other,
    }
}
