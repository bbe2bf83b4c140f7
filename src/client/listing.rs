//! Paged lists: one page, or a stream of all pages with read-ahead.
//!
//! A list ends at its last page (the service repeats the last page beyond it), or at a page without a new
//! item. Each id is returned once, even if the service repeats it.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use serde::de::DeserializeOwned;

use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::exchange::Exchange;
use crate::wire::{Page, RapidId};

/// Maximum page size of the service.
pub const MAX_PER_PAGE: u32 = 50;
/// Pages of one list that are requested in parallel.
const PAGES_AT_ONCE: usize = 4;
/// A list of more pages is not read: with full pages that is a million items.
const MAX_PAGES: u64 = 20_000;

/// Names and values of a query string.
type QueryPairs = Vec<(&'static str, String)>;

/// Filter and page of a list request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Name or tag.
    pub q: Option<String>,
    /// From 1.
    pub page: Option<u64>,
    /// At most 50.
    pub per_page: Option<u32>,
}

impl ListQuery {
    /// The first page of everything, of maximum size.
    pub fn all() -> Self {
        Self {
            per_page: Some(MAX_PER_PAGE),
            ..Self::default()
        }
    }

    /// The first page of the items with this name or tag, of maximum size.
    pub fn search(q: impl Into<String>) -> Self {
        Self {
            q: Some(q.into()),
            ..Self::all()
        }
    }

    pub(super) fn all_with(q: Option<String>) -> Self {
        Self { q, ..Self::all() }
    }

    pub fn at_page(mut self, page: u64) -> Self {
        self.page = Some(page);
        self
    }

    pub(super) fn pairs(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        pairs.extend(self.q.clone().map(|q| ("q", q)));
        pairs.extend(self.page.map(|page| ("page", page.to_string())));
        pairs.extend(
            self.per_page
                .map(|count| ("itemsPerPage", count.to_string())),
        );
        pairs
    }
}

/// Filter and page of a request for embeds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbedQuery {
    /// Part of a name.
    pub q: Option<String>,
    pub rapid_id: Option<RapidId>,
    /// From 1.
    pub page: Option<u64>,
}

impl EmbedQuery {
    pub(super) fn pairs(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        pairs.extend(self.page.map(|page| ("page", page.to_string())));
        pairs.extend(self.q.clone().map(|q| ("q", q)));
        pairs.extend(self.rapid_id.map(|id| ("rapidId", id.to_string())));
        pairs
    }
}

/// The pages of a list in order; each item once.
pub type PageStream<T> = Pin<Box<dyn Stream<Item = Result<Page<T>, ClientError>> + Send>>;

pub(super) async fn collect<T>(mut pages: PageStream<T>) -> Result<Vec<T>, ClientError> {
    let mut items = Vec::new();
    while let Some(page) = pages.try_next().await? {
        items.extend(page.data);
    }
    Ok(items)
}

/// Order in which the pages of a list are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageOrder {
    AsListed,
    OldestFirst,
}

/// One of the paged lists of the service.
pub(super) struct List<T> {
    /// The action of a call, for messages.
    pub(super) what: &'static str,
    pub(super) path: &'static str,
    pub(super) id: fn(&T) -> u64,
}

impl<T: DeserializeOwned + Send + 'static> List<T> {
    pub(super) async fn page(
        &self,
        exchange: &Exchange,
        query: QueryPairs,
        priority: Priority,
    ) -> Result<Page<T>, ClientError> {
        let call = Call::get(self.what, self.path).query(query).at(priority);
        exchange.json(call).await
    }

    /// All pages; `at_page` returns the query of a page.
    pub(super) fn pages(
        self,
        exchange: &Arc<Exchange>,
        at_page: impl Fn(u64) -> QueryPairs + Send + 'static,
        order: PageOrder,
        priority: Priority,
    ) -> PageStream<T> {
        let (exchange, id) = (exchange.clone(), self.id);
        let fetch = move |page| {
            let call = Call::get(self.what, self.path)
                .query(at_page(page))
                .at(priority);
            let exchange = exchange.clone();
            async move { exchange.json(call).await }
        };
        all_pages(self.what, fetch, id, order)
    }
}

/// The number of pages. If the reply names more than [`MAX_PAGES`], the number is computed from the total number of
/// items; if that is too large, too, the list is refused.
fn last_page<T>(what: &str, first: &Page<T>) -> Result<u64, ClientError> {
    let (said, total) = (first.meta.last_page, first.meta.total);
    if said <= MAX_PAGES {
        return Ok(said);
    }
    let per_page = (first.data.len() + first.unreadable).max(1) as u64;
    let by_total = total.div_ceil(per_page);
    if total > 0 && by_total <= MAX_PAGES {
        return Ok(by_total);
    }
    Err(ClientError::Protocol {
        what: what.to_owned(),
        reason: format!(
            "the list claims to have {said} pages; lists of more than {MAX_PAGES} pages are not read"
        ),
    })
}

/// Requests the first page, which contains the number of pages, and then the others, several in parallel
/// but in order.
fn all_pages<T, F, R>(
    what: &'static str,
    fetch: F,
    id: fn(&T) -> u64,
    order: PageOrder,
) -> PageStream<T>
where
    T: Send + 'static,
    F: Fn(u64) -> R + Send + 'static,
    R: Future<Output = Result<Page<T>, ClientError>> + Send + 'static,
{
    let pages = stream::once(async move {
        let first = fetch(1).await?;
        let last = last_page(what, &first)?;
        let is_newest_first = first.data.is_sorted_by(|a, b| id(a) > id(b));
        let backwards = order == PageOrder::OldestFirst && is_newest_first;
        let others = stream::iter(2..=last)
            .map(move |at| fetch(if backwards { last + 2 - at } else { at }))
            .buffered(PAGES_AT_ONCE);
        let (before, after) = match backwards {
            true => (None, Some(first)),
            false => (Some(first), None),
        };
        let alone = |page: Option<Page<T>>| stream::iter(page.map(Ok));
        Ok::<_, ClientError>(alone(before).chain(others).chain(alone(after)))
    })
    .try_flatten();
    let mut seen: HashSet<u64> = HashSet::new();
    let mut ended = false;
    Box::pin(
        pages
            .map_ok(move |mut page| {
                page.data.retain(|item| seen.insert(id(item)));
                page
            })
            .try_take_while(move |page| {
                // The first page counts even if it is empty; a later page without a new item is a repetition.
                let go_on = !ended && (page.meta.current_page <= 1 || !page.data.is_empty());
                ended |= !go_on;
                async move { Ok(go_on) }
            }),
    )
}
