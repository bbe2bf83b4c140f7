//! Sends one API call: token, rate limit, timeouts, retries, and the meaning of each reply.
//!
//! The invariant: the token is only sent to the exact origin of the base URL, never to the target of a
//! redirect. The outcome of a call that is sent once is either certain or [`ClientError::LostReply`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue,
};
use reqwest::{Method, Request, Response, StatusCode};
use serde::de::DeserializeOwned;
use url::Url;

use super::bandwidth::Bandwidth;
use super::body::{self, BodyFault, Download, RefusalForm};
use super::budget::{Priority, RateBudget};
use super::call::{Call, Lane, Repeat};
use super::config::ClientConfig;
use super::error::{ClientError, message_of, without_full_stop};
use super::reach::Reach;
use super::retry::retry_after;
use super::storage::{self, SignedObject, Storage};
use super::transport::{self, Connection, Fault, Transport};
use super::window::RateHeaders;
use crate::wire::secret::without_secrets;
use crate::wire::{
    Data, ErrorBody, IDEMPOTENCY_KEY, Items, JOIN_KEY, KEYS_ARE_KEPT, TRACEPARENT, Token, TokenId,
};

/// State that all calls of a client share.
pub(super) struct Exchange {
    pub(super) config: ClientConfig,
    pub(super) budget: RateBudget,
    transport: Arc<Transport>,
    pub(super) storage: Arc<Storage>,
    /// True while the service does not reply, not even to a retry over a new connection.
    pub(super) reach: Reach,
    /// The service has said that it performs only one of all requests with the same idempotency key.
    pub(super) keeps_keys: AtomicBool,
}

impl Exchange {
    pub(super) fn new(config: ClientConfig, transport: Transport) -> Self {
        let transport = Arc::new(transport);
        let storage = Storage {
            transport: transport.clone(),
            deadlines: config.deadlines,
            retries: config.retries,
            up: Bandwidth::new(config.limit_up),
            down: Bandwidth::new(config.limit_down),
        };
        Self {
            budget: RateBudget::new(config.requests_per_minute, config.burst),
            transport,
            storage: Arc::new(storage),
            config,
            reach: Reach::default(),
            keeps_keys: AtomicBool::new(false),
        }
    }

    /// Scheme, host and port of the service.
    pub(super) fn origin(&self) -> String {
        self.config.base_url.origin().ascii_serialization()
    }

    pub(super) fn token_id(&self) -> Option<TokenId> {
        self.config.token.as_ref().and_then(Token::id)
    }

    /// Sends a call and parses the reply as JSON.
    pub(super) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T, ClientError> {
        let body = self
            .repeated(&call, |failed| self.attempt_bytes(&call, failed))
            .await?;
        serde_json::from_slice(&body).map_err(|error| unreadable(&call, &body, &error))
    }

    /// Sends a call whose reply is wrapped in `data`.
    pub(super) async fn data<T: DeserializeOwned>(&self, call: Call) -> Result<T, ClientError> {
        Ok(self.json::<Data<T>>(call).await?.data)
    }

    /// Sends a call whose reply is a list.
    pub(super) async fn items<T: DeserializeOwned>(
        &self,
        call: Call,
    ) -> Result<Vec<T>, ClientError> {
        Ok(self.json::<Items<T>>(call).await?.0)
    }

    /// Sends a call and ignores the body of the reply.
    pub(super) async fn done(&self, call: Call) -> Result<(), ClientError> {
        let attempt = |failed| {
            let call = &call;
            async move {
                match self.attempt_bytes(call, failed).await {
                    // An earlier attempt deleted it, and its reply was lost.
                    Err(ClientError::NotFound { .. })
                        if failed > 0 && call.method == Method::DELETE =>
                    {
                        Ok(())
                    }
                    answer => answer.map(drop),
                }
            }
        };
        self.repeated(&call, attempt).await
    }

    /// Sends a call whose reply is plain text.
    pub(super) async fn text(&self, call: Call) -> Result<String, ClientError> {
        let body = self
            .repeated(&call, |failed| self.attempt_bytes(&call, failed))
            .await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Sends a call whose reply is a file.
    pub(super) async fn download(&self, call: Call) -> Result<Download, ClientError> {
        let response = self
            .repeated(&call, |failed| self.attempt(&call, failed))
            .await?;
        if body::is_web_page(response.headers()) {
            return Err(unusable(&call, body::A_WEB_PAGE.to_owned()));
        }
        Ok(storage::whole_body(
            response,
            self.config.deadlines.stall,
            call.what,
            &self.storage.down,
        ))
    }

    /// Repeats `attempt` until it succeeds or the retry policy ends.
    async fn repeated<T, R>(
        &self,
        call: &Call,
        attempt: impl Fn(u32) -> R,
    ) -> Result<T, ClientError>
    where
        R: Future<Output = Result<T, ClientError>>,
    {
        let retries = &self.config.retries;
        let patience = match call.lane {
            Lane::Counted(Priority::Background) => retries.background_patience,
            Lane::Counted(Priority::Interactive) | Lane::Uncounted => retries.interactive_patience,
        };
        let patience = (call.repeat == Repeat::Safe).then_some(patience);
        retries.repeat(call.what, patience, attempt).await
    }

    async fn attempt_bytes(&self, call: &Call, failed: u32) -> Result<Vec<u8>, ClientError> {
        let config = &self.config;
        let whole = async {
            let response = self.attempt(call, failed).await?;
            let read = body::read_all(response, config.deadlines.stall, config.max_json_bytes);
            let body = read.await.map_err(|fault| self.body_error(call, fault))?;
            match body::is_markup(&body) {
                true => Err(unusable(call, body::A_WEB_PAGE.to_owned())),
                false => Ok(body),
            }
        };
        match tokio::time::timeout(config.deadlines.json_call, whole).await {
            Ok(result) => result,
            Err(_) => Err(self.body_error(call, BodyFault::Stalled)),
        }
    }

    /// Sends the call once and checks the status of the reply.
    async fn attempt(&self, call: &Call, failed: u32) -> Result<Response, ClientError> {
        let request = self.request(call)?;
        if let Lane::Counted(priority) = call.lane {
            match failed {
                0 => self.budget.take(priority).await?,
                _ => self.budget.take_again(priority).await?,
            }
        }
        let connection = match call.repeat {
            Repeat::Safe => Connection::after_failures(failed),
            Repeat::Never => Connection::Fresh,
        };
        let pool = self.transport.service(connection);
        let started = Instant::now();
        let sent = transport::send(pool, request, self.head_timeout(call)).await;
        let response = sent.map_err(|fault| self.fault_error(call, fault));
        match &response {
            Ok(response) if response.status() == StatusCode::SERVICE_UNAVAILABLE => {
                if failed > 0 {
                    self.reach.set_lost(true);
                }
            }
            Ok(_) => self.reach.set_lost(false),
            Err(_) if failed > 0 => self.reach.set_lost(true),
            Err(_) => {}
        }
        let response = response?;
        if response
            .headers()
            .get(IDEMPOTENCY_KEY)
            .is_some_and(|value| value == KEYS_ARE_KEPT)
        {
            self.keeps_keys.store(true, Ordering::Relaxed);
        }
        if let (Lane::Counted(_), Some(headers)) = (call.lane, RateHeaders::of(response.headers()))
        {
            self.budget.observe(headers);
        }
        tracing::debug!(
            method = %call.method,
            path = call.path,
            status = response.status().as_u16(),
            elapsed_ms = started.elapsed().as_millis() as u64,
            trace = call.trace.trace_id(),
            "called the service"
        );
        self.judge(call, response).await
    }

    /// Timeout for the head of the reply. A call that must not be repeated gets more time, because a timeout leaves its
    /// outcome unknown.
    fn head_timeout(&self, call: &Call) -> Duration {
        let deadlines = &self.config.deadlines;
        match call.repeat {
            Repeat::Safe => deadlines.stall,
            Repeat::Never => deadlines.json_call.max(deadlines.stall),
        }
    }

    fn request(&self, call: &Call) -> Result<Request, ClientError> {
        let url = self.url_of(call)?;
        let mut request = Request::new(call.method.clone(), url);
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let trace = call.trace.next().to_string();
        let trace = HeaderValue::try_from(trace).expect("a trace has header characters only");
        headers.insert(TRACEPARENT, trace);
        for (name, key) in [
            (IDEMPOTENCY_KEY, &call.idempotency_key),
            (JOIN_KEY, &call.join_key),
        ] {
            if let Some(key) = key {
                let key = HeaderValue::try_from(key).expect("a key has header characters only");
                headers.insert(name, key);
            }
        }
        if !call.anonymous {
            let token = self.config.token.as_ref().ok_or(ClientError::NoToken)?;
            let bearer = format!("Bearer {}", token.expose());
            let mut bearer =
                HeaderValue::try_from(bearer).expect("a token has header characters only");
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        if let Some(body) = &call.body {
            *request.body_mut() = Some(body.clone().into());
        }
        Ok(request)
    }

    fn url_of(&self, call: &Call) -> Result<Url, ClientError> {
        let base = &self.config.base_url;
        let text = format!("{}{}", base.as_str().trim_end_matches('/'), call.path);
        let mut url = Url::parse(&text).map_err(|error| ClientError::BadBaseUrl {
            reason: error.to_string(),
        })?;
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        if url.origin() != base.origin() {
            let reason = "the call would leave the origin of the base URL".to_owned();
            return Err(ClientError::Insecure { reason });
        }
        Ok(url)
    }

    async fn judge(&self, call: &Call, response: Response) -> Result<Response, ClientError> {
        let status = response.status();
        if status.is_success() {
            return match body::coding_of(response.headers()) {
                Some(coding) => Err(unusable(call, coded(&coding))),
                None => Ok(response),
            };
        }
        if status.is_redirection() {
            return self.redirected(call, response).await;
        }
        let headers = response.headers().clone();
        if status == StatusCode::TOO_MANY_REQUESTS && call.lane != Lane::Uncounted {
            self.budget.pause(retry_after(&headers));
        }
        let stall = self.config.deadlines.stall;
        let (body, form) = body::read_refusal(response, stall).await;
        match is_of_service(call, status, form) {
            true => Err(refusal(call, status, &headers, &body)),
            false => Err(not_of_service(call, status, form)),
        }
    }

    /// Follows the redirect of a reading call, without the token.
    async fn redirected(&self, call: &Call, response: Response) -> Result<Response, ClientError> {
        let target = storage::location(&response);
        let shown = target
            .as_ref()
            .map(|url| without_secrets(url.as_str()))
            .unwrap_or_default();
        let reads = call.method == Method::GET && call.repeat == Repeat::Safe && !call.anonymous;
        let Some(target) = target.filter(|_| reads) else {
            return Err(protocol(
                call,
                format!("the service redirects to {shown}; check the base URL"),
            ));
        };
        let object = SignedObject {
            storage: self.storage.clone(),
            url: target,
            what: call.what.to_owned(),
        };
        let response = object.get(HeaderMap::new(), Connection::Kept).await?;
        match response.status() {
            status if status.is_success() => Ok(response),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(protocol(
                call,
                format!(
                    "the service redirects to {shown}, and the token is not sent there; check the base URL"
                ),
            )),
            _ => Err(object.refusal(response).await),
        }
    }

    fn fault_error(&self, call: &Call, fault: Fault) -> ClientError {
        let deadlines = &self.config.deadlines;
        match (fault, call.repeat) {
            (Fault::NotSent(reason), _) => ClientError::no_connection(reason),
            (Fault::ConnectTimeout, _) => ClientError::Timeout {
                what: "connect to the service".to_owned(),
                after: deadlines.connect,
            },
            (Fault::Refused(reason), _) => ClientError::Insecure { reason },
            (Fault::Untrusted(reason), _) => ClientError::Untrusted { reason },
            (Fault::NoAnswer(reason), Repeat::Safe) => ClientError::no_connection(reason),
            (Fault::NoAnswer(reason), Repeat::Never) => lost(call, None, reason),
            (Fault::Stalled, Repeat::Safe) => ClientError::Timeout {
                what: call.what.to_owned(),
                after: deadlines.stall,
            },
            (Fault::Stalled, Repeat::Never) => lost(
                call,
                None,
                format!("no reply within {} s", self.head_timeout(call).as_secs()),
            ),
        }
    }

    fn body_error(&self, call: &Call, fault: BodyFault) -> ClientError {
        let deadlines = &self.config.deadlines;
        let limit_bytes = self.config.max_json_bytes as u64;
        match (fault, call.repeat) {
            (BodyFault::Broken(reason), Repeat::Safe) => ClientError::no_connection(reason),
            (BodyFault::Broken(reason), Repeat::Never) => lost(call, None, reason),
            (BodyFault::Stalled, Repeat::Safe) => ClientError::Timeout {
                what: call.what.to_owned(),
                after: deadlines.stall,
            },
            (BodyFault::Stalled, Repeat::Never) => lost(call, None, "the reply stalled".to_owned()),
            (BodyFault::TooLarge, Repeat::Safe) => ClientError::TooLarge {
                what: call.what.to_owned(),
                limit_bytes,
            },
            (BodyFault::TooLarge, Repeat::Never) => {
                lost(call, None, "the reply is too large".to_owned())
            }
        }
    }
}

fn lost(call: &Call, status: Option<u16>, reason: String) -> ClientError {
    ClientError::LostReply {
        what: call.what.to_owned(),
        status,
        reason,
    }
}

fn protocol(call: &Call, reason: String) -> ClientError {
    ClientError::Protocol {
        what: call.what.to_owned(),
        reason,
    }
}

/// Whether an error reply may be believed. What a proxy sends while it has no service behind it must not mean that a model
/// is gone: then its files would be dropped.
fn is_of_service(call: &Call, status: StatusCode, form: RefusalForm) -> bool {
    let says_gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
    match form {
        RefusalForm::Json => true,
        RefusalForm::Text => !says_gone || call.refuses_in_text,
        RefusalForm::Markup => !says_gone,
    }
}

/// The error for a reply that does not come from the service, for example from a proxy. The request had no effect.
fn not_of_service(call: &Call, status: StatusCode, form: RefusalForm) -> ClientError {
    let code = status.as_u16();
    let reason = match form {
        RefusalForm::Markup => format!("{code} with {}", body::A_WEB_PAGE),
        RefusalForm::Json | RefusalForm::Text => format!(
            "{code} without JSON, which is no answer of the service; check the base URL, and what is between here and there"
        ),
    };
    match call.repeat {
        Repeat::Safe => protocol(call, reason),
        Repeat::Never => ClientError::Unavailable {
            status: Some(code),
            reason,
            retry_after: None,
        },
    }
}

/// The error for a status that is neither success nor redirect.
fn refusal(call: &Call, status: StatusCode, headers: &HeaderMap, body: &ErrorBody) -> ClientError {
    let message = message_of(status, body);
    let code = status.as_u16();
    match code {
        401 if !call.anonymous => ClientError::Unauthorized { message },
        403 => ClientError::Forbidden { message },
        404 | 410 => {
            let what = call.path.trim_start_matches("/api/v2/").to_owned();
            ClientError::NotFound { what, message }
        }
        429 => ClientError::RateLimited {
            retry_after: retry_after(headers),
        },
        // The service did not process the request.
        408 | 425 => ClientError::Unavailable {
            status: Some(code),
            reason: without_full_stop(&message).to_owned(),
            retry_after: retry_after(headers),
        },
        400..=499 => ClientError::Rejected {
            status: code,
            message,
        },
        // A service that names a retry time has not started the request, or has undone it.
        503 | 507 if headers.contains_key(reqwest::header::RETRY_AFTER) => {
            ClientError::Unavailable {
                status: Some(code),
                reason: without_full_stop(&message).to_owned(),
                retry_after: retry_after(headers),
            }
        }
        500..=599 if call.repeat == Repeat::Never => lost(call, Some(code), message),
        500..=599 => ClientError::Unavailable {
            status: Some(code),
            reason: without_full_stop(&message).to_owned(),
            retry_after: retry_after(headers),
        },
        _ => protocol(call, format!("unexpected status {code}")),
    }
}

fn coded(coding: &str) -> String {
    format!(
        "it is compressed ({coding}) although the request forbids it; a proxy before the service may do this"
    )
}

/// The error for a reply that is not JSON of the expected form.
fn unreadable(call: &Call, body: &[u8], error: &serde_json::Error) -> ClientError {
    let reason = if body.trim_ascii().is_empty() {
        "the body is empty".to_owned()
    } else {
        without_secrets(&error.to_string())
            .chars()
            .take(300)
            .collect()
    };
    unusable(call, reason)
}

/// The error for a reply that has a success status and cannot come from the service.
fn unusable(call: &Call, reason: String) -> ClientError {
    match call.repeat {
        Repeat::Safe => protocol(call, reason),
        Repeat::Never => lost(call, None, reason),
    }
}
