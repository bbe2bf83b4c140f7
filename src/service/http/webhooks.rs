//! Webhooks.

use axum::Json;
use axum::http::StatusCode;
use serde_json::Value;

use super::body::Fields;
use super::error::ApiError;
use super::request::ApiCall;
use crate::service::events::{self, Receivers};
use crate::service::records::{NewWebhook, WebhookRow};
use crate::web_url::web_url;
use crate::wire::Webhook;

/// The longest URL and the longest secret, in bytes.
const MAX_URL_BYTES: usize = 2_048;
const MAX_SECRET_BYTES: usize = 1_024;

pub async fn create(call: ApiCall, mut fields: Fields) -> Result<Json<Webhook>, ApiError> {
    let url = fields.text("url");
    // A call has no place for a user name or a fragment.
    let parsed = web_url(&url).filter(|url| url.fragment().is_none());
    if let Some(Err(refused)) = parsed
        .as_ref()
        .map(|url| Receivers::of(&call.app.config).check(url))
    {
        fields.refuse("url", &refused.to_string());
    } else if parsed.is_none() || url.len() > MAX_URL_BYTES {
        let problem = format!(
            "must be an http or https URL with a host, without user name, fragment and white space, of at most \
             {MAX_URL_BYTES} bytes"
        );
        fields.refuse("url", &problem);
    }
    if !fields.has("verify_ssl") {
        fields.refuse("verify_ssl", "is required");
    }
    let verify_ssl = fields.optional_flag("verify_ssl").unwrap_or(true);
    let secret = fields.optional_text("secret").unwrap_or_default();
    if secret.len() > MAX_SECRET_BYTES {
        let problem = format!("must have at most {MAX_SECRET_BYTES} bytes");
        fields.refuse("secret", &problem);
    }
    fields.finish()?;
    let new = NewWebhook {
        url: &url,
        secret: &secret,
        verify_ssl,
    };
    let most = call.app.config.max_webhooks;
    let creating = call.records().webhooks().create(call.user, &new, most);
    match creating.await? {
        Some(webhook) => Ok(Json(written(webhook))),
        None => Err(ApiError::TooManyWebhooks),
    }
}

pub async fn list(call: ApiCall) -> Result<Json<Vec<Webhook>>, ApiError> {
    let webhooks = call.records().webhooks().list(call.user).await?;
    Ok(Json(webhooks.into_iter().map(written).collect()))
}

pub async fn delete(call: ApiCall) -> Result<StatusCode, ApiError> {
    let id = call.ids.webhook()?;
    let existed = call.records().webhooks().delete(call.user, id).await?;
    ApiError::deleted(existed, "webhook")
}

pub async fn test(call: ApiCall) -> Result<Json<Webhook>, ApiError> {
    let event = events::test_event();
    let id = call.ids.webhook()?;
    let adding = call.records().webhooks().add_event(call.user, id, &event);
    let webhook = adding.await?.ok_or_else(|| ApiError::no("webhook"))?;
    call.app.events.announce();
    Ok(Json(written(webhook)))
}

fn written(row: WebhookRow) -> Webhook {
    Webhook {
        id: row.id,
        user_id: Some(row.user),
        url: row.url,
        last_called_at: row.last_called_at.map(Into::into),
        created_at: Some(row.created_at.into()),
        updated_at: Some(row.updated_at.into()),
        secret: Some(row.secret),
        last_status: row.last_status.map_or(Value::Null, Value::from),
        verify_ssl: Some(row.verify_ssl),
        failed_calls: row.failed_calls,
        notified_at: row.notified_at.map(Into::into),
        other: Default::default(),
    }
}
