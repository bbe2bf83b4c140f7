//! Embeds: viewers of rapid models, and of base assets that are glb files.

use axum::Json;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::body::Fields;
use super::error::ApiError;
use super::exhibit::{self, Model};
use super::page::envelope;
use super::rapidmodel;
use super::rawmodel;
use super::record_forms::RelatedRows;
use super::request::{ApiCall, JsonReply};
use crate::service::app::App;
use crate::service::events;
use crate::service::ids::{id_number, random_name};
use crate::service::records::{
    Area, AssetRow, Conversion, CreatedEmbed, EmbedRow, FileRow, NewEmbed, NewEvent, Uploaded,
};
use crate::service::viewer::ViewerSettings;
use crate::wire::strict_json;
use crate::wire::{
    AssetId, Embed, EmbedForm, EmbedId, EventData, EventStatus, EventType, ModelId,
    OptimizationStatus, Page, RapidId, UploadStatus, UserId, ViewerConfig,
};
use assetfs_engine::settings::most_alike;
use assetfs_formats as formats;

const PER_PAGE: u64 = 12;
const MAX_PER_PAGE: u64 = 50;

/// Maximum number of unknown keys that a message names, and of characters of each.
const NAMED_KEYS: usize = 10;
const MAX_NAMED_KEY_CHARS: usize = 64;

/// The common fields of the two calls that create an embed.
struct EmbedRequest {
    name: String,
    config: Option<String>,
    save_theme: bool,
}

impl EmbedRequest {
    fn read(fields: &mut Fields) -> EmbedRequest {
        let name = fields.name("name");
        let save_theme = fields.optional_flag("save_user_theme").unwrap_or(false);
        let config = fields.optional_text("config");
        if let Some(problem) = config.as_deref().and_then(problem_of) {
            fields.refuse("config", &problem);
        }
        EmbedRequest {
            name,
            config,
            save_theme,
        }
    }

    /// `done`, followed by the keys of the configuration that the viewer does not know, and those whose values it does not
    /// use as they are.
    fn message(&self, done: &str) -> String {
        let mut message = done.to_owned();
        let Some(config) = self.config.as_deref() else {
            return message;
        };
        let settings = ViewerSettings::read(config);
        for (problem, keys) in [
            (
                "These keys of the config are not known and have no effect",
                unknown_keys(config).join(", "),
            ),
            (
                "The values of these keys of the config cannot be used and have no effect",
                settings.dropped().join(", "),
            ),
            (
                "Parts of the values of these keys of the config cannot be used and have no effect",
                settings.partly_used().join(", "),
            ),
            (
                "The values of these keys of the config are out of range, and the nearest limit is used",
                settings.out_of_range().join(", "),
            ),
        ] {
            if !keys.is_empty() {
                message += &format!(" {problem}: {keys}.");
            }
        }
        message
    }

    /// Creates the embed. Without a configuration it gets the user's theme.
    async fn create(
        self,
        call: &ApiCall,
        source: ModelId,
        event: impl FnOnce(EmbedId, &str) -> NewEvent,
    ) -> Result<(EmbedId, String), ApiError> {
        let (app, user) = (&call.app, call.user);
        let key = call.request_key.as_deref();
        let config = match self.config {
            Some(config) => config,
            None => app.records.embeds().theme(user).await?,
        };
        if self.save_theme {
            app.records.embeds().save_theme(user, &config).await?;
        }
        let identifier = random_name();
        let new = NewEmbed {
            identifier: &identifier,
            name: &self.name,
            source,
            config: &config,
            request_key: key,
        };
        let url = viewer_url(app, &identifier);
        let creating = app
            .records
            .embeds()
            .create(user, &new, |id| event(id, &url));
        match creating.await?.ok_or_else(|| ApiError::no("model"))? {
            CreatedEmbed::New(id) => {
                app.events.announce();
                Ok((id, url))
            }
            CreatedEmbed::Before(id, identifier) => Ok((id, viewer_url(app, &identifier))),
        }
    }
}

/// Why `text` is not a viewer configuration, which is an object whose values are all texts.
fn problem_of(text: &str) -> Option<String> {
    let config = match strict_json(text.as_bytes()) {
        Ok(Value::Object(config)) => config,
        Err(error) if error.is_data() => return Some(format!("must not be ambiguous: {error}")),
        _ => return Some("must be the JSON text of an object of texts".to_owned()),
    };
    let (key, value) = config.iter().find(|(_, value)| !value.is_string())?;
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
        Value::String(_) => return None,
    };
    let key: String = key.chars().take(MAX_NAMED_KEY_CHARS).collect();
    Some(format!(
        "must be the JSON text of an object of texts, and the value of {key} in it is {found}"
    ))
}

/// Keys that the viewer does not know, each with the most similar known key.
fn unknown_keys(config: &str) -> Vec<String> {
    let config: serde_json::Map<String, Value> = serde_json::from_str(config).unwrap_or_default();
    let unknown = config
        .keys()
        .filter(|key| !ViewerConfig::keys().any(|known| known == *key));
    let mut named: Vec<String> = unknown
        .clone()
        .take(NAMED_KEYS)
        .map(|key| {
            let shown: String = key.chars().take(MAX_NAMED_KEY_CHARS).collect();
            match most_alike(key, ViewerConfig::keys()) {
                Some(meant) => format!("{shown} (did you mean {meant}?)"),
                None => shown,
            }
        })
        .collect();
    let more = unknown.count() - named.len();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    named
}

fn viewer_url(app: &App, identifier: &str) -> String {
    app.url(&format!("/embed/{identifier}"))
}

pub async fn create(
    call: ApiCall,
    mut fields: Fields,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let rapid = RapidId(fields.id("model_id"));
    let request = EmbedRequest::read(&mut fields);
    fields.finish()?;
    let row = rapidmodel::existing(&call, rapid).await?;
    if row.status != OptimizationStatus::Done {
        return Err(ApiError::field("model_id", "The rapid model is not done."));
    }
    if !has_glb(&call.app, ModelId::Rapid(rapid), Area::Export).await? {
        return Err(ApiError::field(
            "model_id",
            "The rapid model has no glb export, which the viewer needs. Optimize the base asset again with a glb \
             among its exports.",
        ));
    }
    let message = request.message("The embed was created.");
    let source = ModelId::Rapid(rapid);
    let event = |id, url: &str| {
        let data = EventData {
            rapidmodel_id: Some(rapid),
            ..created(row.asset, id, url)
        };
        events::event_of_now(EventType::EmbedCreation, data)
    };
    let (id, url) = request.create(&call, source, event).await?;
    let body = json!({
        "status": "success",
        "message": message,
        "rapidmodel_id": rapid,
        "embed_id": id,
        "embed_url": url,
    });
    Ok((StatusCode::CREATED, Json(body)))
}

pub async fn create_raw(call: ApiCall, mut fields: Fields) -> JsonReply {
    let asset = AssetId(fields.id("raw_model_id"));
    let request = EmbedRequest::read(&mut fields);
    fields.finish()?;
    let row = rawmodel::existing(&call, asset).await?;
    if row.format != "glb" {
        let message = format!("The base asset is in {} format, not glb.", row.format);
        return Err(ApiError::field("raw_model_id", message));
    }
    if row.status != UploadStatus::Complete {
        return Err(not_complete());
    }
    prepare(&call.app, &row, call.user).await?;
    let message = request.message("The embed is being created.");
    let source = ModelId::Asset(asset);
    let event = |id, url: &str| {
        events::event_of_now(EventType::EmbedFromRawCreation, created(asset, id, url))
    };
    let (id, url) = request.create(&call, source, event).await?;
    Ok(Json(json!({
        "message": message,
        "embed_id": id,
        "embed_url": url,
    })))
}

fn not_complete() -> ApiError {
    ApiError::field("raw_model_id", "The base asset is not complete.")
}

async fn has_glb(app: &App, owner: ModelId, area: Area) -> Result<bool, ApiError> {
    let files = app.records.files().list(&[owner]).await?;
    let is_glb = |file: &FileRow| file.area == area && formats::extension(&file.name) == "glb";
    Ok(files.iter().any(is_glb))
}

/// Starts a conversion to glb, unless the viewer can show the upload itself.
async fn prepare(app: &App, row: &AssetRow, user: UserId) -> Result<(), ApiError> {
    match exhibit::of_asset(app, row.id).await? {
        Model::Ready(_) | Model::Pending => Ok(()),
        Model::None(_) => {
            let glb = ["glb".to_owned()];
            let conversions = app.records.conversions();
            let starting = conversions.start(user, row.id, &glb, Uploaded::NotShown);
            match starting.await? {
                Conversion::Queued => app.queue.announce(),
                // Another request was faster.
                Conversion::Existing(_) => {}
                Conversion::NoRoom => return Err(ApiError::no_storage()),
                Conversion::NotComplete => return Err(not_complete()),
                Conversion::Gone => return Err(ApiError::no("base asset")),
            }
            Ok(())
        }
    }
}

/// What the event of a new embed says.
fn created(asset: AssetId, id: EmbedId, url: &str) -> EventData {
    let mut data = EventData {
        status: Some(EventStatus::Successful),
        message: Some("The embed was created.".to_owned()),
        rawmodel_id: Some(asset),
        ..EventData::default()
    };
    data.other.insert("embed_id".to_owned(), json!(id));
    data.other.insert("embed_url".to_owned(), json!(url));
    data
}

pub async fn list(call: ApiCall) -> Result<Json<Page<Value>>, ApiError> {
    let rapid = match call.query.get("rapidId") {
        None | Some("") => None,
        Some(text) => Some(RapidId(id_number(text).ok_or_else(|| {
            ApiError::field("rapidId", "The rapidId field must be an integer.")
        })?)),
    };
    let request = call.query.page(PER_PAGE, MAX_PER_PAGE);
    let search = call.query.search()?;
    let embeds = call.records().embeds();
    let page = embeds.list(call.user, rapid, &search, request).await?;
    let mut data = Vec::with_capacity(page.items.len());
    for row in &page.items {
        data.push(written(&call.app, row, EmbedForm::List).await?);
    }
    Ok(Json(envelope(&call, &page, data)))
}

pub async fn show(call: ApiCall) -> JsonReply {
    let id = call.ids.embed()?;
    let row = call.records().embeds().get(call.user, id).await?;
    let row = row.ok_or_else(|| ApiError::no("embed"))?;
    let data = written(&call.app, &row, EmbedForm::Detail).await?;
    Ok(Json(json!({ "data": data })))
}

pub async fn delete(call: ApiCall) -> Result<StatusCode, ApiError> {
    let id = call.ids.embed()?;
    let existed = call.records().embeds().delete(call.user, id).await?;
    ApiError::deleted(existed, "embed").map(|_| StatusCode::NO_CONTENT)
}

async fn written(app: &App, row: &EmbedRow, form: EmbedForm) -> Result<Value, ApiError> {
    // The API requires an integer here, also for the embed of an asset.
    let number = RapidId(row.source.number());
    let asset = match row.source {
        ModelId::Rapid(_) => None,
        ModelId::Asset(asset) => Some(asset),
    };
    let thumbnail = match form {
        EmbedForm::Detail => None,
        EmbedForm::List => RelatedRows::area(app, row.source, Area::Analysis)
            .await?
            .get("thumb.jpg")
            .map(|url| url.expose().to_owned()),
    };
    let embed = Embed {
        id: row.id,
        identifier: Some(row.identifier.clone()),
        name: row.name.clone(),
        user_id: Some(row.user),
        model_id: Some(number),
        raw_model_id: asset,
        view_count: Some(row.view_count),
        created_at: Some(row.created_at.into()),
        updated_at: Some(row.updated_at.into()),
        rapid_model_id: Some(number),
        rapid_model_name: Some(row.source_name.clone().unwrap_or_default()),
        thumbnail,
        url: Some(viewer_url(app, &row.identifier)),
        other: Default::default(),
    };
    Ok(embed.to_form(form))
}
