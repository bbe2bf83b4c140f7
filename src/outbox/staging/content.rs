//! The bytes of one staged file while it is open: shared by all its handles.
//!
//! Invariant: a change of bytes or length increments the generation when it begins and again before the call returns.
//! So if the generation has not changed since a sync, the recorded checksum is that of the file. The lock of the
//! size, which many callers need, is never held during disk work.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::fs::SeekFrom;

use crate::durable::{allocated_bytes, answering, recorder};
use crate::locks::Locked;
use crate::outbox::error::{OutboxResult, is_full, staging_error};
use crate::outbox::failpoint;
use crate::outbox::moment::Moment;
use crate::outbox::staging::{
    ACKNOWLEDGED, ContentHash, ContentId, RunningHash, SpaceReserve, WriteOut, hash_upto,
};

/// An open content.
#[derive(Debug)]
pub struct Content {
    id: ContentId,
    file: Arc<File>,
    space_reserve: Arc<SpaceReserve>,
    live: Mutex<Live>,
    /// Locked during a change of the file. Starts the write-out of large files early, so that their sync is short.
    changing: Mutex<WriteOut>,
    /// Locked during a sync and its record, so that records have the order of syncs.
    flushing: Mutex<()>,
}

/// What a write does if the disk is full.
pub enum OnFull<'a> {
    /// Retries once if this function could free some space. Blocks on local disk.
    MakeRoom(&'a dyn Fn() -> bool),
    /// Returns [`Written::NeedsRoom`], for a caller that may not block.
    Leave,
}

/// The result of a write.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// Everything was written.
    All,
    /// The disk is full. The write must be repeated with [`OnFull::MakeRoom`].
    NeedsRoom,
}

struct Live {
    size: u64,
    hash: RunningHash,
    /// Incremented by every change.
    generation: u64,
    /// The recorded generation; `None` before the first flush.
    recorded: Option<u64>,
    /// The last write, until the time is set or the flush records it.
    written_at: Option<Moment>,
    /// The error of the last failed write, until the file is written again.
    failed: Option<i32>,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live")
            .field("size", &self.size)
            .field("generation", &self.generation)
            .field("recorded", &self.recorded)
            .finish_non_exhaustive()
    }
}

/// The content that a sync made durable, for its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flushed {
    /// Length of the file.
    pub size: u64,
    /// Checksum of its bytes.
    pub hash: ContentHash,
    /// Time of the last write, unless a time was set since.
    pub written_at: Option<Moment>,
    /// For [`Content::recorded`].
    pub generation: u64,
}

impl Content {
    /// A new content, which leaves the space of `space_reserve` free.
    pub fn new(id: ContentId, file: File, space_reserve: &Arc<SpaceReserve>) -> Content {
        Content::with(id, file, space_reserve, (0, RunningHash::empty()), None)
    }

    /// A recorded content; `flushed` is the length of its last flush, unless its writer did not finish. What was written
    /// behind that by a program that was killed was not acknowledged, and is cut off: otherwise the length that is shown
    /// and the bytes that are read would not fit together.
    pub fn existing(
        id: ContentId,
        file: File,
        space_reserve: &Arc<SpaceReserve>,
        flushed: Option<u64>,
    ) -> io::Result<Content> {
        let mut size = file.metadata()?.len();
        if let Some(flushed) = flushed.filter(|flushed| *flushed < size) {
            file.set_len(flushed)?;
            recorder::resized(&file, flushed);
            size = flushed;
        }
        let hash = if size == 0 {
            RunningHash::empty()
        } else {
            RunningHash::unknown()
        };
        Ok(Content::with(
            id,
            file,
            space_reserve,
            (size, hash),
            flushed.map(|_| 0),
        ))
    }

    fn with(
        id: ContentId,
        file: File,
        space_reserve: &Arc<SpaceReserve>,
        (size, hash): (u64, RunningHash),
        recorded: Option<u64>,
    ) -> Content {
        Content {
            id,
            file: Arc::new(file),
            space_reserve: Arc::clone(space_reserve),
            live: Mutex::new(Live {
                size,
                hash,
                generation: 0,
                recorded,
                written_at: None,
                failed: None,
            }),
            changing: Mutex::default(),
            flushing: Mutex::new(()),
        }
    }

    pub fn id(&self) -> ContentId {
        self.id
    }

    /// The file, for reading.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Bytes on the staging disk. Does not wait for the disk: the file is open.
    pub fn allocated(&self) -> Option<u64> {
        allocated_bytes(&self.file).ok()
    }

    /// Length, and time of the last write unless a time was set since.
    pub fn size_and_time(&self) -> (u64, Option<Moment>) {
        let live = self.live();
        (live.size, live.written_at)
    }

    /// Present length.
    pub fn size(&self) -> u64 {
        self.live().size
    }

    /// True if the bytes differ from the record.
    pub fn is_dirty(&self) -> bool {
        let live = self.live();
        live.recorded != Some(live.generation)
    }

    /// True if a write failed and the file was not written again since.
    pub fn has_failed(&self) -> bool {
        self.live().failed.is_some()
    }

    /// Fills `buf` from `offset`; short only at the end of the file.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> OutboxResult<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.file.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(staging_error("reading a staged file")(error)),
            }
        }
        Ok(done)
    }

    /// Writes all of `data`, at `offset` or, without one, at the end.
    pub fn write(
        &self,
        data: &[u8],
        offset: Option<u64>,
        on_full: OnFull<'_>,
    ) -> OutboxResult<Written> {
        let mut write_out = self.changing();
        let offset = {
            let mut live = self.live();
            live.generation += 1;
            live.written_at = Some(Moment::now());
            offset.unwrap_or(live.size)
        };
        let mut written = self.write_all(data, offset);
        if written.as_ref().is_err_and(is_full) {
            match on_full {
                OnFull::Leave => {
                    // Part of it may have been written.
                    self.live().hash = RunningHash::unknown();
                    return Ok(Written::NeedsRoom);
                }
                OnFull::MakeRoom(make_room) if make_room() => {
                    written = self.write_all(data, offset);
                }
                OnFull::MakeRoom(_) => {}
            }
        }
        if written.is_ok() {
            write_out.wrote(&self.file, offset, data.len() as u64);
        }
        let mut live = self.live();
        live.generation += 1;
        match written {
            Ok(()) => {
                live.hash.wrote(offset, data);
                live.size = live.size.max(offset + data.len() as u64);
                Ok(Written::All)
            }
            Err(error) => {
                // Part of it may have been written.
                live.size = self.file.metadata().map_or(live.size, |meta| meta.len());
                live.hash = RunningHash::unknown();
                live.failed = Some(error.raw_os_error().unwrap_or(libc::EIO));
                Err(staging_error(format!("{} more bytes", data.len()))(error))
            }
        }
    }

    fn write_all(&self, data: &[u8], offset: u64) -> io::Result<()> {
        failpoint::disk()?;
        let write = || self.file.write_all_at(data, offset);
        self.space_reserve
            .write_if_space(&self.file, offset, data.len() as u64, write)?;
        recorder::wrote(&self.file, offset, data);
        Ok(())
    }

    /// Truncates or extends the file. Truncating it to zero ends the state after a failed write.
    pub fn truncate(&self, size: u64) -> OutboxResult<()> {
        let _changing = self.changing();
        if size == self.size() && size != 0 {
            return Ok(());
        }
        self.live().generation += 1;
        failpoint::disk()
            .and_then(|()| self.file.set_len(size))
            .map_err(staging_error("changing the length of a staged file"))?;
        recorder::resized(&self.file, size);
        let mut live = self.live();
        live.generation += 1;
        live.written_at = Some(Moment::now());
        live.hash.resized(size);
        live.size = size;
        if size == 0 {
            live.failed = None;
        }
        Ok(())
    }

    /// Reserves disk space.
    pub fn allocate(&self, offset: u64, len: u64, keep_size: bool) -> OutboxResult<()> {
        answering::check_may_block("reserving room");
        let _changing = self.changing();
        let end = offset.saturating_add(len);
        let flags = if keep_size {
            rustix::fs::FallocateFlags::KEEP_SIZE
        } else {
            rustix::fs::FallocateFlags::empty()
        };
        let no_room = |source| staging_error(format!("{len} reserved bytes"))(source);
        // The check comes first: a file system may fill the disk before it says that there is too little space.
        let reserve = || {
            let reserved = rustix::fs::fallocate(&*self.file, flags, offset, len);
            reserved.map_err(io::Error::from)
        };
        match self
            .space_reserve
            .write_if_space(&self.file, offset, len, reserve)
        {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                // The write itself reports a full disk.
                if keep_size {
                    return Ok(());
                }
                if end > self.size() {
                    self.file
                        .set_len(end)
                        .map_err(staging_error("extending a staged file"))?;
                }
            }
            Err(error) => {
                // Releases the space that was reserved behind the end.
                let _ = self.file.set_len(self.size());
                return Err(no_room(error));
            }
        }
        let mut live = self.live();
        if !keep_size && end > live.size {
            live.size = end;
            live.generation += 1;
            live.written_at = Some(Moment::now());
        }
        Ok(())
    }

    /// Frees the space of a range, which reads as zeros then. False if the disk cannot do that.
    pub fn make_hole(&self, offset: u64, len: u64) -> OutboxResult<bool> {
        use rustix::fs::FallocateFlags;
        answering::check_may_block("making a hole");
        let _changing = self.changing();
        self.live().generation += 1;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        failpoint::disk().map_err(staging_error("making a hole in a staged file"))?;
        let made = rustix::fs::fallocate(&*self.file, flags, offset, len);
        if made.is_ok() {
            let zeros = self.size().saturating_sub(offset).min(len);
            recorder::zeroed(&self.file, offset, zeros);
        }
        let mut live = self.live();
        live.generation += 1;
        if made == Err(rustix::io::Errno::OPNOTSUPP) {
            return Ok(false);
        }
        live.written_at = Some(Moment::now());
        // Part of it may have been freed.
        live.hash = RunningHash::unknown();
        made.map(|()| true).map_err(|error| {
            live.failed = Some(error.raw_os_error());
            staging_error("making a hole in a staged file")(error.into())
        })
    }

    /// `lseek` to data or a hole; `None` if there is none. The position of the file is not used.
    pub fn seek(&self, to: SeekFrom) -> OutboxResult<Option<u64>> {
        match rustix::fs::seek(&*self.file, to) {
            Ok(at) => Ok(Some(at)),
            Err(rustix::io::Errno::NXIO) => Ok(None),
            Err(error) => Err(staging_error("reading a staged file")(error.into())),
        }
    }

    /// A time was set: it replaces that of earlier writes.
    pub fn time_was_set(&self) {
        self.live().written_at = None;
    }

    /// Locks syncs and their records.
    #[track_caller]
    pub fn flush_turn(&self) -> MutexGuard<'_, ()> {
        self.flushing.locked()
    }

    /// Makes the bytes durable and returns what to record; `None` if that is recorded already.
    pub fn sync(&self) -> OutboxResult<Option<Flushed>> {
        answering::check_may_block("the sync of a staged file");
        let (generation, size, written_at, seen) = {
            let live = self.live();
            if let Some(code) = live.failed {
                return Err(staging_error("what was written")(
                    io::Error::from_raw_os_error(code),
                ));
            }
            if live.recorded == Some(live.generation) {
                return Ok(None);
            }
            let seen = live.hash.digest(live.size);
            (live.generation, live.size, live.written_at, seen)
        };
        failpoint::slow_sync();
        let synced = if generation == 0 && size == 0 {
            Ok(())
        } else {
            self.file
                .sync_data()
                .inspect(|()| recorder::synced(&self.file))
        };
        if let Err(error) = synced {
            // After a failed sync the kernel may have dropped dirty pages: the bytes are not trusted until the file
            // is written again.
            self.live().failed = Some(error.raw_os_error().unwrap_or(libc::EIO));
            return Err(staging_error("what was written")(error));
        }
        let hash = match seen {
            Some(hash) => hash,
            None => {
                let read =
                    hash_upto(&self.file, size).map_err(staging_error("reading a staged file"))?;
                let digest = read.digest();
                let mut live = self.live();
                if live.generation == generation {
                    live.hash = RunningHash::at(read);
                }
                digest
            }
        };
        Ok(Some(Flushed {
            size,
            hash,
            written_at,
            generation,
        }))
    }

    /// The result of [`Content::sync`] is recorded.
    pub fn recorded(&self, flushed: &Flushed) {
        let is_first = {
            let mut live = self.live();
            let is_first = live.recorded.is_none();
            live.recorded = live.recorded.max(Some(flushed.generation));
            if live.generation == flushed.generation {
                live.written_at = None;
            }
            is_first
        };
        if is_first {
            let mode = Permissions::from_mode(ACKNOWLEDGED);
            // The journal names the content, so the mark is needed only if the journal gets lost.
            if let Err(error) = self.file.set_permissions(mode) {
                tracing::debug!(content = %self.id, %error, "a staged file could not be marked");
            }
        }
    }

    #[track_caller]
    fn changing(&self) -> MutexGuard<'_, WriteOut> {
        self.changing.locked()
    }

    #[track_caller]
    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.locked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durable::recorder::DiskOp;

    fn content() -> Content {
        Content::new(ContentId(1), tempfile::tempfile().unwrap(), &Arc::default())
    }

    fn write(content: &Content, data: &[u8], offset: Option<u64>) {
        let written = content.write(data, offset, OnFull::MakeRoom(&|| false));
        assert_eq!(written.unwrap(), Written::All);
    }

    #[test]
    fn a_sync_tells_size_and_hash_once() {
        let content = content();
        write(&content, b"abc", Some(0));
        write(&content, b"def", None);
        let flushed = content.sync().unwrap().unwrap();
        assert_eq!(
            (flushed.size, flushed.hash),
            (6, ContentHash::of(b"abcdef"))
        );
        content.recorded(&flushed);
        assert_eq!(content.sync().unwrap(), None);
        write(&content, b"X", Some(1));
        let flushed = content.sync().unwrap().unwrap();
        assert_eq!(flushed.hash, ContentHash::of(b"aXcdef"));
    }

    #[test]
    fn a_write_between_sync_and_record_stays_to_be_flushed() {
        let content = content();
        write(&content, b"abc", Some(0));
        let flushed = content.sync().unwrap().unwrap();
        write(&content, b"d", None);
        content.recorded(&flushed);
        assert!(content.is_dirty());
        assert_eq!(content.sync().unwrap().unwrap().size, 4);
    }

    #[test]
    fn a_hole_changes_bytes_and_hash_and_not_the_length() {
        let content = content();
        write(&content, &[7; 20_000], Some(0));
        let flushed = content.sync().unwrap().unwrap();
        content.recorded(&flushed);
        recorder::begin();
        let is_made = content.make_hole(4096, 8192).unwrap();
        let tape = recorder::end();
        if !is_made {
            crate::skip::skipped("the disk of the temporary folder cannot make holes in files");
            return;
        }
        // The tests of power cuts see it.
        let zeros = vec![0; 8192];
        assert!(
            matches!(&tape[..], [DiskOp::Write(_, 4096, bytes)] if *bytes == zeros),
            "{tape:?}"
        );
        assert!(content.is_dirty());
        let mut bytes = vec![7; 20_000];
        bytes[4096..4096 + 8192].fill(0);
        let flushed = content.sync().unwrap().unwrap();
        assert_eq!(flushed.hash, ContentHash::of(&bytes));
        assert_eq!(flushed.size, 20_000);
        let mut read = vec![0; 20_000];
        content.read_at(&mut read, 0).unwrap();
        assert_eq!(read, bytes);
        assert_eq!(content.seek(SeekFrom::Hole(0)).unwrap(), Some(4096));
        assert_eq!(content.seek(SeekFrom::Data(4096)).unwrap(), Some(12_288));
        assert_eq!(content.seek(SeekFrom::Data(20_000)).unwrap(), None);
    }

    #[test]
    fn an_empty_file_is_recorded_too() {
        let content = content();
        let flushed = content.sync().unwrap().unwrap();
        assert_eq!((flushed.size, flushed.hash), (0, ContentHash::of(b"")));
    }
}
