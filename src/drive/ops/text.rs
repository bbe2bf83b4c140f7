//! Texts that go out when they are closed: jobs in a drop folder and presets.
//!
//! What was written is kept durably first and sent then, inside the `close` of whoever opened the
//! file; the `close` of a copy of the handle in another process only keeps it. What nobody's close
//! sent goes out with the last release. Sending is the outbox's work, which knows what was sent
//! before and what has a temporary name.

use std::sync::Arc;

use crate::drive::catalog::preset_overlay;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::files::text::{Due, TextBuffer};
use crate::drive::ops::many::find_models;
use crate::drive::ops::why::noted_node;
use crate::drive::places::HeldPreset;
use crate::drive::posix::Caller;
use crate::drive::tree::Tree;
use crate::drive::values::local::{DropFolder, JobPart, TextTarget};

/// One close of a text.
pub(in crate::drive) async fn flush_text(
    tree: &Arc<Tree>,
    text: &TextBuffer,
    caller: &Caller,
) -> DriveResult<()> {
    settle_text(tree, text.due(text.is_opener(caller))).await
}

/// The last close of a text.
pub(in crate::drive) async fn release_text(tree: &Arc<Tree>, text: &TextBuffer) -> DriveResult<()> {
    settle_text(tree, text.due(true)).await
}

/// Keeps a text without sending it.
pub(in crate::drive) async fn keep_text(tree: &Arc<Tree>, text: &TextBuffer) -> DriveResult<()> {
    settle_text(tree, text.due(false)).await
}

async fn settle_text(tree: &Arc<Tree>, due: Due) -> DriveResult<()> {
    match due {
        Due::Nothing => Ok(()),
        Due::Keep(TextTarget::Job(folder, name), bytes) => {
            Ok(tree
                .outbox
                .jobs()
                .write(&folder.in_outbox(), &name, &bytes)?)
        }
        // Presets have no text that is kept and not sent, but for an empty one.
        Due::Keep(TextTarget::Preset(name), bytes) if bytes.is_empty() => {
            send_preset(tree, name, bytes).await
        }
        Due::Keep(TextTarget::Preset(_), _) => Ok(()),
        Due::Send(TextTarget::Job(folder, name), bytes) => {
            tree.outbox
                .jobs()
                .write(&folder.in_outbox(), &name, &bytes)?;
            send_job(tree, folder, name).await
        }
        Due::Send(TextTarget::Preset(name), bytes) => send_preset(tree, name, bytes).await,
    }
}

/// Checks and sends a job. Its failure is kept for its path, whoever waits for it.
pub(in crate::drive) async fn send_job(
    tree: &Arc<Tree>,
    folder: DropFolder,
    name: String,
) -> DriveResult<()> {
    let shared = Arc::clone(tree);
    tree.detached(async move {
        if folder == DropFolder::Jobs {
            let found = find_models(&shared, &name).await;
            let node = folder.entry(&name, JobPart::Text).into();
            noted_node(&shared, &node, found)?;
        }
        let sent = shared
            .outbox
            .jobs()
            .submit(&folder.in_outbox(), &name)
            .await;
        let node = folder.entry(&name, JobPart::Text).into();
        noted_node(&shared, &node, sent.map(|_| ()).map_err(DriveError::from))
    })
    .await
}

async fn send_preset(tree: &Arc<Tree>, name: String, bytes: Vec<u8>) -> DriveResult<()> {
    let shared = Arc::clone(tree);
    tree.detached(async move {
        let saved = shared.outbox.presets().save(&name, &bytes).await;
        let node = HeldPreset(name.as_str().into()).into();
        let result = noted_node(&shared, &node, saved.map(|_| ()).map_err(DriveError::from));
        // What the service has now is what every read gives from here on.
        preset_overlay(&shared.catalog);
        result
    })
    .await
}
