//! Calls about embeds.

use reqwest::Method;

use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::groups::EmbedCalls;
use super::listing::{EmbedQuery, List, PageOrder, collect};
use crate::wire::paths::{fill, route};
use crate::wire::{
    CreateEmbed, CreateRawEmbed, Embed, EmbedCreated, EmbedId, Page, RapidId, RawEmbedCreated,
};

const LIST: List<Embed> = List {
    what: "list embeds",
    path: route::EMBEDS,
    id: |embed| embed.id.0,
};

impl EmbedCalls<'_> {
    pub async fn list(
        self,
        query: EmbedQuery,
        priority: Priority,
    ) -> Result<Page<Embed>, ClientError> {
        LIST.page(self.exchange, query.pairs(), priority).await
    }

    /// All embeds, or those of one rapid model.
    pub async fn all(
        self,
        rapid_id: Option<RapidId>,
        priority: Priority,
    ) -> Result<Vec<Embed>, ClientError> {
        let at_page = move |page| {
            let query = EmbedQuery {
                rapid_id,
                page: Some(page),
                q: None,
            };
            query.pairs()
        };
        collect(LIST.pages(self.exchange, at_page, PageOrder::AsListed, priority)).await
    }

    pub async fn get(self, id: EmbedId, priority: Priority) -> Result<Embed, ClientError> {
        let call = Call::get("get an embed", fill(route::EMBED, &[&id])).at(priority);
        self.exchange.data(call).await
    }

    pub async fn delete(self, id: EmbedId) -> Result<(), ClientError> {
        let call = Call::delete("delete an embed", fill(route::EMBED, &[&id]));
        self.exchange.done(call).await
    }

    /// Creates an embed of a rapid model. Sent once.
    pub async fn create(self, request: &CreateEmbed) -> Result<EmbedCreated, ClientError> {
        self.create_keyed(request, None).await
    }

    /// The same with an idempotency key.
    pub async fn create_keyed(
        self,
        request: &CreateEmbed,
        key: Option<&str>,
    ) -> Result<EmbedCreated, ClientError> {
        let call = Call::once("create an embed", Method::POST, route::CREATE_EMBED)
            .keyed(key)
            .json(request);
        self.exchange.data(call).await
    }

    /// Creates an embed of a base asset in glb format. Sent once.
    pub async fn create_raw(
        self,
        request: &CreateRawEmbed,
    ) -> Result<RawEmbedCreated, ClientError> {
        self.create_raw_keyed(request, None).await
    }

    /// The same with an idempotency key.
    pub async fn create_raw_keyed(
        self,
        request: &CreateRawEmbed,
        key: Option<&str>,
    ) -> Result<RawEmbedCreated, ClientError> {
        let call = Call::once("create an embed", Method::POST, route::CREATE_RAW_EMBED)
            .keyed(key)
            .json(request);
        self.exchange.data(call).await
    }
}
