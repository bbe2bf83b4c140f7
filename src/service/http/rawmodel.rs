//! Base assets: listing, records, changes and files.

use axum::Json;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::body::Fields;
use super::error::ApiError;
use super::page::envelope;
use super::rapidmodel;
use super::record_forms::{self, RelatedRows};
use super::request::{ApiCall, JsonReply};
use crate::service::records::{Area, AssetRow};
use crate::wire::{AssetForm, AssetId, Downloads, ModelId, Page, SCALES, SourceNotes};

const DEFAULT_PER_PAGE: u64 = 10;
const MAX_PER_PAGE: u64 = 50;

/// Maximum age of the jobs in the list of running jobs.
pub(super) const JOBS_WINDOW: SignedDuration = SignedDuration::from_hours(7 * 24);

/// One asset of the caller.
pub(super) async fn existing(call: &ApiCall, id: AssetId) -> Result<AssetRow, ApiError> {
    let asset = call.records().assets().get(call.user, id).await?;
    asset.ok_or_else(|| ApiError::no("base asset"))
}

/// One asset of the caller in one of its forms.
pub(super) async fn written(
    call: &ApiCall,
    id: AssetId,
    form: AssetForm,
) -> Result<Value, ApiError> {
    let row = existing(call, id).await?;
    let related = RelatedRows::read(&call.app, &[ModelId::Asset(id)]).await?;
    record_forms::asset(&call.app, &row, &related, form).await
}

pub async fn list(call: ApiCall) -> Result<Json<Page<Value>>, ApiError> {
    let request = call.query.page(DEFAULT_PER_PAGE, MAX_PER_PAGE);
    let search = call.query.search_of_models()?;
    let assets = call.records().assets();
    let page = assets.list(call.user, &search, request).await?;
    let owners = page.items.iter().map(|row| ModelId::Asset(row.id));
    let owners: Vec<ModelId> = owners.collect();
    let related = RelatedRows::read(&call.app, &owners).await?;
    let mut data = Vec::with_capacity(page.items.len());
    for row in &page.items {
        data.push(record_forms::asset(&call.app, row, &related, AssetForm::List).await?);
    }
    Ok(Json(envelope(&call, &page, data)))
}

pub async fn show(call: ApiCall) -> JsonReply {
    let data = written(&call, call.ids.asset()?, AssetForm::Detail).await?;
    Ok(Json(json!({ "data": data })))
}

pub async fn update(call: ApiCall, mut fields: Fields) -> JsonReply {
    let id = call.ids.asset()?;
    let tags = fields.optional_tags("tags");
    let scale_factor = fields.optional_number("scale_factor");
    if scale_factor.is_some_and(|factor| !SCALES.contains(&factor)) {
        fields.refuse("scale_factor", "must be from 1e-9 to 1e9");
    }
    fields.finish()?;
    existing(&call, id).await?;
    if let Some(factor) = scale_factor {
        let assets = call.records().assets();
        assets.set_scale(call.user, id, factor).await?;
    }
    if let Some(tags) = tags {
        let owner = ModelId::Asset(id);
        if !call.records().tags().add(call.user, owner, &tags).await? {
            return Err(ApiError::no("base asset"));
        }
        let notes = SourceNotes::of_tags(tags.iter().map(String::as_str));
        if let Some(old) = notes.replaces {
            call.records().assets().is_replaced(call.user, old).await?;
        }
    }
    let data = written(&call, id, AssetForm::Detail).await?;
    Ok(Json(json!({ "data": data })))
}

/// The files of one area of an asset.
async fn area(call: &ApiCall, area: Area) -> Result<Downloads, ApiError> {
    let id = call.ids.asset()?;
    existing(call, id).await?;
    RelatedRows::area(&call.app, ModelId::Asset(id), area).await
}

pub async fn downloads(call: ApiCall) -> Result<Json<Downloads>, ApiError> {
    Ok(Json(area(&call, Area::Source).await?))
}

pub async fn converted(call: ApiCall) -> Result<Json<Downloads>, ApiError> {
    Ok(Json(area(&call, Area::Converted).await?))
}

pub async fn pbr(call: ApiCall) -> JsonReply {
    let materials = area(&call, Area::PbrMaterial).await?;
    let qc = area(&call, Area::PbrQc).await?;
    Ok(Json(json!({ "materials": materials, "qc": qc })))
}

pub async fn renders(call: ApiCall) -> Result<Json<Downloads>, ApiError> {
    let found = area(&call, Area::Render).await;
    let renders = found.map_err(ApiError::not_found_in_plain_text)?;
    if renders.is_empty() {
        let message = "There are no renders of this base asset.";
        return Err(ApiError::PlainNotFound(message.to_owned()));
    }
    Ok(Json(renders))
}

pub async fn rapid_models(call: ApiCall) -> JsonReply {
    let id = call.ids.asset()?;
    existing(&call, id).await?;
    let rows = call.records().rapids().list_of_asset(call.user, id).await?;
    let data = rapidmodel::written_all(&call.app, &rows).await?;
    Ok(Json(json!({ "data": data })))
}

pub async fn jobs(call: ApiCall) -> JsonReply {
    let since = call.app.clock.now() - JOBS_WINDOW;
    let rapids = call.records().rapids();
    let rows = rapids.list_unfinished(call.user, since).await?;
    let data = rapidmodel::written_all(&call.app, &rows).await?;
    Ok(Json(json!({ "data": data })))
}
