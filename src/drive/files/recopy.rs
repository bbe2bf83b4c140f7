//! Writing a file of an asset a second time (a nightly job, a restored backup, a tool that is run twice). The
//! data is compared with what was sent: equal data is a success without effect, other data is refused. Nothing
//! is stored or sent.

use std::sync::Mutex;

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::{DraftEntry, Place as _, WriteRefusal, can_be_compared};
use crate::drive::posix::OpenFlags;
use crate::drive::tree::Tree;
use crate::locks::Locked;
use crate::outbox::{ContentHasher, SentEntry};

/// Compares writes to a file of an asset with the uploaded bytes.
pub struct RecopyCheck {
    path: String,
    size: u64,
    /// The checksum of the bytes that were sent, in hex.
    hash: String,
    refusal: WriteRefusal,
    seen: Mutex<Seen>,
}

struct Seen {
    hash: ContentHasher,
    differs: bool,
}

impl RecopyCheck {
    /// `None` if writes cannot be compared.
    fn of(
        sent: SentEntry,
        path: String,
        flags: OpenFlags,
        refusal: WriteRefusal,
    ) -> Option<RecopyCheck> {
        can_be_compared(&sent, flags).then(|| RecopyCheck::new(sent, path, refusal))?
    }

    /// `None` if it is not known what was sent.
    pub fn of_sent(tree: &Tree, entry: DraftEntry, refusal: WriteRefusal) -> Option<RecopyCheck> {
        RecopyCheck::new(entry.sent(tree)?, entry.path(tree), refusal)
    }

    fn new(sent: SentEntry, path: String, refusal: WriteRefusal) -> Option<RecopyCheck> {
        let seen = Seen {
            hash: ContentHasher::default(),
            differs: false,
        };
        Some(RecopyCheck {
            path,
            size: sent.size,
            hash: sent.hash?,
            refusal,
            seen: Mutex::new(seen),
        })
    }

    /// Compares written data; an error as soon as it differs.
    pub fn write(&self, offset: u64, data: &[u8]) -> DriveResult<()> {
        let mut seen = self.seen.locked();
        seen.differs |= offset != seen.hash.len_bytes() || offset + data.len() as u64 > self.size;
        if seen.differs {
            return Err(self.refusal());
        }
        seen.hash.update(data);
        Ok(())
    }

    /// Compares a new length: zero starts again, as a new copy does; any other must equal the sent one.
    pub fn resize(&self, size: u64) -> DriveResult<()> {
        let mut seen = self.seen.locked();
        if size == 0 {
            seen.hash = ContentHasher::default();
            seen.differs = false;
            return Ok(());
        }
        seen.differs |= size != self.size;
        if seen.differs {
            return Err(self.refusal());
        }
        Ok(())
    }

    /// Space may be reserved up to the length that was sent.
    pub fn reserve(&self, end: u64) -> DriveResult<()> {
        match end > self.size {
            true => Err(self.refusal()),
            false => Ok(()),
        }
    }

    /// At close the data must equal what was sent. A shell may close an empty duplicate early.
    pub fn flush(&self) -> DriveResult<()> {
        let seen = self.seen.locked();
        let len = seen.hash.len_bytes();
        let is_same = len == self.size && seen.hash.digest().to_string() == self.hash;
        if !seen.differs && (len == 0 || is_same) {
            Ok(())
        } else {
            Err(self.refusal())
        }
    }

    /// True if bytes that were sent have been written again.
    pub fn has_equal_bytes(&self) -> bool {
        self.seen.locked().hash.len_bytes() > 0
    }

    fn refusal(&self) -> DriveError {
        (self.refusal)(&self.path)
    }
}

/// Compares what is written to a file whose bytes cannot change now.
pub fn same_bytes(
    tree: &Tree,
    entry: DraftEntry,
    flags: OpenFlags,
    refusal: WriteRefusal,
) -> Option<RecopyCheck> {
    RecopyCheck::of(entry.sent(tree)?, entry.path(tree), flags, refusal)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::drive::places::refusals;
    use crate::drive::posix::Access;
    use crate::outbox::{EntryId, EntryKind};

    const BYTES: &[u8] = b"what was copied in";

    fn flags(access: Access) -> OpenFlags {
        OpenFlags {
            access,
            ..OpenFlags::OVERWRITE
        }
    }

    fn sent() -> SentEntry {
        SentEntry {
            id: EntryId(1),
            path: "a.bin".into(),
            kind: EntryKind::File,
            size: BYTES.len() as u64,
            mode: 0o644,
            uid: None,
            gid: None,
            mtime: SystemTime::UNIX_EPOCH,
            hash: Some(format!("{:032x}", xxhash_rust::xxh3::xxh3_128(BYTES))),
            sent_as: Some("a.bin".into()),
        }
    }

    fn of(flags: OpenFlags) -> Option<RecopyCheck> {
        RecopyCheck::of(sent(), "a.bin".into(), flags, refusals::frozen_asset)
    }

    fn opened() -> RecopyCheck {
        of(flags(Access::Write)).unwrap()
    }

    #[test]
    fn the_same_bytes_are_no_error() {
        let file = opened();
        assert!(file.flush().is_ok(), "a shell's early close");
        file.write(0, &BYTES[..7]).unwrap();
        file.write(7, &BYTES[7..]).unwrap();
        file.resize(BYTES.len() as u64).unwrap();
        assert!(file.flush().is_ok());
        file.resize(0).unwrap();
        file.write(0, BYTES).unwrap();
        assert!(file.flush().is_ok());
    }

    #[test]
    fn other_bytes_are_refused_at_the_latest_when_closed() {
        let other = opened();
        other.write(0, &[b'x'; BYTES.len()]).unwrap();
        assert!(matches!(other.flush(), Err(DriveError::ReadOnly(_))));
        let short = opened();
        short.write(0, &BYTES[..7]).unwrap();
        assert!(short.flush().is_err());
        let long = opened();
        long.write(0, BYTES).unwrap();
        assert!(long.write(BYTES.len() as u64, b"!").is_err());
        assert!(long.flush().is_err());
        assert!(opened().write(3, b"x").is_err(), "not from the start");
        assert!(opened().resize(3).is_err());
    }

    #[test]
    fn who_reads_or_appends_gets_no_comparison() {
        let in_place = OpenFlags {
            truncate: false,
            ..flags(Access::ReadWrite)
        };
        assert!(of(in_place).is_none());
        let anew = flags(Access::ReadWrite);
        assert!(of(anew).is_some());
        let append = OpenFlags {
            append: true,
            ..flags(Access::Write)
        };
        assert!(of(append).is_none());
    }
}
