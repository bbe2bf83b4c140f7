//! The viewer pages of embeds and the files that they load. They need no token: the address is enough.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};

use super::error::ApiError;
use super::exhibit::{self, Model};
use super::record_forms::RelatedRows;
use super::request::Ids;
use super::static_file::{StaticFile, plain_headers};
use crate::service::app::App;
use crate::service::records::{Area, EmbedSource};
use crate::service::viewer::{Exhibit, asset, page, waiting_page};
use crate::wire::ModelId;

pub const PAGE: &str = "/embed/{identifier}";

pub const ASSET: &str = "/embed/assets/{name}";

pub async fn show(State(app): State<Arc<App>>, ids: Ids) -> Result<Response, ApiError> {
    let gone = || ApiError::PlainNotFound("There is no such embed.".to_owned());
    let embed = app.records.embeds().view(ids.text("identifier")).await?;
    let embed = embed.ok_or_else(gone)?;
    let owner = match embed.source {
        EmbedSource::Rapid(rapid) => ModelId::Rapid(rapid),
        EmbedSource::Asset(asset) => ModelId::Asset(asset),
    };
    let page = match exhibit::of_source(&app, embed.source).await? {
        Model::Ready(files) => {
            let logs = RelatedRows::area(&app, owner, Area::Analysis).await?;
            page(&Exhibit {
                name: &embed.name,
                model: files.glb.expose(),
                usdz: files.usdz.as_ref().map(|url| url.expose()),
                poster: logs.get("thumb.jpg").map(|url| url.expose()),
                config: &embed.config,
                storage: &app.signer.origin(),
            })
        }
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
    // The page contains signed URLs, which expire.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok((headers, page.html).into_response())
}

pub async fn file(ids: Ids, headers: HeaderMap) -> Result<Response, ApiError> {
    let found = asset(ids.text("name")).ok_or_else(|| ApiError::no("file"))?;
    Ok(StaticFile::from(found).answer(&headers))
}
