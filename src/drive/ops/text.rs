//! Texts that go out when they are closed: jobs in a drop folder and presets.
//!
//! What was written is kept durably first and sent then, inside the `close` of whoever opened the
//! file; the `close` of a copy of the handle in another process only keeps it. What nobody's close
//! sent goes out with the last release. Sending is the outbox's work, which knows what was sent
//! before and what has a temporary name.

use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;

use crate::drive::catalog::preset_overlay;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::ops::control::noted_node;
use crate::drive::ops::many::find_models;
use crate::drive::parts::Tree;
use crate::drive::places::{DropFolder, HeldPreset, JobPart, TextTarget};
use crate::drive::posix::Caller;

/// More than this is no job and no preset.
const MAX_LEN_BYTES: u64 = 4 * 1024 * 1024;

/// A text that is open for writing.
pub(in crate::drive) struct TextBuffer {
    opener: u32,
    state: Mutex<TextState>,
}

struct TextState {
    target: TextTarget,
    bytes: Vec<u8>,
    /// Changed since it was kept.
    is_dirty: bool,
    /// Kept and not sent yet.
    is_due: bool,
}

/// What a close has to do.
enum Due {
    Nothing,
    Keep(TextTarget, Vec<u8>),
    Send(TextTarget, Vec<u8>),
}

impl TextBuffer {
    /// Begins as `now`; cut to nothing it counts as changed.
    pub(in crate::drive) fn new(
        target: TextTarget,
        now: &Bytes,
        was_cut: bool,
        caller: &Caller,
    ) -> TextBuffer {
        let state = TextState {
            target,
            bytes: now.to_vec(),
            is_dirty: was_cut,
            is_due: false,
        };
        TextBuffer {
            opener: process_of(caller.pid),
            state: Mutex::new(state),
        }
    }

    /// Its present length.
    pub(in crate::drive) fn len(&self) -> u64 {
        self.lock().bytes.len() as u64
    }

    /// Its present bytes.
    pub(in crate::drive) fn bytes(&self) -> Bytes {
        Bytes::copy_from_slice(&self.lock().bytes)
    }

    /// Writes at a position; a gap is filled with zeros.
    pub(in crate::drive) fn write(&self, offset: u64, data: &[u8]) -> DriveResult<()> {
        let end = offset.saturating_add(data.len() as u64);
        if end > MAX_LEN_BYTES {
            return Err(too_long());
        }
        let mut state = self.lock();
        let (start, end) = (offset as usize, end as usize);
        if state.bytes.len() < end {
            state.bytes.resize(end, 0);
        }
        state.bytes[start..end].copy_from_slice(data);
        state.is_dirty = true;
        Ok(())
    }

    /// Cuts or extends it.
    pub(in crate::drive) fn resize(&self, size: u64) -> DriveResult<()> {
        if size > MAX_LEN_BYTES {
            return Err(too_long());
        }
        let mut state = self.lock();
        if state.bytes.len() as u64 != size {
            state.bytes.resize(size as usize, 0);
            state.is_dirty = true;
        }
        Ok(())
    }

    /// The file was renamed while it is open.
    pub(in crate::drive) fn rename(&self, from: &TextTarget, to: &TextTarget) {
        let mut state = self.lock();
        if state.target == *from {
            state.target = to.clone();
        }
    }

    /// True for the text it is.
    pub(in crate::drive) fn is(&self, target: &TextTarget) -> bool {
        self.lock().target == *target
    }

    fn due(&self, sends: bool) -> Due {
        let mut state = self.lock();
        let is_kept = !state.is_dirty;
        state.is_due |= state.is_dirty;
        state.is_dirty = false;
        // An empty flush comes early from shells: there is nothing to send yet.
        if sends && state.is_due && !state.bytes.is_empty() {
            state.is_due = false;
            return Due::Send(state.target.clone(), state.bytes.clone());
        }
        if is_kept {
            Due::Nothing
        } else {
            Due::Keep(state.target.clone(), state.bytes.clone())
        }
    }

    fn lock(&self) -> MutexGuard<'_, TextState> {
        self.state.lock().expect("no panic while a text is held")
    }
}

/// One close of a text.
pub(in crate::drive) async fn flush_text(
    tree: &Arc<Tree>,
    text: &TextBuffer,
    caller: &Caller,
) -> DriveResult<()> {
    let is_opener = caller.pid == 0 || process_of(caller.pid) == text.opener;
    settle_text(tree, text.due(is_opener)).await
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
                .write_job_text(&folder.in_outbox(), &name, &bytes)?)
        }
        // Presets have no text that is kept and not sent, but for an empty one.
        Due::Keep(TextTarget::Preset(name), bytes) if bytes.is_empty() => {
            send_preset(tree, name, bytes).await
        }
        Due::Keep(TextTarget::Preset(_), _) => Ok(()),
        Due::Send(TextTarget::Job(folder, name), bytes) => {
            tree.outbox
                .write_job_text(&folder.in_outbox(), &name, &bytes)?;
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
        let sent = shared.outbox.submit_job(&folder.in_outbox(), &name).await;
        let node = folder.entry(&name, JobPart::Text).into();
        noted_node(&shared, &node, sent.map(|_| ()).map_err(DriveError::from))
    })
    .await
}

async fn send_preset(tree: &Arc<Tree>, name: String, bytes: Vec<u8>) -> DriveResult<()> {
    let shared = Arc::clone(tree);
    tree.detached(async move {
        let saved = shared.outbox.save_preset(&name, &bytes).await;
        let node = HeldPreset(name.as_str().into()).into();
        let result = noted_node(&shared, &node, saved.map(|_| ()).map_err(DriveError::from));
        // What the service has now is what every read gives from here on.
        preset_overlay(&shared.catalog);
        result
    })
    .await
}

/// The process that a thread belongs to; the thread's own number where it is gone.
pub(in crate::drive) fn process_of(tid: u32) -> u32 {
    if tid == 0 {
        return 0;
    }
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process
        .and_then(|process| process.trim().parse().ok())
        .unwrap_or(tid)
}

fn too_long() -> DriveError {
    DriveError::Invalid(format!(
        "a job or a preset has at most {} MB",
        MAX_LEN_BYTES >> 20
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(was_cut: bool) -> TextBuffer {
        let caller = Caller {
            pid: 0,
            uid: 0,
            gid: 0,
        };
        let now = Bytes::from_static(if was_cut { b"" } else { b"{}" });
        TextBuffer::new(TextTarget::Preset("x.json".into()), &now, was_cut, &caller)
    }

    #[test]
    fn a_text_goes_out_once_and_an_empty_flush_sends_nothing() {
        let text = buffer(false);
        assert!(
            matches!(text.due(true), Due::Nothing),
            "nothing was written"
        );
        text.resize(0).unwrap();
        assert!(
            matches!(text.due(true), Due::Keep(..)),
            "cut to nothing is kept, not sent"
        );
        text.write(0, b"{\"a\":1}").unwrap();
        assert!(matches!(text.due(true), Due::Send(..)));
        assert!(matches!(text.due(true), Due::Nothing), "it went out");
    }

    #[test]
    fn what_another_process_closed_is_kept_and_goes_out_with_the_opener() {
        let text = buffer(true);
        text.write(0, b"[1]").unwrap();
        assert!(matches!(text.due(false), Due::Keep(..)));
        assert!(matches!(text.due(true), Due::Send(..)));
    }

    #[test]
    fn gaps_are_zeros_and_nothing_grows_without_end() {
        let text = buffer(true);
        text.write(0, b"a").unwrap();
        text.write(3, b"b").unwrap();
        assert_eq!(&text.bytes()[..], b"a\0\0b");
        assert!(text.write(MAX_LEN_BYTES, b"x").is_err());
        assert!(text.resize(u64::MAX).is_err());
    }
}
