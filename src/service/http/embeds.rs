//! Embeds: viewers of rapid models, and of base assets that are glb files.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::body::Fields;
use super::error::ApiError;
use super::page::envelope;
use super::rapidmodel;
use super::rawmodel;
use super::request::{Caller, Ids, Query};
use super::view::Beside;
use crate::service::app::App;
use crate::service::ids::random_name;
use crate::service::records::{Area, EmbedRow, EmbedSource, NewEmbed, Owner};
use crate::wire::paths::route;
use crate::wire::{
    AssetId, Embed, EmbedForm, EmbedId, EventData, EventStatus, EventType, OptimizationStatus,
    Page, RapidId, UploadStatus, UserId,
};

const PER_PAGE: u64 = 12;
const MOST_PER_PAGE: u64 = 50;

/// What both ways to make an embed ask for.
struct Wish {
    name: String,
    config: Option<String>,
    save_theme: bool,
}

impl Wish {
    fn read(fields: &mut Fields) -> Wish {
        let name = fields.name("name");
        let save_theme = fields.optional_flag("save_user_theme").unwrap_or(false);
        let config = fields.optional_text("config");
        if let Some(text) = &config
            && !is_viewer_config(text)
        {
            fields.refuse("config", "must be the JSON text of an object of texts");
        }
        Wish {
            name,
            config,
            save_theme,
        }
    }

    /// Makes the embed; a configuration that is not given is the user's theme.
    async fn grant(
        self,
        app: &App,
        user: UserId,
        source: EmbedSource,
    ) -> Result<(EmbedId, String), ApiError> {
        let config = match self.config {
            Some(config) => config,
            None => app.records.theme(user).await?,
        };
        if self.save_theme {
            app.records.save_theme(user, &config).await?;
        }
        let identifier = random_name();
        let new = NewEmbed {
            identifier: &identifier,
            name: &self.name,
            source,
            config: &config,
        };
        let id = app.records.create_embed(user, &new).await?;
        let id = id.ok_or_else(|| ApiError::no("model"))?;
        Ok((id, viewer_url(app, &identifier)))
    }
}

/// Whether `text` is an object of plain values; all of them should be texts, but numbers and truth
/// values mean what their texts mean.
fn is_viewer_config(text: &str) -> bool {
    let config = serde_json::from_str::<serde_json::Map<String, Value>>(text);
    config.is_ok_and(|config| {
        let mut values = config.values();
        values.all(|value| !value.is_object() && !value.is_array() && !value.is_null())
    })
}

fn viewer_url(app: &App, identifier: &str) -> String {
    app.url(&format!("/embed/{identifier}"))
}

pub async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut fields: Fields,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let rapid = RapidId(fields.id("model_id"));
    let wish = Wish::read(&mut fields);
    fields.finish()?;
    let row = rapidmodel::existing(&app, caller, rapid).await?;
    if row.status != OptimizationStatus::Done {
        return Err(ApiError::field("model_id", "The rapid model is not done."));
    }
    let (id, url) = wish
        .grant(&app, caller.user, EmbedSource::Rapid(rapid))
        .await?;
    let data = EventData {
        rapidmodel_id: Some(rapid),
        ..created(row.asset, id, &url)
    };
    app.events.emit(caller.user, EventType::EmbedCreation, data);
    let body = json!({
        "status": "success",
        "message": "The embed was created.",
        "rapidmodel_id": rapid,
        "embed_id": id,
        "embed_url": url,
    });
    Ok((StatusCode::CREATED, Json(body)))
}

pub async fn create_raw(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut fields: Fields,
) -> Result<Json<Value>, ApiError> {
    let asset = AssetId(fields.id("raw_model_id"));
    let wish = Wish::read(&mut fields);
    fields.finish()?;
    let row = rawmodel::existing(&app, caller, asset).await?;
    if row.format != "glb" {
        let message = format!("The base asset is in {} format, not glb.", row.format);
        return Err(ApiError::field("raw_model_id", message));
    }
    if row.status != UploadStatus::Complete {
        return Err(ApiError::field(
            "raw_model_id",
            "The base asset is not complete.",
        ));
    }
    let (id, url) = wish
        .grant(&app, caller.user, EmbedSource::Asset(asset))
        .await?;
    let data = created(asset, id, &url);
    app.events
        .emit(caller.user, EventType::EmbedFromRawCreation, data);
    Ok(Json(json!({
        "message": "The embed is being created.",
        "embed_id": id,
        "embed_url": url,
    })))
}

/// What the events of both ways to make an embed say.
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

pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Json<Page<Value>>, ApiError> {
    let rapid = match query.get("rapidId") {
        None | Some("") => None,
        Some(text) => Some(RapidId(text.parse().map_err(|_| {
            ApiError::field("rapidId", "The rapidId field must be an integer.")
        })?)),
    };
    let request = query.page(PER_PAGE, MOST_PER_PAGE);
    let search = query.search()?;
    let page = app
        .records
        .embeds(caller.user, rapid, &search, request)
        .await?;
    let mut data = Vec::with_capacity(page.items.len());
    for row in &page.items {
        data.push(written(&app, row, EmbedForm::List).await?);
    }
    Ok(Json(envelope(&app, route::EMBEDS, &query, &page, data)))
}

pub async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<Json<Value>, ApiError> {
    let row = app.records.embed(caller.user, ids.embed()?).await?;
    let row = row.ok_or_else(|| ApiError::no("embed"))?;
    let data = written(&app, &row, EmbedForm::Detail).await?;
    Ok(Json(json!({ "data": data })))
}

pub async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<StatusCode, ApiError> {
    match app.records.delete_embed(caller.user, ids.embed()?).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ApiError::no("embed")),
    }
}

async fn written(app: &App, row: &EmbedRow, form: EmbedForm) -> Result<Value, ApiError> {
    let (owner, rapid) = match row.source {
        EmbedSource::Rapid(rapid) => (Owner::Rapid(rapid), Some(rapid)),
        EmbedSource::Asset(asset) => (Owner::Asset(asset), None),
    };
    let thumbnail = match form {
        EmbedForm::Detail => None,
        EmbedForm::List => Beside::area(app, owner, Area::Analysis)
            .await?
            .get("thumb.jpg")
            .map(|url| url.expose().to_owned()),
    };
    let embed = Embed {
        id: row.id,
        identifier: Some(row.identifier.clone()),
        name: row.name.clone(),
        user_id: Some(row.user),
        model_id: rapid,
        view_count: Some(row.view_count),
        created_at: Some(row.created_at.into()),
        updated_at: Some(row.updated_at.into()),
        rapid_model_id: rapid,
        rapid_model_name: rapid.and(row.source_name.clone()),
        thumbnail,
        url: Some(viewer_url(app, &row.identifier)),
        other: Default::default(),
    };
    let mut value = embed.to_form(form);
    if let EmbedSource::Asset(asset) = row.source {
        value["raw_model_id"] = json!(asset);
    }
    Ok(value)
}
