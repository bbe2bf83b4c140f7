//! Applies the outbox's events: a draft became an asset, a job changed, a preset was saved.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::drive::catalog::account::{mark_points_stale, room_changed};
use crate::drive::catalog::change::Change;
use crate::drive::catalog::listings::freshness::{is_listed, mark_stale};
use crate::drive::catalog::listings::records::{
    apply_names, name_anew, store_asset, take_over_names,
};
use crate::drive::catalog::listings::refresh_listing;
use crate::drive::catalog::maps::store::rapid_ended;
use crate::drive::catalog::models::{
    mark_rapids_stale, refresh_asset, refresh_rapid, store_asset_detail, store_seen_rapid,
};
use crate::drive::catalog::parts::Catalog;
use crate::drive::values::node::{Home, ListingKind, Model};
use crate::locks::Locked;
use crate::outbox::{
    DraftId, DraftInfo, DraftKind, JobFolder, JobState, OutboxEvent, OwnerFolder, SeenRapid,
};
use crate::wire::{AssetId, BaseAsset, RapidId, UploadStatus};

/// The task that applies the outbox's reports. Calls `note` for each after. Ends when the outbox does.
pub async fn follow(
    catalog: Arc<Catalog>,
    mut events: mpsc::Receiver<OutboxEvent>,
    note: impl Fn(&OutboxEvent),
) {
    while let Some(event) = events.recv().await {
        tracing::debug!(event = ?event, "the outbox reports");
        match event.clone() {
            OutboxEvent::DraftChanged(draft) => {
                take_over_names(&catalog);
                draft_changed(&catalog, draft);
            }
            OutboxEvent::LooseFileLeft(_) => catalog.report(Change::Listing),
            OutboxEvent::AssetCreated { draft, asset } => asset_created(&catalog, draft, asset),
            OutboxEvent::NameTaken { old, new } => apply_names(&catalog, &[old, new]),
            OutboxEvent::AssetChanged(asset) => asset_moved(&catalog, asset),
            OutboxEvent::AssetGivenUp(asset) => {
                name_anew(&catalog, asset);
                asset_moved(&catalog, asset);
            }
            OutboxEvent::JobChanged(folder, name) => {
                mark_points_stale(&catalog);
                job_changed(&catalog, &folder, &name);
            }
            OutboxEvent::RapidFound(rapid) => rapid_found(&catalog, rapid),
            OutboxEvent::EmbedsChanged => embeds_changed(&catalog),
            OutboxEvent::PresetsChanged => presets_changed(&catalog),
        }
        note(&event);
    }
}

pub fn record_asset_of_draft(catalog: &Catalog, draft: DraftId, asset: AssetId) {
    let mut made = catalog.made.locked();
    made.insert(draft, asset);
}

fn draft_changed(catalog: &Catalog, draft: DraftId) {
    let home = Home::Made(draft);
    catalog.report(Change::Model(Model::Raw(home)));
}

/// A draft became an asset: it keeps its folder, inodes and name.
fn asset_created(catalog: &Arc<Catalog>, draft: DraftId, asset: AssetId) {
    record_asset_of_draft(catalog, draft, asset);
    if let Some(info) = catalog.outbox.drafts().get(draft) {
        list_uploaded_once(catalog, asset, &info);
    }
    catalog.watched.look_at_asset(asset);
    draft_changed(catalog, draft);
    room_changed(catalog);
    catalog.report(Change::Listing);
}

/// True for a draft that is shown as an asset. The outbox is ahead of its events: a lookup in between must find
/// the folder too.
pub fn is_asset_by_now(catalog: &Catalog, draft: &DraftInfo) -> bool {
    let asset = catalog.asset_of_draft(draft.id);
    if let Some(asset) = asset {
        list_uploaded_once(catalog, asset, draft);
    }
    asset.is_some()
}

/// Adds the asset of a draft to the listing, once: an asset that is removed later does not come back.
fn list_uploaded_once(catalog: &Catalog, asset: AssetId, draft: &DraftInfo) {
    let mut shown = catalog.shown.locked();
    if !shown.insert(draft.id) {
        return;
    }
    // A record of the service has more in it.
    match catalog.asset(asset) {
        Some(_) => apply_names(catalog, &[asset]),
        None => list_uploaded_asset(catalog, asset, &draft.name, draft.kind, draft.created),
    }
}

/// Adds an asset that was uploaded here to the listing before the service lists it.
fn list_uploaded_asset(
    catalog: &Catalog,
    asset: AssetId,
    name: &str,
    kind: DraftKind,
    created: SystemTime,
) {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let name = match kind {
        DraftKind::LooseFile => stem,
        DraftKind::Folder => name,
    };
    let mut record = BaseAsset::new(asset, name.to_owned(), UploadStatus::Waiting);
    record.created_at = Some(crate::wire::Timestamp::from(created));
    store_asset(catalog, &record, Instant::now());
}

/// Restores rows of uploaded assets, and names that moved, which an earlier mount did not store before it was killed.
pub fn restore_uploaded_assets(catalog: &Catalog) {
    if !is_listed(catalog, ListingKind::Assets) {
        return;
    }
    for record in catalog.outbox.uploads().sent_records() {
        if catalog.asset(record.asset).is_none() {
            list_uploaded_asset(
                catalog,
                record.asset,
                &record.name,
                record.kind,
                record.created,
            );
        }
    }
    let records = catalog.outbox.uploads().sent_records();
    let is_elsewhere = |record: &&std::sync::Arc<crate::outbox::SentRecord>| {
        let known = catalog.known();
        let shown = known.assets.name(record.asset.0);
        record.folder_name().is_some_and(|name| shown != Some(name))
    };
    let renamed: Vec<AssetId> = records
        .iter()
        .filter(is_elsewhere)
        .map(|it| it.asset)
        .collect();
    apply_names(catalog, &renamed);
}

/// Gives models the names that they would have if an earlier mount had not been killed after a draft was given up. Call it
/// after [`restore_uploaded_assets`].
pub fn restore_names(catalog: &Catalog) {
    for draft in catalog.outbox.drafts().all() {
        let holder = {
            let known = catalog.known();
            let found = known.assets.find(&draft.name).map(|row| row.id);
            found.filter(|asset| known.assets.name(asset.0) == Some(draft.name.as_str()))
        };
        // An upload that another machine has joined left the name to the draft.
        if let Some(asset) = holder
            && catalog.asset_of_draft(draft.id) != Some(asset)
            && catalog.outbox.uploads().sent_record(asset).is_none()
        {
            name_anew(catalog, asset);
        }
    }
    take_over_names(catalog);
}

/// Stores the record that came with the event, or requests it.
pub(super) fn asset_moved(catalog: &Arc<Catalog>, asset: AssetId) {
    let report = move |catalog: &Catalog| {
        let home = catalog.home_of(asset);
        catalog.report(Change::Model(Model::Raw(home)));
    };
    if let Some(seen) = catalog.outbox.take_seen_asset(asset) {
        store_asset_detail(catalog, &seen.record, seen.asked);
        report(catalog);
        return;
    }
    if catalog.known().assets.was_deleted(asset.0) {
        report(catalog);
        return;
    }
    catalog.spawn(|shared| async move {
        if let Err(error) = refresh_asset(&shared, asset, Duration::ZERO).await {
            tracing::debug!(asset = %asset, error = %error, "could not request an asset that changed");
        }
        report(&shared);
    });
}

/// The same for a rapid model.
fn rapid_found(catalog: &Arc<Catalog>, rapid: RapidId) {
    mark_stale(catalog, ListingKind::Jobs);
    match catalog.outbox.take_seen_rapid(rapid) {
        Some(SeenRapid::Record(seen)) => store_seen_rapid(catalog, &seen),
        Some(SeenRapid::Taken) => {}
        None => catalog.spawn(move |shared| async move {
            let row = refresh_rapid(&shared, rapid, Duration::ZERO).await;
            if let Some(source) = row.ok().and_then(|row| row.source) {
                mark_rapids_stale(&shared, source);
            }
        }),
    }
}

fn job_changed(catalog: &Catalog, folder: &JobFolder, name: &str) {
    let Some(shown) = shown_job_folder(catalog, folder) else {
        return;
    };
    match &shown {
        JobFolder::Optimize(OwnerFolder::Asset(asset)) => mark_rapids_stale(catalog, *asset),
        JobFolder::Optimize(OwnerFolder::Draft(_)) => {}
        JobFolder::Embeds(_) | JobFolder::RapidEmbeds(_) => {
            mark_stale(catalog, ListingKind::Embeds)
        }
        JobFolder::Multi => mark_stale(catalog, ListingKind::Jobs),
    }
    if let Some(job) = catalog.outbox.jobs().get(folder, name)
        && job.state == JobState::Done
    {
        for rapid in job.rapid.into_iter().chain(job.rapids) {
            rapid_ended(catalog, rapid);
        }
    }
    catalog.report(Change::Job(shown, name.to_owned()));
}

/// The drop folder of the asset, for one of a draft; none as long as that is no asset.
pub fn shown_job_folder(catalog: &Catalog, folder: &JobFolder) -> Option<JobFolder> {
    match folder {
        JobFolder::Optimize(OwnerFolder::Draft(draft))
        | JobFolder::Embeds(OwnerFolder::Draft(draft)) => {
            let asset = catalog.asset_of_draft(*draft)?;
            Some(folder.of_owner(OwnerFolder::Asset(asset)))
        }
        folder => Some(*folder),
    }
}

fn embeds_changed(catalog: &Arc<Catalog>) {
    mark_stale(catalog, ListingKind::Embeds);
    catalog.spawn(|shared| async move {
        if let Err(error) = refresh_listing(&shared, ListingKind::Embeds).await {
            tracing::debug!(error = %error, "could not request the embeds");
        }
    });
}

fn presets_changed(catalog: &Arc<Catalog>) {
    mark_stale(catalog, ListingKind::Presets);
    catalog.spawn(|shared| async move {
        if let Err(error) = refresh_listing(&shared, ListingKind::Presets).await {
            tracing::debug!(error = %error, "could not request the presets");
        }
    });
}
