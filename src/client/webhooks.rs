//! Calls about webhooks.

use reqwest::Method;

use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::exchange::Exchange;
use crate::wire::paths::{fill, route};
use crate::wire::{CreateWebhook, Data, Items, Webhook, WebhookId};

/// Calls about webhooks.
#[derive(Clone, Copy)]
pub struct WebhookCalls<'a> {
    pub(super) exchange: &'a Exchange,
}

impl WebhookCalls<'_> {
    pub async fn list(self, priority: Priority) -> Result<Vec<Webhook>, ClientError> {
        let call = Call::get("list webhooks", route::WEBHOOKS).at(priority);
        Ok(self.exchange.json::<Items<Webhook>>(call).await?.0)
    }

    /// Registers a webhook. Sent once.
    pub async fn create(self, request: &CreateWebhook) -> Result<Webhook, ClientError> {
        let call = Call::once("register a webhook", Method::POST, route::WEBHOOKS).json(request);
        match self.exchange.json::<Data<Webhook>>(call).await {
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

    pub async fn delete(self, id: WebhookId) -> Result<(), ClientError> {
        self.exchange
            .done(Call::delete(
                "delete a webhook",
                fill(route::WEBHOOK, &[&id]),
            ))
            .await
    }

    /// Sends a test event to a webhook. Sent once.
    pub async fn test(self, id: WebhookId) -> Result<(), ClientError> {
        self.exchange
            .done(Call::once(
                "test a webhook",
                Method::POST,
                fill(route::TEST_WEBHOOK, &[&id]),
            ))
            .await
    }
}
