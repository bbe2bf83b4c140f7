//! Buffers writes to a `ctl` file until lines are complete.

use std::sync::Mutex;

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::local::HiddenParent;
use crate::locks::Locked;

/// Maximum length of a command line.
const MAX_LINE_BYTES: usize = 16 * 1024;

pub struct ControlBuffer {
    parent: HiddenParent,
    pending: Mutex<Vec<u8>>,
}

impl ControlBuffer {
    pub fn new(parent: HiddenParent) -> ControlBuffer {
        ControlBuffer {
            parent,
            pending: Mutex::default(),
        }
    }

    /// The parent of the hidden folder.
    pub fn parent(&self) -> HiddenParent {
        self.parent
    }

    /// Adds data and returns the complete lines.
    pub fn lines(&self, data: &[u8]) -> DriveResult<Vec<String>> {
        let mut pending = self.pending.locked();
        pending.extend_from_slice(data);
        let whole = pending
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let lines: Vec<u8> = pending.drain(..whole).collect();
        if pending.len() > MAX_LINE_BYTES || lines.len() > MAX_LINE_BYTES * 64 {
            pending.clear();
            return Err(DriveError::Invalid("a command has at most 16 KiB".into()));
        }
        Ok(String::from_utf8_lossy(&lines)
            .lines()
            .map(str::to_owned)
            .collect())
    }

    /// Returns a last line without a newline.
    pub fn rest(&self) -> Option<String> {
        let mut pending = self.pending.locked();
        let rest = std::mem::take(&mut *pending);
        (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_come_in_pieces_and_the_last_one_need_not_end() {
        let control = ControlBuffer::new(HiddenParent::Root);
        assert!(control.lines(b"dra").unwrap().is_empty());
        assert_eq!(
            control.lines(b"in\nrefresh\nallow").unwrap(),
            ["drain", "refresh"]
        );
        assert_eq!(control.rest().as_deref(), Some("allow"));
        assert_eq!(control.rest(), None);
        assert!(control.lines(&[b'x'; MAX_LINE_BYTES + 1]).is_err());
    }
}
