//! Texts that are sent when they are closed: jobs in a drop folder and presets.
//!
//! The `close` of the opener stores the text durably and then sends it. The `close` of a duplicated handle in
//! another process only stores it. The last release sends a text that no close has sent. The outbox sends, and
//! detects texts that were sent before and temporary names.

use std::sync::Arc;

use crate::drive::catalog::preset_overlay;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::files::text::{CloseAction, TextBuffer};
use crate::drive::ops::many::find_models;
use crate::drive::ops::why::noted_node;
use crate::drive::places::HeldPreset;
use crate::drive::posix::Caller;
use crate::drive::tree::Tree;
use crate::drive::values::local::{DropFolder, JobPart, TextTarget};
use crate::wire::UploadStatus;

/// Handles a `close`, of which there is one per duplicate of the handle.
pub async fn flush_text(tree: &Arc<Tree>, text: &TextBuffer, caller: &Caller) -> DriveResult<()> {
    settle_text(tree, text.close_action(text.is_opener(caller))?).await
}

/// Handles the last `close`.
pub async fn release_text(tree: &Arc<Tree>, text: &TextBuffer) -> DriveResult<()> {
    settle_text(tree, text.close_action(true)?).await
}

/// Stores the text without sending it.
pub async fn keep_text(tree: &Arc<Tree>, text: &TextBuffer) -> DriveResult<()> {
    settle_text(tree, text.close_action(false)?).await
}

async fn settle_text(tree: &Arc<Tree>, close_action: CloseAction) -> DriveResult<()> {
    match close_action {
        CloseAction::Nothing => Ok(()),
        CloseAction::Keep(TextTarget::Job(folder, name), bytes) => {
            Ok(tree
                .outbox()
                .jobs()
                .write(&folder.in_outbox(), &name, &bytes)?)
        }
        // A preset is only stored by sending it, except for an empty one.
        CloseAction::Keep(TextTarget::Preset(name), bytes) if bytes.is_empty() => {
            send_preset(tree, name, bytes).await
        }
        CloseAction::Keep(TextTarget::Preset(_), _) => Ok(()),
        CloseAction::Send(TextTarget::Job(folder, name), bytes) => {
            tree.outbox()
                .jobs()
                .write(&folder.in_outbox(), &name, &bytes)?;
            send_job(tree, folder, name).await
        }
        CloseAction::Send(TextTarget::Preset(name), bytes) => send_preset(tree, name, bytes).await,
    }
}

/// Checks and sends a job. A failure is kept for the path of the job.
pub async fn send_job(tree: &Arc<Tree>, folder: DropFolder, name: String) -> DriveResult<()> {
    let shared = Arc::clone(tree);
    tree.detached(async move {
        if folder == DropFolder::Jobs {
            let found = find_models(&shared, &name).await;
            let node = folder.entry(&name, JobPart::Text).into();
            noted_node(&shared, &node, found)?;
        }
        tell_what_is_known(&shared, &folder);
        let sent = shared
            .outbox()
            .jobs()
            .submit(&folder.in_outbox(), &name)
            .await;
        let node = folder.entry(&name, JobPart::Text).into();
        noted_node(&shared, &node, sent.map(|_| ()).map_err(DriveError::from))
    })
    .await
}

/// An asset that was complete stays so: the job need not ask for it.
fn tell_what_is_known(tree: &Tree, folder: &DropFolder) {
    if let DropFolder::Optimize(asset) | DropFolder::AssetEmbeds(asset) = folder
        && let Some(known) = tree.catalog().asset(*asset)
        && known.state == UploadStatus::Complete
    {
        tree.outbox().jobs().asset_is_complete(*asset);
    }
}

async fn send_preset(tree: &Arc<Tree>, name: String, bytes: Vec<u8>) -> DriveResult<()> {
    let shared = Arc::clone(tree);
    tree.detached(async move {
        let saved = shared.outbox().presets().save(&name, &bytes).await;
        let node = HeldPreset(name.as_str().into()).into();
        let result = noted_node(&shared, &node, saved.map(|_| ()).map_err(DriveError::from));
        // From now on reads return what was sent.
        preset_overlay(shared.catalog());
        result
    })
    .await
}
