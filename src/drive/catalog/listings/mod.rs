//! The listings behind the top folders, at most as old as the refresh time.
//!
//! A fresh listing is answered at once. Another is confirmed by one request if its order allows, else by a full
//! pass; callers wait a limited time and then get what was known. A failure is only shown if nothing was ever
//! known.

pub(super) mod changes;
pub(super) mod fetch;
pub(super) mod first;
pub(super) mod freshness;
pub(super) mod records;
pub(super) mod search;
mod unlisted;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::drive::catalog::asking::patience;
use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::flight::FlightEnd;
use crate::drive::catalog::listings::fetch::fetch;
use crate::drive::catalog::listings::freshness::is_listed;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::DriveResult;
use crate::drive::values::node::ListingKind;
use crate::wire::{AssetId, RapidId};

/// How long the first access in a mount waits for a listing of an earlier mount to be confirmed.
const FIRST_LOOK: Duration = Duration::from_millis(400);

/// How old the list of models may be when only results are looked at.
const VERSIONS_AGE: Duration = Duration::from_mins(1);

/// Refreshes a listing if it is not fresh.
pub async fn refresh_listing(catalog: &Arc<Catalog>, which: ListingKind) -> DriveResult<()> {
    refresh_listing_once(catalog, which).await?;
    // The answer of a request that was in flight during a change may lack it.
    if catalog.known().belief(which).is_doubted() {
        refresh_listing_once(catalog, which).await?;
    }
    Ok(())
}

async fn refresh_listing_once(catalog: &Arc<Catalog>, which: ListingKind) -> DriveResult<()> {
    let (belief, now) = (*catalog.known().belief(which), Instant::now());
    let refresh = catalog.config.refresh;
    let failed_lately = belief.is_known() && belief.failed_lately(now, refresh);
    if belief.is_fresh(now, refresh) || failed_lately {
        return Ok(());
    }
    let fetch_end = join_listing_fetch(catalog, which);
    if !belief.is_known() {
        return fetch_end.await;
    }
    // A listing of an earlier mount is shown soon, confirmed if one quick request can.
    let patience = match belief.was_confirmed() {
        true => patience(catalog),
        false => patience(catalog).min(FIRST_LOOK),
    };
    match fetch_end.within(patience).await {
        Some(Err(error)) => {
            tracing::debug!(error = %error, "a listing could not be refreshed");
        }
        None => tracing::debug!("a listing is slow; known data are shown"),
        Some(Ok(())) => {}
    }
    Ok(())
}

/// Begins the first fetch of a listing, or joins the one in flight; `None` if the listing is known already.
/// [`is_listed`] asks without beginning anything.
pub fn begin_first_listing(catalog: &Arc<Catalog>, which: ListingKind) -> Option<FlightEnd> {
    if is_listed(catalog, which) {
        return None;
    }
    Some(join_listing_fetch(catalog, which))
}

/// Joins or starts the flight for a listing.
fn join_listing_fetch(catalog: &Arc<Catalog>, which: ListingKind) -> FlightEnd {
    catalog.join_flight(FlightKey::Listing(which), |shared| async move {
        // The names of results depend on which models are new versions of others.
        if which == ListingKind::Rapids && !is_listed(&shared, which) {
            let models = begin_first_listing(&shared, ListingKind::Assets);
            if let Some(models) = models {
                models.within(patience(&shared).min(FIRST_LOOK)).await;
            }
        }
        if which != ListingKind::Rapids {
            return fetch(&shared, which).await;
        }
        let before = newest_ids(&shared);
        fetch(&shared, which).await?;
        if may_be_of_new_versions(&shared, before) {
            let models = join_listing_fetch(&shared, ListingKind::Assets);
            models.within(patience(&shared).min(FIRST_LOOK)).await;
        }
        Ok(())
    })
}

/// The highest known ids of models and results.
fn newest_ids(catalog: &Catalog) -> (AssetId, RapidId) {
    let known = catalog.known();
    let models = known.assets.rows().map(|row| row.id).max();
    let results = known.rapids.rows().map(|row| row.id).max();
    (models.unwrap_or(AssetId(0)), results.unwrap_or(RapidId(0)))
}

/// Whether the list of models may lack new versions, whose results take names over: there is a new result of a model that
/// was not known, or nobody has asked for the list for a while.
fn may_be_of_new_versions(catalog: &Catalog, (model, result): (AssetId, RapidId)) -> bool {
    let mut known = catalog.known();
    let (belief, now) = (*known.belief(ListingKind::Assets), Instant::now());
    if belief.failed_lately(now, catalog.config.refresh) {
        return false;
    }
    if !belief.is_fresh(now, VERSIONS_AGE.max(catalog.config.refresh)) {
        return true;
    }
    let mut news = known.rapids.rows().filter(|row| row.id > result);
    news.any(|row| row.source.is_some_and(|source| source > model))
}

/// Confirms a listing, so that it proves that a name is free; the listing of an earlier mount does not. True if
/// it was confirmed just now.
pub async fn confirm_listing(catalog: &Arc<Catalog>, which: ListingKind) -> bool {
    let belief = *catalog.known().belief(which);
    if belief.was_confirmed() || belief.failed_lately(Instant::now(), catalog.config.refresh) {
        return false;
    }
    let fetch_end = join_listing_fetch(catalog, which);
    matches!(fetch_end.within(patience(catalog)).await, Some(Ok(())))
}
