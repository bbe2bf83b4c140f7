//! Reports changes as events, while somebody reads them: takes a snapshot of what the drive shows after each change,
//! and adds the differences to the log. Nothing here runs inside a request of the kernel.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::drive::catalog::listing_refs::{EMBEDS, PRESETS};
use crate::drive::catalog::{
    asset_status, learn_reason, look_at, rapid_status, refresh_listing, shown_job_folder,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::events::{DriveEvent, EventKind, Item, ItemKind, Shown, Snapshot};
use crate::drive::files::handles::Body;
use crate::drive::mount::Mount;
use crate::drive::places::{job_folder_path, path_in};
use crate::drive::posix::{Fh, Readiness};
use crate::drive::tree::Tree;
use crate::drive::values::known::KnownTag;
use crate::drive::values::node::{Home, ListingKind, Model};
use crate::outbox::StatusWord;

/// The listings whose items have events.
const LISTINGS: [ListingKind; 4] = [
    ListingKind::Assets,
    ListingKind::Rapids,
    ListingKind::Presets,
    ListingKind::Embeds,
];
/// Shortest time between two snapshots.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
/// Slow snapshots are taken less often: at most one part in this many of the time is spent on snapshots.
const SHARE_OF_TIME: u32 = 20;
/// Longest time between two snapshots: one that waited for the disk must not delay the next events.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// How long readers may take to close an ended stream.
const CLOSING: Duration = Duration::from_secs(1);

/// The task that turns changes into events.
pub async fn report_events(mount: Arc<Mount>) {
    let log = Arc::clone(mount.events());
    loop {
        log.wait_for_reader().await;
        let mut before = snapshot(&mount);
        log.take_files();
        log.begin_comparing();
        loop {
            tokio::select! {
                () = log.changed() => {}
                () = log.until_unread() => break,
            }
            if !log.is_compared() {
                break;
            }
            for file in log.take_files() {
                log.push(DriveEvent {
                    kind: EventKind::Changed,
                    path: path_in(&mount, file.folder, &file.path),
                    item: Some(ItemKind::Files),
                    ..DriveEvent::default()
                });
            }
            let began = Instant::now();
            let mut after = snapshot(&mount);
            learn_reasons(&mount, &before, &mut after).await;
            let took = began.elapsed();
            for event in after.since(&before) {
                log.push(event);
            }
            before = after;
            tokio::time::sleep((took * SHARE_OF_TIME).clamp(SHORTEST_PAUSE, MAX_PAUSE)).await;
        }
    }
}

/// The task that keeps what has events up to date: without it, only what somebody looked at is refreshed.
pub async fn refresh_for_readers(mount: Arc<Mount>) {
    let log = Arc::clone(mount.events());
    loop {
        log.wait_for_reader().await;
        for listing in LISTINGS {
            if let Err(error) = refresh_listing(mount.catalog(), listing).await {
                tracing::debug!(%error, "a listing could not be refreshed for events");
            }
        }
        for model in unfinished(&mount) {
            look_at(mount.catalog(), model);
        }
        // Not every change of a listing is reported one by one.
        log.note(None);
        tokio::time::sleep(mount.config().refresh).await;
    }
}

/// Models whose state changes by itself.
fn unfinished(tree: &Tree) -> Vec<Model> {
    let (assets, rapids): (Vec<_>, Vec<_>) = {
        let known = tree.catalog().known();
        let assets = known.assets.rows().filter(|row| !row.state.is_final());
        let rapids = known.rapids.rows().filter(|row| !row.state.is_final());
        (
            assets.map(|row| row.id).collect(),
            rapids.map(|row| row.id).collect(),
        )
    };
    let assets = assets.into_iter();
    let homes = assets.map(|asset| Model::Raw(tree.catalog().home_of(asset)));
    homes.chain(rapids.into_iter().map(Model::Rapid)).collect()
}

/// What the drive shows now, without a request.
fn snapshot(tree: &Tree) -> Snapshot {
    let mut snapshot = Snapshot {
        listed: listed(tree),
        ..Snapshot::default()
    };
    add_assets(tree, &mut snapshot);
    add_drafts(tree, &mut snapshot);
    add_rapids(tree, &mut snapshot);
    add_records(tree, &mut snapshot);
    add_jobs(tree, &mut snapshot);
    snapshot
}

fn listed(tree: &Tree) -> HashSet<ListingKind> {
    let mut known = tree.catalog().known();
    let listed = LISTINGS.into_iter();
    listed
        .filter(|listing| known.belief(*listing).is_known())
        .collect()
}

fn add_assets(tree: &Tree, snapshot: &mut Snapshot) {
    let catalog = tree.catalog();
    let rows: Vec<_> = catalog.known().assets.rows().cloned().collect();
    for row in rows {
        let home = catalog.home_of(row.id);
        let shown = Shown {
            path: catalog.home_path(home),
            id: Some(row.id.0),
            status: Some(asset_status(catalog, &row)),
            content: hash_of_tags(&row.tags),
            ..Shown::default()
        };
        let item = Item::Model(Model::Raw(home));
        snapshot.items.insert(item, shown);
    }
}

/// While the outbox handles a model, its status is the newest.
fn add_drafts(tree: &Tree, snapshot: &mut Snapshot) {
    for draft in tree.outbox().drafts().all() {
        let home = Home::Made(draft.id);
        let shown = snapshot.items.entry(Item::Model(Model::Raw(home)));
        let shown = shown.or_insert_with(|| Shown {
            path: tree.catalog().home_path(home),
            id: draft.asset.map(|asset| asset.0),
            ..Shown::default()
        });
        shown.status = Some(draft.status);
        shown.warning = draft.warning;
        shown.is_draft = true;
    }
}

fn add_rapids(tree: &Tree, snapshot: &mut Snapshot) {
    let catalog = tree.catalog();
    let rows: Vec<_> = catalog.known().rapids.rows().cloned().collect();
    for row in rows {
        let shown = Shown {
            path: catalog.rapid_path(row.id),
            id: Some(row.id.0),
            status: Some(rapid_status(catalog, &row)),
            content: hash_of_tags(&row.tags),
            ..Shown::default()
        };
        let item = Item::Model(Model::Rapid(row.id));
        snapshot.items.insert(item, shown);
    }
}

fn add_records(tree: &Tree, snapshot: &mut Snapshot) {
    let catalog = tree.catalog();
    let (presets, embeds): (Vec<_>, Vec<_>) = {
        let known = catalog.known();
        let presets = known.presets.rows();
        let presets = presets.map(|row| (row.id, hash_of(&row.text))).collect();
        (presets, known.embeds.rows().map(|row| row.id).collect())
    };
    for (preset, content) in presets {
        let shown = Shown {
            path: format!("/presets/{}", catalog.name_in(&PRESETS, preset.0)),
            id: Some(preset.0),
            status: None,
            content,
            ..Shown::default()
        };
        snapshot.items.insert(Item::Preset(preset), shown);
    }
    for embed in embeds {
        let shown = Shown {
            path: format!("/embeds/{}", catalog.name_in(&EMBEDS, embed.0)),
            id: Some(embed.0),
            ..Shown::default()
        };
        snapshot.items.insert(Item::Embed(embed), shown);
    }
}

fn add_jobs(tree: &Tree, snapshot: &mut Snapshot) {
    let jobs = tree.outbox().jobs();
    for folder in jobs.folders() {
        let Some(shown_in) = shown_job_folder(tree.catalog(), &folder) else {
            continue;
        };
        let path = job_folder_path(tree, &shown_in);
        for job in jobs.in_folder(&folder) {
            let shown = Shown {
                path: format!("{path}/{}", job.name),
                id: job.rapid.map(|rapid| rapid.0),
                status: Some(job.status),
                content: hash_of(&job.text),
                ..Shown::default()
            };
            snapshot.items.insert(Item::Job(shown_in, job.name), shown);
        }
    }
}

/// Loads why a model failed before that is reported, so that one event has all of it.
async fn learn_reasons(mount: &Arc<Mount>, before: &Snapshot, after: &mut Snapshot) {
    let has_failed = |shown: &Shown| {
        let word = shown.status.as_ref().map(|status| status.word());
        word == Some(StatusWord::Failed)
    };
    let failed: Vec<Model> = after
        .items
        .iter()
        .filter(|(item, shown)| {
            has_failed(shown) && !before.items.get(item).is_some_and(has_failed)
        })
        .filter_map(|(item, _)| match item {
            Item::Model(model) => Some(*model),
            _ => None,
        })
        .collect();
    for model in failed {
        learn_reason(mount.catalog(), model).await;
        let catalog = mount.catalog();
        let status = match model {
            // The outbox has the reason of what it handles.
            Model::Raw(Home::Made(draft)) if mount.outbox().drafts().get(draft).is_some() => None,
            Model::Raw(home) => catalog
                .asset_of(home)
                .and_then(|asset| catalog.asset(asset))
                .map(|row| asset_status(catalog, &row)),
            Model::Rapid(rapid) => catalog.rapid(rapid).map(|row| rapid_status(catalog, &row)),
        };
        if let (Some(shown), Some(status)) = (after.items.get_mut(&Item::Model(model)), status) {
            shown.status = Some(status);
        }
    }
}

fn hash_of_tags(tags: &[KnownTag]) -> u64 {
    // The order of tags means nothing.
    let hashes = tags.iter().map(|tag| hash_of(&tag.name));
    hashes.fold(0, u64::wrapping_add)
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// True for a handle of the stream of events.
pub fn is_event_stream(mount: &Mount, fh: Fh) -> bool {
    let file = mount.handles().file(fh);
    file.is_ok_and(|file| matches!(file.body, Body::Events(_)))
}

/// Reads events without waiting.
pub fn read_events_at_hand(mount: &Mount, fh: Fh, len: u32) -> DriveResult<Bytes> {
    match &mount.handles().file(fh)?.body {
        Body::Events(events) => events.try_read(len),
        _ => Err(DriveError::BadHandle),
    }
}

/// Whether a read would wait; then `wake` is called once when it would not any more.
pub fn poll(mount: &Mount, fh: Fh, wake: Option<impl FnOnce() + Send + 'static>) -> Readiness {
    let Ok(file) = mount.handles().file(fh) else {
        return Readiness::Always;
    };
    match &file.body {
        Body::Events(events) if events.is_ready() => Readiness::Now,
        Body::Events(events) => {
            if let Some(wake) = wake {
                events.wake_once(mount.runtime(), wake);
            }
            Readiness::Later
        }
        _ => Readiness::Always,
    }
}

/// Ends the streams of events and waits a moment until their readers have closed them, so that the drive can be
/// unmounted.
pub async fn end_events(tree: &Tree) {
    tree.events().end_readers();
    // A reader that does not read keeps its file open, as any program may.
    let _ = tokio::time::timeout(CLOSING, tree.events().until_unread()).await;
}
