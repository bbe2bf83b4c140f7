//! The contents of `status.json`.

use std::cell::LazyCell;

use super::drop::{job_folder_path, job_status, model_of_folder};
use super::remote::path_of_content;
use crate::drive::catalog::{replaced_models, stale_count};
use crate::drive::failures::Outcome;
use crate::drive::status::{
    CacheStatus, Direction, DraftStatus, FailureLine, FileTransferStatus, JobStatusLine,
    MountStatus, OrphanStatus, RateStatus, RecoveredStatus, TrafficStatus, TransferStatus,
};
use crate::drive::tree::Tree;
use crate::drive::values::local::HiddenName;
use crate::drive::values::names::HIDDEN_FOLDER;
use crate::drive::values::node::{Home, Model};
use crate::outbox::{
    DraftInfo, DraftPhase, JobState, TransferInfo, model_of_loose_file, waits_unsent,
};
use crate::wire::{AssetId, Timestamp};

/// Maximum number of failures in the status.
const FAILURES_SHOWN: usize = 20;

/// The state of the mount, as far as it is known without requests.
pub fn mount_status(tree: &Tree) -> MountStatus {
    forget_gone(tree, "/");
    let kernel_use = tree.kernel_use();
    let offline = tree.catalog().offline_reason();
    let transfers = tree.outbox().uploads().transfers();
    let drafts = tree.outbox().drafts().all();
    let offline = offline.or_else(|| drafts.iter().find_map(|draft| draft.no_answer.clone()));
    MountStatus {
        schema: 1,
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        account: tree.config().account_label.clone(),
        online: offline.is_none(),
        read_only: tree.config().read_only,
        offline_because: offline,
        drafts: drafts
            .iter()
            .filter(|draft| draft.phase != DraftPhase::Complete && !is_replaced(tree, draft))
            .map(|draft| draft_status(tree, draft, &transfers))
            .collect(),
        transfers: transfers
            .iter()
            .map(|transfer| transfer_status(tree, transfer))
            .chain(downloads(tree))
            .collect(),
        jobs: job_lines(tree),
        orphans: orphans_at_hand(tree),
        recovered: recovered_status(tree),
        unsent_elsewhere: unsent_elsewhere(tree),
        cache: cache_status(tree),
        shared_cache: tree.cache().shared_cache().map(|it| it.stats()),
        rate: rate_status(tree),
        traffic: TrafficStatus {
            fetched_bytes: tree.catalog().fetched_bytes(),
            read_bytes: tree.traffic().read(),
            written_bytes: tree.traffic().written(),
        },
        state_dir: state_dir(tree),
        history: tree.failures().history().counts(),
        stale_results: stale_count(tree.catalog()),
        failed_elsewhere: failed_elsewhere(tree),
        failures: failure_lines(tree, Outcome::Failed),
        refused: failure_lines(tree, Outcome::Refused),
        inodes: kernel_use.inodes,
        handles: kernel_use.handles,
        inotify_folders: kernel_use.inotify_folders,
        no_delete: tree.config().no_delete,
        deletions_left: tree.deletions().left(tree.config().delete_limit),
    }
}

/// Ends the failures at `top` and below it that are about models that are gone or have another name: there is nothing left
/// to mend at these paths.
pub fn forget_gone(tree: &Tree, top: &str) {
    if tree.failures().is_empty() {
        return;
    }
    let mut failed = tree.failures().of_models(top);
    failed.retain(|(path, model)| !is_at(tree, *model, path));
    tree.failures().forget(&failed);
}

/// Whether the model is there, and the path is one in it or that of its loose file.
fn is_at(tree: &Tree, model: Model, path: &str) -> bool {
    let name = match model {
        Model::Raw(home) => tree.catalog().model_name(home),
        Model::Rapid(rapid) => tree.catalog().rapid_name(rapid),
    };
    let (Some(name), Some(shown)) = (name, path.split('/').nth(2)) else {
        return false;
    };
    let is_loose = |file, model: &str| model_of_loose_file(file) == Some(model);
    name == shown || is_loose(shown, &name) || is_loose(&name, shown)
}

fn failed_elsewhere(tree: &Tree) -> u64 {
    let failed: Vec<AssetId> = {
        let known = tree.catalog().known();
        let failed = known.assets.rows().filter(|row| row.state.is_failure());
        let replaced = LazyCell::new(|| replaced_models(tree.catalog(), &known));
        failed
            .map(|row| row.id)
            .filter(|asset| !replaced.contains_key(asset))
            .collect()
    };
    let uploads = tree.outbox().uploads();
    let others = failed
        .into_iter()
        .filter(|asset| uploads.sent_record(*asset).is_none());
    others.count() as u64
}

fn failure_lines(tree: &Tree, outcome: Outcome) -> Vec<FailureLine> {
    let latest = tree.failures().latest(outcome, FAILURES_SHOWN).into_iter();
    let latest = latest.filter(|failure| !is_of_ctl(&failure.path));
    let lines = latest.map(|failure| FailureLine {
        path: failure.path,
        why: failure.why,
        at: Some(Timestamp::from(failure.at).iso_micros()),
    });
    lines.collect()
}

/// The folder of the account, in which drafts are staged.
fn state_dir(tree: &Tree) -> String {
    let folder = tree.config().staging_dir.parent();
    folder.map_or(String::new(), |folder| folder.display().to_string())
}

/// Files that the journal did not name and that were kept.
pub fn recovered_status(tree: &Tree) -> Vec<RecoveredStatus> {
    let recovered = tree.outbox().recovered();
    let rows = recovered.iter().map(|found| RecoveredStatus {
        folder: found.path.display().to_string(),
        reason: found.reason.clone(),
        files: found.files.len() as u64,
        bytes: found.bytes(),
    });
    rows.collect()
}

/// The folders that the mount found when it began, without those that were sent since.
fn unsent_elsewhere(tree: &Tree) -> Vec<String> {
    let found = tree.config().unsent_elsewhere.iter();
    let unsent = found.filter(|folder| waits_unsent(folder));
    unsent.map(|folder| folder.display().to_string()).collect()
}

/// True for a `ctl` file: the failure of a command is also that of its model, and is shown once.
fn is_of_ctl(path: &str) -> bool {
    path.ends_with(&format!("/{HIDDEN_FOLDER}/{}", HiddenName::Control.text()))
}

/// True for a model that failed and that a newer version has replaced, or for a version that failed while another one has
/// replaced the same model: nobody needs to act on it.
fn is_replaced(tree: &Tree, draft: &DraftInfo) -> bool {
    let old = draft.replaces.as_ref().map(|replaced| replaced.asset);
    let mut models = draft.asset.into_iter().chain(old);
    draft.phase == DraftPhase::ImportFailed && models.any(|asset| has_newer_version(tree, asset))
}

/// Whether this machine or another one has replaced a model.
fn has_newer_version(tree: &Tree, asset: AssetId) -> bool {
    let sent = tree.outbox().uploads().sent_record(asset);
    sent.is_some_and(|sent| sent.is_old_version())
        || replaced_models(tree.catalog(), &tree.catalog().known()).contains_key(&asset)
}

fn draft_status(tree: &Tree, draft: &DraftInfo, transfers: &[TransferInfo]) -> DraftStatus {
    let transfer = transfers.iter().find(|transfer| transfer.draft == draft.id);
    let is_sent = draft.phase.is_frozen();
    DraftStatus {
        path: tree.catalog().home_path(Home::Made(draft.id)),
        state: draft.status.word(),
        percent: draft.status.percent(),
        status: draft.status.to_string(),
        asset: draft.asset.map(|asset| asset.0),
        replaces: draft
            .replaces
            .as_ref()
            .map(|replaced| format!("/rawmodels/{}", replaced.name)),
        removes_old: draft
            .replaces
            .as_ref()
            .is_some_and(|replaced| replaced.remove_old),
        sent_bytes: transfer.map_or(if is_sent { draft.size } else { 0 }, |transfer| {
            transfer.sent
        }),
        total_bytes: transfer.map_or(draft.size, |transfer| transfer.total),
        stuck: draft.is_stuck,
    }
}

fn transfer_status(tree: &Tree, transfer: &TransferInfo) -> TransferStatus {
    TransferStatus {
        path: tree.catalog().home_path(Home::Made(transfer.draft)),
        direction: Direction::Up,
        done_bytes: transfer.sent,
        total_bytes: transfer.total,
        done_files: transfer.files_sent,
        total_files: transfer.files,
        bytes_per_second: transfer.bytes_per_second,
        seconds_left: transfer.time_left.map(|left| left.as_secs()),
        files: transfer
            .current
            .iter()
            .map(|file| FileTransferStatus {
                name: file.name.clone(),
                done_bytes: file.sent,
                total_bytes: file.total,
            })
            .collect(),
    }
}

/// The files that are being downloaded because something reads them.
fn downloads(tree: &Tree) -> Vec<TransferStatus> {
    let downloads = tree.catalog().downloads().into_iter();
    let status = downloads.filter_map(|download| {
        Some(TransferStatus {
            path: path_of_content(tree, &download.name)?,
            direction: Direction::Down,
            done_bytes: download.cached_bytes,
            total_bytes: download.total_bytes,
            total_files: 1,
            ..TransferStatus::default()
        })
    });
    status.collect()
}

fn job_lines(tree: &Tree) -> Vec<JobStatusLine> {
    let mut lines = Vec::new();
    let drafts = tree.outbox().drafts().all();
    let replaced = drafts.iter().filter(|draft| is_replaced(tree, draft));
    let replaced: Vec<Model> = replaced
        .map(|draft| Model::Raw(Home::Made(draft.id)))
        .collect();
    for folder in tree.outbox().jobs().folders() {
        let model = model_of_folder(tree, &folder);
        if model.is_some_and(|model| replaced.contains(&model)) {
            continue;
        }
        let path = job_folder_path(tree, &folder);
        for job in tree.outbox().jobs().in_folder(&folder) {
            if !matches!(job.state, JobState::Editing | JobState::Done) {
                let status = job_status(tree, model, &job);
                lines.push(JobStatusLine {
                    path: format!("{path}/{}", job.name),
                    state: status.word(),
                    percent: status.percent(),
                    seconds_left: status.seconds_left(),
                    status: status.to_string(),
                });
            }
        }
    }
    lines
}

fn cache_status(tree: &Tree) -> CacheStatus {
    let stats = tree.cache().stats();
    CacheStatus {
        used_bytes: stats.bytes,
        limit_bytes: stats.max_bytes,
        objects: stats.objects,
        hits: stats.hits,
        misses: stats.misses,
        evictions: stats.evictions,
        refused: stats.refused,
        bad_blocks: stats.bad_blocks,
        is_taken_up: stats.is_taken_up,
        disk_shortage: tree.cache().disk_shortage(),
        pins: tree
            .cache()
            .pins()
            .iter()
            .map(|pin| pinned_path(tree, pin))
            .collect(),
        verify: tree.verification().status(),
    }
}

/// The path that a pin keeps, or the pin itself if nothing of that name is known.
fn pinned_path(tree: &Tree, pin: &str) -> String {
    let path = || {
        let (family, rest) = pin.split_once('/')?;
        let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let top = match family {
            "raw" => {
                let home = tree.catalog().home_of(id.parse().ok()?);
                format!("rawmodels/{}", tree.catalog().model_name(home)?)
            }
            "rapid" => format!(
                "rapidmodels/{}",
                tree.catalog().rapid_name(id.parse().ok()?)?
            ),
            _ => return None,
        };
        let rest = rest.strip_prefix("files").unwrap_or(rest);
        let rest = rest.trim_start_matches('/');
        Some(match rest {
            "" => top,
            rest => format!("{top}/{rest}"),
        })
    };
    match pin {
        "raw" => "rawmodels".to_owned(),
        "rapid" => "rapidmodels".to_owned(),
        _ => path().unwrap_or_else(|| pin.to_owned()),
    }
}

fn rate_status(tree: &Tree) -> RateStatus {
    let budget = tree.client().budget();
    RateStatus {
        limit_per_minute: budget.per_minute.into(),
        available: budget.available.into(),
        waiting: budget.waiting.into(),
        taken: budget.taken,
        refused: budget.refused,
        paused_secs: budget.paused.map_or(0, |paused| paused.as_secs()),
    }
}

fn orphans_at_hand(tree: &Tree) -> Vec<OrphanStatus> {
    let unwanted = tree.outbox().orphans().not_deleted();
    let known = tree.catalog().known();
    let orphans = known.orphans.as_ref();
    let mut all = orphans.map_or_else(Vec::new, |orphans| orphans.found.clone());
    all.extend(unwanted.into_iter().map(|(asset, why)| {
        OrphanStatus {
            id: asset.0,
            name: known
                .assets
                .row(asset.0)
                .map_or_else(String::new, |row| row.name.clone()),
            since: None,
            not_deleted_because: Some(why),
        }
    }));
    all
}

/// The same as a message.
pub(super) fn recovered_sentence(tree: &Tree) -> Option<String> {
    let recovered = recovered_status(tree);
    let found = recovered.first()?;
    let files = match found.files {
        1 => "1 copied file is".to_owned(),
        files => format!("{files} copied files are"),
    };
    Some(format!(
        "{}, so {files} kept in {}; `assetfs recover` lists and restores them",
        found.reason, found.folder
    ))
}
