//! An in-process server for tests in virtual time: no socket and no HTTP, but the whole client above the
//! transport with its rate limit, timeouts and checks of replies.

use std::cell::Cell;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Body, Request, Response};

use super::transport::Fault;
use crate::wire::{IDEMPOTENCY_KEY, JOIN_KEY};

#[derive(Debug, Clone)]
pub(crate) struct ScriptedRequest {
    pub method: String,
    pub url: url::Url,
    pub has_token: bool,
    pub idempotency_key: Option<String>,
    pub join_key: Option<String>,
    /// `None` if reading the body failed.
    pub body: Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
pub(crate) struct ScriptedReply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// Why no reply came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptedFault {
    /// The request was not sent.
    NotSent,
    /// The request was sent, or may have been sent.
    NoAnswer,
}

pub(crate) trait ScriptedServer: Send + Sync {
    fn answer(
        &self,
        request: ScriptedRequest,
    ) -> BoxFuture<'static, Result<ScriptedReply, ScriptedFault>>;
}

thread_local! {
    static DICE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Seeds the random numbers of this thread.
pub(crate) fn seed_chance(seed: u64) {
    DICE.set(Some(seed));
}

/// The next random number of a seeded thread; `None` on any other thread.
pub(crate) fn draw() -> Option<u64> {
    let state = DICE.get()?.wrapping_add(0x9E37_79B9_7F4A_7C15);
    DICE.set(Some(state));
    let mut mixed = state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    Some(mixed ^ (mixed >> 31))
}

pub(super) async fn execute(
    server: &Arc<dyn ScriptedServer>,
    mut request: Request,
) -> Result<Response, Fault> {
    let body = match request.body_mut().take() {
        None => Some(Vec::new()),
        Some(body) => read(body).await,
    };
    let key_of = |name| Some(request.headers().get(name)?.to_str().ok()?.to_owned());
    let scripted = ScriptedRequest {
        method: request.method().to_string(),
        url: request.url().clone(),
        has_token: request.headers().contains_key(AUTHORIZATION),
        idempotency_key: key_of(IDEMPOTENCY_KEY),
        join_key: key_of(JOIN_KEY),
        body,
    };
    match server.answer(scripted).await {
        Ok(reply) => Ok(response(reply)),
        Err(ScriptedFault::NotSent) => Err(Fault::NotSent("no connection".to_owned())),
        Err(ScriptedFault::NoAnswer) => Err(Fault::NoAnswer("the connection broke".to_owned())),
    }
}

async fn read(body: Body) -> Option<Vec<u8>> {
    let as_response = Response::from(http::Response::new(body));
    Some(as_response.bytes().await.ok()?.to_vec())
}

fn response(reply: ScriptedReply) -> Response {
    let mut response = http::Response::new(reply.body);
    *response.status_mut() = http::StatusCode::from_u16(reply.status).expect("a status");
    for (name, value) in reply.headers {
        let value = HeaderValue::try_from(value).expect("a header");
        response
            .headers_mut()
            .insert(HeaderName::from_static(name), value);
    }
    Response::from(response)
}
