//! Factory presets, which are read-only, and presets of users.

use axum::Json;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::body::Fields;
use super::error::ApiError;
use super::request::{ApiCall, JsonReply};
use crate::service::names;
use crate::service::presets::{self, CORE_VERSION, FactoryPreset, RPDX_VERSION};
use crate::service::records::{NewPreset, PresetChange, PresetRow};
use crate::wire::{
    FilenameRule, OptimizerConfig, Preset, PresetCategory, PresetForm, PresetId, PresetMeta,
};

/// What is wrong with the configuration of a preset that is not saved yet, for the page.
pub const CHECK: &str = "/page/preset_check.json";

/// The longest description, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 4_096;

pub async fn create(call: ApiCall, mut fields: Fields) -> JsonReply {
    let name = fields.name("name");
    let description = description(&mut fields).unwrap_or_default();
    let core = core_version(&mut fields);
    let config = fields.config("config");
    let rule = filename_rule(&mut fields);
    fields.leave_out_preset_fields();
    fields.finish()?;
    let core = core.unwrap_or_else(|| CORE_VERSION.to_owned());
    let config = config.to_text();
    let new = NewPreset {
        name: &name,
        description: &description,
        config: &config,
        core_version: &core,
        filename_rule: rule.unwrap_or_default(),
    };
    let preset = call.records().presets().create(call.user, &new).await?;
    Ok(Json(written(&preset, PresetForm::Detail)?))
}

/// The errors that saving the field `config` would have.
pub async fn check(_: ApiCall, mut fields: Fields) -> JsonReply {
    fields.config("config");
    let errors = match fields.finish() {
        Err(ApiError::Invalid { errors, .. }) => errors.into_values().flatten().collect(),
        other => other.map(|()| Vec::new())?,
    };
    Ok(Json(json!({ "errors": errors })))
}

pub async fn update(call: ApiCall, mut fields: Fields) -> JsonReply {
    let id = PresetId(fields.id("id"));
    let name = fields.name("name");
    let description = description(&mut fields);
    let core = core_version(&mut fields);
    let config = fields.config("config").to_text();
    let rule = filename_rule(&mut fields);
    fields.leave_out_preset_fields();
    fields.finish()?;
    refuse_factory(id)?;
    let change = PresetChange {
        name: &name,
        config: &config,
        description: description.as_deref(),
        core_version: core.as_deref(),
        filename_rule: rule.as_ref(),
    };
    let updating = call.records().presets().update(call.user, id, &change);
    let preset = updating.await?.ok_or_else(|| ApiError::no("preset"))?;
    Ok(Json(written(&preset, PresetForm::Detail)?))
}

pub async fn list(call: ApiCall) -> Result<Json<Vec<Value>>, ApiError> {
    let search = call.query.search()?;
    let found = call.records().presets().list(call.user, &search).await?;
    let written = found.iter().map(|preset| written(preset, PresetForm::List));
    Ok(Json(written.collect::<Result<_, _>>()?))
}

pub async fn factory(call: ApiCall) -> Result<Json<Vec<Value>>, ApiError> {
    let search = call.query.search()?;
    let found = presets::FACTORY
        .iter()
        .filter(|preset| search.matches(&preset.folded()));
    Ok(Json(found.map(factory_item).collect()))
}

fn factory_item(preset: &FactoryPreset) -> Value {
    let mut other = serde_json::Map::new();
    other.insert("description".to_owned(), preset.description.into());
    other.insert("category_id".to_owned(), preset.category.into());
    let item = crate::wire::FactoryPreset {
        id: preset.id,
        name: preset.name.to_owned(),
        config: preset.config(),
        other,
    };
    serde_json::to_value(item).expect("a preset can be written")
}

pub async fn show(call: ApiCall) -> JsonReply {
    let id = call.ids.preset()?;
    if let Some(preset) = presets::factory(id) {
        return Ok(Json(factory_detail(preset)));
    }
    let preset = existing(&call, id).await?;
    Ok(Json(written(&preset, PresetForm::Detail)?))
}

fn factory_detail(preset: &FactoryPreset) -> Value {
    Preset {
        id: preset.id,
        name: preset.name.to_owned(),
        description: Some(preset.description.to_owned()),
        config: preset.config(),
        rpdx_version: Some(RPDX_VERSION.to_owned()),
        user_id: None,
        created_at: None,
        updated_at: None,
        meta: None,
        other: Default::default(),
    }
    .to_form(PresetForm::Detail)
}

pub async fn delete(call: ApiCall) -> Result<StatusCode, ApiError> {
    let id = call.ids.preset()?;
    refuse_factory(id)?;
    let existed = call.records().presets().delete(call.user, id).await?;
    ApiError::deleted(existed, "preset")
}

pub async fn categories(_: ApiCall) -> Json<Vec<PresetCategory>> {
    Json(presets::categories())
}

fn description(fields: &mut Fields) -> Option<String> {
    let description = fields.optional_text("description")?;
    if description.len() > MAX_DESCRIPTION_BYTES {
        let problem = format!("must not be longer than {MAX_DESCRIPTION_BYTES} bytes");
        fields.refuse("description", &problem);
    }
    Some(description)
}

/// The oldest version of the optimizer that can use the preset.
fn core_version(fields: &mut Fields) -> Option<String> {
    let version = fields.optional_text("engineCoreVersion")?;
    match presets::needs_newer_core(&version) {
        Some(false) => {}
        Some(true) => fields.refuse("engineCoreVersion", &presets::too_old_for(&version)),
        None => fields.refuse("engineCoreVersion", "must be a version, such as 1.2.3"),
    }
    Some(version)
}

/// The file-name rule in the field `meta`, an object or its JSON text.
fn filename_rule(fields: &mut Fields) -> Option<FilenameRule> {
    let meta = fields.optional_object("meta")?;
    let rule = meta.get("filename")?;
    let is_flag = |name| matches!(rule.get(name), None | Some(Value::Null | Value::Bool(_)));
    let suffix = rule.get("useSuffix");
    let is_suffix = match suffix {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty() || names::check_name(text).is_ok(),
        Some(_) => false,
    };
    if !rule.is_object() || !is_flag("useId") || !is_flag("usePresetName") || !is_suffix {
        fields.refuse(
            "meta",
            "must have a filename object with useId and usePresetName (true or false) and useSuffix (a name or null)",
        );
        return None;
    }
    // The types were checked above.
    serde_json::from_value(rule.clone()).ok()
}

/// Refuses changes of factory presets.
fn refuse_factory(id: PresetId) -> Result<(), ApiError> {
    match presets::factory(id) {
        Some(preset) => Err(ApiError::Forbidden(format!(
            "{:?} is a factory preset and cannot be changed.",
            preset.name
        ))),
        None => Ok(()),
    }
}

/// The configuration in a record.
pub(super) fn stored_config(text: &str) -> Result<OptimizerConfig, ApiError> {
    OptimizerConfig::parse(text).map_err(ApiError::internal)
}

/// A preset of the caller.
pub(super) async fn existing(call: &ApiCall, id: PresetId) -> Result<PresetRow, ApiError> {
    let preset = call.records().presets().get(call.user, id).await?;
    preset.ok_or_else(|| ApiError::no("preset"))
}

fn written(row: &PresetRow, form: PresetForm) -> Result<Value, ApiError> {
    let preset = Preset {
        id: row.id,
        name: row.name.clone(),
        description: Some(row.description.clone()),
        config: stored_config(&row.config)?,
        rpdx_version: Some(RPDX_VERSION.to_owned()),
        user_id: Some(row.user),
        created_at: Some(row.created_at.into()),
        updated_at: Some(row.updated_at.into()),
        meta: (form == PresetForm::List).then(|| PresetMeta {
            filename: Some(row.filename_rule.clone()),
            other: Default::default(),
        }),
        other: Map::from_iter([(
            "engine_core_version".to_owned(),
            row.core_version.clone().into(),
        )]),
    };
    Ok(preset.to_form(form))
}
