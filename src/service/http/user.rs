//! The account: logging in, points, storage, and its end.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::body::Fields;
use super::error::ApiError;
use super::request::{Caller, Stranger};
use super::tokens;
use crate::service::app::App;
use crate::service::first_start;
use crate::service::records::UserRow;
use crate::service::secrets::password_matches;
use crate::wire::{RapidPoints, StorageLeft};

pub async fn login(
    State(app): State<Arc<App>>,
    _: Stranger,
    mut fields: Fields,
) -> Result<Json<Value>, ApiError> {
    let email = fields.text("email");
    let password = fields.text("password");
    fields.finish()?;
    let wrong = || ApiError::field("email", "These credentials do not match our records.");
    let user = app
        .records
        .accounts()
        .get_by_email(&email)
        .await?
        .ok_or_else(wrong)?;
    if !is_password_of(&app, &user, password).await? {
        return Err(wrong());
    }
    let token = tokens::make(&app.records, user.id, "login").await?;
    Ok(Json(json!({ "token": token })))
}

/// Checks a password; one at a time, for it takes a processor a while.
async fn is_password_of(app: &App, user: &UserRow, password: String) -> Result<bool, ApiError> {
    let _turn = app.password_turn.lock().await;
    let hash = user.password_hash.clone();
    tokio::task::spawn_blocking(move || password_matches(&password, &hash))
        .await
        .map_err(|error| ApiError::Internal(Box::new(error)))
}

async fn account(app: &App, caller: Caller) -> Result<UserRow, ApiError> {
    let user = app.records.accounts().get(caller.user).await?;
    user.ok_or(ApiError::InvalidToken)
}

pub async fn points(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<RapidPoints>, ApiError> {
    let rapidpoints = account(&app, caller).await?.points;
    Ok(Json(RapidPoints { rapidpoints }))
}

pub async fn storage(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<StorageLeft>, ApiError> {
    let storage_left = account(&app, caller).await?.storage_left();
    Ok(Json(StorageLeft { storage_left }))
}

pub async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut fields: Fields,
) -> Result<StatusCode, ApiError> {
    let password = fields.text("password");
    fields.finish()?;
    let user = account(&app, caller).await?;
    if !is_password_of(&app, &user, password).await? {
        return Err(ApiError::field("password", "The password is not correct."));
    }
    let removal = app.records.accounts().delete(user.id).await?;
    app.clear_away(removal).await;
    first_start::forget(&app.config.data_dir, &user.email)
        .map_err(|error| ApiError::Internal(Box::new(error)))?;
    Ok(StatusCode::OK)
}
