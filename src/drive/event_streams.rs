//! The open streams of change events, as the kernel reads them.

use bytes::Bytes;

use crate::drive::error::DriveResult;
use crate::drive::mount::Mount;
use crate::drive::ops::events::{is_event_stream, poll, read_events_at_hand};
use crate::drive::posix::{Fh, Readiness};

/// All open streams of change events.
pub struct EventStreams<'d> {
    pub(super) mount: &'d Mount,
}

impl EventStreams<'_> {
    /// Ends the streams, so that their readers close them.
    pub fn end(&self) {
        self.mount.events().end_readers();
    }

    /// True for the handle of a stream.
    pub fn has(&self, fh: Fh) -> bool {
        is_event_stream(self.mount, fh)
    }

    /// Reads events without waiting.
    pub fn read_at_hand(&self, fh: Fh, len: u32) -> DriveResult<Bytes> {
        read_events_at_hand(self.mount, fh, len)
    }

    /// Whether a read would wait. If it would, `wake` is called once when it would not any more.
    pub fn poll(&self, fh: Fh, wake: Option<impl FnOnce() + Send + 'static>) -> Readiness {
        poll(self.mount, fh, wake)
    }
}
