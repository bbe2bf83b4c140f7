//! API tokens. The secret is shown only when a token is created.

use axum::Json;
use axum::http::StatusCode;
use serde_json::Value;

use super::body::Fields;
use super::error::ApiError;
use super::request::{ApiCall, JsonReply};
use crate::service::new_token::{SignIn, make_token};
use crate::service::records::TokenRow;
use crate::wire::{ApiToken, TokenForm};

pub async fn create(call: ApiCall, mut fields: Fields) -> Result<String, ApiError> {
    let name = fields.name("name");
    fields.finish()?;
    if SignIn::has_name(&name) {
        let reason =
            format!("The name \"{name}\" is for tokens of sign-ins, which expire; choose another.");
        return Err(ApiError::BadRequest(reason));
    }
    Ok(make_token(call.records(), call.user, &name).await?)
}

pub async fn list(call: ApiCall) -> JsonReply {
    let tokens = call.records().tokens().list(call.user).await?;
    let written = tokens.iter().map(|token| write(token, TokenForm::List));
    Ok(Json(written.collect()))
}

pub async fn show(call: ApiCall) -> JsonReply {
    let token = call.records().tokens().get(call.ids.token()?).await?;
    let token = token.filter(|token| token.user == call.user);
    let token = token.ok_or_else(|| ApiError::no("token"))?;
    Ok(Json(write(&token, TokenForm::Single)))
}

pub async fn delete(call: ApiCall) -> Result<StatusCode, ApiError> {
    let id = call.ids.token()?;
    let existed = call.records().tokens().delete(call.user, id).await?;
    ApiError::deleted(existed, "token")
}

fn write(row: &TokenRow, form: TokenForm) -> Value {
    ApiToken {
        id: row.id,
        name: row.name.clone(),
        last_used_at: row.last_used_at.map(Into::into),
        created_at: Some(row.created_at.into()),
        updated_at: Some(row.updated_at.into()),
        optimization_count: Some(row.optimization_count),
        tokenable_type: Some("user".to_owned()),
        tokenable_id: Some(row.user),
        abilities: vec!["*".to_owned()],
        plain_text: Some(String::new()),
        other: Default::default(),
    }
    .to_form(form)
}
