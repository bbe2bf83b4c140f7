//! Requests a listing: one page that may confirm it, else all pages.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use futures_util::TryStreamExt as _;
use serde::Serialize;

use crate::client::{ClientError, EmbedQuery, ListQuery, Priority};
use crate::drive::catalog::asking::asked;
use crate::drive::catalog::data::listing_refs::{
    EMBEDS, FACTORY, ListingRef, PRESETS, TOKENS, WEBHOOKS,
};
use crate::drive::catalog::listings::changes::assets_changed;
use crate::drive::catalog::listings::first::{first_assets, first_rapids};
use crate::drive::catalog::listings::freshness::is_listed;
use crate::drive::catalog::listings::records::store_rapid;
use crate::drive::catalog::listings::records::{
    learned_rows, rapid_row, store_all, store_assets, store_changes, store_jobs, store_rapids,
};
use crate::drive::catalog::listings::store::keep_for_good;
use crate::drive::catalog::listings::unlisted::ask_for_unlisted;
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::presets::preset_overlay;
use crate::drive::error::DriveResult;
use crate::drive::values::known::{KnownAsset, KnownEmbed, KnownPreset, KnownRecord};
use crate::drive::values::listing::{Confirmation, Record};
use crate::drive::values::node::ListingKind;

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
    let began = Instant::now();
    let page = catalog.known().assets.confirming_page(began, PER_PAGE);
    if let Some(page) = page {
        let query = ListQuery::all().at_page(page.into());
        let reply = asked(catalog, catalog.client.assets().list(query, NOW)).await?;
        if reply.unreadable == 0 {
            let confirmed = store_assets(catalog, reply.data, |listing, rows, taken| match listing
                .confirm(reply.meta.total, rows, began, Instant::now(), taken)
            {
                Confirmation::Holds(changes) => Some(changes),
                Confirmation::NeedsFullPass => None,
            });
            if confirmed {
                return Ok(());
            }
        }
    }
    if !is_listed(catalog, ListingKind::Assets) && first_assets(catalog, began).await? {
        return Ok(());
    }
    let mut pages = catalog.client.assets().pages(None, NOW);
    let mut rows = Vec::new();
    while let Some(page) = asked(catalog, pages.try_next()).await? {
        rows.extend(page.data.iter().map(KnownAsset::from_record));
    }
    let changes = learned_rows(catalog, rows, |listing, rows, taken| {
        Some(listing.replace(rows, began, Instant::now(), taken))
    });
    assets_changed(catalog, &changes.unwrap_or_default());
    Ok(())
}

async fn fetch_rapids(catalog: &Catalog) -> DriveResult<()> {
    let began = Instant::now();
    let page = catalog.known().rapids.confirming_page(began, PER_PAGE);
    if let Some(page) = page {
        let query = ListQuery::all().at_page(page.into());
        let reply = asked(catalog, catalog.client.rapids().list(query, NOW)).await?;
        let rows = reply.data.iter().map(|record| rapid_row(catalog, record));
        let rows = rows.collect();
        let mut known = catalog.known();
        let now = Instant::now();
        let confirmation =
            known
                .rapids
                .confirm(reply.meta.total, rows, began, now, &Default::default());
        if let Confirmation::Holds(changes) = confirmation {
            store_rapids(catalog, known, &changes);
            return Ok(());
        }
    }
    if !is_listed(catalog, ListingKind::Rapids) && first_rapids(catalog, began).await? {
        return Ok(());
    }
    let mut pages = catalog.client.rapids().pages(None, NOW);
    let mut rows = Vec::new();
    while let Some(page) = asked(catalog, pages.try_next()).await? {
        rows.extend(page.data.iter().map(|record| rapid_row(catalog, record)));
    }
    let mut known = catalog.known();
    let changes = known
        .rapids
        .replace(rows, began, Instant::now(), &Default::default());
    store_rapids(catalog, known, &changes);
    Ok(())
}

async fn fetch_presets(catalog: &Catalog) -> DriveResult<()> {
    preset_overlay(catalog);
    let began = Instant::now();
    let outbox = catalog.outbox.presets();
    let written = outbox.saved();
    let records = asked(catalog, catalog.client.presets().list(NOW)).await?;
    let rows = records
        .iter()
        .map(|record| KnownPreset::from_record(record, &written));
    store_all(catalog, &PRESETS, rows.collect(), began);
    if written.iter().any(|text| !text.is_listed) {
        keep_for_good(catalog).await?;
    }
    Ok(outbox.listed(&written, &records).await?)
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

/// A listing that fits one request.
async fn fetch_whole<T, R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    all: impl Future<Output = Result<Vec<T>, ClientError>>,
    row: fn(&T) -> R,
) -> DriveResult<()> {
    let began = Instant::now();
    let records = asked(catalog, all).await?;
    let rows = records.iter().map(row).collect();
    store_all(catalog, listing, rows, began);
    Ok(())
}

async fn fetch_embeds(catalog: &Catalog) -> DriveResult<()> {
    let began = Instant::now();
    let page = catalog
        .known()
        .embeds
        .confirming_page(began, EMBEDS_PER_PAGE);
    if let Some(page) = page {
        let query = EmbedQuery {
            page: Some(page.into()),
            ..EmbedQuery::default()
        };
        let reply = asked(catalog, catalog.client.embeds().list(query, NOW)).await?;
        let rows = reply.data.iter().map(KnownEmbed::from_record).collect();
        let mut known = catalog.known();
        let confirmation = known.embeds.confirm(
            reply.meta.total,
            rows,
            began,
            Instant::now(),
            &HashSet::new(),
        );
        if let Confirmation::Holds(changes) = confirmation {
            store_changes(catalog, &EMBEDS, known, &changes);
            return Ok(());
        }
    }
    let records = asked(catalog, catalog.client.embeds().all(None, NOW)).await?;
    let rows = records.iter().map(KnownEmbed::from_record).collect();
    store_all(catalog, &EMBEDS, rows, began);
    Ok(())
}

/// Running and failed optimizations, in one request.
async fn fetch_jobs(catalog: &Catalog) -> DriveResult<()> {
    let began = Instant::now();
    let records = asked(catalog, catalog.client.optimizations().running(NOW)).await?;
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
