//! Calls about API tokens.

use reqwest::Method;

use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::exchange::Exchange;
use crate::wire::paths::{fill, route};
use crate::wire::{ApiToken, CreateToken, Data, Items, LoginReply, Token, TokenId};

/// Calls about API tokens.
#[derive(Clone, Copy)]
pub struct TokenCalls<'a> {
    pub(super) exchange: &'a Exchange,
}

impl TokenCalls<'_> {
    pub async fn list(self, priority: Priority) -> Result<Vec<ApiToken>, ClientError> {
        let call = Call::get("list API tokens", route::TOKENS).at(priority);
        Ok(self.exchange.json::<Items<ApiToken>>(call).await?.0)
    }

    pub async fn get(self, id: TokenId) -> Result<ApiToken, ClientError> {
        Ok(self
            .exchange
            .json::<Data<ApiToken>>(Call::get("get an API token", fill(route::TOKEN, &[&id])))
            .await?
            .data)
    }

    /// Creates an API token. The service shows its text only in this reply. Sent once.
    pub async fn create(self, name: &str) -> Result<Token, ClientError> {
        let what = "create an API token";
        let call = Call::once(what, Method::POST, route::CREATE_TOKEN);
        let body = self
            .exchange
            .text(call.json(&CreateToken {
                name: name.to_owned(),
            }))
            .await?;
        let reply = LoginReply::from_body(&body);
        reply
            .map(|reply| reply.token)
            .ok_or_else(|| ClientError::LostReply {
                what: what.to_owned(),
                status: None,
                reason: "there is no token in it".to_owned(),
            })
    }

    pub async fn delete(self, id: TokenId) -> Result<(), ClientError> {
        self.exchange
            .done(Call::delete(
                "delete an API token",
                fill(route::TOKEN, &[&id]),
            ))
            .await
    }
}
