//! What base assets and rapid models have in common: deletion and tags.

use axum::Json;
use axum::http::StatusCode;
use serde_json::json;

use super::body::Fields;
use super::error::ApiError;
use super::request::{ApiCall, JsonReply};
use crate::wire::{AssetId, ModelId, RapidId, TagName};

/// The id of a base asset or of a rapid model.
pub trait ModelKind {
    /// The name in messages.
    const NAME: &str;
    /// The owner kind of its tags.
    const OWNER: &str;

    fn model(id: u64) -> ModelId;
}

impl ModelKind for AssetId {
    const NAME: &str = "base asset";
    const OWNER: &str = ModelId::ASSET_KIND;

    fn model(id: u64) -> ModelId {
        ModelId::Asset(AssetId(id))
    }
}

impl ModelKind for RapidId {
    const NAME: &str = "rapid model";
    const OWNER: &str = ModelId::RAPID_KIND;

    fn model(id: u64) -> ModelId {
        ModelId::Rapid(RapidId(id))
    }
}

fn named<K: ModelKind>(call: &ApiCall) -> Result<ModelId, ApiError> {
    Ok(K::model(call.ids.number("id", K::NAME)?))
}

/// Deletes models; returns how many of them existed.
async fn remove(call: &ApiCall, models: &[ModelId]) -> Result<usize, ApiError> {
    let delete = || call.records().models().delete(call.user, models);
    let removal = match delete().await {
        Err(error) if error.is_full() && call.records().free_reserve() => delete().await?,
        removal => removal?,
    };
    Ok(call.app.clear_away(removal).await)
}

pub async fn delete<K: ModelKind>(call: ApiCall) -> Result<StatusCode, ApiError> {
    let removed = remove(&call, &[named::<K>(&call)?]).await?;
    ApiError::deleted(removed > 0, K::NAME)
}

pub async fn delete_many<K: ModelKind>(
    call: ApiCall,
    mut fields: Fields,
) -> Result<StatusCode, ApiError> {
    let models: Vec<ModelId> = fields.ids("ids").into_iter().map(K::model).collect();
    fields.finish()?;
    remove(&call, &models).await?;
    Ok(StatusCode::OK)
}

/// The names of all tags on models of this kind.
pub async fn tags<K: ModelKind>(call: ApiCall) -> JsonReply {
    let names = call.records().tags().names(call.user, K::OWNER).await?;
    let data: Vec<TagName> = names.into_iter().map(|name| TagName { name }).collect();
    Ok(Json(json!({ "data": data })))
}

pub async fn delete_tag<K: ModelKind>(call: ApiCall) -> Result<StatusCode, ApiError> {
    let (model, tag) = (named::<K>(&call)?, call.ids.tag()?);
    let existed = call.records().tags().remove(call.user, model, tag).await?;
    ApiError::deleted(existed, "tag")
}
