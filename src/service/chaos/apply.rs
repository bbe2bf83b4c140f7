//! Applies the faults of a plan to each request.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use hyper::body::Body as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::json;

use super::{Chaos, Fault, body};
use crate::listener::{RequestBody, Service};

/// A router with the faults of a plan.
#[derive(Debug, Clone)]
pub struct ChaosService {
    inner: TowerToHyperService<Router>,
    chaos: Chaos,
}

/// Closes the connection without a response.
#[derive(Debug, thiserror::Error)]
#[error("the plan of faults drops the connection")]
pub struct Dropped;

impl ChaosService {
    /// Wraps `router` with the faults of `chaos`.
    pub fn new(router: Router, chaos: Chaos) -> ChaosService {
        ChaosService {
            inner: TowerToHyperService::new(router),
            chaos,
        }
    }
}

impl Service for ChaosService {
    type Body = Body;
    type Error = Dropped;

    async fn answer(&self, request: axum::http::Request<RequestBody>) -> Result<Response, Dropped> {
        let mut request = request.map(Body::new);
        let faults = self.chaos.faults(request.method(), request.uri());
        for fault in &faults {
            match fault {
                Fault::Latency { ms } => tokio::time::sleep(Duration::from_millis(*ms)).await,
                Fault::Status {
                    status,
                    retry_after,
                    body,
                } => return Ok(answer(*status, retry_after.as_deref(), body.as_deref())),
                Fault::DropBefore => return Err(Dropped),
                Fault::CutRequest { bytes } => {
                    request = request.map(|whole| body::cut_after(whole, *bytes));
                }
                _ => {}
            }
        }
        let mut response = match self.inner.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        for fault in &faults {
            response = match fault {
                Fault::DropAfter | Fault::CutRequest { .. } => return Err(Dropped),
                Fault::CutReply { bytes } => {
                    keep_length(response, |whole| body::cut_after(whole, *bytes))
                }
                Fault::Drip { bytes_per_second } => {
                    keep_length(response, |whole| body::drip(whole, *bytes_per_second))
                }
                Fault::WrongLength { by } => with_wrong_length(response, *by),
                Fault::NoLength => {
                    response.headers_mut().remove(CONTENT_LENGTH);
                    response.map(body::of_unknown_length)
                }
                _ => response,
            };
        }
        self.date(&mut response);
        Ok(response)
    }
}

impl ChaosService {
    /// Sets the `Date` header to the time of the service's clock.
    fn date(&self, response: &mut Response) {
        let ahead = self.chaos.plan().map_or(0, |plan| plan.clock_ahead_secs);
        if ahead == 0 {
            return;
        }
        let moment = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(ahead);
        let text = moment.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let value = HeaderValue::try_from(text).expect("a date is a header value");
        response.headers_mut().insert(DATE, value);
    }
}

/// A response that the plan defines.
fn answer(status: u16, retry_after: Option<&str>, body: Option<&str>) -> Response {
    let json = json!({ "message": "This reply comes from the plan of faults." }).to_string();
    let text = body.map_or(json, str::to_owned);
    let mut response = Response::new(Body::from(text));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(value) = retry_after.and_then(|value| HeaderValue::try_from(value).ok()) {
        headers.insert(RETRY_AFTER, value);
    }
    response
}

/// The `Content-Length` of a response, or the exact size of its body.
fn announced(response: &Response) -> Option<u64> {
    let header = response.headers().get(CONTENT_LENGTH);
    let said = header.and_then(|value| value.to_str().ok()?.parse().ok());
    said.or_else(|| response.body().size_hint().exact())
}

/// Changes a body and keeps the `Content-Length` of the original.
fn keep_length(response: Response, change: impl FnOnce(Body) -> Body) -> Response {
    let len = announced(&response);
    let mut response = response.map(change);
    if let Some(len) = len {
        let headers = response.headers_mut();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(len));
    }
    response
}

fn with_wrong_length(response: Response, by: i64) -> Response {
    let len = announced(&response).unwrap_or(0).saturating_add_signed(by);
    let mut response = response.map(body::of_unknown_length);
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(len));
    response
}
