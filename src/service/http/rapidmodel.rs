//! Rapid models: listed, shown, tagged, deleted, and where their files are.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::body::Fields;
use super::error::ApiError;
use super::page::envelope;
use super::record_forms::{self, Beside};
use super::request::{Caller, Ids, Query};
use super::tags;
use crate::engine::job::Report;
use crate::formats;
use crate::service::app::App;
use crate::service::records::{Area, RapidRow};
use crate::wire::paths::route;
use crate::wire::{Downloads, ModelId, Page, RapidForm, RapidId};

const DEFAULT_PER_PAGE: u64 = 12;
const MOST_PER_PAGE: u64 = 50;

/// One rapid model of the caller.
pub(super) async fn existing(app: &App, caller: Caller, id: RapidId) -> Result<RapidRow, ApiError> {
    let rapid = app.records.rapids().get(caller.user, id).await?;
    rapid.ok_or_else(|| ApiError::no("rapid model"))
}

/// The rapid model that the path names, for the endpoints whose 404 is plain text.
pub(super) async fn named(app: &App, caller: Caller, ids: &Ids) -> Result<RapidRow, ApiError> {
    let found = match ids.rapid() {
        Ok(id) => existing(app, caller, id).await,
        Err(error) => Err(error),
    };
    found.map_err(ApiError::not_found_in_plain_text)
}

/// Rapid models in their full form.
pub(super) async fn written_all(app: &App, rows: &[RapidRow]) -> Result<Vec<Value>, ApiError> {
    let owners: Vec<ModelId> = rows.iter().map(|row| ModelId::Rapid(row.id)).collect();
    let beside = Beside::read(app, &owners).await?;
    let written = rows
        .iter()
        .map(|row| record_forms::rapid(app, row, &beside, RapidForm::Full));
    Ok(written.collect())
}

pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Json<Page<Value>>, ApiError> {
    Ok(Json(page(&app, caller, &query, route::RAPID_MODELS).await?))
}

/// A page of the list, with links to its neighbours at `path`.
pub(super) async fn page(
    app: &App,
    caller: Caller,
    query: &Query,
    path: &str,
) -> Result<Page<Value>, ApiError> {
    let request = query.page(DEFAULT_PER_PAGE, MOST_PER_PAGE);
    let search = query.search()?;
    let page = app
        .records
        .rapids()
        .list(caller.user, &search, request)
        .await?;
    let data = written_all(app, &page.items).await?;
    Ok(envelope(app, path, query, &page, data))
}

/// The full record of one rapid model, in its envelope.
async fn written(app: &App, caller: Caller, id: RapidId) -> Result<Json<Value>, ApiError> {
    let row = existing(app, caller, id).await?;
    let data = written_all(app, &[row]).await?.pop();
    Ok(Json(json!({ "data": data })))
}

pub async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<Json<Value>, ApiError> {
    written(&app, caller, ids.rapid()?).await
}

pub async fn update(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
    mut fields: Fields,
) -> Result<Json<Value>, ApiError> {
    let id = ids.rapid()?;
    let tags = fields.tags("tags");
    fields.finish()?;
    existing(&app, caller, id).await?;
    let owner = ModelId::Rapid(id);
    if !app.records.tags().add(caller.user, owner, &tags).await? {
        return Err(ApiError::no("rapid model"));
    }
    written(&app, caller, id).await
}

/// Deletes rapid models; returns how many there were.
async fn remove(app: &App, caller: Caller, rapids: &[RapidId]) -> Result<usize, ApiError> {
    let removal = app.records.rapids().delete(caller.user, rapids).await?;
    Ok(app.clear_away(removal).await)
}

pub async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<StatusCode, ApiError> {
    match remove(&app, caller, &[ids.rapid()?]).await? {
        0 => Err(ApiError::no("rapid model")),
        _ => Ok(StatusCode::OK),
    }
}

pub async fn delete_many(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut fields: Fields,
) -> Result<StatusCode, ApiError> {
    let ids: Vec<RapidId> = fields.ids("ids").into_iter().map(RapidId).collect();
    fields.finish()?;
    remove(&app, caller, &ids).await?;
    Ok(StatusCode::OK)
}

pub async fn delete_tag(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<StatusCode, ApiError> {
    let owner = ModelId::Rapid(ids.rapid()?);
    tags::take_off(&app, caller, owner, &ids).await
}

pub async fn tags(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<Value>, ApiError> {
    tags::names(&app, caller, ModelId::RAPID_KIND).await
}

pub async fn exports(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<Json<Value>, ApiError> {
    let row = existing(&app, caller, ids.rapid()?).await?;
    let report = record_forms::report(&row);
    let files = Beside::area(&app, ModelId::Rapid(row.id), Area::Export).await?;
    let data: serde_json::Map<String, Value> = files
        .iter()
        .map(|(name, url)| {
            let info = export_info(name, report.as_ref());
            let entry = json!({ "download": url, "info": info });
            (name.to_owned(), entry)
        })
        .collect();
    Ok(Json(json!({ "data": data })))
}

/// What is in an export; for glb and gltf only.
fn export_info(name: &str, report: Option<&Report>) -> Value {
    if !["glb", "gltf"].contains(&formats::extension(name).as_str()) {
        return Value::Null;
    }
    let export = report.and_then(|report| report.exports.iter().find(|found| found.name == name));
    let images = export.and_then(|export| export.images.as_deref());
    let written: Vec<Value> = images
        .unwrap_or_default()
        .iter()
        .map(|image| {
            json!({
                "channels": image.channels,
                "compressedByteSize": image.compressed_byte_size,
                "height": image.height,
                "width": image.width,
                "mimetype": image.mimetype,
                "slot": image.slot,
            })
        })
        .collect();
    json!({ "images": written })
}

pub async fn renders(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<Json<Downloads>, ApiError> {
    let row = named(&app, caller, &ids).await?;
    let renders = Beside::area(&app, ModelId::Rapid(row.id), Area::Render).await?;
    if renders.is_empty() {
        let message = "There are no renders of this rapid model.";
        return Err(ApiError::PlainNotFound(message.to_owned()));
    }
    Ok(Json(renders))
}
