//! The HTTP API: one file for each resource; all routes are here.
//!
//! Each request is handled in its own task: a client that disconnects cannot interrupt a change, and a panic fails
//! only one request. Only `error` maps errors to statuses.

mod admin;
mod archives;
mod body;
mod command_line;
mod embeds;
mod error;
mod exhibit;
mod formats;
mod head_rules;
mod legacy;
mod models;
mod optimize;
mod page;
mod preset;
mod rapidmodel;
mod rate_headers;
mod rawmodel;
mod record_forms;
mod request;
mod server;
mod sign_in_link;
mod stale;
mod start_page;
mod static_file;
mod storage;
mod time_left;
mod tokens;
mod upload;
mod user;
mod viewer;
mod webhooks;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{ALLOW, CONNECTION, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode, Version};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, delete, get, patch, post};
use tracing::Instrument as _;

pub use admin::serve_admin;
pub use server::Server;

use super::app::App;
use super::metrics::RequestClass;
use super::trace;
use crate::wire::paths::{ABANDON_UPLOAD, legacy_route, route};
use crate::wire::{AssetId, IDEMPOTENCY_KEY, KEYS_ARE_KEPT, RapidId, TRACEPARENT, TraceParent};
use error::ApiError;
use request::Counted;

/// The routes of the API.
pub fn api(app: Arc<App>) -> Router {
    finish(api_routes(), app)
}

fn api_routes() -> Router<Arc<App>> {
    Router::new()
        .merge(account_routes())
        .merge(asset_routes())
        .merge(rapid_routes())
        .merge(preset_routes())
        .merge(embed_routes())
        .merge(page_routes())
        .merge(legacy_routes())
}

/// The routes of the signed URLs.
pub fn storage_only(app: Arc<App>) -> Router {
    finish(storage_routes(), app)
}

pub fn api_and_storage(app: Arc<App>) -> Router {
    finish(api_routes().merge(storage_routes()), app)
}

fn account_routes() -> Router<Arc<App>> {
    Router::new()
        .route(route::LOGIN, post(user::login))
        .route(route::TOKENS, get(tokens::list))
        .route(route::CREATE_TOKEN, post(tokens::create))
        .route(route::TOKEN, get(tokens::show).delete(tokens::delete))
        .route(route::DELETE_ACCOUNT, post(user::delete))
        .route(route::RAPID_POINTS, get(user::points))
        .route(route::STORAGE, get(user::storage))
        .route(route::WEBHOOKS, get(webhooks::list).post(webhooks::create))
        .route(route::WEBHOOK, delete(webhooks::delete))
        .route(route::TEST_WEBHOOK, post(webhooks::test))
}

fn asset_routes() -> Router<Arc<App>> {
    Router::new()
        .route(route::START_UPLOAD, post(upload::start))
        .route(route::COMPLETE_UPLOAD, get(upload::complete).head(no_head))
        .route(route::RETRY_IMPORT, post(upload::retry))
        .route(ABANDON_UPLOAD, post(upload::abandon))
        .route(route::ASSETS, get(rawmodel::list))
        .route(
            route::ASSET,
            get(rawmodel::show)
                .put(rawmodel::update)
                .delete(models::delete::<AssetId>),
        )
        .route(route::DELETE_ASSETS, post(models::delete_many::<AssetId>))
        .route(route::ASSET_TAG, delete(models::delete_tag::<AssetId>))
        .route(route::ASSET_TAGS, get(models::tags::<AssetId>))
        .route(route::ASSET_DOWNLOADS, get(rawmodel::downloads))
        .route(route::ASSET_CONVERTED, get(rawmodel::converted))
        .route(route::ASSET_PBR, get(rawmodel::pbr))
        .route(route::ASSET_ZIP, get(archives::asset))
        .route(route::ADD_FORMATS, post(formats::add))
        .route(route::PROCESSED_FORMATS, get(formats::processed))
        .route(route::ASSET_RENDERS, get(rawmodel::renders))
        .route(route::ASSET_RAPID_MODELS, get(rawmodel::rapid_models))
        .route(route::RUNNING_JOBS, get(rawmodel::jobs))
        .route(route::OPTIMIZE, post(optimize::one))
        .route(route::MULTI_OPTIMIZE, post(optimize::many))
}

fn rapid_routes() -> Router<Arc<App>> {
    Router::new()
        .route(route::RAPID_MODELS, get(rapidmodel::list))
        .route(
            route::RAPID_MODEL,
            get(rapidmodel::show)
                .put(rapidmodel::update)
                .delete(models::delete::<RapidId>),
        )
        .route(
            route::DELETE_RAPID_MODELS,
            post(models::delete_many::<RapidId>),
        )
        .route(route::RAPID_TAG, delete(models::delete_tag::<RapidId>))
        .route(route::RAPID_TAGS, get(models::tags::<RapidId>))
        .route(route::RAPID_EXPORTS, get(rapidmodel::exports))
        .route(route::RAPID_RENDERS, get(rapidmodel::renders))
        .route(route::RAPID_PRESET_ZIP, get(archives::rapid_preset))
        .route(route::RAPID_QC, get(formats::quality))
}

fn preset_routes() -> Router<Arc<App>> {
    Router::new()
        .route(route::PRESETS, get(preset::list))
        .route(route::CREATE_PRESET, post(preset::create))
        .route(route::UPDATE_PRESET, patch(preset::update))
        .route(route::FACTORY_PRESETS, get(preset::factory))
        .route(route::PRESET_CATEGORIES, get(preset::categories))
        .route(route::PRESET, get(preset::show).delete(preset::delete))
        .route(route::CONFIG_RPDX, post(archives::config_command))
        .route(route::PRESET_RPDX, get(archives::preset_command))
        .route(route::PRESET_ZIP, get(archives::preset_both))
}

fn embed_routes() -> Router<Arc<App>> {
    Router::new()
        .route(route::EMBEDS, get(embeds::list))
        .route(route::EMBED, get(embeds::show).delete(embeds::delete))
        .route(route::CREATE_EMBED, post(embeds::create))
        .route(route::CREATE_RAW_EMBED, post(embeds::create_raw))
        .route(viewer::PAGE, get(viewer::show).head(viewer::head))
        .route(viewer::MODEL_FILE, get(viewer::model_file))
        .route(viewer::ASSET, get(viewer::file))
}

fn page_routes() -> Router<Arc<App>> {
    Router::new()
        .route(start_page::PAGE, get(start_page::show))
        .route(start_page::FACTS, get(start_page::facts))
        .route(start_page::FRAME, get(start_page::frame))
        .route(preset::CHECK, post(preset::check))
        .route(stale::STALE, get(stale::list))
        .route(time_left::TIME_LEFT, get(time_left::list))
        .route(formats::UNFINISHED, get(formats::unfinished))
        .route(sign_in_link::CODE, post(sign_in_link::make))
        .route(sign_in_link::SESSION, post(sign_in_link::exchange))
        .route(start_page::ASSET, get(start_page::file))
}

fn legacy_routes() -> Router<Arc<App>> {
    Router::new()
        .route(legacy_route::START_UPLOAD, post(legacy::start_upload))
        .route(
            legacy_route::COMPLETE_UPLOAD,
            get(legacy::complete_upload).head(no_head),
        )
        .route(legacy_route::PROCESS, post(legacy::process))
        .route(legacy_route::OPTIMIZE, post(legacy::optimize))
        .route(legacy_route::BARE_ASSET, get(rawmodel::show))
        .route(
            legacy_route::ASSETS,
            get(rawmodel::list).delete(models::delete_many::<AssetId>),
        )
        .route(
            legacy_route::ASSET,
            get(rawmodel::show).delete(models::delete::<AssetId>),
        )
        .route(
            legacy_route::RAPID_MODELS,
            get(rapidmodel::list).delete(models::delete_many::<RapidId>),
        )
        .route(
            legacy_route::RAPID_MODEL,
            get(legacy::rapid).delete(models::delete::<RapidId>),
        )
}

fn storage_routes() -> Router<Arc<App>> {
    Router::new().route("/storage/{file}/{*name}", any(storage::any))
}

fn finish(router: Router<Arc<App>>, app: Arc<App>) -> Router {
    router
        .fallback(no_path)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn(rate_headers::add_rate_headers))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), isolate))
        .layer(middleware::map_response(tell_that_keys_are_kept))
        .with_state(app)
}

/// Errors have the header too: a client whose request failed asks whether it may repeat it.
async fn tell_that_keys_are_kept(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_static(KEYS_ARE_KEPT));
    response
}

async fn no_path(_: Counted) -> ApiError {
    ApiError::no("path")
}

/// HEAD of a path whose GET changes something.
async fn no_head(_: Counted) -> Response {
    ([(ALLOW, "GET")], ApiError::MethodNotAllowed).into_response()
}

async fn no_method(_: Counted) -> ApiError {
    ApiError::MethodNotAllowed
}

/// Refuses a request that is not HTTP as it should be, or that needs the database while that is away.
fn admit(app: &App, class: RequestClass, request: &Request) -> Result<(), ApiError> {
    head_rules::check(request)?;
    match app.records.outage() {
        Some(outage) if class.needs_records() => Err(outage.into()),
        _ => Ok(()),
    }
}

/// Handles a request in a task of its own and as a part of its trace, and counts it.
async fn isolate(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let class = RequestClass::of(request.uri().path());
    if let Err(refusal) = admit(&app, class, &request) {
        let response = refusal.into_response();
        app.metrics
            .request_answered(class, response.status().as_u16());
        return response;
    }
    let may_change = !request.method().is_safe();
    let version = request.version();
    let header = request.headers().get(TRACEPARENT);
    let caller = header.and_then(|header| TraceParent::parse(header.to_str().ok()?));
    let trace = caller.map_or_else(TraceParent::new, TraceParent::next);
    let span = tracing::info_span!("request", op = %request.method(), path = request.uri().path(), trace = trace.trace_id());
    let started = tokio::time::Instant::now();
    let handling = async move {
        let response = next.run(request).await;
        let elapsed_ms = started.elapsed().as_millis() as u64;
        tracing::debug!(status = response.status().as_u16(), elapsed_ms, "answered");
        response
    };
    let mut response = match tokio::spawn(trace::within(trace, handling).instrument(span)).await {
        Ok(response) => response,
        Err(error) => ApiError::internal(error).into_response(),
    };
    if may_change && response.status() == StatusCode::SERVICE_UNAVAILABLE {
        // Clients take a time to retry for the promise that nothing was changed. The database went away while this
        // request was handled, so nobody knows.
        response.headers_mut().remove(RETRY_AFTER);
    }
    if app.draining.is_cancelled() && version == Version::HTTP_11 {
        // Closes the connection, so that the client's next request reaches a process that is not draining.
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    app.metrics
        .request_answered(class, response.status().as_u16());
    response
}
