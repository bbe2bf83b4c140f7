//! The viewer pages of embeds and the files that they load. They need no token: the address is enough.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};

use super::error::ApiError;
use super::exhibit::{self, Model};
use super::request::Ids;
use super::static_file::{StaticFile, plain_headers};
use super::storage;
use crate::service::app::App;
use crate::service::records::EmbedRow;
use crate::service::viewer::{Exhibit, asset, page, waiting_page};

pub const PAGE: &str = "/embed/{identifier}";

/// Where the model and the thumbnail of an embed are. These addresses do not change, so that browsers and proxies keep what
/// they name.
pub const MODEL_FILE: &str = "/embed/{identifier}/{file}";

/// The path of the files that every page loads.
pub const ASSET: &str = "/embed/assets/{name}";

/// Kept for ten minutes; after that it is shown once more while a browser asks whether it changed.
const CACHING: HeaderValue =
    HeaderValue::from_static("public, max-age=600, stale-while-revalidate=86400");

fn gone() -> ApiError {
    ApiError::PlainNotFound("There is no such embed.".to_owned())
}

/// The page of an embed. Counts a view.
pub async fn show(State(app): State<Arc<App>>, ids: Ids) -> Result<Response, ApiError> {
    let identifier = ids.text("identifier");
    let embed = app.records.embeds().view(identifier).await?;
    page_of(&app, identifier, &embed.ok_or_else(gone)?).await
}

/// The headers of the page. Counts nothing.
pub async fn head(State(app): State<Arc<App>>, ids: Ids) -> Result<Response, ApiError> {
    let identifier = ids.text("identifier");
    let embed = app.records.embeds().find(identifier).await?;
    page_of(&app, identifier, &embed.ok_or_else(gone)?).await
}

async fn page_of(app: &App, identifier: &str, embed: &EmbedRow) -> Result<Response, ApiError> {
    let page = match exhibit::of_source(app, embed.source).await? {
        Model::Ready(files) => page(&Exhibit {
            name: &embed.name,
            identifier,
            address: &app.url(&format!("/embed/{identifier}")),
            storage: app.files.direct_origin(),
            has_usdz: files.usdz.is_some(),
            has_poster: exhibit::poster(app, embed.source).await?.is_some(),
            config: &embed.config,
        }),
        Model::Pending => waiting_page(&embed.name),
        Model::None(reason) => {
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            let message = format!("The model of this embed cannot be shown{reason}");
            return Err(ApiError::PlainNotFound(message));
        }
    };
    let policy = HeaderValue::try_from(page.policy).expect("the policy is plain text");
    let mut headers = plain_headers("text/html; charset=utf-8");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    // Each page has its own nonce, and each view counts.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok((headers, page.html).into_response())
}

/// The model of an embed, its usdz or its thumbnail.
pub async fn model_file(
    State(app): State<Arc<App>>,
    ids: Ids,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let embed = app.records.embeds().find(ids.text("identifier")).await?;
    let source = embed.ok_or_else(gone)?.source;
    let model = async || match exhibit::of_source(&app, source).await? {
        Model::Ready(files) => Ok::<_, ApiError>(Some(files)),
        Model::Pending | Model::None(_) => Ok(None),
    };
    let file = match ids.text("file") {
        "model.glb" => model().await?.map(|files| files.glb),
        "model.usdz" => model().await?.and_then(|files| files.usdz),
        "poster.jpg" => exhibit::poster(&app, source).await?,
        _ => None,
    };
    let file = file.ok_or_else(|| ApiError::no("file"))?;
    let mut response = storage::send(&app, &file, &headers).await?;
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(CACHING);
    Ok(response)
}

pub async fn file(ids: Ids, headers: HeaderMap) -> Result<Response, ApiError> {
    let found = asset(ids.text("name")).ok_or_else(|| ApiError::no("file"))?;
    Ok(StaticFile::from(found).answer(&headers))
}
