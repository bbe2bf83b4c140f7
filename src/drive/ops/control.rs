//! `ctl` files: one command per line; an error of the command is the error of the write.

use std::sync::Arc;
use std::time::Duration;

use super::command::{Command, TagChange};
use super::why::noted_node;
use crate::drive::catalog::{
    FlightKey, asset_gone, file_map, forget_detail, forget_reason, mark_files_stale,
    mark_rapids_stale, mark_stale, record_asset_of_draft, refresh_asset, refresh_listing,
    refresh_rapid, send_with_deadline, subject_of, watch_conversions,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::failures::OperationKind;
use crate::drive::files::control::ControlBuffer;
use crate::drive::mount::Mount;
use crate::drive::ops::attributes::until_names_expire;
use crate::drive::ops::cache::{clear_cache, pin, unpin, verify_cache};
use crate::drive::ops::delete::delete_many;
use crate::drive::ops::events::end_events;
use crate::drive::ops::replace::replace;
use crate::drive::ops::run_stale::run_stale;
use crate::drive::ops::xattr::change_tags;
use crate::drive::places::{Contents, RawModels, Root, end_of_model, refusals};
use crate::drive::posix::{Caller, Ino};
use crate::drive::tree::Tree;
use crate::drive::values::local::{DropFolder, HiddenParent};
use crate::drive::values::node::{Home, ListingKind, Model, RemoteFolder};
use crate::outbox::{DraftId, OutboxError};
use crate::wire::{AssetId, AssetUpdate, ModelId, RapidId};

/// How long `allow-delete` lifts the limit.
pub const DELETE_ALLOWED_FOR: Duration = Duration::from_secs(600);

/// Runs the complete lines of what was written, up to the first that fails.
pub async fn write_control(
    tree: &Arc<Tree>,
    control: &ControlBuffer,
    data: &[u8],
) -> DriveResult<()> {
    for line in control.lines(data)? {
        run_line(tree, control.parent(), &line).await?;
    }
    Ok(())
}

/// Runs a last line that has no newline.
pub async fn flush_control(tree: &Arc<Tree>, control: &ControlBuffer) -> DriveResult<()> {
    match control.rest() {
        Some(line) => run_line(tree, control.parent(), &line).await,
        None => Ok(()),
    }
}

/// Runs one line for a caller that may write the `ctl` file.
pub async fn command(mount: &Mount, ino: Ino, line: &str, caller: &Caller) -> DriveResult<()> {
    let tree: &Arc<Tree> = mount;
    let Contents::Control(parent) = mount.node(ino)?.contents(tree)? else {
        return Err(DriveError::Invalid("commands go to `ctl` files".into()));
    };
    if caller.uid != 0 && caller.uid != tree.config().uid {
        return Err(DriveError::NotPermitted(
            "the drive belongs to another user, who alone gives it commands".into(),
        ));
    }
    run_line(tree, parent, line).await
}

async fn run_line(tree: &Arc<Tree>, parent: HiddenParent, line: &str) -> DriveResult<()> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(());
    }
    tracing::info!(place = %parent, command = line, "a command was written");
    let loose = match parent {
        HiddenParent::RawModels => order_to_loose_file(tree, line),
        _ => None,
    };
    let (parent, line) = loose.unwrap_or((parent, line));
    let result = run_at(tree, parent, line).await;
    // The next program must not find what the command removed or renamed.
    until_names_expire().await;
    // The failure is kept for the object of the command, not only for its `ctl` file.
    match parent {
        HiddenParent::Model(model) => noted_node(tree, &model.folder(), result),
        HiddenParent::RawModels => noted_node(tree, &RawModels.into(), result),
        _ => noted_node(tree, &Root.into(), result),
    }
}

async fn run_at(tree: &Arc<Tree>, parent: HiddenParent, line: &str) -> DriveResult<()> {
    if parent == HiddenParent::RawModels {
        return Err(DriveError::Invalid(
            "this command needs an existing model or loose file of rawmodels/; reading this `ctl` file lists its commands".into(),
        ));
    }
    let command: Command = line.parse()?;
    if tree.config().read_only && command.changes_something() {
        return Err(refusals::read_only_mount());
    }
    match (parent, command) {
        (HiddenParent::Root, command) => run_on_mount(tree, command).await,
        (HiddenParent::Model(model), Command::Tag(change)) => tag(tree, model, &change).await,
        (HiddenParent::Model(Model::Raw(home)), command) => run_on_model(tree, home, command).await,
        (HiddenParent::Model(Model::Rapid(rapid)), Command::Run(name)) => {
            let name = name.strip_prefix("embeds/").unwrap_or(&name).to_owned();
            run_job(tree, DropFolder::RapidEmbeds(rapid), name).await
        }
        (HiddenParent::Model(Model::Rapid(rapid)), Command::RunStale) => {
            run_stale(tree, rapid).await
        }
        (HiddenParent::Model(Model::Rapid(rapid)), Command::Refresh) => {
            refresh_all_of_rapid(tree, rapid).await
        }
        _ => Err(not_here()),
    }
}

/// Splits a line that ends in the name of a loose file into the command and the model of that file. A loose
/// draft has no folder, and so no `ctl` file of its own.
fn order_to_loose_file<'line>(tree: &Tree, line: &'line str) -> Option<(HiddenParent, &'line str)> {
    let mut splits = line.match_indices(' ');
    splits.find_map(|(at, _)| {
        let draft = RawModels::loose_draft(tree, &line[at + 1..])?;
        let model = Model::Raw(Home::Made(draft));
        Some((HiddenParent::Model(model), &line[..at]))
    })
}

async fn run_on_mount(tree: &Arc<Tree>, command: Command) -> DriveResult<()> {
    match command {
        Command::Drain { ready_only } => drain(tree, ready_only).await,
        Command::CancelOrphan(asset) => cancel_orphan(tree, asset).await,
        Command::Run(name) => {
            let name = name.strip_prefix("jobs/").unwrap_or(&name).to_owned();
            run_job(tree, DropFolder::Jobs, name).await
        }
        Command::ClearCache => clear_cache(tree).await,
        Command::VerifyCache => {
            verify_cache(tree);
            Ok(())
        }
        Command::Pin(path) => pin(tree, &path).await,
        Command::Unpin(path) => unpin(tree, &path).await,
        Command::Delete {
            subjects,
            is_confirmed,
        } => delete_many(tree, subjects, is_confirmed).await,
        Command::AllowDelete if tree.config().no_delete => Err(refusals::no_delete()),
        Command::AllowDelete => {
            tree.deletions().allow(DELETE_ALLOWED_FOR);
            Ok(())
        }
        Command::EndEvents => {
            end_events(tree).await;
            Ok(())
        }
        Command::Refresh => {
            for which in [
                ListingKind::Assets,
                ListingKind::Rapids,
                ListingKind::Presets,
                ListingKind::Factory,
                ListingKind::Embeds,
                ListingKind::Jobs,
                ListingKind::Tokens,
                ListingKind::Webhooks,
            ] {
                mark_stale(tree.catalog(), which);
            }
            refresh_listing(tree.catalog(), ListingKind::Assets).await
        }
        _ => Err(not_here()),
    }
}

/// Waits until the drafts are sent.
async fn drain(tree: &Arc<Tree>, ready_only: bool) -> DriveResult<()> {
    let outbox = tree.outbox().clone();
    let report = tree
        .detached(async move { Ok(outbox.drain(ready_only).await) })
        .await?;
    match report.left.first() {
        None => Ok(()),
        Some(_) if ready_only => Ok(()),
        Some((draft, reason)) => {
            let name = tree
                .outbox()
                .drafts()
                .get(*draft)
                .map_or_else(|| draft.to_string(), |draft| draft.name);
            Err(DriveError::Busy(format!(
                "{name} is not sent yet: {reason}"
            )))
        }
    }
}

/// Cancels an upload whose start the service never answered.
async fn cancel_orphan(tree: &Arc<Tree>, asset: AssetId) -> DriveResult<()> {
    let shared = Arc::clone(tree);
    tree.detached(async move {
        match shared.outbox().orphans().cancel(asset).await {
            Err(error @ OutboxError::NotFound(_)) => {
                return Err(DriveError::Invalid(format!(
                    "{error}; `assetfs status` lists the existing ones"
                )));
            }
            outcome => outcome?,
        }
        asset_gone(shared.catalog(), asset);
        shared.catalog().known().orphans = None;
        Ok(())
    })
    .await
}

async fn retry_draft(tree: &Arc<Tree>, draft: DraftId) -> DriveResult<()> {
    let outbox = tree.outbox().clone();
    tree.detached(async move { Ok(outbox.uploads().retry(draft).await?) })
        .await
}

async fn run_on_model(tree: &Arc<Tree>, home: Home, command: Command) -> DriveResult<()> {
    let asset = tree.catalog().asset_of(home);
    match (command, home, asset) {
        // The service has accepted it: there is nothing left to commit.
        (Command::Commit { .. }, _, Some(_)) => match end_of_model(tree, Model::Raw(home)) {
            None => Ok(()),
            Some(why) => Err(DriveError::Invalid(format!(
                "its import has failed, so there is nothing left to send: {why}"
            ))),
        },
        (Command::Commit { force }, Home::Made(draft), None) => commit(tree, draft, force).await,
        (Command::Cancel, _, Some(asset))
            if tree.outbox().uploads().version_of(asset).is_some() =>
        {
            cancel_version(tree, asset).await
        }
        (Command::Cancel, Home::Made(draft), _) if tree.outbox().drafts().get(draft).is_some() => {
            cancel(tree, draft, asset).await
        }
        (Command::Cancel, ..) => Err(nothing_to_cancel()),
        (Command::Retry, Home::Made(draft), _) if tree.outbox().drafts().get(draft).is_some() => {
            retry_draft(tree, draft).await
        }
        (Command::Retry, _, Some(asset)) => {
            send_with_deadline(tree.catalog(), tree.client().assets().retry_import(asset)).await?;
            refresh_asset(tree.catalog(), asset, Duration::ZERO).await?;
            Ok(())
        }
        (Command::Convert(formats), _, Some(asset)) => {
            let request = tree.client().assets();
            send_with_deadline(tree.catalog(), request.add_formats(asset, &formats)).await?;
            forget_detail(tree.catalog(), &FlightKey::Formats(asset));
            mark_files_stale(tree.catalog(), RemoteFolder::AssetConverted(asset));
            watch_conversions(tree.catalog(), asset);
            Ok(())
        }
        (Command::Scale(factor), _, Some(asset)) => scale(tree, asset, factor).await,
        (Command::Run(name), _, Some(asset)) => {
            let (folder, name) = job_named(tree, asset, &name);
            run_job(tree, folder, name.to_owned()).await
        }
        (Command::Replace { draft, remove_old }, _, Some(asset)) => {
            replace(tree, asset, &draft, remove_old)
        }
        (Command::Replace { .. }, _, None) => Err(DriveError::Invalid(
            "this is still a draft: change its files, or replace it once it is uploaded".into(),
        )),
        (Command::Refresh, _, Some(asset)) => refresh_all_of_asset(tree, asset).await,
        (Command::Refresh, _, None) => Ok(()),
        (Command::Convert(_) | Command::Scale(_) | Command::Run(_) | Command::Retry, _, None) => {
            Err(still_a_draft())
        }
        (Command::Commit { .. }, Home::Found(_), None)
        | (
            Command::CancelOrphan(_)
            | Command::Drain { .. }
            | Command::AllowDelete
            | Command::ClearCache
            | Command::VerifyCache
            | Command::Pin(_)
            | Command::Unpin(_)
            | Command::EndEvents
            | Command::RunStale
            | Command::Tag(_)
            | Command::Delete { .. },
            ..,
        ) => Err(not_here()),
    }
}

/// Cancels an upload. Its asset, if the service has created one, is gone then.
async fn cancel(tree: &Arc<Tree>, draft: DraftId, asset: Option<AssetId>) -> DriveResult<()> {
    let outbox = tree.outbox().clone();
    let path = tree.catalog().home_path(Home::Made(draft));
    tree.detached(async move {
        match outbox.uploads().cancel(draft).await {
            Err(OutboxError::NotFound(_)) => Err(nothing_to_cancel()),
            outcome => Ok(outcome?),
        }
    })
    .await?;
    tree.failures()
        .succeeded(&path, OperationKind::Remove, None);
    given_up(tree, asset);
    Ok(())
}

/// Handles that an asset was given up. One that stays for another machine is shown again when it is looked at.
fn given_up(tree: &Tree, asset: Option<AssetId>) {
    match asset {
        Some(asset) if tree.outbox().uploads().is_deleted_for_sure(asset) => {
            asset_gone(tree.catalog(), asset);
        }
        Some(_) => mark_stale(tree.catalog(), ListingKind::Assets),
        None => {}
    }
}

fn nothing_to_cancel() -> DriveError {
    DriveError::Invalid("there is nothing to cancel; `rm -r` deletes a model".into())
}

/// Cancels the new version of an asset, which keeps its name.
async fn cancel_version(tree: &Arc<Tree>, asset: AssetId) -> DriveResult<()> {
    let Some(version) = tree.outbox().uploads().version_of(asset) else {
        return Ok(());
    };
    let outbox = tree.outbox().clone();
    let path = tree.catalog().home_path(Home::Made(version.id));
    tree.detached(async move { Ok(outbox.uploads().cancel_version(version.id).await?) })
        .await?;
    tree.failures()
        .succeeded(&path, OperationKind::Remove, None);
    given_up(tree, version.asset);
    Ok(())
}

async fn tag(tree: &Arc<Tree>, model: Model, change: &TagChange) -> DriveResult<()> {
    let Some(subject) = subject_of(tree.catalog(), model) else {
        return Err(still_a_draft());
    };
    let (shared, change) = (Arc::clone(tree), change.clone());
    tree.detached(async move { change_tags(&shared, subject, &change).await })
        .await
}

fn still_a_draft() -> DriveError {
    DriveError::Invalid("this is still a draft; commit it first".into())
}

/// Changes the size of an asset by a factor.
async fn scale(tree: &Arc<Tree>, asset: AssetId, factor: f64) -> DriveResult<()> {
    let update = AssetUpdate {
        scale_factor: Some(factor),
        ..AssetUpdate::default()
    };
    let request = tree.client().assets().update(asset, &update);
    send_with_deadline(tree.catalog(), request).await?;
    refresh_asset(tree.catalog(), asset, Duration::ZERO).await?;
    Ok(())
}

/// The job that a command names, with or without its folder.
fn job_named<'name>(tree: &Tree, asset: AssetId, name: &'name str) -> (DropFolder, &'name str) {
    let (optimize, embeds) = (DropFolder::Optimize(asset), DropFolder::AssetEmbeds(asset));
    if let Some(name) = name.strip_prefix("optimize/") {
        return (optimize, name);
    }
    if let Some(name) = name.strip_prefix("embeds/") {
        return (embeds, name);
    }
    let is_in = |folder: DropFolder| {
        tree.outbox()
            .jobs()
            .get(&folder.in_outbox(), name)
            .is_some()
    };
    match is_in(embeds) && !is_in(optimize) {
        true => (embeds, name),
        false => (optimize, name),
    }
}

/// Sends a job again, which costs points again.
async fn run_job(tree: &Arc<Tree>, folder: DropFolder, name: String) -> DriveResult<()> {
    let outbox = tree.outbox().clone();
    tree.detached(async move {
        outbox.jobs().run(&folder.in_outbox(), &name).await?;
        Ok(())
    })
    .await
}

/// Requests everything that is known of a source model again.
async fn refresh_all_of_asset(tree: &Arc<Tree>, asset: AssetId) -> DriveResult<()> {
    for folder in [
        RemoteFolder::AssetFiles(asset),
        RemoteFolder::AssetAnalysis(asset),
        RemoteFolder::AssetRenders(asset),
        RemoteFolder::AssetConverted(asset),
        RemoteFolder::AssetPbr(asset),
    ] {
        mark_files_stale(tree.catalog(), folder);
    }
    forget_reason(tree.catalog(), ModelId::Asset(asset));
    forget_detail(tree.catalog(), &FlightKey::Formats(asset));
    // Whether this folder is shown depends on what is in it.
    if let Err(error) = file_map(tree.catalog(), RemoteFolder::AssetConverted(asset)).await {
        tracing::debug!(asset = %asset, error = %error, "converted files could not be listed");
    }
    mark_rapids_stale(tree.catalog(), asset);
    refresh_asset(tree.catalog(), asset, Duration::ZERO).await?;
    Ok(())
}

/// Requests everything that is known of an optimized model again.
async fn refresh_all_of_rapid(tree: &Arc<Tree>, rapid: RapidId) -> DriveResult<()> {
    for folder in [
        RemoteFolder::RapidFiles(rapid),
        RemoteFolder::RapidAnalysis(rapid),
        RemoteFolder::RapidRenders(rapid),
        RemoteFolder::RapidQc(rapid),
    ] {
        mark_files_stale(tree.catalog(), folder);
    }
    forget_reason(tree.catalog(), ModelId::Rapid(rapid));
    refresh_rapid(tree.catalog(), rapid, Duration::ZERO).await?;
    Ok(())
}

/// Sends a draft and waits until the service has accepted it, at most for the sync deadline.
pub async fn commit(tree: &Arc<Tree>, draft: DraftId, force: bool) -> DriveResult<()> {
    let shared = Arc::clone(tree);
    let accepted = tree.detached(async move {
        let uploads = shared.outbox().uploads();
        let asset = uploads.commit(draft, force).await?;
        // A new version that equals the old one is not sent.
        if uploads
            .sent_record(asset)
            .is_some_and(|sent| sent.draft == draft)
        {
            record_asset_of_draft(shared.catalog(), draft, asset);
        }
        Ok(())
    });
    match tokio::time::timeout(tree.config().sync_deadline, accepted).await {
        Ok(result) => result,
        Err(_) => Err(DriveError::TimedOut(format!(
            "the upload is not finished after {} s; it continues in the background, and `assetfs wait` waits for it",
            tree.config().sync_deadline.as_secs()
        ))),
    }
}

fn not_here() -> DriveError {
    DriveError::Invalid(
        "this command cannot be used here: name a model or a draft; reading this `ctl` file lists its commands"
            .into(),
    )
}
