//! An append log for many threads. While one thread writes and syncs, the records of the others
//! gather; the next sync carries them all. Each call still returns only when its record is durable.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::{AppendLog, DurableError};

/// A cloneless handle for sharing by `Arc` or reference: `append` takes `&self`.
#[derive(Debug)]
pub struct SharedLog {
    queue: Mutex<Queue>,
    written: Condvar,
    /// Taken only by the thread that writes for all, never while `queue` is held by it.
    log: Mutex<AppendLog>,
}

#[derive(Debug, Default)]
struct Queue {
    gathering: Vec<Vec<u8>>,
    /// The number of the batch that is gathering.
    batch: u64,
    /// The batches below this number have been written, or have failed.
    done: u64,
    writing: bool,
    /// The failed batches that somebody still has to hear of.
    failures: Vec<Failure>,
}

#[derive(Debug)]
struct Failure {
    batch: u64,
    waiting: usize,
    error: Told,
}

/// An error in a form that can be told to each caller of a batch.
#[derive(Debug)]
struct Told {
    os_error: Option<i32>,
    kind: io::ErrorKind,
    text: String,
}

impl SharedLog {
    pub(super) fn new(log: AppendLog) -> SharedLog {
        SharedLog {
            queue: Mutex::default(),
            written: Condvar::new(),
            log: Mutex::new(log),
        }
    }

    /// Adds one record; it is durable on return. After an error it is not in the log.
    pub fn append(&self, record: &[u8]) -> Result<(), DurableError> {
        let mut queue = lock(&self.queue);
        let batch = queue.batch;
        queue.gathering.push(record.to_vec());
        while queue.done <= batch {
            if queue.writing {
                queue = self
                    .written
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
            } else {
                queue = self.write_batch(queue);
            }
        }
        queue.take_failure(batch).map_or(Ok(()), |told| {
            Err(DurableError::Io {
                doing: "append to",
                path: lock(&self.log).path().to_path_buf(),
                source: told.into_error(),
            })
        })
    }

    /// Puts these records in place of all that the log holds; see [`AppendLog::replace_all`].
    ///
    /// Records appended meanwhile land before or after the exchange: the caller, who knows what
    /// the records mean, keeps appends out while it gathers what is to stay.
    pub fn replace_all<R: AsRef<[u8]>>(&self, records: &[R]) -> Result<(), DurableError> {
        lock(&self.log).replace_all(records)
    }

    /// Bytes of the log on disk.
    pub fn len_bytes(&self) -> u64 {
        lock(&self.log).len_bytes()
    }

    fn write_batch<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        let records = std::mem::take(&mut queue.gathering);
        let batch = queue.batch;
        queue.batch += 1;
        queue.writing = true;
        drop(queue);
        let outcome = lock(&self.log).append_all(&records);
        let mut queue = lock(&self.queue);
        queue.writing = false;
        queue.done = batch + 1;
        if let Err(error) = outcome {
            queue.failures.push(Failure {
                batch,
                waiting: records.len(),
                error: Told::new(&error),
            });
        }
        self.written.notify_all();
        queue
    }
}

impl Queue {
    fn take_failure(&mut self, batch: u64) -> Option<Told> {
        let at = self.failures.iter().position(|it| it.batch == batch)?;
        let failure = &mut self.failures[at];
        failure.waiting -= 1;
        if failure.waiting == 0 {
            return Some(self.failures.swap_remove(at).error);
        }
        Some(failure.error.again())
    }
}

impl Told {
    fn new(error: &DurableError) -> Told {
        match error.io_error() {
            Some(io) => Told {
                os_error: io.raw_os_error(),
                kind: io.kind(),
                text: io.to_string(),
            },
            None => Told {
                os_error: None,
                kind: io::ErrorKind::Other,
                text: error.to_string(),
            },
        }
    }

    fn again(&self) -> Told {
        Told {
            text: self.text.clone(),
            ..*self
        }
    }

    fn into_error(self) -> io::Error {
        match self.os_error {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(self.kind, self.text),
        }
    }
}

/// A panic while one of these locks was held left the state whole: each change is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::*;

    const MAGIC: [u8; 8] = *b"testlog\n";

    #[test]
    fn appends_of_many_threads_are_all_there_each_threads_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = AppendLog::open(&path, MAGIC).unwrap().0.into_shared();
        thread::scope(|scope| {
            for writer in 0..8_u8 {
                let log = &log;
                scope.spawn(move || {
                    for number in 0..50_u8 {
                        log.append(&[writer, number]).unwrap();
                    }
                });
            }
        });
        let (_, records) = AppendLog::open(&path, MAGIC).unwrap();
        assert_eq!(records.len(), 400);
        assert_eq!(records.iter().collect::<HashSet<_>>().len(), 400);
        for writer in 0..8 {
            let numbers: Vec<u8> = records
                .iter()
                .filter(|record| record[0] == writer)
                .map(|record| record[1])
                .collect();
            assert!(numbers.is_sorted());
        }
    }

    #[test]
    fn a_record_is_on_disk_when_its_append_returns() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = AppendLog::open(&path, MAGIC).unwrap().0.into_shared();
        thread::scope(|scope| {
            for writer in 0..4_u8 {
                let (log, path) = (&log, &path);
                scope.spawn(move || {
                    for number in 0..20_u8 {
                        let record = [writer, number, 0xA5, 0x5A];
                        log.append(&record).unwrap();
                        let bytes = std::fs::read(path).unwrap();
                        assert!(bytes.windows(4).any(|window| window == record));
                    }
                });
            }
        });
    }
}
