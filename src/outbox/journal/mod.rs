//! The journal: every change of the outbox's state as a checksummed record, in order.
//!
//! Invariant: records are written in the order of [`Journal::push`], and [`Journal::settle`] returns `Ok` only when
//! everything up to its ticket is durable. After a failed write the records stay queued, so a later success never
//! leaves a gap. Threads share syncs.

pub mod forms;
#[cfg(test)]
mod interleavings;
mod part;

pub use part::{Part, PartGuard};

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::durable::{AppendLog, DurableError, Reserve, answering};
use crate::locks::{Condvar, Locked as _, Mutex, MutexGuard};
use crate::outbox::error::{OutboxError, OutboxResult, journal_error, staging_error};
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::off_thread::off_thread;

/// First bytes of the journal's file.
const MAGIC: [u8; 8] = *b"aoutbox\x01";
/// Reserved disk space. It is freed when the disk is full, so that removals, which free space, and the steps of uploads
/// can still be recorded.
const RESERVE_LEN_BYTES: u64 = 64 * 1024;
/// Maximum number of queued records while writing fails.
const MAX_QUEUED: usize = 100_000;

/// The position of a record in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// A record, or a snapshot of all of them. In the journal it is an object with one field, whose name is the kind.
pub trait Journaled: Serialize {
    const KIND: &'static str;

    /// True for a record of new data from a program. Such a record never uses the reserve, which is for decisions and
    /// deletions.
    fn adds_data(&self) -> bool {
        false
    }
}

fn frame<R: Journaled>(record: &R) -> Vec<u8> {
    serde_json::to_vec(&BTreeMap::from([(R::KIND, record)])).expect("records are plain data")
}

/// The journal of one state directory.
#[derive(Debug)]
pub struct Journal {
    dir: PathBuf,
    /// Locked for each recorded change; see [`Part`].
    turn: Mutex<()>,
    queue: Mutex<WriteQueue>,
    moved: Condvar,
    /// Locked only by the writing thread; never while `queue` is locked.
    log: Mutex<AppendLog>,
    reserve: Reserve,
}

#[derive(Debug, Default)]
struct WriteQueue {
    waiting: VecDeque<Waiting>,
    /// Tickets below this number are durable.
    durable: u64,
    /// The number of the next ticket.
    next: u64,
    writing: bool,
    /// The last write failed, for tickets up to the number.
    failed: Option<(u64, WriteFailure)>,
}

/// A queued record.
#[derive(Debug)]
enum Waiting {
    /// Appended.
    Next { bytes: Vec<u8>, adds_data: bool },
    /// Has the same meaning as all records before it, and may replace them.
    Snapshot(Vec<u8>),
}

#[derive(Debug, Clone)]
struct WriteFailure {
    os_error: Option<i32>,
    text: String,
}

/// An opened journal.
#[derive(Debug)]
pub enum FoundJournal<R> {
    /// All of it is readable.
    Whole(Box<Journal>, Vec<R>),
    /// A part of it is damaged. Nothing was changed; [`Journal::begin_anew`] replaces it.
    Damaged {
        /// The readable records, in order.
        records: Vec<R>,
        /// The damage, as a sentence.
        reason: String,
    },
}

impl Journal {
    /// Opens or makes the journal in `dir`. The journal of a newer version is an error.
    pub fn open<R: DeserializeOwned>(dir: &Path) -> OutboxResult<FoundJournal<R>> {
        let broken = |reason: String| OutboxError::Journal {
            reason,
            dir: dir.display().to_string(),
        };
        let path = dir.join("journal");
        let (log, frames) = match AppendLog::open(&path, MAGIC) {
            Ok(found) => found,
            Err(DurableError::NotALog { .. } | DurableError::LogDamaged { .. }) => {
                let salvaged =
                    AppendLog::salvage(&path).map_err(|error| broken(error.to_string()))?;
                let parsed = salvaged.records.iter();
                return Ok(FoundJournal::Damaged {
                    records: parsed
                        .filter_map(|frame| serde_json::from_slice(frame).ok())
                        .collect(),
                    reason: format!(
                        "the journal was damaged and {} bytes of it are lost",
                        salvaged.lost_bytes
                    ),
                });
            }
            Err(error) => return Err(broken(error.to_string())),
        };
        let records = frames
            .iter()
            .enumerate()
            .map(|(number, frame)| {
                serde_json::from_slice(frame).map_err(|error| {
                    broken(format!(
                        "record {number} cannot be read ({error}); a newer version of assetfs wrote it: use that one"
                    ))
                })
            })
            .collect::<OutboxResult<Vec<R>>>()?;
        let journal = Box::new(Journal::over(dir, log));
        Ok(FoundJournal::Whole(journal, records))
    }

    /// The records of the journal below `dir`, which may be open elsewhere; none if there is no journal, and `None` if
    /// one cannot be read as a whole. Changes nothing.
    pub fn read<R: DeserializeOwned>(dir: &Path) -> Option<Vec<R>> {
        let path = dir.join("journal");
        if !path.exists() {
            return Some(Vec::new());
        }
        let found = AppendLog::salvage(&path).ok()?;
        if found.lost_bytes > 0 {
            return None;
        }
        let records = found
            .records
            .iter()
            .map(|frame| serde_json::from_slice(frame).ok());
        records.collect()
    }

    /// Replaces the journal in `dir` with one that contains `snapshot`.
    pub fn begin_anew(dir: &Path, snapshot: &impl Journaled) -> OutboxResult<Journal> {
        let log = AppendLog::create_over(dir.join("journal"), MAGIC, &[frame(snapshot)])
            .map_err(journal_error(dir))?;
        Ok(Journal::over(dir, log))
    }

    fn over(dir: &Path, log: AppendLog) -> Journal {
        let journal = Journal {
            dir: dir.to_owned(),
            turn: Mutex::default(),
            queue: Mutex::default(),
            moved: Condvar::new(),
            log: Mutex::new(log),
            reserve: Reserve::new(dir.join("journal.reserve"), RESERVE_LEN_BYTES),
        };
        journal.keep_reserve();
        journal
    }

    /// Reserves disk space again after it was used.
    pub fn keep_reserve(&self) {
        self.reserve.keep();
    }

    fn check_disk(&self) -> Result<(), DurableError> {
        failpoint::disk().map_err(|source| DurableError::Io {
            doing: "append to",
            path: self.dir.clone(),
            source,
        })
    }

    /// Writes a batch; if the disk is full, once more after the reserve is freed.
    fn write(&self, batch: &[Waiting]) -> Result<(), DurableError> {
        self.check_disk()?;
        let mut log = self.log();
        let is_snapshot = |waiting: &Waiting| matches!(waiting, Waiting::Snapshot(_));
        if let Some(at) = batch.iter().rposition(is_snapshot) {
            let frames: Vec<&[u8]> = batch[at..].iter().map(Waiting::bytes).collect();
            match log.replace_all(&frames) {
                Ok(()) => return Ok(()),
                Err(error) => {
                    tracing::warn!(%error, "the journal could not be rewritten and stays as it is");
                }
            }
        }
        let frames = batch.iter().filter(|waiting| !is_snapshot(waiting));
        let frames: Vec<&[u8]> = frames.map(Waiting::bytes).collect();
        match log.append_all(&frames) {
            Err(error)
                if error.is_disk_full()
                    && batch.iter().any(Waiting::may_use_reserve)
                    && self.reserve.free() =>
            {
                log.append_all(&frames)
            }
            outcome => outcome,
        }
    }

    /// Queues a record. It is durable once its ticket is settled. Called while the changed [`Part`] is locked, so
    /// that records have the order of changes. Does no I/O.
    pub fn push(&self, record: &impl Journaled) -> Ticket {
        self.enqueue(Waiting::Next {
            bytes: frame(record),
            adds_data: record.adds_data(),
        })
    }

    /// Queues a snapshot, which must have the same meaning as all records before; the next write replaces them with
    /// it. Called while the state is locked. Does no I/O.
    pub fn push_snapshot(&self, snapshot: &impl Journaled) -> Ticket {
        self.enqueue(Waiting::Snapshot(frame(snapshot)))
    }

    fn enqueue(&self, waiting: Waiting) -> Ticket {
        let mut queue = self.lock();
        queue.waiting.push_back(waiting);
        queue.next += 1;
        Ticket(queue.next)
    }

    /// The ticket of the last record that was pushed.
    pub fn last(&self) -> Ticket {
        Ticket(self.lock().next)
    }

    /// The ticket of the last record that is durable.
    pub fn durable(&self) -> Ticket {
        Ticket(self.lock().durable)
    }

    /// True while records wait to be written.
    pub fn has_waiting(&self) -> bool {
        !self.lock().waiting.is_empty()
    }

    /// Refuses a record while earlier ones cannot be written. A record that adds data is refused at once, to leave the
    /// rest of the space to the others; any record is refused if more than [`MAX_QUEUED`] wait.
    pub fn check_space(&self, record: &impl Journaled) -> OutboxResult<()> {
        let queue = self.lock();
        match &queue.failed {
            Some((_, failure)) if record.adds_data() || queue.waiting.len() > MAX_QUEUED => {
                Err(self.error(failure))
            }
            _ => Ok(()),
        }
    }

    /// Returns when everything up to the ticket is durable. Blocks on local disk.
    pub fn settle(&self, ticket: Ticket) -> OutboxResult<()> {
        answering::check_may_block("waiting for the journal");
        let mut queue = self.lock();
        let asked_at = queue.failed.as_ref().map(|(upto, _)| *upto);
        let mut tried = false;
        while queue.durable < ticket.0 {
            if let Some((upto, failure)) = &queue.failed
                && *upto >= ticket.0
                && (tried || asked_at != Some(*upto))
            {
                return Err(self.error(failure));
            }
            if queue.writing {
                queue = self
                    .moved
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
                tried = true;
            } else {
                queue = self.write_queue(queue);
                tried = true;
            }
        }
        Ok(())
    }

    /// The same for async code.
    pub async fn settle_async(self: &Arc<Journal>, ticket: Ticket) -> OutboxResult<()> {
        let journal = Arc::clone(self);
        off_thread(move || journal.settle(ticket)).await?
    }

    /// The lock that orders records and the changes that they describe.
    #[track_caller]
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.locked()
    }

    /// Makes everything pushed so far durable.
    pub fn settle_all(&self) -> OutboxResult<()> {
        self.settle(self.last())
    }

    /// Bytes of the journal on disk.
    pub fn len_bytes(&self) -> u64 {
        self.log().len_bytes()
    }

    fn write_queue<'a>(
        &'a self,
        mut queue: MutexGuard<'a, WriteQueue>,
    ) -> MutexGuard<'a, WriteQueue> {
        let batch: Vec<Waiting> = queue.waiting.drain(..).collect();
        let upto = queue.next;
        queue.writing = true;
        drop(queue);
        failpoint::hit(Failpoint::BeforeJournal);
        failpoint::slow_sync();
        let outcome = self.write(&batch);
        failpoint::hit(Failpoint::AfterJournal);
        let mut queue = self.lock();
        queue.writing = false;
        match outcome {
            Ok(()) => {
                queue.durable = upto;
                queue.failed = None;
            }
            Err(error) => {
                for waiting in batch.into_iter().rev() {
                    if let Waiting::Next { .. } = waiting {
                        queue.waiting.push_front(waiting);
                    }
                }
                queue.failed = Some((upto, WriteFailure::new(&error)));
            }
        }
        self.moved.notify_all();
        queue
    }

    fn error(&self, failure: &WriteFailure) -> OutboxError {
        match failure.os_error {
            Some(code) => staging_error("the journal")(std::io::Error::from_raw_os_error(code))
                .on_disk_of(&self.dir),
            None => OutboxError::Journal {
                reason: failure.text.clone(),
                dir: self.dir.display().to_string(),
            },
        }
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, WriteQueue> {
        self.queue.locked()
    }

    #[track_caller]
    fn log(&self) -> MutexGuard<'_, AppendLog> {
        self.log.locked()
    }
}

impl Waiting {
    fn bytes(&self) -> &[u8] {
        match self {
            Waiting::Next { bytes, .. } | Waiting::Snapshot(bytes) => bytes,
        }
    }

    fn may_use_reserve(&self) -> bool {
        match self {
            Waiting::Next { adds_data, .. } => !adds_data,
            Waiting::Snapshot(_) => false,
        }
    }
}

impl WriteFailure {
    fn new(error: &DurableError) -> WriteFailure {
        WriteFailure {
            os_error: error.io_error().and_then(std::io::Error::raw_os_error),
            text: error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Counted {
        count: u64,
    }

    impl Journaled for u64 {
        const KIND: &'static str = "count";
    }

    fn record(count: u64) -> Counted {
        Counted { count }
    }

    fn open(dir: &Path) -> (Journal, Vec<Counted>) {
        match Journal::open(dir).unwrap() {
            FoundJournal::Whole(journal, records) => (*journal, records),
            found => panic!("{found:?}"),
        }
    }

    #[test]
    fn what_is_settled_is_there_after_a_reopen_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let (journal, none) = open(dir.path());
        assert!(none.is_empty());
        journal.push(&1_u64);
        let ticket = journal.push(&2_u64);
        journal.settle(ticket).unwrap();
        journal.push(&3_u64);
        drop(journal);
        let (_, records) = open(dir.path());
        assert_eq!(records, [record(1), record(2)]);
    }

    #[test]
    fn many_threads_keep_one_order() {
        let dir = tempfile::tempdir().unwrap();
        let (journal, _) = open(dir.path());
        let journal = Arc::new(journal);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let journal = Arc::clone(&journal);
                std::thread::spawn(move || {
                    for n in 0..20 {
                        let ticket = journal.push(&n);
                        journal.settle(ticket).unwrap();
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        drop(journal);
        assert_eq!(open(dir.path()).1.len(), 80);
    }

    #[test]
    fn a_replacement_stands_for_everything_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let (journal, _) = open(dir.path());
        journal.push(&1_u64);
        journal.push_snapshot(&9_u64);
        let ticket = journal.push(&10_u64);
        journal.settle(ticket).unwrap();
        drop(journal);
        assert_eq!(open(dir.path()).1, [record(9), record(10)]);
    }
}
