//! Calls about embeds. Listing them is in `listing`.

use reqwest::Method;

use super::Client;
use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use crate::wire::paths::{fill, route};
use crate::wire::{
    CreateEmbed, CreateRawEmbed, Data, Embed, EmbedCreated, EmbedId, RawEmbedCreated,
};

impl Client {
    pub async fn embed(&self, id: EmbedId, priority: Priority) -> Result<Embed, ClientError> {
        let call = Call::get("get an embed", fill(route::EMBED, &[&id])).at(priority);
        Ok(self.json::<Data<Embed>>(call).await?.data)
    }

    pub async fn delete_embed(&self, id: EmbedId) -> Result<(), ClientError> {
        self.done(Call::delete("delete an embed", fill(route::EMBED, &[&id])))
            .await
    }

    /// Creates an embed of a rapid model. Sent once.
    pub async fn create_embed(&self, request: &CreateEmbed) -> Result<EmbedCreated, ClientError> {
        let call = Call::once("create an embed", Method::POST, route::CREATE_EMBED).json(request);
        Ok(self.json::<Data<EmbedCreated>>(call).await?.data)
    }

    /// Creates an embed of a base asset in glb format. Sent once.
    pub async fn create_raw_embed(
        &self,
        request: &CreateRawEmbed,
    ) -> Result<RawEmbedCreated, ClientError> {
        let call =
            Call::once("create an embed", Method::POST, route::CREATE_RAW_EMBED).json(request);
        Ok(self.json::<Data<RawEmbedCreated>>(call).await?.data)
    }
}
