//! Search on the service: by a query, and for one name without its whole listing.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::time::Instant;

use crate::client::{ListQuery, Priority};
use crate::drive::catalog::asking::{send_with_deadline, until_unreachable, wait_for_fetch};
use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::data::listing_refs::{ASSETS, RAPIDS};
use crate::drive::catalog::listings::freshness::is_listed;
use crate::drive::catalog::listings::records::{rapid_row, store_some};
use crate::drive::catalog::listings::refresh_listing;
use crate::drive::catalog::models::{refresh_asset, refresh_rapid};
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::known::{KnownAsset, KnownRapid};
use crate::drive::values::names::{original_name, split_id};
use crate::drive::values::node::Family;
use crate::wire::{AssetId, ModelId, RapidId, Tag, is_found_by_notes};

/// Maximum number of stored searches.
const MAX_KEPT: usize = 64;
/// Maximum length of a query.
const MAX_QUERY_BYTES: usize = 1024;
/// Maximum number of pages of results.
const MAX_PAGES: usize = 20;

/// The ids that a query finds, at most as old as the refresh time.
pub async fn found(
    catalog: &Arc<Catalog>,
    family: Family,
    query: &Arc<str>,
) -> DriveResult<Vec<u64>> {
    if query.len() > MAX_QUERY_BYTES {
        return Err(DriveError::NameTooLong);
    }
    let key = (family, Arc::clone(query));
    let known = catalog.known().searches.get(&key).cloned();
    if let Some((ids, received)) = &known
        && received.elapsed() < catalog.config.refresh
    {
        return Ok(ids.clone());
    }
    let asked = Arc::clone(query);
    let fetch_end = catalog.join_flight(
        FlightKey::Search(family, Arc::clone(query)),
        |shared| async move { run_search(&shared, family, asked).await },
    );
    wait_for_fetch(catalog, fetch_end, known.is_some()).await?;
    let known = catalog.known();
    let ids = known.searches.get(&key).map(|(ids, _)| ids.clone());
    ids.ok_or(DriveError::NotFound)
}

async fn run_search(catalog: &Arc<Catalog>, family: Family, query: Arc<str>) -> DriveResult<()> {
    let mut ids = Vec::new();
    let mut page = 1;
    loop {
        let began = Instant::now();
        let page_query = ListQuery::search(&*query).at_page(page);
        let (hits, last) = hits(catalog, family, page_query).await?;
        ids.extend(hits.ids());
        hits.store(catalog, began);
        if page >= last.min(MAX_PAGES as u64) {
            break;
        }
        page += 1;
    }
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(*id));
    let mut known = catalog.known();
    if known.searches.len() >= MAX_KEPT {
        known.searches.clear();
    }
    known
        .searches
        .insert((family, query), (ids, Instant::now()));
    Ok(())
}

/// Models that a query finds.
enum Hits {
    Assets(Vec<KnownAsset>),
    Rapids(Vec<KnownRapid>),
}

impl Hits {
    fn ids(&self) -> Vec<u64> {
        match self {
            Hits::Assets(rows) => rows.iter().map(|row| row.id.0).collect(),
            Hits::Rapids(rows) => rows.iter().map(|row| row.id.0).collect(),
        }
    }

    fn retain_named(&mut self, name: &str) {
        match self {
            Hits::Assets(rows) => rows.retain(|row| row.name == name),
            Hits::Rapids(rows) => rows.retain(|row| row.name == name),
        }
    }

    fn store(self, catalog: &Catalog, asked: Instant) {
        match self {
            Hits::Assets(rows) => store_some(catalog, &ASSETS, rows, asked),
            Hits::Rapids(rows) => store_some(catalog, &RAPIDS, rows, asked),
        }
    }
}

/// Fetches a page of hits; returns the number of pages too. What a drive has noted on a model finds nothing.
async fn hits(catalog: &Catalog, family: Family, query: ListQuery) -> DriveResult<(Hits, u64)> {
    let (client, now) = (&catalog.client, Priority::Interactive);
    let asked = query.q.clone().unwrap_or_default();
    let is_hit = |name: &str, tags: &[Tag]| !is_found_by_notes(&asked, name, tags);
    Ok(match family {
        Family::Raw => {
            let reply = send_with_deadline(catalog, client.assets().list(query, now)).await?;
            let found = reply.data.iter().filter(|it| is_hit(&it.name, &it.tags));
            let rows = found.map(KnownAsset::from_record);
            (Hits::Assets(rows.collect()), reply.meta.last_page)
        }
        Family::Rapid => {
            let reply = send_with_deadline(catalog, client.rapids().list(query, now)).await?;
            let found = reply.data.iter().filter(|it| is_hit(&it.name, &it.tags));
            let rows = found.map(|record| rapid_row(catalog, record));
            (Hits::Rapids(rows.collect()), reply.meta.last_page)
        }
    })
}

/// Whether a name could be asked for.
pub enum NameAnswer {
    /// The known data of the name is as fresh as the service allows.
    Asked,
    /// The service cannot be reached or does not answer, and the listing of the name is not known.
    OutOfReach(DriveError),
}

/// The model that a listing shows under a name, as far as it is known.
pub fn listed_model(catalog: &Catalog, family: Family, name: &str) -> Option<ModelId> {
    match family {
        Family::Raw => {
            let asset = catalog.known().assets.find(name).map(|row| row.id)?;
            let is_shown = !catalog.outbox.uploads().unseen_assets().contains(&asset);
            is_shown.then_some(ModelId::Asset(asset))
        }
        Family::Rapid => {
            let rapid = catalog.known().rapids.find(name).map(|row| row.id)?;
            Some(ModelId::Rapid(rapid))
        }
    }
}

/// Brings the data of a name up to date: by the listing if that is known, else by one request for the name and, if
/// that finds nothing, by the listing. Does not wait for a service that cannot be reached or is known to be silent.
pub async fn ask_for_name(
    catalog: &Arc<Catalog>,
    family: Family,
    name: &str,
) -> DriveResult<NameAnswer> {
    let listing = family.listing();
    if is_listed(catalog, listing) {
        return refresh_listing(catalog, listing)
            .await
            .map(|()| NameAnswer::Asked);
    }
    let asking = async {
        let known = listed_model(catalog, family, name);
        look_for_name(catalog, family, name, known).await;
        match listed_model(catalog, family, name) {
            Some(_) => Ok(()),
            None => refresh_listing(catalog, listing).await,
        }
    };
    tokio::select! {
        biased;
        answer = asking => match answer {
            Err(error @ (DriveError::Unreachable(_) | DriveError::TimedOut(_))) => {
                Ok(NameAnswer::OutOfReach(error))
            }
            answer => answer.map(|()| NameAnswer::Asked),
        },
        () = until_unreachable(catalog) => {
            let why = catalog.offline_reason();
            let why = why.unwrap_or_else(|| "the service cannot be reached; try again later".into());
            Ok(NameAnswer::OutOfReach(DriveError::Unreachable(why)))
        }
    }
}

/// Searches for a name by one request while its listing is not known; `known` is what it stood for before. Only
/// a listing proves that a name is free, and only the service that an object is gone.
async fn look_for_name(catalog: &Arc<Catalog>, family: Family, name: &str, known: Option<ModelId>) {
    let refresh = catalog.config.refresh;
    let is_young = known.is_some_and(|subject| {
        let (listings, now) = (catalog.known(), Instant::now());
        match subject {
            ModelId::Asset(asset) => listings.assets.is_young(asset.0, now, refresh),
            ModelId::Rapid(rapid) => listings.rapids.is_young(rapid.0, now, refresh),
        }
    });
    if is_young || find_by_name(catalog, family, name).await {
        return;
    }
    let asked = match known {
        Some(ModelId::Asset(asset)) => refresh_asset(catalog, asset, refresh).await.map(drop),
        Some(ModelId::Rapid(rapid)) => refresh_rapid(catalog, rapid, refresh).await.map(drop),
        None => Ok(()),
    };
    if let Err(error) = asked {
        tracing::debug!(error = %error, "the known object of a name could not be requested");
    }
}

async fn find_by_name(catalog: &Arc<Catalog>, family: Family, name: &str) -> bool {
    let found = match split_id(name) {
        Some((_, id)) => find_by_id(catalog, family, id).await,
        None => find_by_query(catalog, family, name).await,
    };
    found.unwrap_or_else(|error| {
        tracing::debug!(error = %error, "a single name could not be looked up");
        false
    })
}

async fn find_by_id(catalog: &Arc<Catalog>, family: Family, id: u64) -> DriveResult<bool> {
    match family {
        Family::Raw => drop(refresh_asset(catalog, AssetId(id), catalog.config.refresh).await?),
        Family::Rapid => drop(refresh_rapid(catalog, RapidId(id), catalog.config.refresh).await?),
    }
    Ok(true)
}

/// All objects of the name are stored together, so that the lowest id gets the name. If there may be more of
/// them than one page holds, or if the name may stand for two names of the service, the listing decides.
async fn find_by_query(catalog: &Arc<Catalog>, family: Family, wanted: &str) -> DriveResult<bool> {
    if wanted.contains('"') || wanted.len() > MAX_QUERY_BYTES || original_name(wanted) != wanted {
        return Ok(false);
    }
    let began = Instant::now();
    let query = ListQuery::search(format!("\"{wanted}\""));
    let (mut hits, last) = hits(catalog, family, query).await?;
    hits.retain_named(wanted);
    if last > 1 || hits.ids().is_empty() {
        return Ok(false);
    }
    hits.store(catalog, began);
    Ok(true)
}
