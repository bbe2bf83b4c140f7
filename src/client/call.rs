//! One API call: what is sent, whether it may be repeated, and which budget it uses.
//!
//! The rule that keeps users from paying twice lives here: a call made with [`Call::once`] is sent a single
//! time. Sending it is `exchange`'s work.

use reqwest::Method;
use serde::Serialize;

use super::budget::Priority;

/// Whether sending a call again can do harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// The same call again has the same effect as one.
    Safe,
    /// Each one counts.
    Never,
}

/// Which part of the rate limit a call uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Counted by the service.
    Counted(Priority),
    /// An upload call, which the service does not count.
    Uncounted,
}

/// An API call that is about to be made.
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
        }
    }

    /// Reads something.
    pub(super) fn get(what: &'static str, path: impl Into<String>) -> Self {
        Self::new(what, Method::GET, path, Repeat::Safe)
    }

    /// Removes something; again is as good as once.
    pub(super) fn delete(what: &'static str, path: impl Into<String>) -> Self {
        Self::new(what, Method::DELETE, path, Repeat::Safe)
    }

    /// Has an effect each time it is sent.
    pub(super) fn once(what: &'static str, method: Method, path: impl Into<String>) -> Self {
        Self::new(what, method, path, Repeat::Never)
    }

    /// Sets something to a state; again is as good as once.
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

    pub(super) fn at(mut self, priority: Priority) -> Self {
        self.lane = Lane::Counted(priority);
        self
    }

    /// An upload call: the service does not count it.
    pub(super) fn uncounted(mut self) -> Self {
        self.lane = Lane::Uncounted;
        self
    }

    /// The one call that needs no token.
    pub(super) fn anonymous(mut self) -> Self {
        self.anonymous = true;
        self
    }
}
