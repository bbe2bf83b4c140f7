//! Paged lists: one page, or a stream of all pages with read-ahead.
//!
//! A list ends at its last page (the service repeats the last page beyond it), or at a page without a new
//! item. Each id is returned once, even if the service repeats it.

use std::collections::HashSet;
use std::pin::Pin;

use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use serde::de::DeserializeOwned;

use super::Client;
use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use crate::wire::paths::route;
use crate::wire::{BaseAsset, Embed, Page, RapidId, RapidModel};

/// Maximum page size of the service.
pub const MAX_PER_PAGE: u32 = 50;
/// Pages of one list that are requested in parallel.
const PAGES_AT_ONCE: usize = 4;
/// Upper bound of the number of pages, whatever the service reports.
const MAX_PAGES: u64 = 200_000;

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

    fn all_with(q: Option<String>) -> Self {
        Self { q, ..Self::all() }
    }

    pub fn at_page(mut self, page: u64) -> Self {
        self.page = Some(page);
        self
    }

    fn pairs(&self) -> Vec<(&'static str, String)> {
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
    fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        pairs.extend(self.page.map(|page| ("page", page.to_string())));
        pairs.extend(self.q.clone().map(|q| ("q", q)));
        pairs.extend(self.rapid_id.map(|id| ("rapidId", id.to_string())));
        pairs
    }
}

/// The pages of a list in order; each item once.
pub type PageStream<T> = Pin<Box<dyn Stream<Item = Result<Page<T>, ClientError>> + Send>>;

impl Client {
    pub async fn list_assets(
        &self,
        query: ListQuery,
        priority: Priority,
    ) -> Result<Page<BaseAsset>, ClientError> {
        self.page("list base assets", route::ASSETS, query.pairs(), priority)
            .await
    }

    pub async fn list_rapid_models(
        &self,
        query: ListQuery,
        priority: Priority,
    ) -> Result<Page<RapidModel>, ClientError> {
        self.page(
            "list rapid models",
            route::RAPID_MODELS,
            query.pairs(),
            priority,
        )
        .await
    }

    pub async fn list_embeds(
        &self,
        query: EmbedQuery,
        priority: Priority,
    ) -> Result<Page<Embed>, ClientError> {
        self.page("list embeds", route::EMBEDS, query.pairs(), priority)
            .await
    }

    /// All base assets, or those with this name or tag, page by page in order.
    pub fn asset_pages(&self, q: Option<String>, priority: Priority) -> PageStream<BaseAsset> {
        self.pages_of_assets(ListQuery::all_with(q), PageOrder::AsListed, priority)
    }

    /// All base assets. If the service lists the newest first, pages come in reverse order, so lower ids
    /// come first.
    pub fn asset_pages_oldest_first(&self, priority: Priority) -> PageStream<BaseAsset> {
        self.pages_of_assets(ListQuery::all(), PageOrder::OldestFirst, priority)
    }

    fn pages_of_assets(
        &self,
        query: ListQuery,
        order: PageOrder,
        priority: Priority,
    ) -> PageStream<BaseAsset> {
        let client = self.clone();
        let fetch = move |page| {
            let (client, query) = (client.clone(), query.clone().at_page(page));
            async move { client.list_assets(query, priority).await }
        };
        all_pages(fetch, |asset: &BaseAsset| asset.id.0, order)
    }

    /// All rapid models, or those with this name or tag, page by page in order.
    pub fn rapid_pages(&self, q: Option<String>, priority: Priority) -> PageStream<RapidModel> {
        self.pages_of_rapids(ListQuery::all_with(q), PageOrder::AsListed, priority)
    }

    /// All rapid models in the order of [`Client::asset_pages_oldest_first`].
    pub fn rapid_pages_oldest_first(&self, priority: Priority) -> PageStream<RapidModel> {
        self.pages_of_rapids(ListQuery::all(), PageOrder::OldestFirst, priority)
    }

    fn pages_of_rapids(
        &self,
        query: ListQuery,
        order: PageOrder,
        priority: Priority,
    ) -> PageStream<RapidModel> {
        let client = self.clone();
        let fetch = move |page| {
            let (client, query) = (client.clone(), query.clone().at_page(page));
            async move { client.list_rapid_models(query, priority).await }
        };
        all_pages(fetch, |rapid: &RapidModel| rapid.id.0, order)
    }

    /// All embeds, or all of one rapid model, page by page in order.
    fn embed_pages(&self, rapid_id: Option<RapidId>, priority: Priority) -> PageStream<Embed> {
        let client = self.clone();
        let fetch = move |page| {
            let client = client.clone();
            let query = EmbedQuery {
                rapid_id,
                page: Some(page),
                q: None,
            };
            async move { client.list_embeds(query, priority).await }
        };
        all_pages(fetch, |embed: &Embed| embed.id.0, PageOrder::AsListed)
    }

    pub async fn all_assets(
        &self,
        q: Option<String>,
        priority: Priority,
    ) -> Result<Vec<BaseAsset>, ClientError> {
        collect(self.asset_pages(q, priority)).await
    }

    /// All embeds, or those of one rapid model.
    pub async fn all_embeds(
        &self,
        rapid_id: Option<RapidId>,
        priority: Priority,
    ) -> Result<Vec<Embed>, ClientError> {
        collect(self.embed_pages(rapid_id, priority)).await
    }

    async fn page<T: DeserializeOwned>(
        &self,
        what: &'static str,
        path: &str,
        query: Vec<(&'static str, String)>,
        priority: Priority,
    ) -> Result<Page<T>, ClientError> {
        self.json(Call::get(what, path).query(query).at(priority))
            .await
    }
}

async fn collect<T>(mut pages: PageStream<T>) -> Result<Vec<T>, ClientError> {
    let mut items = Vec::new();
    while let Some(page) = pages.try_next().await? {
        items.extend(page.data);
    }
    Ok(items)
}

/// Order in which the pages of a list are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageOrder {
    AsListed,
    OldestFirst,
}

/// Requests the first page, which contains the number of pages, and then the others, several in parallel
/// but in order.
fn all_pages<T, F, R>(fetch: F, id: fn(&T) -> u64, order: PageOrder) -> PageStream<T>
where
    T: Send + 'static,
    F: Fn(u64) -> R + Send + 'static,
    R: Future<Output = Result<Page<T>, ClientError>> + Send + 'static,
{
    let pages = stream::once(async move {
        let first = fetch(1).await?;
        let last = first.meta.last_page.min(MAX_PAGES);
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
