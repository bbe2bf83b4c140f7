//! The account: login, points, storage, deletion.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::json;

use super::body::Fields;
use super::error::ApiError;
use super::request::{Anonymous, ApiCall, JsonReply};
use crate::service::app::App;
use crate::service::first_start;
use crate::service::new_token::{SignIn, make_sign_in_token};
use crate::service::records::UserRow;
use crate::service::secrets::password_matches;
use crate::wire::{RapidPoints, StorageLeft};

pub async fn login(State(app): State<Arc<App>>, _: Anonymous, mut fields: Fields) -> JsonReply {
    let email = fields.text("email");
    let password = fields.text("password");
    fields.finish()?;
    let wrong = || ApiError::field("email", "These credentials do not match our records.");
    let user = app.records.accounts().get_by_email(&email).await?;
    let user = user.ok_or_else(wrong)?;
    if !is_password_of(&app, &user, password).await? {
        return Err(wrong());
    }
    let token = make_sign_in_token(&app.records, user.id, SignIn::Password).await?;
    Ok(Json(json!({ "token": token })))
}

/// Checks a password. Only one at a time, because it takes much processor time.
async fn is_password_of(app: &App, user: &UserRow, password: String) -> Result<bool, ApiError> {
    let _turn = app.password_turn.lock().await;
    let hash = user.password_hash.clone();
    tokio::task::spawn_blocking(move || password_matches(&password, &hash))
        .await
        .map_err(ApiError::internal)
}

async fn account(call: &ApiCall) -> Result<UserRow, ApiError> {
    let user = call.records().accounts().get(call.user).await?;
    user.ok_or(ApiError::InvalidToken)
}

pub async fn points(call: ApiCall) -> Result<Json<RapidPoints>, ApiError> {
    let rapidpoints = account(&call).await?.points;
    Ok(Json(RapidPoints { rapidpoints }))
}

pub async fn storage(call: ApiCall) -> Result<Json<StorageLeft>, ApiError> {
    let storage_left = Some(account(&call).await?.storage_left());
    Ok(Json(StorageLeft { storage_left }))
}

pub async fn delete(call: ApiCall, mut fields: Fields) -> Result<StatusCode, ApiError> {
    let password = fields.text("password");
    fields.finish()?;
    let user = account(&call).await?;
    if !is_password_of(&call.app, &user, password).await? {
        return Err(ApiError::field("password", "The password is not correct."));
    }
    let removal = call.records().accounts().delete(user.id).await?;
    call.app.clear_away(removal).await;
    first_start::forget(&call.app.config.data_dir, &user.email).map_err(ApiError::internal)?;
    Ok(StatusCode::OK)
}
