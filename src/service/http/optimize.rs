//! Starts one or several optimizations. Nothing is queued or paid unless the whole request is valid.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::StatusCode;
use serde_json::{Map, Value};

use super::body::{Fields, RequestedConfig};
use super::error::ApiError;
use super::preset::stored_config;
use super::rapidmodel;
use super::rawmodel;
use super::record_forms::{self, RelatedRows};
use super::request::{ApiCall, JsonReply};
use crate::service::app::App;
use crate::service::presets::{self, CORE_VERSION};
use crate::service::records::{AssetRow, NewRapid, PresetRow, Started};
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
    let presets = OwnPresets::asked_for(&call, [&asked]).await?;
    let new = NewRapid {
        request_key: call.request_key.clone(),
        ..new_rapid(&asset, asked, &presets)?
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

/// The presets of the caller that a request names.
pub(super) struct OwnPresets(HashMap<PresetId, PresetRow>);

impl OwnPresets {
    /// Reads the presets that are asked for with one query.
    pub(super) async fn asked_for<'a>(
        call: &ApiCall,
        asked: impl IntoIterator<Item = &'a RequestedConfig>,
    ) -> Result<OwnPresets, ApiError> {
        let own = asked.into_iter().filter_map(|asked| asked.preset);
        let own: BTreeSet<PresetId> = own.filter(|id| presets::factory(*id).is_none()).collect();
        let own: Vec<PresetId> = own.into_iter().collect();
        let rows = call.records().presets().get_all(call.user, &own).await?;
        Ok(OwnPresets(
            rows.into_iter().map(|row| (row.id, row)).collect(),
        ))
    }

    /// The settings of a factory preset or of a preset of the caller.
    fn settings(&self, id: PresetId) -> Result<RequestedSettings, ApiError> {
        if let Some(preset) = presets::factory(id) {
            return Ok(RequestedSettings {
                config: preset.config(),
                preset: Some((id, preset.name.to_owned())),
                filename_rule: FilenameRule::default(),
            });
        }
        let preset = self.0.get(&id).ok_or_else(|| ApiError::no("preset"))?;
        if presets::needs_newer_core(&preset.core_version) == Some(true) {
            let problem = presets::too_old_for(&preset.core_version);
            let message = format!("The preset {:?} {problem}.", preset.name);
            return Err(ApiError::field("preset_id", message));
        }
        Ok(RequestedSettings {
            config: stored_config(&preset.config)?,
            preset: Some((id, preset.name.clone())),
            filename_rule: preset.filename_rule.clone(),
        })
    }
}

/// An optimization of `asset`, which must be complete.
pub(super) fn new_rapid(
    asset: &AssetRow,
    asked: RequestedConfig,
    presets: &OwnPresets,
) -> Result<NewRapid, ApiError> {
    if asset.status != UploadStatus::Complete {
        return Err(not_complete(asset.id, Some(&asset.status)));
    }
    let settings = match asked.preset {
        Some(preset) => presets.settings(preset)?,
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
    let items = items.into_iter().enumerate();
    let items = items.map(|(number, item)| item_of(item).map_err(|error| named(number, error)));
    let items: Vec<(AssetId, RequestedConfig)> = items.collect::<Result<_, _>>()?;
    if items.is_empty() {
        return Ok(StatusCode::NO_CONTENT);
    }
    let ids: BTreeSet<AssetId> = items.iter().map(|(id, _)| *id).collect();
    let ids: Vec<AssetId> = ids.into_iter().collect();
    let assets = call.records().assets().get_all(call.user, &ids).await?;
    let assets: HashMap<AssetId, AssetRow> = assets.into_iter().map(|row| (row.id, row)).collect();
    let presets = OwnPresets::asked_for(call, items.iter().map(|(_, asked)| asked)).await?;
    let new = items.into_iter().enumerate().map(|(number, (id, asked))| {
        let asset = assets.get(&id).ok_or_else(|| ApiError::no("base asset"));
        let rapid = asset.and_then(|asset| new_rapid(asset, asked, &presets));
        let key = call.request_key.as_ref();
        Ok(NewRapid {
            request_key: key.map(|key| format!("{key}/{number}")),
            ..rapid.map_err(|error| named(number, error))?
        })
    });
    start(call, &new.collect::<Result<Vec<_>, ApiError>>()?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The asset and the configuration of one optimization of several.
fn item_of(item: Map<String, Value>) -> Result<(AssetId, RequestedConfig), ApiError> {
    let mut item = Fields::of(item);
    let model = AssetId(item.id("model_id"));
    let asked = item.asked("config");
    item.finish()?;
    Ok((model, asked))
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
