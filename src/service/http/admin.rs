//! The admin listener: whether the process lives, whether it can do its work, and what it counts. It asks for no token.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::head_rules::refuse_bad_heads;
use super::server::Server;
use crate::listener::{ConnectionLimits, Connections, Listener};
use crate::service::app::App;
use crate::service::chaos::Chaos;
use crate::service::health::{self, PROBE_TIMEOUT, Part};
use crate::service::metrics::Activity;

/// The media type of metrics for Prometheus.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 16;

/// Serves the admin listener until the process stops. Busy clients and injected faults do not disturb the monitoring.
pub async fn serve_admin(app: Arc<App>, listener: Listener) {
    let server = Server {
        listener,
        connections: Connections::new(ConnectionLimits::new(MAX_CONNECTIONS)),
        chaos: Chaos::default(),
        stop: app.stop.clone(),
        tls: None,
    };
    server.serve(admin(app)).await;
}

fn admin(app: Arc<App>) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .layer(middleware::from_fn(refuse_bad_heads))
        .with_state(app)
}

/// 200 if every part works, else 503; a line for each part, or JSON for a client that accepts it.
async fn ready(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let parts = health::parts(&app).await;
    let is_ready = parts.iter().all(|part| part.failure.is_none());
    let status = match is_ready {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    let wants_json = headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("json"));
    let (media_type, body) = match wants_json {
        true => ("application/json", as_json(is_ready, &parts)),
        false => ("text/plain; charset=utf-8", as_text(&parts)),
    };
    let headers = [(CONTENT_TYPE, media_type), (CACHE_CONTROL, "no-store")];
    (status, headers, body).into_response()
}

fn as_json(is_ready: bool, parts: &[Part]) -> String {
    let parts: Map<String, Value> = parts
        .iter()
        .map(|part| {
            let text = part.failure.as_deref().unwrap_or("ok");
            (part.name.to_owned(), text.into())
        })
        .collect();
    json!({ "ready": is_ready, "parts": parts }).to_string()
}

fn as_text(parts: &[Part]) -> String {
    parts
        .iter()
        .map(|part| {
            format!(
                "{}: {}\n",
                part.name,
                part.failure.as_deref().unwrap_or("ok")
            )
        })
        .collect()
}

/// The metrics; without those of the queue if the records do not answer, so that the others stay readable.
async fn metrics(State(app): State<Arc<App>>) -> Response {
    let (jobs, deliveries) = (app.records.jobs(), app.records.deliveries());
    let loads = async { tokio::join!(jobs.load(), deliveries.load()) };
    let (load, events) = match timeout(PROBE_TIMEOUT, loads).await {
        Ok((load, events)) => (load.ok(), events.ok()),
        Err(_) => (None, None),
    };
    let text = app.metrics.text(&Activity {
        load: load.as_ref(),
        events: events.as_ref(),
        slots: app.config.workers,
        leases: app.queue.running_count(),
        traffic: app.connections.traffic(),
        draining: app.draining.is_cancelled(),
        stands_still: app
            .queue
            .fault_pause()
            .map_or(Duration::ZERO, |fault_pause| fault_pause.since.elapsed()),
    });
    ([(CONTENT_TYPE, METRICS_TYPE)], text).into_response()
}
