//! Creating files and folders: drafts in `rawmodels/`, entries of drafts, job texts, presets. Everything else
//! is refused.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Instant;

use super::lookup::check_new_name;
use crate::drive::catalog::refresh_listing;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::files::handles::{Body, OpenFile};
use crate::drive::files::text::TextBuffer;
use crate::drive::mount::Mount;
use crate::drive::ops::attributes::entry;
use crate::drive::ops::open::{create, staged_mode};
use crate::drive::ops::write::{flush, release};
use crate::drive::places::{
    Container, DraftEntry, HeldPreset, ModelFolder, Node, RawModels, refusals,
};
use crate::drive::posix::{Caller, Entry, Ino, OpenFlags, Opened, OpenedMode};
use crate::drive::tree::Tree;
use crate::drive::values::local::{HiddenParent, JobPart, TextTarget};
use crate::drive::values::names::HIDDEN_FOLDER;
use crate::drive::values::node::{Home, ListingKind};

pub async fn make_dir(
    mount: &Arc<Mount>,
    parent: Ino,
    name: &OsStr,
    mode: u32,
    caller: &Caller,
) -> DriveResult<Entry> {
    let folder = mount.node(parent)?;
    let name = check_new_name(name)?;
    check_may_make(mount, &folder, name).await?;
    let caller = caller.for_outbox();
    let node = match folder.container() {
        Some(Container::Drafts) => {
            let draft = mount.outbox().drafts().create(name, mode, &caller)?;
            ModelFolder(Home::Made(draft.id)).into()
        }
        Some(Container::Entries(draft, parent)) => {
            let info = mount
                .outbox()
                .entries()
                .make_dir(draft, parent, name, mode, &caller)?;
            DraftEntry::new(draft, info.id).into()
        }
        Some(Container::Jobs(_) | Container::Presets) | None => {
            return Err(refusals::no_place(&folder.path(mount)));
        }
    };
    entry(mount, &node).await
}

/// Creates an empty regular file without keeping it open.
pub async fn make_node(
    mount: &Arc<Mount>,
    parent: Ino,
    name: &OsStr,
    mode: u32,
    caller: &Caller,
) -> DriveResult<Entry> {
    let flags = OpenFlags {
        exclusive: true,
        ..OpenFlags::OVERWRITE
    };
    let (entry, opened) = create(mount, parent, name, mode, flags, caller).await?;
    flush(mount, opened.fh, caller).await?;
    release(mount, opened.fh).await?;
    Ok(entry)
}

/// Creates a missing file and opens it. `missing` is the error with which the lookup failed.
pub async fn create_new(
    mount: &Arc<Mount>,
    folder: &Node,
    name: &str,
    mode: u32,
    flags: OpenFlags,
    caller: &Caller,
    missing: DriveError,
) -> DriveResult<(Node, Opened)> {
    check_may_make(mount, folder, name).await?;
    let (node, body, opened_mode): (Node, _, _) = match folder.container() {
        Some(Container::Drafts) => {
            let (draft, info, staged) =
                mount
                    .outbox()
                    .drafts()
                    .create_loose_file(name, mode, &caller.for_outbox())?;
            let node = DraftEntry::new(draft.id, info.id).into();
            (node, Body::Staged(staged), staged_mode(flags))
        }
        Some(Container::Entries(draft, parent)) => {
            let caller = caller.for_outbox();
            let made = mount
                .outbox()
                .entries()
                .create_file(draft, parent, name, mode, &caller);
            let (info, staged) = made?;
            let node = DraftEntry::new(draft, info.id).into();
            (node, Body::Staged(staged), staged_mode(flags))
        }
        Some(Container::Jobs(drop)) => {
            let jobs = mount.outbox().jobs();
            jobs.create(&drop.in_outbox(), name, &caller.for_outbox())?;
            let text = new_text(TextTarget::Job(drop, name.to_owned()), caller);
            let node = drop.entry(name, JobPart::Text).into();
            (node, text, OpenedMode::Direct)
        }
        Some(Container::Presets) => {
            // Without knowing whether the preset exists, creating and updating cannot be distinguished.
            if missing != DriveError::NotFound {
                return Err(missing);
            }
            let outbox = mount.outbox().clone();
            let (file_name, maker) = (name.to_owned(), caller.for_outbox());
            mount
                .detached(async move { Ok(outbox.presets().create(&file_name, &maker).await?) })
                .await?;
            let text = new_text(TextTarget::Preset(name.to_owned()), caller);
            (HeldPreset(name.into()).into(), text, OpenedMode::Direct)
        }
        None => return Err(refusals::no_place(&folder.path(mount))),
    };
    let ino = mount.inodes().number(&node);
    let fh = mount.handles().insert_file(OpenFile {
        ino,
        flags,
        body,
        opened_by: *caller,
        opened_at: Instant::now(),
    });
    Ok((
        node,
        Opened {
            fh,
            mode: opened_mode,
        },
    ))
}

async fn check_may_make(tree: &Arc<Tree>, folder: &Node, name: &str) -> DriveResult<()> {
    if tree.config().read_only {
        return Err(refusals::read_only_mount());
    }
    if name == HIDDEN_FOLDER {
        return Err(DriveError::NotPermitted(format!(
            "{HIDDEN_FOLDER} is reserved by the drive in every folder; choose another name"
        )));
    }
    let is_top = !matches!(folder.hidden_parent(), None | Some(HiddenParent::Model(_)));
    if name.starts_with(".Trash") && is_top {
        return Err(refusals::no_trash());
    }
    if let Some((draft, _)) = folder.draft_entry()
        && tree.outbox().uploads().asset_of_draft(draft).is_some()
    {
        // After a failed import, missing files may be added.
        tree.outbox().uploads().reopen_failed_import(draft)?;
    }
    folder.check_may_make(tree)?;
    match folder.container() {
        Some(Container::Drafts) => check_name_is_free(tree, name).await,
        _ => Ok(()),
    }
}

/// Only a confirmed listing proves that a name is free. While the service is away, a draft can be created if no
/// known model has the name.
async fn check_name_is_free(tree: &Arc<Tree>, name: &str) -> DriveResult<()> {
    if let Err(error) = refresh_listing(tree.catalog(), ListingKind::Assets).await {
        tracing::debug!(error = %error, "a draft is made without knowing the listing");
    }
    let is_taken = tree
        .outbox()
        .drafts()
        .find(name)
        .is_some_and(|draft| tree.catalog().asset_of_draft(draft.id).is_none())
        || RawModels::listed_asset(tree, name).is_some();
    if is_taken {
        Err(DriveError::Exists)
    } else {
        Ok(())
    }
}

fn new_text(target: TextTarget, caller: &Caller) -> Body {
    Body::Text(TextBuffer::new(target, &bytes::Bytes::new(), false, caller))
}
