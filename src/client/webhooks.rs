//! Calls about webhooks.

use reqwest::Method;

use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::groups::WebhookCalls;
use crate::wire::paths::{fill, route};
use crate::wire::{CreateWebhook, Data, Webhook, WebhookId};

impl WebhookCalls<'_> {
    pub async fn list(self, priority: Priority) -> Result<Vec<Webhook>, ClientError> {
        let call = Call::get("list webhooks", route::WEBHOOKS).at(priority);
        self.exchange.items(call).await
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
        let call = Call::delete("delete a webhook", fill(route::WEBHOOK, &[&id]));
        self.exchange.done(call).await
    }

    /// Sends a test event to a webhook. Sent once.
    pub async fn test(self, id: WebhookId) -> Result<(), ClientError> {
        let call = Call::once(
            "test a webhook",
            Method::POST,
            fill(route::TEST_WEBHOOK, &[&id]),
        );
        self.exchange.done(call).await
    }
}
