//! A text that is open for writing and is sent when it is closed: a job of a drop folder, or a preset.

use std::sync::Mutex;

use bytes::Bytes;

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::Caller;
use crate::drive::values::local::TextTarget;
use crate::locks::Locked;
use crate::outbox::TEXT_MAX_BYTES;

pub struct TextBuffer {
    opener: u32,
    state: Mutex<TextState>,
}

struct TextState {
    target: TextTarget,
    bytes: Vec<u8>,
    /// Changed since it was stored.
    is_dirty: bool,
    /// Stored and not sent yet.
    is_due: bool,
    /// A write was refused because the text would be too long, so a part of it is missing.
    is_cut: bool,
}

/// What a close has to do.
pub enum CloseAction {
    Nothing,
    Keep(TextTarget, Vec<u8>),
    Send(TextTarget, Vec<u8>),
}

impl TextBuffer {
    /// Starts with `now`. A truncated text counts as changed.
    pub fn new(target: TextTarget, now: &Bytes, was_cut: bool, caller: &Caller) -> TextBuffer {
        let state = TextState {
            target,
            bytes: now.to_vec(),
            is_dirty: was_cut,
            is_due: false,
            is_cut: false,
        };
        TextBuffer {
            opener: caller.process(),
            state: Mutex::new(state),
        }
    }

    pub fn len(&self) -> u64 {
        self.state.locked().bytes.len() as u64
    }

    /// Its length, if it is to be stored or sent at the next close.
    pub fn unsaved_len(&self) -> Option<u64> {
        let state = self.state.locked();
        (state.is_dirty || state.is_due).then_some(state.bytes.len() as u64)
    }

    pub fn bytes(&self) -> Bytes {
        Bytes::copy_from_slice(&self.state.locked().bytes)
    }

    /// Writes at a position; a gap is filled with zeros.
    pub fn write(&self, offset: u64, data: &[u8]) -> DriveResult<()> {
        let end = offset.saturating_add(data.len() as u64);
        let mut state = self.state.locked();
        if end > TEXT_MAX_BYTES as u64 {
            state.is_cut = true;
            return Err(too_long());
        }
        let (start, end) = (offset as usize, end as usize);
        if state.bytes.len() < end {
            state.bytes.resize(end, 0);
        }
        state.bytes[start..end].copy_from_slice(data);
        state.is_dirty = true;
        Ok(())
    }

    pub fn resize(&self, size: u64) -> DriveResult<()> {
        let mut state = self.state.locked();
        if size > TEXT_MAX_BYTES as u64 {
            return Err(too_long());
        }
        state.is_cut &= size > 0;
        if state.bytes.len() as u64 != size {
            state.bytes.resize(size as usize, 0);
            state.is_dirty = true;
        }
        Ok(())
    }

    /// The file was renamed while it is open.
    pub fn rename(&self, from: &TextTarget, to: &TextTarget) {
        let mut state = self.state.locked();
        if state.target == *from {
            state.target = to.clone();
        }
    }

    pub fn is(&self, target: &TextTarget) -> bool {
        self.state.locked().target == *target
    }

    /// What a close has to do. Sending includes storing.
    ///
    /// # Errors
    /// When the text was too long: nothing of it is stored or sent.
    pub fn close_action(&self, sends: bool) -> DriveResult<CloseAction> {
        let mut state = self.state.locked();
        if state.is_cut {
            return Err(too_long());
        }
        let is_kept = !state.is_dirty;
        state.is_due |= state.is_dirty;
        state.is_dirty = false;
        // Shells close an empty duplicate early: there is nothing to send yet.
        if sends && state.is_due && !state.bytes.is_empty() {
            state.is_due = false;
            return Ok(CloseAction::Send(state.target.clone(), state.bytes.clone()));
        }
        Ok(if is_kept {
            CloseAction::Nothing
        } else {
            CloseAction::Keep(state.target.clone(), state.bytes.clone())
        })
    }

    /// True if the caller belongs to the process that opened the file, or is unknown.
    pub fn is_opener(&self, caller: &Caller) -> bool {
        caller.may_be_of(self.opener)
    }
}

fn too_long() -> DriveError {
    DriveError::Invalid(format!(
        "a job or a preset has at most {} MB",
        TEXT_MAX_BYTES >> 20
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
    fn a_text_that_is_too_long_is_not_sent_in_part() {
        let text = buffer(true);
        text.write(0, b"{}").unwrap();
        text.write(TEXT_MAX_BYTES as u64, b" ").unwrap_err();
        let error = text.close_action(true).map(drop).unwrap_err();
        assert!(error.to_string().contains("at most 8 MB"), "{error}");
        text.resize(0).unwrap();
        text.write(0, b"{}").unwrap();
        assert!(matches!(text.close_action(true), Ok(CloseAction::Send(..))));
    }

    #[test]
    fn a_text_goes_out_once_and_an_empty_flush_sends_nothing() {
        let text = buffer(false);
        assert!(
            matches!(text.close_action(true).unwrap(), CloseAction::Nothing),
            "nothing was written"
        );
        text.resize(0).unwrap();
        assert!(
            matches!(text.close_action(true).unwrap(), CloseAction::Keep(..)),
            "cut to nothing is kept, not sent"
        );
        text.write(0, b"{\"a\":1}").unwrap();
        assert!(matches!(
            text.close_action(true).unwrap(),
            CloseAction::Send(..)
        ));
        assert!(
            matches!(text.close_action(true).unwrap(), CloseAction::Nothing),
            "it went out"
        );
    }

    #[test]
    fn what_another_process_closed_is_kept_and_goes_out_with_the_opener() {
        let text = buffer(true);
        text.write(0, b"[1]").unwrap();
        assert!(matches!(
            text.close_action(false).unwrap(),
            CloseAction::Keep(..)
        ));
        assert!(matches!(
            text.close_action(true).unwrap(),
            CloseAction::Send(..)
        ));
    }

    #[test]
    fn gaps_are_zeros_and_nothing_grows_without_end() {
        let text = buffer(true);
        text.write(0, b"a").unwrap();
        text.write(3, b"b").unwrap();
        assert_eq!(&text.bytes()[..], b"a\0\0b");
        assert!(text.write(TEXT_MAX_BYTES as u64, b"x").is_err());
        assert!(text.resize(u64::MAX).is_err());
    }
}
