//! Tags of base assets and of rapid models: listed by name, and taken off.

use axum::Json;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::error::ApiError;
use super::request::{Caller, Ids};
use crate::service::app::App;
use crate::wire::{ModelId, TagName};

/// The names of all tags that the caller has on owners of a kind, such as [`ModelId::ASSET_KIND`].
pub(super) async fn names(app: &App, caller: Caller, kind: &str) -> Result<Json<Value>, ApiError> {
    let names = app.records.tags().names(caller.user, kind).await?;
    let data: Vec<TagName> = names.into_iter().map(|name| TagName { name }).collect();
    Ok(Json(json!({ "data": data })))
}

/// Takes the tag that the path names off its owner.
pub(super) async fn take_off(
    app: &App,
    caller: Caller,
    owner: ModelId,
    ids: &Ids,
) -> Result<StatusCode, ApiError> {
    let tag = ids.tag()?;
    match app.records.tags().remove(caller.user, owner, tag).await? {
        true => Ok(StatusCode::OK),
        false => Err(ApiError::no("tag")),
    }
}
