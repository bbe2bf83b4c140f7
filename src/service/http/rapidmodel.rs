//! Rapid models: listing, records, tags and files.

use axum::Json;
use serde_json::{Value, json};

use super::body::Fields;
use super::error::ApiError;
use super::page::envelope;
use super::record_forms::{self, RelatedRows};
use super::request::{ApiCall, JsonReply};
use crate::service::app::App;
use crate::service::records::{Area, RapidRow};
use crate::wire::{Downloads, ModelId, Page, RapidForm, RapidId};
use assetfs_engine::job::Report;
use assetfs_formats as formats;

const DEFAULT_PER_PAGE: u64 = 12;
const MAX_PER_PAGE: u64 = 50;

/// One rapid model of the caller.
pub(super) async fn existing(call: &ApiCall, id: RapidId) -> Result<RapidRow, ApiError> {
    let rapid = call.records().rapids().get(call.user, id).await?;
    rapid.ok_or_else(|| ApiError::no("rapid model"))
}

/// The rapid model that the path names, for the endpoints whose 404 is plain text.
pub(super) async fn named(call: &ApiCall) -> Result<RapidRow, ApiError> {
    let found = match call.ids.rapid() {
        Ok(id) => existing(call, id).await,
        Err(error) => Err(error),
    };
    found.map_err(ApiError::not_found_in_plain_text)
}

/// Rapid models in their full form.
pub(super) async fn written_all(app: &App, rows: &[RapidRow]) -> Result<Vec<Value>, ApiError> {
    let owners: Vec<ModelId> = rows.iter().map(|row| ModelId::Rapid(row.id)).collect();
    let related = RelatedRows::read(app, &owners).await?;
    let written = rows
        .iter()
        .map(|row| record_forms::rapid(app, row, &related, RapidForm::Full));
    Ok(written.collect())
}

pub async fn list(call: ApiCall) -> Result<Json<Page<Value>>, ApiError> {
    let request = call.query.page(DEFAULT_PER_PAGE, MAX_PER_PAGE);
    let search = call.query.search_of_models()?;
    let rapids = call.records().rapids();
    let page = rapids.list(call.user, &search, request).await?;
    let data = written_all(&call.app, &page.items).await?;
    Ok(Json(envelope(&call, &page, data)))
}

/// The full record of one rapid model, in its envelope.
async fn written(call: &ApiCall, id: RapidId) -> JsonReply {
    let row = existing(call, id).await?;
    let data = written_all(&call.app, &[row]).await?.pop();
    Ok(Json(json!({ "data": data })))
}

pub async fn show(call: ApiCall) -> JsonReply {
    written(&call, call.ids.rapid()?).await
}

pub async fn update(call: ApiCall, mut fields: Fields) -> JsonReply {
    let id = call.ids.rapid()?;
    let tags = fields.tags("tags");
    fields.finish()?;
    existing(&call, id).await?;
    let owner = ModelId::Rapid(id);
    if !call.records().tags().add(call.user, owner, &tags).await? {
        return Err(ApiError::no("rapid model"));
    }
    written(&call, id).await
}

pub async fn exports(call: ApiCall) -> JsonReply {
    let row = existing(&call, call.ids.rapid()?).await?;
    let report = record_forms::report(&row);
    let files = RelatedRows::area(&call.app, ModelId::Rapid(row.id), Area::Export).await?;
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

/// Details of an export; only for glb and gltf.
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

pub async fn renders(call: ApiCall) -> Result<Json<Downloads>, ApiError> {
    let row = named(&call).await?;
    let renders = RelatedRows::area(&call.app, ModelId::Rapid(row.id), Area::Render).await?;
    if renders.is_empty() {
        let message = "There are no renders of this rapid model.";
        return Err(ApiError::PlainNotFound(message.to_owned()));
    }
    Ok(Json(renders))
}
