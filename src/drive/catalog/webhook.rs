//! Receives events of the service, for a mount with `--webhook`.
//!
//! Invariant: an event is only a hint where to look; the state comes from the API. Calls need the unguessable path,
//! and a signature must be valid. The mount registers itself and deletes the registration when it ends; the next
//! mount deletes what a killed mount left.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::client::ClientError;
use crate::drive::catalog::events::asset_moved;
use crate::drive::catalog::listings::freshness::mark_stale;
use crate::drive::catalog::models::{mark_rapids_stale, refresh_rapid};
use crate::drive::catalog::parts::Catalog;
use crate::drive::config::WebhookConfig;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::failures::{OperationKind, Outcome};
use crate::drive::values::node::{ListingKind, RemoteFolder};
use crate::listener::{
    ConnectionLimits, Connections, Listener, RequestBody, Service, host_problem,
};
use crate::wire::{CreateWebhook, Event, EventType, WebhookId};

/// The header of the signature.
const SIGNATURE_HEADER: &str = "x-engine-signature";
/// Maximum length of an event.
const MAX_BODY_BYTES: usize = 1 << 20;
/// Connections at the same time; an event is one short request.
const MAX_CONNECTIONS: usize = 64;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(300);
/// How long unmounting waits for deleting the registration.
const DEREGISTER_TIMEOUT: Duration = Duration::from_secs(3);
const TABLE: &str = "webhook";
const KEY: &str = "registered";

/// A registration, stored so that the next mount can delete it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Registered {
    id: WebhookId,
}

/// The receiver of a mount.
pub struct Receiver {
    shared: Arc<Catalog>,
    tasks: Vec<JoinHandle<()>>,
    registered: Arc<Mutex<Option<WebhookId>>>,
}

/// The secret that authenticates a call.
struct CallSecret {
    secret: String,
}

/// The routes of the receiver as `listener` serves them.
#[derive(Clone)]
struct Routes(TowerToHyperService<Router>);

impl Service for Routes {
    type Body = Body;
    type Error = std::convert::Infallible;

    async fn answer(
        &self,
        request: axum::http::Request<RequestBody>,
    ) -> Result<Response, std::convert::Infallible> {
        if let Some(problem) = host_problem(&request) {
            return Ok((StatusCode::BAD_REQUEST, problem).into_response());
        }
        self.0.call(request.map(Body::new)).await
    }
}

#[derive(Clone)]
struct CallState {
    shared: Arc<Catalog>,
    proof: Arc<CallSecret>,
}

impl Receiver {
    /// Starts listening, and registers as soon as the service can be reached.
    pub async fn start(shared: &Arc<Catalog>, config: &WebhookConfig) -> DriveResult<Receiver> {
        let listener = Listener::bind(config.listen).map_err(|error| {
            DriveError::Local(format!(
                "cannot listen for events at {}: {error}; choose another --webhook-listen",
                config.listen
            ))
        })?;
        let addr = listener.addr();
        let base = match &config.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{addr}"),
        };
        let path = format!("/events/{}", random_word());
        let state = CallState {
            shared: Arc::clone(shared),
            proof: Arc::new(CallSecret {
                secret: random_word(),
            }),
        };
        let request = CreateWebhook {
            verify_ssl: base.starts_with("https://"),
            url: format!("{base}{path}"),
            secret: Some(state.proof.secret.clone()),
        };
        let router = Router::new()
            .route(&path, post(handle_call))
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(state);
        let registered = Arc::new(Mutex::new(None));
        let tasks = vec![
            // Aborted by `stop`: an event is only a hint.
            tokio::spawn(listener.serve(
                Routes(TowerToHyperService::new(router)),
                Connections::new(ConnectionLimits::new(MAX_CONNECTIONS)),
                CancellationToken::new(),
            )),
            tokio::spawn(register(
                Arc::clone(shared),
                request,
                Arc::clone(&registered),
            )),
        ];
        tracing::info!(%addr, "listening for events");
        Ok(Receiver {
            shared: Arc::clone(shared),
            tasks,
            registered,
        })
    }

    /// Deletes the registration and stops listening.
    pub async fn stop(mut self) {
        let register = self.tasks.pop();
        if let Some(task) = register {
            task.abort();
            let _ = task.await;
        }
        if let Some(id) = self.registered.lock().await.take() {
            let taken_back =
                tokio::time::timeout(DEREGISTER_TIMEOUT, deregister(&self.shared, id)).await;
            if taken_back.is_err() {
                tracing::warn!("the webhook stays registered until the next mount");
            }
        }
        for task in self.tasks {
            task.abort();
            let _ = task.await;
        }
    }
}

/// Registers, with retries; a refusal is stored as a failure.
async fn register(
    shared: Arc<Catalog>,
    request: CreateWebhook,
    registered: Arc<Mutex<Option<WebhookId>>>,
) {
    if let Ok(Some(old)) = shared.meta.get::<Registered>(TABLE, KEY) {
        deregister(&shared, old.id).await;
    }
    let mut pauses = Backoff::doubling(FIRST_PAUSE, MAX_PAUSE);
    loop {
        // `stop` waits until the answer is stored.
        let mut place = registered.lock().await;
        match shared.client.webhooks().create(&request).await {
            Ok(webhook) => {
                *place = Some(webhook.id);
                let kept = shared.meta.put(TABLE, KEY, &Registered { id: webhook.id });
                if let Err(error) = kept {
                    tracing::warn!(%error, "a registered webhook could not be remembered");
                }
                mark_stale(&shared, ListingKind::Webhooks);
                tracing::info!(webhook = %webhook.id, "registered for events");
                return;
            }
            Err(error @ (ClientError::Rejected { .. } | ClientError::Forbidden { .. })) => {
                let why = format!(
                    "the service does not register this mount for events ({error}); changes are found by polling instead"
                );
                tracing::warn!(why);
                shared.failures.note(
                    ("/account/webhooks", None),
                    OperationKind::BackgroundWork,
                    Outcome::Failed,
                    &why,
                );
                return;
            }
            Err(error) => tracing::debug!(%error, "registering for events is tried again"),
        }
        drop(place);
        tokio::time::sleep(pauses.next_pause()).await;
    }
}

async fn deregister(shared: &Catalog, id: WebhookId) {
    match shared.client.webhooks().delete(id).await {
        Ok(()) | Err(ClientError::NotFound { .. }) => {
            if let Err(error) = shared.meta.remove(TABLE, KEY) {
                tracing::warn!(%error, "the id of a deleted webhook stays stored");
            }
        }
        Err(error) => tracing::warn!(%error, "a webhook could not be deleted"),
    }
}

/// Handles one call. An authenticated call gets success; what the event points to is requested afterwards.
async fn handle_call(
    State(state): State<CallState>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    if let Some(signature) = headers.get(SIGNATURE_HEADER)
        && !state.proof.signed(signature.as_bytes(), &body)
    {
        tracing::warn!("an event with a wrong signature is ignored");
        return StatusCode::FORBIDDEN;
    }
    let Ok(event) = serde_json::from_slice::<Event>(&body) else {
        return StatusCode::BAD_REQUEST;
    };
    tracing::debug!(event = event.event_type.as_str(), "an event came");
    take_hint(&state.shared, &event);
    StatusCode::NO_CONTENT
}

impl CallSecret {
    /// True for the signature of these bytes, in hexadecimal digits.
    fn signed(&self, signature: &[u8], body: &[u8]) -> bool {
        let Some(signature) = from_hex(signature) else {
            return false;
        };
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes())
            .expect("a key may have any length");
        mac.update(body);
        mac.verify_slice(&signature).is_ok()
    }
}

/// Requests what an event points to.
pub fn take_hint(catalog: &Arc<Catalog>, event: &Event) {
    let (asset, rapid) = (event.data.rawmodel_id, event.data.rapidmodel_id);
    match event.event_type {
        EventType::AnalysisFinished | EventType::UnzipFinished => {
            if let Some(asset) = asset {
                catalog.outbox.uploads().asset_changed(asset);
                asset_moved(catalog, asset);
            }
        }
        EventType::OptimizationFinished => {
            catalog.outbox.jobs().changed();
            mark_stale(catalog, ListingKind::Jobs);
            if let Some(asset) = asset {
                mark_rapids_stale(catalog, asset);
            }
            if let Some(rapid) = rapid {
                // Its pictures may have come after it.
                catalog
                    .maps
                    .drop_folder(&catalog.meta, RemoteFolder::RapidRenders(rapid));
                catalog.spawn(|shared| async move {
                    if let Err(error) = refresh_rapid(&shared, rapid, Duration::ZERO).await {
                        tracing::debug!(rapid = %rapid, error = %error, "the model of an event could not be requested");
                    }
                });
            }
        }
        EventType::EmbedCreation | EventType::EmbedFromRawCreation => {
            catalog.outbox.jobs().embeds_changed();
        }
        EventType::Other(_) => {}
    }
}

/// 128 random bits.
fn random_word() -> String {
    format!("{:032x}", rand::random::<u128>())
}

fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    text.chunks(2)
        .map(|pair| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_signature_of_the_very_bytes_is_right() {
        let proof = CallSecret {
            secret: "key".to_owned(),
        };
        // HMAC-SHA-256 of the usual example sentence with the key `key`.
        let signature = b"f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8";
        let body = b"The quick brown fox jumps over the lazy dog";
        assert!(proof.signed(signature, body));
        assert!(!proof.signed(signature, b"another"));
        for wrong in [&signature[1..], b"", b"zz"] {
            assert!(!proof.signed(wrong, body));
        }
    }
}
