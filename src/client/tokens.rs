//! Calls about API tokens.

use reqwest::Method;

use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::groups::TokenCalls;
use crate::wire::paths::{SIGN_IN_CODE, fill, route};
use crate::wire::{ApiToken, CreateToken, LoginReply, SignInCode, Token, TokenId};

impl TokenCalls<'_> {
    pub async fn list(self, priority: Priority) -> Result<Vec<ApiToken>, ClientError> {
        let call = Call::get("list API tokens", route::TOKENS).at(priority);
        self.exchange.items(call).await
    }

    pub async fn get(self, id: TokenId) -> Result<ApiToken, ClientError> {
        self.exchange
            .data(Call::get("get an API token", fill(route::TOKEN, &[&id])))
            .await
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
                reason: "the reply contains no token".to_owned(),
            })
    }

    /// A code for a link that signs in to the page of a local service. Sent once.
    pub async fn sign_in_code(self) -> Result<SignInCode, ClientError> {
        let call = Call::once("make a sign-in link", Method::POST, SIGN_IN_CODE);
        self.exchange.json(call).await
    }

    pub async fn delete(self, id: TokenId) -> Result<(), ClientError> {
        let call = Call::delete("delete an API token", fill(route::TOKEN, &[&id]));
        self.exchange.done(call).await
    }
}
