//! Base assets: listed, shown, changed, deleted, and where their files are.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::body::Fields;
use super::error::ApiError;
use super::page::envelope;
use super::rapidmodel;
use super::record_forms::{self, Beside};
use super::request::{Caller, Ids, Query};
use super::tags;
use crate::service::app::App;
use crate::service::records::{Area, AssetRow};
use crate::wire::paths::route;
use crate::wire::{AssetForm, AssetId, Downloads, ModelId, Page};

const DEFAULT_PER_PAGE: u64 = 10;
const MOST_PER_PAGE: u64 = 50;

/// The scale factors with which the coordinates of a model stay numbers that every format can hold.
const SCALES: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// How far back the running jobs are listed.
const JOBS_WINDOW: SignedDuration = SignedDuration::from_hours(7 * 24);

/// One asset of the caller.
pub(super) async fn existing(app: &App, caller: Caller, id: AssetId) -> Result<AssetRow, ApiError> {
    let asset = app.records.assets().get(caller.user, id).await?;
    asset.ok_or_else(|| ApiError::no("base asset"))
}

/// One asset of the caller in one of its forms.
pub(super) async fn written(
    app: &App,
    caller: Caller,
    id: AssetId,
    form: AssetForm,
) -> Result<Value, ApiError> {
    let row = existing(app, caller, id).await?;
    let beside = Beside::read(app, &[ModelId::Asset(id)]).await?;
    record_forms::asset(app, &row, &beside, form).await
}

pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Json<Page<Value>>, ApiError> {
    Ok(Json(page(&app, caller, &query, route::ASSETS).await?))
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
        .assets()
        .list(caller.user, &search, request)
        .await?;
    let owners: Vec<ModelId> = page
        .items
        .iter()
        .map(|row| ModelId::Asset(row.id))
        .collect();
    let beside = Beside::read(app, &owners).await?;
    let mut data = Vec::with_capacity(page.items.len());
    for row in &page.items {
        data.push(record_forms::asset(app, row, &beside, AssetForm::List).await?);
    }
    Ok(envelope(app, path, query, &page, data))
}

pub async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<Json<Value>, ApiError> {
    let data = written(&app, caller, ids.asset()?, AssetForm::Detail).await?;
    Ok(Json(json!({ "data": data })))
}

pub async fn update(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
    mut fields: Fields,
) -> Result<Json<Value>, ApiError> {
    let id = ids.asset()?;
    let tags = fields.optional_tags("tags");
    let scale_factor = fields.optional_number("scale_factor");
    if scale_factor.is_some_and(|factor| !SCALES.contains(&factor)) {
        fields.refuse("scale_factor", "must be from 1e-9 to 1e9");
    }
    fields.finish()?;
    existing(&app, caller, id).await?;
    if let Some(factor) = scale_factor {
        app.records
            .assets()
            .set_scale(caller.user, id, factor)
            .await?;
    }
    if let Some(tags) = tags {
        let owner = ModelId::Asset(id);
        if !app.records.tags().add(caller.user, owner, &tags).await? {
            return Err(ApiError::no("base asset"));
        }
    }
    let data = written(&app, caller, id, AssetForm::Detail).await?;
    Ok(Json(json!({ "data": data })))
}

/// Deletes assets; returns how many there were.
async fn remove(app: &App, caller: Caller, assets: &[AssetId]) -> Result<usize, ApiError> {
    let removal = app.records.assets().delete(caller.user, assets).await?;
    Ok(app.clear_away(removal).await)
}

pub async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<StatusCode, ApiError> {
    match remove(&app, caller, &[ids.asset()?]).await? {
        0 => Err(ApiError::no("base asset")),
        _ => Ok(StatusCode::OK),
    }
}

pub async fn delete_many(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut fields: Fields,
) -> Result<StatusCode, ApiError> {
    let ids: Vec<AssetId> = fields.ids("ids").into_iter().map(AssetId).collect();
    fields.finish()?;
    remove(&app, caller, &ids).await?;
    Ok(StatusCode::OK)
}

pub async fn delete_tag(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<StatusCode, ApiError> {
    let owner = ModelId::Asset(ids.asset()?);
    tags::take_off(&app, caller, owner, &ids).await
}

pub async fn tags(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<Value>, ApiError> {
    tags::names(&app, caller, ModelId::ASSET_KIND).await
}

/// The files of one area of an asset.
async fn area(app: &App, caller: Caller, ids: &Ids, area: Area) -> Result<Downloads, ApiError> {
    let id = ids.asset()?;
    existing(app, caller, id).await?;
    Beside::area(app, ModelId::Asset(id), area).await
}

pub async fn downloads(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<Json<Downloads>, ApiError> {
    Ok(Json(area(&app, caller, &ids, Area::Source).await?))
}

pub async fn converted(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<Json<Downloads>, ApiError> {
    Ok(Json(area(&app, caller, &ids, Area::Converted).await?))
}

pub async fn pbr(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<Json<Value>, ApiError> {
    let materials = area(&app, caller, &ids, Area::PbrMaterial).await?;
    let qc = area(&app, caller, &ids, Area::PbrQc).await?;
    Ok(Json(json!({ "materials": materials, "qc": qc })))
}

pub async fn renders(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<Json<Downloads>, ApiError> {
    let found = area(&app, caller, &ids, Area::Render).await;
    let renders = found.map_err(ApiError::not_found_in_plain_text)?;
    if renders.is_empty() {
        let message = "There are no renders of this base asset.";
        return Err(ApiError::PlainNotFound(message.to_owned()));
    }
    Ok(Json(renders))
}

pub async fn rapid_models(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: Ids,
) -> Result<Json<Value>, ApiError> {
    let id = ids.asset()?;
    existing(&app, caller, id).await?;
    let rows = app.records.rapids().list_of_asset(caller.user, id).await?;
    let data = rapidmodel::written_all(&app, &rows).await?;
    Ok(Json(json!({ "data": data })))
}

pub async fn jobs(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<Value>, ApiError> {
    let since = app.clock.now() - JOBS_WINDOW;
    let rows = app
        .records
        .rapids()
        .list_unfinished(caller.user, since)
        .await?;
    let data = rapidmodel::written_all(&app, &rows).await?;
    Ok(Json(json!({ "data": data })))
}
