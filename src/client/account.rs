//! The account: sign-in, tokens, points, storage, webhooks, and deletion.

use reqwest::Method;

use super::Client;
use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use crate::wire::paths::{fill, route};
use crate::wire::{
    ApiToken, CreateToken, CreateWebhook, Data, DeleteAccount, Items, Login, LoginReply, Password,
    RapidPoints, StorageLeft, Token, TokenId, UserId, Webhook, WebhookId,
};

/// Identity of an account; local state is stored under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountIdentity {
    /// Scheme, host and port of the service.
    pub origin: String,
    /// The token's owner, if the service reports it.
    pub owner: Option<UserId>,
    pub token_id: Option<TokenId>,
}

impl AccountIdentity {
    /// Stable key: origin and owner, or origin and token id if the owner is unknown.
    pub fn key(&self) -> String {
        match (self.owner, self.token_id) {
            (Some(owner), _) => format!("{}#user-{owner}", self.origin),
            (None, Some(token_id)) => format!("{}#token-{token_id}", self.origin),
            (None, None) => format!("{}#anonymous", self.origin),
        }
    }
}

impl Client {
    /// Identifies the account by the token's own record. If the service does not report the owner, only the
    /// token id is known.
    pub async fn account(&self) -> Result<AccountIdentity, ClientError> {
        let token_id = self.token_id();
        let owner = match token_id {
            Some(id) => self.token_owner(id).await?,
            None => None,
        };
        Ok(AccountIdentity {
            origin: self.origin(),
            owner,
            token_id,
        })
    }

    async fn token_owner(&self, id: TokenId) -> Result<Option<UserId>, ClientError> {
        match self.api_token(id).await {
            Ok(record) => Ok(record.tokenable_id),
            Err(
                ClientError::NotFound { .. }
                | ClientError::Forbidden { .. }
                | ClientError::Protocol { .. },
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Signs in with the account's credentials and returns a new token. Sent once.
    pub async fn login(&self, email: &str, password: Password) -> Result<Token, ClientError> {
        let what = "sign in";
        let call = Call::once(what, Method::POST, route::LOGIN).anonymous();
        let body = self
            .text(call.json(&Login {
                email: email.to_owned(),
                password,
            }))
            .await?;
        let reply = LoginReply::from_body(&body);
        reply
            .map(|reply| reply.token)
            .ok_or_else(|| ClientError::Protocol {
                what: what.to_owned(),
                reason: "there is no token in it".to_owned(),
            })
    }

    pub async fn tokens(&self, priority: Priority) -> Result<Vec<ApiToken>, ClientError> {
        let call = Call::get("list API tokens", route::TOKENS).at(priority);
        Ok(self.json::<Items<ApiToken>>(call).await?.0)
    }

    pub async fn api_token(&self, id: TokenId) -> Result<ApiToken, ClientError> {
        Ok(self
            .json::<Data<ApiToken>>(Call::get("get an API token", fill(route::TOKEN, &[&id])))
            .await?
            .data)
    }

    /// Creates an API token. The service shows its text only in this reply. Sent once.
    pub async fn create_token(&self, name: &str) -> Result<Token, ClientError> {
        let what = "create an API token";
        let call = Call::once(what, Method::POST, route::CREATE_TOKEN);
        let body = self
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

    pub async fn delete_token(&self, id: TokenId) -> Result<(), ClientError> {
        self.done(Call::delete(
            "delete an API token",
            fill(route::TOKEN, &[&id]),
        ))
        .await
    }

    /// Remaining optimization points.
    pub async fn points(&self, priority: Priority) -> Result<RapidPoints, ClientError> {
        let call = Call::get("get the points", route::RAPID_POINTS).at(priority);
        Ok(self.json::<Data<RapidPoints>>(call).await?.data)
    }

    /// Remaining storage.
    pub async fn storage(&self, priority: Priority) -> Result<StorageLeft, ClientError> {
        let call = Call::get("get the storage left", route::STORAGE).at(priority);
        Ok(self.json::<Data<StorageLeft>>(call).await?.data)
    }

    pub async fn webhooks(&self, priority: Priority) -> Result<Vec<Webhook>, ClientError> {
        let call = Call::get("list webhooks", route::WEBHOOKS).at(priority);
        Ok(self.json::<Items<Webhook>>(call).await?.0)
    }

    /// Registers a webhook. Sent once.
    pub async fn create_webhook(&self, request: &CreateWebhook) -> Result<Webhook, ClientError> {
        let call = Call::once("register a webhook", Method::POST, route::WEBHOOKS).json(request);
        match self.json::<Data<Webhook>>(call).await {
            Ok(created) => Ok(created.data),
            // Only this call uses 500 for a plain refusal: the account has the maximum number of webhooks.
            Err(ClientError::LostReply {
                status: Some(500),
                reason,
                ..
            }) => Err(ClientError::Rejected {
                status: 500,
                message: reason,
            }),
            Err(error) => Err(error),
        }
    }

    pub async fn delete_webhook(&self, id: WebhookId) -> Result<(), ClientError> {
        self.done(Call::delete(
            "delete a webhook",
            fill(route::WEBHOOK, &[&id]),
        ))
        .await
    }

    /// Sends a test event to a webhook. Sent once.
    pub async fn test_webhook(&self, id: WebhookId) -> Result<(), ClientError> {
        self.done(Call::once(
            "test a webhook",
            Method::POST,
            fill(route::TEST_WEBHOOK, &[&id]),
        ))
        .await
    }

    /// Deletes the account and everything in it. Sent once.
    pub async fn delete_account(&self, password: Password) -> Result<(), ClientError> {
        let call = Call::once("delete the account", Method::POST, route::DELETE_ACCOUNT);
        self.done(call.json(&DeleteAccount { password })).await
    }
}
