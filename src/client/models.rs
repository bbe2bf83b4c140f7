//! Calls that base assets and rapid models have in common: listing, records, tags, views, deletion.

use std::fmt::Display;
use std::marker::PhantomData;
use std::sync::Arc;

use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::exchange::Exchange;
use super::listing::{List, ListQuery, PageOrder, PageStream, collect};
use crate::wire::paths::{fill, route};
use crate::wire::{
    AssetId, BaseAsset, Downloads, IdList, Page, RapidId, RapidModel, TagId, TagName,
};

/// The action of a call, for messages, and its path.
type Endpoint = (&'static str, &'static str);

/// The endpoints that both kinds of models have.
pub struct Endpoints {
    list: Endpoint,
    get: Endpoint,
    delete: Endpoint,
    delete_many: Endpoint,
    tags: Endpoint,
    remove_tag: Endpoint,
    renders: Endpoint,
}

/// The record of a base asset or of a rapid model.
pub trait Model: DeserializeOwned + Send + 'static {
    type Id: Copy + Display + Serialize + Send + Sync;
    const ENDPOINTS: Endpoints;

    fn number(&self) -> u64;
}

impl Model for BaseAsset {
    type Id = AssetId;
    const ENDPOINTS: Endpoints = Endpoints {
        list: ("list base assets", route::ASSETS),
        get: ("get a base asset", route::ASSET),
        delete: ("delete a base asset", route::ASSET),
        delete_many: ("delete base assets", route::DELETE_ASSETS),
        tags: ("list tags of base assets", route::ASSET_TAGS),
        remove_tag: ("remove a tag", route::ASSET_TAG),
        renders: ("list an asset's views", route::ASSET_RENDERS),
    };

    fn number(&self) -> u64 {
        self.id.0
    }
}

impl Model for RapidModel {
    type Id = RapidId;
    const ENDPOINTS: Endpoints = Endpoints {
        list: ("list rapid models", route::RAPID_MODELS),
        get: ("get a rapid model", route::RAPID_MODEL),
        delete: ("delete a rapid model", route::RAPID_MODEL),
        delete_many: ("delete rapid models", route::DELETE_RAPID_MODELS),
        tags: ("list tags of rapid models", route::RAPID_TAGS),
        remove_tag: ("remove a tag", route::RAPID_TAG),
        renders: ("list a rapid model's views", route::RAPID_RENDERS),
    };

    fn number(&self) -> u64 {
        self.id.0
    }
}

/// Calls about models of one kind.
pub struct ModelCalls<'a, M> {
    pub(super) exchange: &'a Arc<Exchange>,
    pub(super) kind: PhantomData<M>,
}

impl<M> Clone for ModelCalls<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for ModelCalls<'_, M> {}

impl<M: Model> ModelCalls<'_, M> {
    const LIST: List<M> = List {
        what: M::ENDPOINTS.list.0,
        path: M::ENDPOINTS.list.1,
        id: M::number,
    };

    pub async fn list(self, query: ListQuery, priority: Priority) -> Result<Page<M>, ClientError> {
        Self::LIST
            .page(self.exchange, query.pairs(), priority)
            .await
    }

    /// All models, or those with this name or tag, page by page in order.
    pub fn pages(self, q: Option<String>, priority: Priority) -> PageStream<M> {
        self.pages_in(ListQuery::all_with(q), PageOrder::AsListed, priority)
    }

    /// All models. If the service lists the newest first, pages come in reverse order, so lower ids come first.
    pub fn pages_oldest_first(self, priority: Priority) -> PageStream<M> {
        self.pages_in(ListQuery::all(), PageOrder::OldestFirst, priority)
    }

    fn pages_in(self, query: ListQuery, order: PageOrder, priority: Priority) -> PageStream<M> {
        let at_page = move |page| query.clone().at_page(page).pairs();
        Self::LIST.pages(self.exchange, at_page, order, priority)
    }

    pub async fn all(self, q: Option<String>, priority: Priority) -> Result<Vec<M>, ClientError> {
        collect(self.pages(q, priority)).await
    }

    /// Returns the record with all fields.
    pub async fn get(self, id: M::Id, priority: Priority) -> Result<M, ClientError> {
        let (what, path) = M::ENDPOINTS.get;
        let call = Call::get(what, fill(path, &[&id]));
        self.exchange.data(call.at(priority)).await
    }

    pub async fn delete(self, id: M::Id) -> Result<(), ClientError> {
        let (what, path) = M::ENDPOINTS.delete;
        let call = Call::delete(what, fill(path, &[&id]));
        self.exchange.done(call).await
    }

    pub async fn delete_many(self, ids: &[M::Id]) -> Result<(), ClientError> {
        let (what, path) = M::ENDPOINTS.delete_many;
        let call = Call::idempotent(what, Method::POST, path);
        let ids = ids.to_vec();
        self.exchange.done(call.json(&IdList { ids })).await
    }

    /// The names of all tags on models of this kind.
    pub async fn tags(self, priority: Priority) -> Result<Vec<TagName>, ClientError> {
        let (what, path) = M::ENDPOINTS.tags;
        self.exchange
            .items(Call::get(what, path).at(priority))
            .await
    }

    pub async fn remove_tag(self, id: M::Id, tag: TagId) -> Result<(), ClientError> {
        let (what, path) = M::ENDPOINTS.remove_tag;
        let call = Call::delete(what, fill(path, &[&id, &tag]));
        self.exchange.done(call).await
    }

    /// Rendered views; for a rapid model also views of its source and of the differences.
    pub async fn renders(self, id: M::Id, priority: Priority) -> Result<Downloads, ClientError> {
        let (what, path) = M::ENDPOINTS.renders;
        let call = Call::get(what, fill(path, &[&id])).refusing_in_text();
        self.exchange.json(call.at(priority)).await
    }
}
