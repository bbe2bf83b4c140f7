//! Version 1 of the API: deprecated, for clients that still use it.
//!
//! Only the form of some replies differs from version 2.

use axum::Json;
use serde_json::{Map, Value, json};

use super::body::{Fields, RequestedConfig};
use super::command_line::{self, VERSION_1_FORMATS};
use super::error::ApiError;
use super::optimize::{OwnPresets, new_rapid, start};
use super::rapidmodel;
use super::rawmodel;
use super::record_forms::RelatedRows;
use super::request::{ApiCall, JsonReply};
use super::upload;
use crate::service::names::{self, file_stem};
use crate::service::records::{Area, AssetRow, NewAsset};
use crate::wire::paths::{fill, legacy_route};
use crate::wire::{AssetForm, LegacyOptimizeReply, ModelId, SourceModel, UploadStarted};
use assetfs_formats as formats;

/// The target sizes that the oldest endpoint allows, in megabytes.
const TARGET_MB: std::ops::RangeInclusive<f64> = 1.0..=25.0;

pub async fn start_upload(
    call: ApiCall,
    mut fields: Fields,
) -> Result<Json<UploadStarted>, ApiError> {
    let filenames = upload::file_names(&mut fields);
    fields.finish()?;
    let (main_file, format) = names::main_file(&filenames);
    let main = main_file.rsplit('/').next().unwrap_or(main_file);
    let name = file_stem(main.strip_suffix(&format!(".{format}")).unwrap_or(main));
    let new = NewAsset {
        name: &name,
        filenames: &filenames,
        is_zip: upload::is_one_zip(&filenames),
        format: &format,
        main_file,
        start_key: None,
        join_key: None,
        token: call.token,
    };
    upload::begin(&call, &new, legacy_route::COMPLETE_UPLOAD).await
}

pub async fn complete_upload(call: ApiCall) -> JsonReply {
    let id = call.ids.asset()?;
    upload::finish(&call, id).await?;
    let asset = rawmodel::written(&call, id, AssetForm::UploadComplete).await?;
    let mut data = serde_json::Map::new();
    for name in "id name processing upload_status size created_at".split(' ') {
        data.insert(name.to_owned(), asset[name].clone());
    }
    let optimize = call.app.url(&fill(legacy_route::OPTIMIZE, &[&id]));
    Ok(Json(
        json!({ "data": data, "links": { "optimize": optimize } }),
    ))
}

pub async fn rapid(call: ApiCall) -> JsonReply {
    let row = rapidmodel::existing(&call, call.ids.rapid()?).await?;
    let exports = RelatedRows::area(&call.app, ModelId::Rapid(row.id), Area::Export).await?;
    let mut downloads = serde_json::Map::new();
    for (name, url) in exports.iter() {
        let format = formats::extension(name);
        if VERSION_1_FORMATS.contains(&format.as_str()) {
            downloads.insert(format, json!(url));
        }
    }
    Ok(Json(json!({ "data": {
        "id": row.id,
        "optimization_status": row.status,
        "downloads": downloads,
    } })))
}

/// Optimizes with the options of the old command line.
pub async fn process(
    call: ApiCall,
    mut fields: Fields,
) -> Result<Json<LegacyOptimizeReply>, ApiError> {
    let id = call.ids.asset()?;
    let target = fields.optional_number("max_size_mb");
    let fits = |target: &f64| TARGET_MB.contains(target) && target.fract() == 0.0;
    if target.is_some_and(|target| !fits(&target)) {
        fields.refuse("max_size_mb", "must be an integer from 1 to 25");
    }
    let target = target.filter(fits);
    let options = fields.optional_object("config").unwrap_or_default();
    let asset = rawmodel::existing(&call, id).await?;
    let config = match command_line::configuration(options, longest_side(&asset)) {
        Ok(mut config) => {
            config.entry("schema").or_insert_with(|| json!("2.5"));
            if let Some(target) = target
                && let Err(problem) = command_line::put(
                    &mut config,
                    &["workflowSettings", "targetMBSize"],
                    json!(target),
                )
            {
                fields.refuse("config", &problem);
            }
            config
        }
        Err(problem) => {
            fields.refuse("config", &problem);
            Map::new()
        }
    };
    let asked = fields.check_asked("config", config);
    fields.finish()?;
    optimize_with(&call, &asset, asked).await
}

/// The longest side of the model's bounding box, if the analysis found one.
fn longest_side(asset: &AssetRow) -> Option<f64> {
    let metadata: Value = serde_json::from_str(asset.metadata.as_deref()?).ok()?;
    let sides = metadata["boundingBox"]["size"].as_array()?.iter();
    sides.filter_map(Value::as_f64).reduce(f64::max)
}

pub async fn optimize(
    call: ApiCall,
    mut fields: Fields,
) -> Result<Json<LegacyOptimizeReply>, ApiError> {
    let id = call.ids.asset()?;
    let asked = fields.asked("config");
    fields.leave_out_preset_fields();
    fields.finish()?;
    let asset = rawmodel::existing(&call, id).await?;
    optimize_with(&call, &asset, asked).await
}

async fn optimize_with(
    call: &ApiCall,
    asset: &AssetRow,
    mut asked: RequestedConfig,
) -> Result<Json<LegacyOptimizeReply>, ApiError> {
    if asked.preset.is_none() {
        command_line::with_formats(&mut asked.config.0);
    }
    let presets = OwnPresets::asked_for(call, [&asked]).await?;
    let new = new_rapid(asset, asked, &presets)?;
    let configuration = serde_json::from_str(&new.config).unwrap_or_default();
    let rapid = start(call, &[new]).await?[0];
    let row = rapidmodel::existing(call, rapid).await?.into_accepted();
    Ok(Json(LegacyOptimizeReply {
        id: row.id,
        rawmodel: Some(SourceModel {
            id: row.asset,
            name: row.asset_name,
            processing: None,
            other: Default::default(),
        }),
        accepted: Some(true),
        configuration,
        optimization_status: row.status,
        name: row.name,
        updated_at: Some(row.updated_at.into()),
        created_at: Some(row.created_at.into()),
        other: Default::default(),
    }))
}
