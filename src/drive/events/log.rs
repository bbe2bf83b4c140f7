//! The last events, and the readers of them.
//!
//! Invariant: memory is bounded by [`MAX_EVENTS`] and [`MAX_BYTES`], however many readers there are and however slow
//! they are. A reader only gets whole lines, in order, unless one line is longer than the reader's buffer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::record::{DriveEvent, EventKind};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::node::RemoteFolder;
use crate::locks::Locked;
use crate::wire::Timestamp;

/// Limits of what is kept for slow readers.
const MAX_EVENTS: usize = 8192;
const MAX_BYTES: usize = 4 << 20;
/// Maximum number of changed files that wait to be reported.
const MAX_FILES: usize = 1024;

/// A changed file of the service, or a changed folder of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::drive) struct FileChange {
    pub(in crate::drive) folder: RemoteFolder,
    /// The file in it; empty for the folder.
    pub(in crate::drive) path: Arc<str>,
}

#[derive(Debug, Default)]
pub(in crate::drive) struct EventLog {
    kept: Mutex<KeptLines>,
    /// Something may have changed.
    changed: Notify,
    /// Where the log ends, and whether it takes more.
    end: watch::Sender<End>,
    readers: watch::Sender<Readers>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Readers {
    count: usize,
    /// There is a snapshot that later changes are compared with. Cleared when the last reader goes: the next one needs a
    /// new snapshot.
    is_compared: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct End {
    next: u64,
    /// Incremented by [`EventLog::end_readers`]: readers of an earlier time are at their end.
    era: u64,
}

#[derive(Debug, Default)]
struct KeptLines {
    lines: VecDeque<Bytes>,
    bytes: usize,
    /// The number of the first kept line.
    first: u64,
    files: VecDeque<FileChange>,
    ended: Option<Instant>,
}

impl EventLog {
    /// Notes that something changed, and which file if it was one.
    pub(in crate::drive) fn note(&self, file: Option<FileChange>) {
        if self.readers.borrow().count == 0 {
            return;
        }
        if let Some(file) = file {
            let mut kept = self.lock();
            if kept.files.len() < MAX_FILES && !kept.files.contains(&file) {
                kept.files.push_back(file);
            }
        }
        self.changed.notify_one();
    }

    /// The changed files since the last call.
    pub(in crate::drive) fn take_files(&self) -> Vec<FileChange> {
        self.lock().files.drain(..).collect()
    }

    /// Returns after the next [`EventLog::note`].
    pub(in crate::drive) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns when there is a reader.
    pub(in crate::drive) async fn wait_for_reader(&self) {
        let mut readers = self.readers.subscribe();
        // The sender is not dropped before this.
        let _ = readers.wait_for(|readers| readers.count > 0).await;
    }

    /// Returns when there is no reader.
    pub(in crate::drive) async fn until_unread(&self) {
        let mut readers = self.readers.subscribe();
        let _ = readers.wait_for(|readers| readers.count == 0).await;
    }

    /// There is a snapshot that later changes are compared with. Without a reader it is not kept.
    pub(in crate::drive) fn begin_comparing(&self) {
        self.readers
            .send_modify(|readers| readers.is_compared = readers.count > 0);
    }

    /// False after the last reader has closed, even if a new one has opened since: it needs a new snapshot.
    pub(in crate::drive) fn is_compared(&self) -> bool {
        self.readers.borrow().is_compared
    }

    /// Adds an event.
    pub(in crate::drive) fn push(&self, mut event: DriveEvent) {
        let mut kept = self.lock();
        let next = kept.first + kept.lines.len() as u64;
        event.seq = next;
        event.time = Timestamp::now().iso_micros();
        let line = line_of(&event);
        kept.bytes += line.len();
        kept.lines.push_back(line);
        while kept.lines.len() > MAX_EVENTS || kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.lines.pop_front() else {
                break;
            };
            kept.bytes -= oldest.len();
            kept.first += 1;
        }
        drop(kept);
        self.end.send_modify(|end| end.next = next + 1);
    }

    /// True if the readers were ended within this time, because the drive is being unmounted.
    pub(in crate::drive) fn ended_within(&self, time: Duration) -> bool {
        let ended = self.lock().ended;
        ended.is_some_and(|ended| ended.elapsed() < time)
    }

    /// Ends all present readers: they get the end of the file.
    pub(in crate::drive) fn end_readers(&self) {
        self.lock().ended = Some(Instant::now());
        self.end.send_modify(|end| end.era += 1);
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, KeptLines> {
        self.kept.locked()
    }
}

fn line_of(event: &DriveEvent) -> Bytes {
    let mut line = serde_json::to_vec(event).expect("an event is a plain record");
    line.push(b'\n');
    line.into()
}

/// An open `/.assetfs/events`.
#[derive(Debug)]
pub(in crate::drive) struct EventReader {
    log: Arc<EventLog>,
    era: u64,
    position: Mutex<ReaderPosition>,
    /// The task that wakes the poller.
    poller: Mutex<Option<AbortHandle>>,
}

#[derive(Debug)]
struct ReaderPosition {
    next: u64,
    /// What is left of a line that was longer than the reader's buffer.
    rest: Bytes,
}

impl EventReader {
    /// A reader of all later events. Returns when every later change leads to an event.
    pub(in crate::drive) async fn open(log: &Arc<EventLog>) -> EventReader {
        log.readers.send_modify(|readers| readers.count += 1);
        let end = *log.end.borrow();
        let reader = EventReader {
            log: Arc::clone(log),
            era: end.era,
            position: Mutex::new(ReaderPosition {
                next: end.next,
                rest: Bytes::new(),
            }),
            poller: Mutex::default(),
        };
        let mut readers = log.readers.subscribe();
        let _ = readers.wait_for(|readers| readers.is_compared).await;
        reader
    }

    /// Whole lines, as many as `len` bytes hold; waits until there is one. Empty when the drive ends the stream.
    pub(in crate::drive) async fn read(&self, len: u32) -> Bytes {
        loop {
            if let Some(lines) = self.at_hand(len) {
                return lines;
            }
            self.ready().await;
        }
    }

    /// The same without waiting.
    pub(in crate::drive) fn try_read(&self, len: u32) -> DriveResult<Bytes> {
        self.at_hand(len).ok_or(DriveError::NothingYet)
    }

    /// True if a read would not wait.
    pub(in crate::drive) fn is_ready(&self) -> bool {
        let position = self.lock();
        let end = *self.log.end.borrow();
        !position.rest.is_empty() || has_unread(end, self.era, position.next)
    }

    /// Calls `wake` when a read would not wait; only the last caller is woken.
    pub(in crate::drive) fn wake_once(
        &self,
        runtime: &Handle,
        wake: impl FnOnce() + Send + 'static,
    ) {
        let ready = self.ready();
        let task = runtime.spawn(async move {
            ready.await;
            wake();
        });
        let mut poller = self.poller.locked();
        if let Some(earlier) = poller.replace(task.abort_handle()) {
            earlier.abort();
        }
    }

    /// Returns when a read would not wait. Does not keep the reader.
    fn ready(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut end = self.log.end.subscribe();
        let (era, next) = (self.era, self.lock().next);
        async move {
            let _ = end.wait_for(|end| has_unread(*end, era, next)).await;
        }
    }

    fn at_hand(&self, len: u32) -> Option<Bytes> {
        let len = len as usize;
        let mut position = self.lock();
        if !position.rest.is_empty() {
            let now = position.rest.len().min(len);
            return Some(position.rest.split_to(now));
        }
        if self.log.end.borrow().era != self.era {
            return Some(Bytes::new());
        }
        let kept = self.log.lock();
        let mut text = BytesMut::new();
        if position.next < kept.first {
            text.extend_from_slice(&lost_line(kept.first, kept.first - position.next));
            position.next = kept.first;
        }
        let start = usize::try_from(position.next - kept.first).unwrap_or(usize::MAX);
        for line in kept.lines.iter().skip(start) {
            if !text.is_empty() && text.len() + line.len() > len {
                break;
            }
            text.extend_from_slice(line);
            position.next += 1;
        }
        drop(kept);
        if text.is_empty() {
            return None;
        }
        let mut text = text.freeze();
        if text.len() > len {
            position.rest = text.split_off(len);
        }
        Some(text)
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, ReaderPosition> {
        self.position.locked()
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        let poller = self.poller.get_mut().ok().and_then(Option::take);
        if let Some(poller) = poller {
            poller.abort();
        }
        self.log.readers.send_modify(|readers| {
            readers.count -= 1;
            readers.is_compared &= readers.count > 0;
        });
    }
}

fn has_unread(end: End, era: u64, next: u64) -> bool {
    end.era != era || end.next > next
}

fn lost_line(next: u64, count: u64) -> Bytes {
    line_of(&DriveEvent {
        // Its own number is that of the last event that is missing.
        seq: next - 1,
        time: Timestamp::now().iso_micros(),
        kind: EventKind::Lost,
        lost: Some(count),
        ..DriveEvent::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(path: &str) -> DriveEvent {
        DriveEvent {
            path: path.to_owned(),
            ..DriveEvent::default()
        }
    }

    async fn opened(log: &Arc<EventLog>) -> EventReader {
        let (reader, ()) = tokio::join!(EventReader::open(log), async {
            log.wait_for_reader().await;
            log.begin_comparing();
        });
        reader
    }

    fn events_in(text: &[u8]) -> Vec<DriveEvent> {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        lines
            .map(|line| serde_json::from_slice(line).expect("a whole line"))
            .collect()
    }

    #[tokio::test]
    async fn a_reader_gets_what_happens_after_it_opened_in_whole_lines() {
        let log = Arc::<EventLog>::default();
        log.push(event("/before"));
        let reader = opened(&log).await;
        assert_eq!(reader.try_read(4096), Err(DriveError::NothingYet));
        assert!(!reader.is_ready());
        log.push(event("/a"));
        log.push(event("/b"));
        log.push(event("/c"));
        assert!(reader.is_ready());
        let one_and_a_half = line_of(&event("/x")).len() as u32 * 2;
        let first = events_in(&reader.read(one_and_a_half).await);
        assert_eq!(first.len(), 1);
        assert_eq!((first[0].seq, &*first[0].path), (1, "/a"));
        let rest = events_in(&reader.read(4096).await);
        assert_eq!(rest.last().map(|event| event.seq), Some(3));
    }

    #[tokio::test]
    async fn a_line_longer_than_the_buffer_comes_in_pieces() {
        let log = Arc::<EventLog>::default();
        let reader = opened(&log).await;
        log.push(event("/a"));
        let mut text = Vec::new();
        while reader.is_ready() {
            let piece = reader.read(10).await;
            assert!(piece.len() <= 10);
            text.extend_from_slice(&piece);
        }
        assert_eq!(events_in(&text)[0].path, "/a");
    }

    #[tokio::test]
    async fn a_slow_reader_learns_how_many_events_it_lost_and_memory_stays_bounded() {
        let log = Arc::<EventLog>::default();
        let reader = opened(&log).await;
        for number in 0..MAX_EVENTS + 100 {
            log.push(event(&format!("/{number}")));
        }
        assert_eq!(log.lock().lines.len(), MAX_EVENTS);
        let events = events_in(&reader.read(4096).await);
        assert_eq!(events[0].kind, EventKind::Lost);
        assert_eq!(events[0].lost, Some(100));
        assert_eq!(events[1].path, "/100");
        let long = "x".repeat(MAX_BYTES / 4);
        for _ in 0..10 {
            log.push(event(&long));
        }
        assert!(log.lock().bytes <= MAX_BYTES);
    }

    #[tokio::test]
    async fn a_waiting_reader_is_woken_and_ends_with_the_stream() {
        let log = Arc::<EventLog>::default();
        let reader = Arc::new(opened(&log).await);
        let waiting = tokio::spawn({
            let reader = Arc::clone(&reader);
            async move { reader.read(4096).await }
        });
        tokio::task::yield_now().await;
        log.push(event("/a"));
        assert_eq!(events_in(&waiting.await.unwrap())[0].path, "/a");
        log.end_readers();
        assert_eq!(reader.read(4096).await, Bytes::new());
        let later = opened(&log).await;
        assert!(!later.is_ready(), "a later reader is not at its end");
    }

    #[tokio::test]
    async fn without_a_reader_nothing_is_noted() {
        let log = Arc::<EventLog>::default();
        let file = FileChange {
            folder: RemoteFolder::AssetFiles(crate::wire::AssetId(1)),
            path: "a".into(),
        };
        log.note(Some(file.clone()));
        assert_eq!(log.take_files(), []);
        let reader = opened(&log).await;
        log.note(Some(file.clone()));
        log.note(Some(file.clone()));
        assert_eq!(log.take_files(), [file]);
        drop(reader);
        log.until_unread().await;
    }
}
