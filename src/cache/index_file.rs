//! The saved index, which avoids reading every map when the cache is opened. It is only a hint: if it is
//! missing, old or damaged, opening takes longer, but no wrong byte is served, because each object has its
//! own map.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tracing::{debug, warn};
use xxhash_rust::xxh3::xxh3_64;

use super::block_map::BlockMap;
use super::index::{Entry, Index};
use super::key::{FileId, FileKind, NameHash};
use super::map_file::{MapHeader, read_slots};
use super::object_file::{free_unclaimed, map_cost, open_file};
use crate::durable::write_atomic_relaxed;

const MAGIC: [u8; 8] = *b"afsidx1\n";
const FILE: &str = "index";
/// Maps changed within this time before the index was written are read again.
const CLOCK_SLACK: Duration = Duration::from_secs(2);

/// The decoded index file.
#[derive(Debug, PartialEq, Eq)]
struct Saved {
    /// Written when the cache was closed, so nothing has changed since.
    closed: bool,
    written_at: Duration,
    /// The least recently used first.
    entries: Vec<SavedEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SavedEntry {
    id: FileId,
    cost: u64,
    name: String,
}

/// Encodes the index; `closed` if nothing can change after it.
pub(super) fn encode(index: &Index, closed: bool) -> Vec<u8> {
    let entries = index.oldest_first().map(|(name, entry)| SavedEntry {
        id: FileId {
            name: *name,
            salt: entry.salt,
        },
        cost: entry.cost.load(Ordering::Acquire),
        name: entry.name.to_string(),
    });
    Saved {
        closed,
        written_at: now(),
        entries: entries.collect(),
    }
    .encode()
}

/// Replaces the index file.
pub(super) fn write(root: &Path, bytes: &[u8]) {
    if let Err(error) = write_atomic_relaxed(root.join(FILE), bytes) {
        debug!(error = %error, "could not save the index of the cache");
    }
}

/// Finds the objects on disk, the least recently used first, and removes broken pairs.
pub(super) fn rebuild(root: &Path, objects: &Path) -> Vec<(NameHash, Entry)> {
    let saved = fs::read(root.join(FILE))
        .ok()
        .and_then(|bytes| Saved::decode(&bytes));
    let (closed, written_at) = saved
        .as_ref()
        .map_or((false, Duration::ZERO), |it| (it.closed, it.written_at));
    let saved: HashMap<FileId, (usize, SavedEntry)> = saved
        .map_or(Vec::new(), |it| it.entries)
        .into_iter()
        .enumerate()
        .map(|(order, entry)| (entry.id, (order, entry)))
        .collect();

    let mut found: HashMap<NameHash, Found> = HashMap::new();
    for id in whole_pairs(objects) {
        let known = saved.get(&id).filter(|_| {
            closed || changed_at(objects, id).is_some_and(|at| at + CLOCK_SLACK < written_at)
        });
        let measured = match known {
            Some((order, entry)) => Some(Found {
                id,
                name: entry.name.clone(),
                cost: entry.cost,
                age: (0, Duration::from_nanos(*order as u64)),
            }),
            None => measure(objects, id),
        };
        let Some(new) = measured else {
            unlink(objects, id);
            continue;
        };
        if let Some(old) = found.remove(&id.name) {
            let (keep, drop) = if old.age < new.age {
                (new, old)
            } else {
                (old, new)
            };
            unlink(objects, drop.id);
            found.insert(keep.id.name, keep);
        } else {
            found.insert(id.name, new);
        }
    }
    let mut found: Vec<Found> = found.into_values().collect();
    found.sort_by_key(|it| (it.age, it.id));
    let entry = |it: Found| {
        let cost = Arc::new(AtomicU64::new(it.cost));
        (it.id.name, Entry::new(it.id.salt, &it.name, cost))
    };
    found.into_iter().map(entry).collect()
}

/// An object on disk. Objects in the saved index count as older than the others.
#[derive(Debug)]
struct Found {
    id: FileId,
    name: String,
    cost: u64,
    age: (u8, Duration),
}

/// Lists the pairs of files in the folder and removes halves of pairs.
fn whole_pairs(objects: &Path) -> Vec<FileId> {
    let mut kinds: HashMap<FileId, (bool, bool)> = HashMap::new();
    let listing = match fs::read_dir(objects) {
        Ok(listing) => listing,
        Err(error) => {
            warn!(error = %error, "could not list the cache");
            return Vec::new();
        }
    };
    for entry in listing.flatten() {
        let name = entry.file_name();
        if let Some((id, kind)) = name.to_str().and_then(FileId::parse) {
            let seen = kinds.entry(id).or_default();
            match kind {
                FileKind::Data => seen.0 = true,
                FileKind::Map => seen.1 = true,
            }
        }
    }
    let mut whole = Vec::with_capacity(kinds.len());
    for (id, seen) in kinds {
        if seen == (true, true) {
            whole.push(id);
        } else {
            unlink(objects, id);
        }
    }
    whole
}

/// Reads the map of an object; `None` if it is damaged or has a wrong name.
fn measure(objects: &Path, id: FileId) -> Option<Found> {
    let map_file = open_file(&objects.join(id.file_name(FileKind::Map))).ok()?;
    let (header, header_len) = MapHeader::read(&map_file).ok()??;
    if header.salt != id.salt || NameHash::of(&header.key.name) != id.name {
        return None;
    }
    let blocks = BlockMap::new(header.key.size);
    read_slots(&map_file, header_len, &blocks, false).ok()?;
    let data = open_file(&objects.join(id.file_name(FileKind::Data))).ok()?;
    free_unclaimed(&data, &blocks).ok()?;
    Some(Found {
        id,
        name: header.key.name,
        cost: blocks.data_cost() + map_cost(header_len, &blocks),
        age: (1, modified(&map_file)?),
    })
}

fn modified(file: &File) -> Option<Duration> {
    file.metadata().ok().map(|it| since_epoch(&it))
}

fn changed_at(objects: &Path, id: FileId) -> Option<Duration> {
    let metadata = fs::symlink_metadata(objects.join(id.file_name(FileKind::Map))).ok()?;
    Some(since_epoch(&metadata))
}

fn since_epoch(metadata: &fs::Metadata) -> Duration {
    let seconds = u64::try_from(metadata.mtime()).unwrap_or(0);
    let nanos = u32::try_from(metadata.mtime_nsec()).unwrap_or(0);
    Duration::new(seconds, nanos.min(999_999_999))
}

fn now() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
}

/// Removes both files of an object, if they exist.
pub(super) fn unlink(objects: &Path, id: FileId) {
    for kind in [FileKind::Map, FileKind::Data] {
        let path = objects.join(id.file_name(kind));
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            warn!(path = %path.display(), error = %error, "could not remove a file of the cache");
        }
    }
}

impl Saved {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(32 + self.entries.len() * 80);
        bytes.extend(MAGIC);
        bytes.push(u8::from(self.closed));
        bytes.extend((self.written_at.as_nanos() as u64).to_le_bytes());
        bytes.extend((self.entries.len() as u32).to_le_bytes());
        for entry in &self.entries {
            bytes.extend(entry.id.name.0.to_le_bytes());
            bytes.extend(entry.id.salt.to_le_bytes());
            bytes.extend(entry.cost.to_le_bytes());
            bytes.extend((entry.name.len() as u16).to_le_bytes());
            bytes.extend(entry.name.as_bytes());
        }
        let check = xxh3_64(&bytes);
        bytes.extend(check.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Saved> {
        let (mut rest, check) = bytes.split_last_chunk::<8>()?;
        if xxh3_64(rest) != u64::from_le_bytes(*check) {
            return None;
        }
        let rest = &mut rest;
        if take::<8>(rest)? != MAGIC {
            return None;
        }
        let closed = take::<1>(rest)? == [1];
        let written_at = Duration::from_nanos(u64::from_le_bytes(take(rest)?));
        let count = u32::from_le_bytes(take(rest)?);
        let mut entries = Vec::new();
        for _ in 0..count {
            let name = NameHash(u128::from_le_bytes(take(rest)?));
            let salt = u64::from_le_bytes(take(rest)?);
            let cost = u64::from_le_bytes(take(rest)?);
            let len = u16::from_le_bytes(take(rest)?);
            let text = rest.split_off(..usize::from(len))?;
            entries.push(SavedEntry {
                id: FileId { name, salt },
                cost,
                name: String::from_utf8(text.to_vec()).ok()?,
            });
        }
        Some(Saved {
            closed,
            written_at,
            entries,
        })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_saved_index_is_read_back_and_damage_is_detected(
            entries in prop::collection::vec((any::<u128>(), any::<u64>(), any::<u64>(), ".{0,30}"), 0..8),
            closed: bool, place: prop::sample::Index, flip in 1_u8..,
        ) {
            let entries = entries.into_iter().map(|(name, salt, cost, text)| SavedEntry {
                id: FileId { name: NameHash(name), salt },
                cost,
                name: text,
            });
            let saved = Saved { closed, written_at: Duration::from_nanos(5), entries: entries.collect() };
            let mut bytes = saved.encode();
            prop_assert_eq!(Saved::decode(&bytes), Some(saved));
            prop_assert_eq!(Saved::decode(&bytes[..place.index(bytes.len())]), None);
            let at = place.index(bytes.len());
            bytes[at] ^= flip;
            prop_assert_eq!(Saved::decode(&bytes), None);
        }
    }
}
