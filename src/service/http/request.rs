//! Extractors: the caller, the ids of the path, the query.

use std::collections::HashMap;
use std::num::IntErrorKind;
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use serde_json::Value;

use super::error::ApiError;
use super::rate_headers::note_rate;
use crate::listener::Peer;
use crate::service::app::App;
use crate::service::ids::id_number;
use crate::service::limits::{RateRefusal, Requester};
use crate::service::metrics::RequestClass;
use crate::service::records::{ListOrder, ModelState, PageRequest, Records, Search};
use crate::service::secrets::secret_matches;
use crate::wire::{
    AssetId, EmbedId, IDEMPOTENCY_KEY, JOIN_KEY, PresetId, RapidId, TagId, TokenId, UserId,
    WebhookId,
};

const MAX_QUERY_BYTES: usize = 4_096;
/// The longest idempotency key, in characters.
const MAX_REQUEST_KEY: usize = 255;

/// Minimum time between two updates of a token's time of last use.
const TOUCH_PAUSE_SECS: i64 = 60;

/// A client without a token, for example at login, within the rate limit of its address.
#[derive(Debug, Clone, Copy)]
pub struct Anonymous;

impl FromRequestParts<Arc<App>> for Anonymous {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Anonymous, ApiError> {
        count_anonymous(parts, app).await?;
        Ok(Anonymous)
    }
}

/// A call of the API with a valid token, within the rate limit.
pub struct ApiCall {
    pub app: Arc<App>,
    /// The account that the token belongs to.
    pub user: UserId,
    pub token: TokenId,
    /// The path of the request.
    pub path: String,
    pub ids: Ids,
    pub query: Query,
    /// The `Idempotency-Key`, if the client gave one. A call that creates something creates it once for each key.
    pub request_key: Option<String>,
    /// The `Join-Key` of a start of an upload.
    pub join_key: Option<String>,
}

/// What most handlers return.
pub type JsonReply = Result<Json<Value>, ApiError>;

impl FromRequestParts<Arc<App>> for ApiCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<ApiCall, ApiError> {
        let caller = count_caller(parts, app).await?;
        let (user, token) = caller.ok_or(ApiError::InvalidToken)?;
        Ok(ApiCall {
            app: app.clone(),
            user,
            token,
            path: parts.uri.path().to_owned(),
            ids: Ids::from_request_parts(parts, app).await?,
            query: Query::of(parts),
            request_key: key_in(parts, IDEMPOTENCY_KEY)?,
            join_key: key_in(parts, JOIN_KEY)?,
        })
    }
}

fn key_in(parts: &Parts, header: &str) -> Result<Option<String>, ApiError> {
    let Some(key) = parts.headers.get(header) else {
        return Ok(None);
    };
    match key.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= MAX_REQUEST_KEY => Ok(Some(key.to_owned())),
        _ => Err(ApiError::field(
            header,
            format!(
                "The header {header} must have 1 to {MAX_REQUEST_KEY} visible ASCII characters; \
                 leave it out if the request needs none."
            ),
        )),
    }
}

impl ApiCall {
    pub fn records(&self) -> &Records {
        &self.app.records
    }
}

/// A request that no handler takes: an unknown path, or a method that the path does not have. Those of the API count in
/// the rate limit like all others.
#[derive(Debug, Clone, Copy)]
pub struct Counted;

impl FromRequestParts<Arc<App>> for Counted {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Counted, ApiError> {
        if let RequestClass::Api | RequestClass::Legacy = RequestClass::of(parts.uri.path()) {
            count_caller(parts, app).await?;
        }
        Ok(Counted)
    }
}

/// Counts a request for the user of its token; without a valid token for its address, and returns `None`.
async fn count_caller(parts: &Parts, app: &App) -> Result<Option<(UserId, TokenId)>, ApiError> {
    match identify(parts, app).await {
        Ok((user, token)) => {
            count(parts, app, Requester::User(user)).await?;
            Ok(Some((user, token)))
        }
        Err(ApiError::InvalidToken) => {
            count_anonymous(parts, app).await?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

async fn count_anonymous(parts: &Parts, app: &App) -> Result<(), ApiError> {
    let peer = parts.extensions.get::<Peer>();
    let peer = peer.expect("the listener adds the peer to every request");
    let client = app
        .config
        .trusted_proxies
        .client(peer.addr(), &parts.headers);
    count(parts, app, Requester::Peer(Peer::of(client))).await
}

/// Counts a request, except for uploads: their URLs and calls are not limited.
async fn count(parts: &Parts, app: &App, requester: Requester) -> Result<(), ApiError> {
    if parts.uri.path().contains("/api-upload/") {
        return Ok(());
    }
    match app.limiter.take(&app.records, requester).await {
        Ok(remaining) => {
            note_rate(parts, app.limiter.per_minute(), remaining);
            Ok(())
        }
        Err(RateRefusal::Full { retry_after }) => {
            note_rate(parts, app.limiter.per_minute(), 0);
            tracing::warn!(?requester, "too many requests in a minute");
            Err(ApiError::TooManyRequests { retry_after })
        }
        Err(RateRefusal::Records(error)) => Err(error.into()),
    }
}

async fn identify(parts: &Parts, app: &App) -> Result<(UserId, TokenId), ApiError> {
    let (id, secret) = credentials(parts).ok_or(ApiError::InvalidToken)?;
    let token = app.records.tokens().get(id).await?;
    let token = token.ok_or(ApiError::InvalidToken)?;
    if !secret_matches(secret, &token.secret_hash) {
        return Err(ApiError::InvalidToken);
    }
    let now = app.clock.now().as_second();
    let last = token.last_used_at.map_or(0, |last| last.as_second());
    if now - last >= TOUCH_PAUSE_SECS {
        app.records.tokens().note_use(id).await?;
    }
    Ok((token.user, id))
}

/// The two parts of `Bearer <id>|<secret>`.
fn credentials(parts: &Parts) -> Option<(TokenId, &str)> {
    let value = parts.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let (id, secret) = token.trim().split_once('|')?;
    Some((TokenId(id_number(id)?), secret))
}

/// The ids of a path. An id that is not a number is not found.
#[derive(Debug)]
pub struct Ids(HashMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for Ids {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Ids, ApiError> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            // A path with bytes that are not text names nothing, like any other unknown path.
            .map_err(|_| ApiError::no("path"))?;
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let ids: HashMap<_, _> = params.iter().map(owned).collect();
        // No name has a NUL, and PostgreSQL refuses one in a query.
        match ids.values().any(|value| value.contains('\0')) {
            true => Err(ApiError::no("path")),
            false => Ok(Ids(ids)),
        }
    }
}

impl Ids {
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub fn number(&self, name: &str, what: &str) -> Result<u64, ApiError> {
        id_number(self.text(name)).ok_or_else(|| ApiError::no(what))
    }

    pub fn asset(&self) -> Result<AssetId, ApiError> {
        Ok(AssetId(self.number("id", "base asset")?))
    }

    pub fn rapid(&self) -> Result<RapidId, ApiError> {
        Ok(RapidId(self.number("id", "rapid model")?))
    }

    pub fn preset(&self) -> Result<PresetId, ApiError> {
        Ok(PresetId(self.number("id", "preset")?))
    }

    pub fn token(&self) -> Result<TokenId, ApiError> {
        Ok(TokenId(self.number("id", "token")?))
    }

    pub fn tag(&self) -> Result<TagId, ApiError> {
        Ok(TagId(self.number("tagId", "tag")?))
    }

    pub fn embed(&self) -> Result<EmbedId, ApiError> {
        Ok(EmbedId(self.number("id", "embed")?))
    }

    pub fn webhook(&self) -> Result<WebhookId, ApiError> {
        Ok(WebhookId(self.number("id", "webhook")?))
    }
}

/// The integer in `text` if it is above 0. An integer beyond the range is the maximum.
fn positive(text: &str) -> Option<u64> {
    match text.parse::<u64>() {
        Ok(number) => Some(number).filter(|&number| number > 0),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(u64::MAX),
        Err(_) => None,
    }
}

/// The query of a request. If a name occurs twice, the last value counts.
#[derive(Debug)]
pub struct Query(HashMap<String, String>);

impl Query {
    fn of(parts: &Parts) -> Query {
        let text = parts.uri.query().unwrap_or_default();
        let pairs = url::form_urlencoded::parse(text.as_bytes());
        Query(pairs.into_owned().collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The search in `q`. Without `q` it matches everything.
    pub fn search(&self) -> Result<Search, ApiError> {
        let q = self.get("q").unwrap_or_default();
        if q.len() > MAX_QUERY_BYTES {
            let problem = format!("The q field must not be longer than {MAX_QUERY_BYTES} bytes.");
            return Err(ApiError::field("q", problem));
        }
        if q.contains('\0') {
            let problem = "The q field must not contain a NUL character.";
            return Err(ApiError::field("q", problem));
        }
        Ok(Search::parse(q))
    }

    /// The search in `q`, with what else a listing of models is narrowed to. These are not fields of the API.
    pub fn search_of_models(&self) -> Result<Search, ApiError> {
        let mut search = self.search()?;
        search.state = self.one_of("state", &ModelState::ALL)?;
        search.order = self.one_of("sort", &ListOrder::ALL)?.unwrap_or_default();
        search.format = self.text("format")?.map(str::to_lowercase);
        search.tag = self.text("tag")?.map(str::to_owned);
        search.least = self.bytes("size_from")?;
        search.most = self.bytes("size_to")?;
        Ok(search)
    }

    /// A field that is not empty.
    fn text(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let text = self.get(name).filter(|text| !text.is_empty());
        match text {
            Some(text) if text.len() > MAX_QUERY_BYTES || text.contains('\0') => {
                let problem = format!(
                    "The {name} field must have at most {MAX_QUERY_BYTES} bytes and no NUL character."
                );
                Err(ApiError::field(name, problem))
            }
            text => Ok(text),
        }
    }

    /// A field with one of the words of `known`.
    fn one_of<T: Copy>(&self, name: &str, known: &[(&str, T)]) -> Result<Option<T>, ApiError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let found = known.iter().find(|(word, _)| *word == text);
        let words = || known.iter().map(|(word, _)| *word).collect::<Vec<_>>();
        found.map(|(_, value)| Some(*value)).ok_or_else(|| {
            let problem = format!("The {name} field must be one of {}.", words().join(", "));
            ApiError::field(name, problem)
        })
    }

    fn bytes(&self, name: &str) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let number = text.parse::<u64>().ok();
        number
            .map(|number| Some(number.min(i64::MAX.unsigned_abs())))
            .ok_or_else(|| {
                ApiError::field(name, format!("The {name} field must be a number of bytes."))
            })
    }

    /// The requested page. Values that are not positive integers count as absent. The page size is limited to `most`.
    /// A page beyond the last one becomes the last one.
    pub fn page(&self, default: u64, most: u64) -> PageRequest {
        let number = |name| positive(self.get(name)?.trim());
        PageRequest {
            page: number("page").unwrap_or(1),
            per_page: number("itemsPerPage").unwrap_or(default).min(most),
        }
    }

    /// The query without the page, for links to other pages.
    pub fn without_page(&self) -> Vec<(&str, &str)> {
        let mut pairs: Vec<_> = self
            .0
            .iter()
            .filter(|(name, _)| *name != "page")
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        pairs.sort_unstable();
        pairs
    }
}
