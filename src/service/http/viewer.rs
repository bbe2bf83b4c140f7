//! The viewer pages of embeds and the files that they load. No token: whoever has the address may look.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};

use super::error::ApiError;
use super::request::Ids;
use super::view::Beside;
use crate::formats;
use crate::service::app::App;
use crate::service::records::{Area, EmbedSource, Owner};
use crate::service::viewer::{Exhibit, asset, page};

/// Where the pages of embeds are.
pub const PAGE: &str = "/embed/{identifier}";

/// Where the files are that they load.
pub const ASSET: &str = "/embed/assets/{name}";

pub async fn show(State(app): State<Arc<App>>, ids: Ids) -> Result<Response, ApiError> {
    let gone = || ApiError::PlainNotFound("There is no such embed.".to_owned());
    let embed = app.records.view_embed(ids.text("identifier")).await?;
    let embed = embed.ok_or_else(gone)?;
    let (owner, area) = match embed.source {
        EmbedSource::Rapid(rapid) => (Owner::Rapid(rapid), Area::Export),
        EmbedSource::Asset(asset) => (Owner::Asset(asset), Area::Source),
    };
    let beside = Beside::read(&app, &[owner]).await?;
    let files = beside.downloads(&app, owner, area);
    let of_format = |format: &str| {
        let found = files
            .iter()
            .find(|(name, _)| formats::extension(name) == format);
        found.map(|(_, url)| url.expose())
    };
    let logs = beside.downloads(&app, owner, Area::Analysis);
    let page = page(&Exhibit {
        name: &embed.name,
        model: of_format("glb").ok_or_else(gone)?,
        usdz: of_format("usdz"),
        poster: logs.get("thumb.jpg").map(|url| url.expose()),
        config: &embed.config,
        storage: &app.signer.origin(),
    });
    let policy = HeaderValue::try_from(page.policy).expect("the policy is plain text");
    let mut headers = plain_headers("text/html; charset=utf-8");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    // The page holds signed URLs, which end.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok((headers, page.html).into_response())
}

pub async fn file(ids: Ids) -> Result<Response, ApiError> {
    let (bytes, media_type) = asset(ids.text("name")).ok_or_else(|| ApiError::no("file"))?;
    let mut headers = plain_headers(media_type);
    let caching = HeaderValue::from_static("public, max-age=86400");
    headers.insert(CACHE_CONTROL, caching);
    Ok((headers, bytes).into_response())
}

fn plain_headers(media_type: &'static str) -> HeaderMap {
    HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ])
}
