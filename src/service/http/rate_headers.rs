//! `X-RateLimit-Limit` and `X-RateLimit-Remaining` on the replies to requests that the rate limit counts, so that the
//! clients of an account can share it.

use std::sync::{Arc, OnceLock};

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;

/// Where the extractor that counts a request leaves the outcome for the reply.
#[derive(Debug, Clone, Default)]
struct CountedRate(Arc<OnceLock<(u32, u32)>>);

/// Notes the limit and how many more requests it allows.
pub fn note_rate(parts: &Parts, limit: u32, remaining: u32) {
    if let Some(CountedRate(counted)) = parts.extensions.get() {
        // A request is counted once.
        let _ = counted.set((limit, remaining));
    }
}

/// Adds the headers.
pub async fn add_rate_headers(mut request: Request, next: Next) -> Response {
    let counted = CountedRate::default();
    request.extensions_mut().insert(counted.clone());
    let mut response = next.run(request).await;
    if let Some((limit, remaining)) = counted.0.get() {
        let headers = response.headers_mut();
        headers.insert("x-ratelimit-limit", HeaderValue::from(*limit));
        headers.insert("x-ratelimit-remaining", HeaderValue::from(*remaining));
    }
    response
}
