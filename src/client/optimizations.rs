//! Calls about optimizations: start them, and list those that run or failed.

use reqwest::Method;

use super::budget::Priority;
use super::call::Call;
use super::error::ClientError;
use super::groups::OptimizationCalls;
use crate::wire::paths::{fill, route};
use crate::wire::{AssetId, MultiOptimize, OptimizeRequest, RapidModel};

impl OptimizationCalls<'_> {
    /// Optimizes a base asset; costs points. Sent once.
    pub async fn start(
        self,
        id: AssetId,
        request: &OptimizeRequest,
    ) -> Result<RapidModel, ClientError> {
        self.start_keyed(id, request, None).await
    }

    /// Like [`Self::start`], with an idempotency key: a service that supports such keys answers a second request with
    /// the result of the first.
    pub async fn start_keyed(
        self,
        id: AssetId,
        request: &OptimizeRequest,
        key: Option<&str>,
    ) -> Result<RapidModel, ClientError> {
        let call = Call::once(
            "optimize an asset",
            Method::POST,
            fill(route::OPTIMIZE, &[&id]),
        )
        .keyed(key)
        .json(request);
        self.exchange.data(call).await
    }

    /// Optimizes several base assets; costs points. Sent once.
    pub async fn start_many(self, request: &MultiOptimize) -> Result<(), ClientError> {
        self.start_many_keyed(request, None).await
    }

    /// Like [`Self::start_many`], with an idempotency key.
    pub async fn start_many_keyed(
        self,
        request: &MultiOptimize,
        key: Option<&str>,
    ) -> Result<(), ClientError> {
        let call = Call::once("optimize assets", Method::POST, route::MULTI_OPTIMIZE)
            .keyed(key)
            .json(request);
        self.exchange.done(call).await
    }

    /// Optimizations of the last week that run or failed.
    pub async fn running(self, priority: Priority) -> Result<Vec<RapidModel>, ClientError> {
        let call = Call::get("list running jobs", route::RUNNING_JOBS).at(priority);
        self.exchange.items(call).await
    }
}
