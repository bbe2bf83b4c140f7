//! Requests a listing: one page that may confirm it, else all pages.

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard};
use std::time::{Instant, SystemTime};

use futures_util::TryStreamExt as _;
use serde::Serialize;

use super::super::change::{Change, Listed};
use crate::client::{ClientError, EmbedQuery, ListQuery, Priority};
use crate::drive::catalog::asking::asked;
use crate::drive::catalog::listings::changes::{assets_changed, rapids_changed, told_rapid};
use crate::drive::catalog::listings::first::{first_assets, first_rapids};
use crate::drive::catalog::listings::is_listed;
use crate::drive::catalog::listings::store::{keep, keep_for_good};
use crate::drive::catalog::presets::preset_overlay;
use crate::drive::catalog::state::{Catalog, Known};
use crate::drive::error::DriveResult;
use crate::drive::values::known::{KnownAsset, KnownEmbed, KnownPreset, KnownRapid, KnownRecord};
use crate::drive::values::listing::{Changes, Confirmation, Listing, Record};
use crate::drive::values::node::ListingKind;
use crate::outbox::DraftKind;
use crate::wire::{BaseAsset, RapidId};

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
    if result.is_err() {
        catalog.known().belief(which).failed(Instant::now());
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
            let confirmed = told_assets(catalog, reply.data, |listing, rows, taken| match listing
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

/// Applies records with `learn`; false if it could not use them.
pub(super) fn told_assets(
    catalog: &Catalog,
    records: Vec<BaseAsset>,
    learn: impl FnOnce(&mut Listing<KnownAsset>, Vec<KnownAsset>, &HashSet<String>) -> Option<Changes>,
) -> bool {
    let rows = records.iter().map(KnownAsset::from_record).collect();
    drop(records);
    let changes = learned_rows(catalog, rows, learn);
    if let Some(changes) = &changes {
        assets_changed(catalog, changes);
    }
    changes.is_some()
}

/// The same with rows, without reporting changes.
pub(super) fn learned_rows(
    catalog: &Catalog,
    rows: Vec<KnownAsset>,
    learn: impl FnOnce(&mut Listing<KnownAsset>, Vec<KnownAsset>, &HashSet<String>) -> Option<Changes>,
) -> Option<Changes> {
    let taken = catalog.draft_names();
    let mut known = catalog.known();
    for row in &rows {
        claim_made(catalog, &mut known, row);
    }
    let changes = learn(&mut known.assets, rows, &taken)?;
    keep(
        catalog,
        ListingKind::Assets,
        &mut known,
        |known| &mut known.assets,
        &changes,
    );
    Some(changes)
}

/// Stores and reports changes of assets.
pub(super) fn told_asset_changes(
    catalog: &Catalog,
    mut known: MutexGuard<'_, Known>,
    changes: &Changes,
) {
    keep(
        catalog,
        ListingKind::Assets,
        &mut known,
        |known| &mut known.assets,
        changes,
    );
    drop(known);
    assets_changed(catalog, changes);
}

/// An asset that was copied in here keeps the name of its draft.
fn claim_made(catalog: &Catalog, known: &mut Known, row: &KnownAsset) {
    if let Some(record) = catalog.outbox.uploads().sent_record(row.id)
        && record.kind == DraftKind::Folder
    {
        known.assets.claim(row.id.0, &record.name, &row.name);
    }
}

async fn fetch_rapids(catalog: &Catalog) -> DriveResult<()> {
    let began = Instant::now();
    let page = catalog.known().rapids.confirming_page(began, PER_PAGE);
    if let Some(page) = page {
        let query = ListQuery::all().at_page(page.into());
        let reply = asked(catalog, catalog.client.rapids().list(query, NOW)).await?;
        let rows = reply.data.iter().map(KnownRapid::from_record).collect();
        let mut known = catalog.known();
        let now = Instant::now();
        let confirmation =
            known
                .rapids
                .confirm(reply.meta.total, rows, began, now, &Default::default());
        if let Confirmation::Holds(changes) = confirmation {
            told_rapids(catalog, known, &changes);
            return Ok(());
        }
    }
    if !is_listed(catalog, ListingKind::Rapids) && first_rapids(catalog, began).await? {
        return Ok(());
    }
    let mut pages = catalog.client.rapids().pages(None, NOW);
    let mut rows = Vec::new();
    while let Some(page) = asked(catalog, pages.try_next()).await? {
        rows.extend(page.data.iter().map(KnownRapid::from_record));
    }
    let mut known = catalog.known();
    let changes = known
        .rapids
        .replace(rows, began, Instant::now(), &Default::default());
    told_rapids(catalog, known, &changes);
    Ok(())
}

pub(super) fn told_rapids(catalog: &Catalog, mut known: MutexGuard<'_, Known>, changes: &Changes) {
    keep(
        catalog,
        ListingKind::Rapids,
        &mut known,
        |known| &mut known.rapids,
        changes,
    );
    drop(known);
    rapids_changed(catalog, changes);
}

async fn fetch_presets(catalog: &Catalog) -> DriveResult<()> {
    let before = preset_overlay(catalog);
    let all = catalog.client.presets().list(NOW);
    fetch_whole(
        catalog,
        ListingKind::Presets,
        |known| &mut known.presets,
        all,
        KnownPreset::from_record,
    )
    .await?;
    if !before.saved.is_empty() {
        keep_for_good(catalog).await?;
        catalog.outbox.presets().listed(&before).await?;
    }
    Ok(())
}

async fn fetch_factory(catalog: &Catalog) -> DriveResult<()> {
    let all = catalog.client.presets().factory(NOW);
    fetch_whole(
        catalog,
        ListingKind::Factory,
        |known| &mut known.factory,
        all,
        KnownPreset::from_factory_record,
    )
    .await
}

async fn fetch_tokens(catalog: &Catalog) -> DriveResult<()> {
    let all = catalog.client.tokens().list(NOW);
    fetch_whole(
        catalog,
        ListingKind::Tokens,
        |known| &mut known.tokens,
        all,
        KnownRecord::from_token,
    )
    .await
}

async fn fetch_webhooks(catalog: &Catalog) -> DriveResult<()> {
    let all = catalog.client.webhooks().list(NOW);
    fetch_whole(
        catalog,
        ListingKind::Webhooks,
        |known| &mut known.webhooks,
        all,
        KnownRecord::from_webhook,
    )
    .await
}

/// A listing that fits one request.
async fn fetch_whole<T, R: Record + Serialize>(
    catalog: &Catalog,
    which: ListingKind,
    listing: fn(&mut Known) -> &mut Listing<R>,
    all: impl Future<Output = Result<Vec<T>, ClientError>>,
    row: fn(&T) -> R,
) -> DriveResult<()> {
    let began = Instant::now();
    let records = asked(catalog, all).await?;
    told_all(
        catalog,
        which,
        listing,
        records.iter().map(row).collect(),
        began,
    );
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
            told_changes(
                catalog,
                ListingKind::Embeds,
                |known| &mut known.embeds,
                known,
                &changes,
            );
            return Ok(());
        }
    }
    let records = asked(catalog, catalog.client.embeds().all(None, NOW)).await?;
    let rows = records.iter().map(KnownEmbed::from_record).collect();
    told_all(
        catalog,
        ListingKind::Embeds,
        |known| &mut known.embeds,
        rows,
        began,
    );
    Ok(())
}

/// Running and failed optimizations, in one request.
async fn fetch_jobs(catalog: &Catalog) -> DriveResult<()> {
    let began = Instant::now();
    let records = asked(catalog, catalog.client.optimizations().running(NOW)).await?;
    for record in &records {
        told_rapid(catalog, KnownRapid::from_record(record), began);
    }
    told_jobs(
        catalog,
        records.iter().map(|record| record.id).collect(),
        began,
    );
    Ok(())
}

/// Stores which optimizations are running or have failed lately.
pub(in crate::drive) fn told_jobs(catalog: &Catalog, mut rapids: Vec<RapidId>, asked: Instant) {
    rapids.sort_unstable();
    let (before, is_news) = {
        let mut known = catalog.known();
        let is_news = !known.jobs_belief.is_known();
        known.jobs_belief.confirmed(asked, Instant::now());
        let before = std::mem::replace(&mut known.jobs, rapids.clone());
        if before != rapids {
            known.changed.insert(ListingKind::Jobs, SystemTime::now());
        }
        (before, is_news)
    };
    if is_news || before != rapids {
        super::store::keep_jobs(&catalog.meta, &rapids);
    }
    for rapid in before.iter().filter(|rapid| !rapids.contains(rapid)) {
        if let Some(name) = catalog.rapid_name(*rapid) {
            catalog.report(Change::Gone(Listed::Job(*rapid), name));
        }
    }
}

/// Stores a complete listing.
fn told_all<R: Record + Serialize>(
    catalog: &Catalog,
    which: ListingKind,
    listing: fn(&mut Known) -> &mut Listing<R>,
    rows: Vec<R>,
    began: Instant,
) {
    let mut known = catalog.known();
    let changes = listing(&mut known).replace(rows, began, Instant::now(), &HashSet::new());
    told_changes(catalog, which, listing, known, &changes);
}

pub(in crate::drive) fn told_changes<R: Record + Serialize>(
    catalog: &Catalog,
    which: ListingKind,
    listing: fn(&mut Known) -> &mut Listing<R>,
    mut known: MutexGuard<'_, Known>,
    changes: &Changes,
) {
    keep(catalog, which, &mut known, listing, changes);
    let rows = listing(&mut known);
    let mut names: Vec<String> = changes
        .gone
        .iter()
        .chain(&changes.renamed)
        .map(|(_, name)| name.clone())
        .collect();
    let changed = changes.changed.iter().chain(&changes.appeared);
    names.extend(changed.filter_map(|id| rows.name(*id).map(str::to_owned)));
    drop(known);
    // Another text is another inode: the name stands for another node.
    for name in names.into_iter().take(super::changes::MAX_TOLD) {
        catalog.report(Change::Named(which, name));
    }
}
