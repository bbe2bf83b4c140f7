//! One API call: its request, whether it may be repeated, and how it counts for the rate limit.
//!
//! The invariant: a call made with [`Call::once`] is never sent twice, so users never pay twice. `exchange`
//! sends the calls.

use reqwest::Method;
use serde::Serialize;

use super::budget::Priority;
use crate::wire::TraceParent;

/// Whether a call may be sent again after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// The call is idempotent.
    Safe,
    /// Each call has another effect.
    Never,
}

/// How a call counts for the rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Counted by the service.
    Counted(Priority),
    /// An upload call, which the service does not count.
    Uncounted,
}

/// An API call before it is sent.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) what: &'static str,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) repeat: Repeat,
    pub(super) lane: Lane,
    pub(super) anonymous: bool,
    /// The service says in plain text that there is nothing.
    pub(super) refuses_in_text: bool,
    /// Of all requests with the same key, a service that supports idempotency keys performs only one.
    pub(super) idempotency_key: Option<String>,
    /// Clients that start the same upload send the same.
    pub(super) join_key: Option<String>,
    /// Where a call is found again in the logs of the service.
    pub(super) trace: TraceParent,
}

impl Call {
    fn new(what: &'static str, method: Method, path: impl Into<String>, repeat: Repeat) -> Self {
        Self {
            what,
            method,
            path: path.into(),
            query: Vec::new(),
            body: None,
            repeat,
            lane: Lane::Counted(Priority::Interactive),
            anonymous: false,
            refuses_in_text: false,
            idempotency_key: None,
            join_key: None,
            trace: TraceParent::new(),
        }
    }

    pub(super) fn get(what: &'static str, path: impl Into<String>) -> Self {
        Self::new(what, Method::GET, path, Repeat::Safe)
    }

    pub(super) fn delete(what: &'static str, path: impl Into<String>) -> Self {
        Self::new(what, Method::DELETE, path, Repeat::Safe)
    }

    /// A call that has an effect each time it is sent.
    pub(super) fn once(what: &'static str, method: Method, path: impl Into<String>) -> Self {
        Self::new(what, method, path, Repeat::Never)
    }

    /// A call that may be repeated although it is not a GET or DELETE.
    pub(super) fn idempotent(what: &'static str, method: Method, path: impl Into<String>) -> Self {
        Self::new(what, method, path, Repeat::Safe)
    }

    pub(super) fn query(mut self, query: Vec<(&'static str, String)>) -> Self {
        self.query = query;
        self
    }

    pub(super) fn json(mut self, body: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(body).expect("a request body can be written as JSON");
        self.body = Some(bytes);
        self
    }

    pub(super) fn keyed(mut self, key: Option<&str>) -> Self {
        self.idempotency_key = key.map(str::to_owned);
        self
    }

    pub(super) fn joining(mut self, key: Option<&str>) -> Self {
        self.join_key = key.map(str::to_owned);
        self
    }

    pub(super) fn at(mut self, priority: Priority) -> Self {
        self.lane = Lane::Counted(priority);
        self
    }

    /// Marks an upload call, which the service does not count.
    pub(super) fn uncounted(mut self) -> Self {
        self.lane = Lane::Uncounted;
        self
    }

    /// Marks a call whose 404 is a plain text, as the API says; all others are JSON.
    pub(super) fn refusing_in_text(mut self) -> Self {
        self.refuses_in_text = true;
        self
    }

    /// Marks the one call without a token.
    pub(super) fn anonymous(mut self) -> Self {
        self.anonymous = true;
        self
    }
}
