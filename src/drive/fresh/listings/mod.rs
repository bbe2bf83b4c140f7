//! The top folders, kept as fresh as the refresh time asks.
//!
//! A listing that is fresh is answered at once. One that is not is confirmed by one request where
//! its order allows, else by a full pass; meanwhile those who ask wait a little, and get what was
//! known when the service is slow or away. Only where nothing was ever known does a failure show.

mod changes;
mod fetch;
mod first;
mod search;
mod store;

pub(in crate::drive) use store::{restore, restore_jobs};

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::FlightKey;
use super::flight::Landing;
use crate::drive::error::DriveResult;
use crate::drive::shared::{Known, Shared};
use crate::drive::tree::belief::Belief;
use crate::drive::tree::node::Top;

/// How long the first look in a mount waits for what an earlier mount knew to be confirmed.
const FIRST_LOOK: Duration = Duration::from_millis(400);

/// A listing of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::drive) enum Which {
    Assets,
    Rapids,
    Presets,
    Factory,
    Embeds,
    Tokens,
    Webhooks,
    /// Optimizations that run or failed lately.
    Jobs,
}

impl Which {
    /// The folder that shows it.
    pub(in crate::drive) fn top(self) -> Top {
        match self {
            Which::Assets => Top::RawModels,
            Which::Rapids => Top::RapidModels,
            Which::Presets => Top::Presets,
            Which::Factory => Top::FactoryPresets,
            Which::Embeds => Top::Embeds,
            Which::Tokens => Top::Tokens,
            Which::Webhooks => Top::Webhooks,
            Which::Jobs => Top::Jobs,
        }
    }

    /// The table in which it is kept over mounts.
    fn table(self) -> &'static str {
        match self {
            Which::Assets => "assets",
            Which::Rapids => "rapids",
            Which::Presets => "presets",
            Which::Factory => "factory",
            Which::Embeds => "embeds",
            Which::Tokens => "tokens",
            Which::Webhooks => "webhooks",
            Which::Jobs => "jobs",
        }
    }
}

impl Known {
    /// How far a listing can be believed.
    pub(in crate::drive) fn belief(&mut self, which: Which) -> &mut Belief {
        match which {
            Which::Assets => &mut self.assets.belief,
            Which::Rapids => &mut self.rapids.belief,
            Which::Presets => &mut self.presets.belief,
            Which::Factory => &mut self.factory.belief,
            Which::Embeds => &mut self.embeds.belief,
            Which::Tokens => &mut self.tokens.belief,
            Which::Webhooks => &mut self.webhooks.belief,
            Which::Jobs => &mut self.jobs_belief,
        }
    }
}

impl Shared {
    /// Makes sure that a listing can be shown.
    pub(in crate::drive) async fn refreshed(self: &Arc<Self>, which: Which) -> DriveResult<()> {
        self.refreshed_once(which).await?;
        // A request that was under way when something changed does not tell of it.
        if self.known().belief(which).is_doubted() {
            self.refreshed_once(which).await?;
        }
        Ok(())
    }

    async fn refreshed_once(self: &Arc<Self>, which: Which) -> DriveResult<()> {
        let (belief, now) = (*self.known().belief(which), Instant::now());
        let refresh = self.config.refresh;
        let failed_lately = belief.is_known() && belief.failed_lately(now, refresh);
        if belief.is_fresh(now, refresh) || failed_lately {
            return Ok(());
        }
        let landing = self.asking(which);
        if !belief.is_known() {
            return landing.await;
        }
        // What an earlier mount knew is shown soon, confirmed where that takes one quick request.
        let patience = match belief.was_confirmed() {
            true => self.patience(),
            false => self.patience().min(FIRST_LOOK),
        };
        match landing.within(patience).await {
            Some(Err(error)) => {
                tracing::debug!(error = %error, "a listing could not be refreshed");
            }
            None => tracing::debug!("a listing is slow; what is known is shown"),
            Some(Ok(())) => {}
        }
        Ok(())
    }

    /// The flight of a listing that was never told, which has to be waited for.
    pub(in crate::drive) fn first_listing(self: &Arc<Self>, which: Which) -> Option<Landing> {
        if self.is_listed(which) {
            return None;
        }
        Some(self.asking(which))
    }

    /// The flight for a listing, begun now or under way.
    fn asking(self: &Arc<Self>, which: Which) -> Landing {
        let shared = Arc::clone(self);
        self.flights.join(FlightKey::Listing(which), || async move {
            shared.fetch(which).await
        })
    }

    /// Makes sure that a listing can say that a name is free: what an earlier mount knew cannot. True
    /// when it was confirmed just now.
    pub(in crate::drive) async fn confirmed(self: &Arc<Self>, which: Which) -> bool {
        let belief = *self.known().belief(which);
        if belief.was_confirmed() || belief.failed_lately(Instant::now(), self.config.refresh) {
            return false;
        }
        let landing = self.asking(which);
        matches!(landing.within(self.patience()).await, Some(Ok(())))
    }

    /// True while a listing cannot be relied upon to delete by it.
    pub(in crate::drive) fn is_stale(&self, which: Which) -> bool {
        self.known().belief(which).is_stale()
    }

    /// True once all of a listing was ever told.
    pub(in crate::drive) fn is_listed(&self, which: Which) -> bool {
        self.known().belief(which).is_known()
    }

    /// The next look at a listing asks the service.
    pub(in crate::drive) fn doubt(&self, which: Which) {
        self.known().belief(which).doubt(Instant::now());
    }
}
