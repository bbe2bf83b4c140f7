//! Requests a listing: one page that may confirm it, else all pages.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use serde::Serialize;
use tokio::time::Instant;

use crate::client::{ClientError, EmbedQuery, ListQuery, PageStream, Priority};
use crate::drive::catalog::asking::send_with_deadline;
use crate::drive::catalog::data::listing_refs::{
    ASSETS, EMBEDS, FACTORY, ListingRef, PRESETS, RAPIDS, TOKENS, WEBHOOKS,
};
use crate::drive::catalog::listings::first::first_pass;
use crate::drive::catalog::listings::freshness::is_listed;
use crate::drive::catalog::listings::records::{
    keep_for_good, learn, rapid_row, store_all, store_jobs, store_rapid,
};
use crate::drive::catalog::listings::unlisted::ask_for_unlisted;
use crate::drive::catalog::maps::store::{store_listed_analysis, store_listed_files};
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::presets::preset_overlay;
use crate::drive::error::DriveResult;
use crate::drive::values::known::{KnownAsset, KnownEmbed, KnownPreset, KnownRecord};
use crate::drive::values::listing::{Confirmation, Record};
use crate::drive::values::node::ListingKind;
use crate::wire::{BaseAsset, Page, RapidModel};

/// A caller waits for each listing requested here.
const NOW: Priority = Priority::Interactive;
/// Records per page.
const PER_PAGE: usize = 50;
/// Embeds per page: the default of the service.
const EMBEDS_PER_PAGE: usize = 12;

pub(super) async fn fetch(catalog: &Arc<Catalog>, which: ListingKind) -> DriveResult<()> {
    let result = match which {
        ListingKind::Assets => fetch_assets(catalog).await,
        ListingKind::Rapids => fetch_rapids(catalog).await,
        ListingKind::Presets => fetch_presets(catalog).await,
        ListingKind::Factory => fetch_factory(catalog).await,
        ListingKind::Embeds => fetch_embeds(catalog).await,
        ListingKind::Tokens => fetch_tokens(catalog).await,
        ListingKind::Webhooks => fetch_webhooks(catalog).await,
        ListingKind::Jobs => fetch_jobs(catalog).await,
    };
    match &result {
        Ok(()) => ask_for_unlisted(catalog, which).await,
        Err(_) => catalog.known().belief(which).failed(Instant::now()),
    }
    result
}

async fn fetch_assets(catalog: &Catalog) -> DriveResult<()> {
    let assets = catalog.client.assets();
    let row = |record: &BaseAsset| {
        store_listed_analysis(catalog, record);
        KnownAsset::from_record(record)
    };
    let page = |page| assets.list(ListQuery::all().at_page(page), NOW);
    if confirm(catalog, &ASSETS, PER_PAGE, page, row).await? {
        return Ok(());
    }
    if !is_listed(catalog, ListingKind::Assets) {
        let pages = assets.pages_oldest_first(NOW);
        if first_pass(catalog, &ASSETS, pages, |record| record.id.0, row).await? {
            return Ok(());
        }
    }
    fetch_pages(catalog, &ASSETS, assets.pages(None, NOW), row).await
}

async fn fetch_rapids(catalog: &Catalog) -> DriveResult<()> {
    let rapids = catalog.client.rapids();
    let row = |record: &RapidModel| {
        store_listed_files(catalog, record);
        rapid_row(catalog, record)
    };
    let page = |page| rapids.list(ListQuery::all().at_page(page), NOW);
    if confirm(catalog, &RAPIDS, PER_PAGE, page, row).await? {
        return Ok(());
    }
    if !is_listed(catalog, ListingKind::Rapids) {
        let pages = rapids.pages_oldest_first(NOW);
        if first_pass(catalog, &RAPIDS, pages, |record| record.id.0, row).await? {
            return Ok(());
        }
    }
    fetch_pages(catalog, &RAPIDS, rapids.pages(None, NOW), row).await
}

async fn fetch_embeds(catalog: &Catalog) -> DriveResult<()> {
    let (embeds, row) = (catalog.client.embeds(), KnownEmbed::from_record);
    let page = |page| {
        let query = EmbedQuery {
            page: Some(page),
            ..EmbedQuery::default()
        };
        embeds.list(query, NOW)
    };
    if confirm(catalog, &EMBEDS, EMBEDS_PER_PAGE, page, row).await? {
        return Ok(());
    }
    fetch_whole(catalog, &EMBEDS, embeds.all(None, NOW), row).await
}

/// True if at most one request brings the list of results up to date, unless results were deleted elsewhere.
pub fn one_request_confirms_results(catalog: &Catalog) -> bool {
    let (known, now) = (catalog.known(), Instant::now());
    let is_fresh = known.rapids.belief.is_fresh(now, catalog.config.refresh);
    is_fresh || known.rapids.confirming_page(now, PER_PAGE).is_some()
}

/// Confirms a listing with one page, if one page can; false if a full pass is needed.
async fn confirm<T, R: Record + Serialize, Reply>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    per_page: usize,
    request: impl FnOnce(u64) -> Reply,
    row: impl Fn(&T) -> R,
) -> DriveResult<bool>
where
    Reply: Future<Output = Result<Page<T>, ClientError>>,
{
    let began = Instant::now();
    let page = (listing.rows)(&mut catalog.known()).confirming_page(began, per_page);
    let Some(page) = page else {
        return Ok(false);
    };
    let reply = send_with_deadline(catalog, request(page.into())).await?;
    if reply.unreadable > 0 {
        return Ok(false);
    }
    let (total, rows) = (reply.meta.total, reply.data.iter().map(row).collect());
    let holds = learn(
        catalog,
        listing,
        rows,
        |listing, rows, taken| match listing.confirm(total, rows, began, Instant::now(), taken) {
            Confirmation::Holds(changes) => Some(changes),
            Confirmation::NeedsFullPass => None,
        },
    );
    Ok(holds)
}

async fn fetch_presets(catalog: &Catalog) -> DriveResult<()> {
    preset_overlay(catalog);
    let began = Instant::now();
    let outbox = catalog.outbox.presets();
    let written = outbox.saved();
    let records = send_with_deadline(catalog, catalog.client.presets().list(NOW)).await?;
    let rows = records
        .iter()
        .map(|record| KnownPreset::from_record(record, &written));
    store_all(catalog, &PRESETS, rows.collect(), began);
    if written.iter().any(|text| !text.is_listed) {
        keep_for_good(catalog).await?;
    }
    Ok(outbox.note_listed_presets(&written, &records).await?)
}

async fn fetch_factory(catalog: &Catalog) -> DriveResult<()> {
    let all = catalog.client.presets().factory(NOW);
    fetch_whole(catalog, &FACTORY, all, KnownPreset::from_factory_record).await
}

async fn fetch_tokens(catalog: &Catalog) -> DriveResult<()> {
    let all = catalog.client.tokens().list(NOW);
    fetch_whole(catalog, &TOKENS, all, KnownRecord::from_token).await
}

async fn fetch_webhooks(catalog: &Catalog) -> DriveResult<()> {
    let all = catalog.client.webhooks().list(NOW);
    fetch_whole(catalog, &WEBHOOKS, all, KnownRecord::from_webhook).await
}

/// A full pass over a long listing. Each page has the deadline of a request.
async fn fetch_pages<T, R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    mut pages: PageStream<T>,
    row: impl Fn(&T) -> R,
) -> DriveResult<()> {
    let (began, mut rows) = (Instant::now(), Vec::new());
    while let Some(page) = send_with_deadline(catalog, pages.try_next()).await? {
        rows.extend(page.data.iter().map(&row));
    }
    store_all(catalog, listing, rows, began);
    Ok(())
}

/// A listing that fits one request.
async fn fetch_whole<T, R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    all: impl Future<Output = Result<Vec<T>, ClientError>>,
    row: impl Fn(&T) -> R,
) -> DriveResult<()> {
    let began = Instant::now();
    let records = send_with_deadline(catalog, all).await?;
    let rows = records.iter().map(row).collect();
    store_all(catalog, listing, rows, began);
    Ok(())
}

/// Running and failed optimizations, in one request.
async fn fetch_jobs(catalog: &Catalog) -> DriveResult<()> {
    let began = Instant::now();
    let records = send_with_deadline(catalog, catalog.client.optimizations().running(NOW)).await?;
    for record in &records {
        store_rapid(catalog, record, began);
    }
    store_jobs(
        catalog,
        records.iter().map(|record| record.id).collect(),
        began,
    );
    Ok(())
}
