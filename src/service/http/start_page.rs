//! The page at `/` and its files. They need no token: the page asks for one, and calls the API with it.

use std::sync::{Arc, LazyLock};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};

use super::error::ApiError;
use super::request::Ids;
use super::static_file::{StaticFile, plain_headers};
use crate::service::app::App;
use crate::service::page;
use crate::service::viewer::MODEL_VIEWER_STYLE;

/// The path of the page.
pub const PAGE: &str = "/";

/// The path of the files that it loads.
pub const ASSET: &str = "/page/{*path}";

/// The document in a frame of the page that shows a model in 3D.
pub const FRAME: &str = "/page/frame.html";

/// The formats and the keys of presets.
pub const FACTS: &str = "/page/facts.json";

pub async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let policy = page::policy(&app.storage_origins());
    document(page::HTML, &policy, &headers)
}

pub async fn frame(headers: HeaderMap) -> Response {
    document(
        page::FRAME,
        &page::frame_policy(MODEL_VIEWER_STYLE),
        &headers,
    )
}

fn document(bytes: &'static [u8], policy: &str, headers: &HeaderMap) -> Response {
    let file = StaticFile {
        bytes,
        media_type: "text/html; charset=utf-8",
    };
    let mut response = file.answer(headers);
    let policy = HeaderValue::try_from(policy).expect("origins are plain text");
    let answer = response.headers_mut();
    answer.insert(CONTENT_SECURITY_POLICY, policy);
    response
}

pub async fn file(ids: Ids, headers: HeaderMap) -> Result<Response, ApiError> {
    let found = page::asset(ids.text("path")).ok_or_else(|| ApiError::no("file"))?;
    Ok(StaticFile::from(found).answer(&headers))
}

pub async fn facts() -> Response {
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| page::facts().to_string().into());
    (plain_headers("application/json"), TEXT.clone()).into_response()
}
