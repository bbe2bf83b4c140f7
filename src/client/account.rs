//! The account: identity, sign-in, points, storage, and deletion.

use reqwest::Method;

use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::groups::{AccountCalls, TokenCalls};
use crate::wire::paths::route;
use crate::wire::{
    DeleteAccount, Login, LoginReply, Password, RapidPoints, StorageLeft, Token, TokenId, UserId,
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

impl AccountCalls<'_> {
    /// Identifies the account by the token's own record. If the service does not report the owner, only the
    /// token id is known.
    pub async fn identity(self) -> Result<AccountIdentity, ClientError> {
        let token_id = self.exchange.token_id();
        let owner = match token_id {
            Some(id) => self.token_owner(id).await?,
            None => None,
        };
        Ok(AccountIdentity {
            origin: self.exchange.origin(),
            owner,
            token_id,
        })
    }

    async fn token_owner(self, id: TokenId) -> Result<Option<UserId>, ClientError> {
        let tokens = TokenCalls {
            exchange: self.exchange,
        };
        match tokens.get(id).await {
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
    pub async fn login(self, email: &str, password: Password) -> Result<Token, ClientError> {
        let what = "sign in";
        let call = Call::once(what, Method::POST, route::LOGIN).anonymous();
        let body = self
            .exchange
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
                reason: "the reply contains no token".to_owned(),
            })
    }

    /// Remaining optimization points.
    pub async fn points(self, priority: Priority) -> Result<RapidPoints, ClientError> {
        let call = Call::get("get the points", route::RAPID_POINTS).at(priority);
        self.exchange.data(call).await
    }

    /// Remaining storage.
    pub async fn storage_left(self, priority: Priority) -> Result<StorageLeft, ClientError> {
        let call = Call::get("get the storage left", route::STORAGE).at(priority);
        self.exchange.data(call).await
    }

    /// Deletes the account and everything in it. Sent once.
    pub async fn delete(self, password: Password) -> Result<(), ClientError> {
        let call = Call::once("delete the account", Method::POST, route::DELETE_ACCOUNT);
        self.exchange
            .done(call.json(&DeleteAccount { password }))
            .await
    }
}
