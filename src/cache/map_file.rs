//! The map file of an object: a header with the key, then one checksum per block at a fixed place, so that a
//! block is added by one small write. Zero, and everything behind the end of the file, means absent. Damaged
//! files never cause a panic; a header with a wrong checksum is not a map.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use rustix::fs::SeekFrom;
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use super::block_map::{BlockMap, CHUNK_BLOCKS};
use super::key::ObjectKey;

const MAGIC: [u8; 8] = *b"afsmap1\n";
/// Magic, salt, size, length of the name, length of the ETag plus one.
const FIXED_LEN: usize = 32;
const CHECK_LEN: usize = 8;
const SLOT_LEN: u64 = 8;
/// Upper bound of the headers that [`ObjectKey::check`] allows.
const MAX_HEADER_LEN: usize = 8192;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MapHeader {
    pub(super) key: ObjectKey,
    pub(super) salt: u64,
}

impl MapHeader {
    pub(super) fn encode(&self) -> Vec<u8> {
        let name = self.key.name.as_bytes();
        let etag = self.key.etag.as_ref().map(String::as_bytes);
        let mut bytes = Vec::with_capacity(256);
        bytes.extend(MAGIC);
        bytes.extend(self.salt.to_le_bytes());
        bytes.extend(self.key.size.to_le_bytes());
        bytes.extend((name.len() as u32).to_le_bytes());
        bytes.extend(etag.map_or(0, |etag| etag.len() as u32 + 1).to_le_bytes());
        bytes.extend(name);
        bytes.extend(etag.unwrap_or_default());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(xxh3_64_with_seed(&bytes, self.salt).to_le_bytes());
        bytes
    }

    /// Decodes the header and its length; `None` if it is damaged or of another kind.
    pub(super) fn decode(bytes: &[u8]) -> Option<(MapHeader, u64)> {
        let fixed = bytes.get(..FIXED_LEN)?;
        let salt = u64_at(fixed, 8);
        let size = u64_at(fixed, 16);
        let name_len = u32_at(fixed, 24) as usize;
        let etag_len = (u32_at(fixed, 28) as usize).checked_sub(1);
        let text_end = FIXED_LEN
            .checked_add(name_len)?
            .checked_add(etag_len.unwrap_or(0))?;
        let text = bytes.get(FIXED_LEN..text_end)?;
        let checked_end = text_end.next_multiple_of(8);
        let check = bytes.get(checked_end..checked_end + CHECK_LEN)?;
        if fixed[..8] != MAGIC || u64_at(check, 0) != xxh3_64_with_seed(&bytes[..checked_end], salt)
        {
            return None;
        }
        let (name, etag) = text.split_at(name_len);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let key = ObjectKey {
            name: text(name)?,
            size,
            etag: match etag_len {
                Some(_) => Some(text(etag)?),
                None => None,
            },
        };
        key.check().ok()?;
        Some((MapHeader { key, salt }, (checked_end + CHECK_LEN) as u64))
    }

    /// Reads the header from a file; `Ok(None)` if there is no valid one.
    pub(super) fn read(file: &File) -> io::Result<Option<(MapHeader, u64)>> {
        let mut bytes = vec![0; MAX_HEADER_LEN];
        let len = read_up_to(file, &mut bytes, 0)?;
        Ok(MapHeader::decode(&bytes[..len]))
    }

    /// The checksum of these bytes at this position of this object; never zero.
    pub(super) fn block_check(salt: u64, index: u64, pieces: &[&[u8]]) -> u64 {
        let seed = salt ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let check = match pieces {
            [bytes] => xxh3_64_with_seed(bytes, seed),
            pieces => {
                let mut hash = Xxh3::with_seed(seed);
                pieces.iter().for_each(|piece| hash.update(piece));
                hash.digest()
            }
        };
        check.max(1)
    }
}

/// Writes the checksum of one block; zero marks it as absent.
pub(super) fn write_slot(file: &File, header_len: u64, index: u64, check: u64) -> io::Result<()> {
    file.write_all_at(&check.to_le_bytes(), header_len + index * SLOT_LEN)
}

/// Writes the checksums of the blocks from `first` on.
pub(super) fn write_slots(
    file: &File,
    header_len: u64,
    first: u64,
    checks: &[u64],
) -> io::Result<()> {
    let bytes: Vec<u8> = checks.iter().flat_map(|it| it.to_le_bytes()).collect();
    file.write_all_at(&bytes, header_len + first * SLOT_LEN)
}

/// Marks these blocks as absent.
pub(super) fn clear_slots(
    file: &File,
    header_len: u64,
    blocks: std::ops::Range<u64>,
) -> io::Result<()> {
    let len =
        usize::try_from((blocks.end - blocks.start) * SLOT_LEN).expect("a run of blocks is short");
    file.write_all_at(&vec![0; len], header_len + blocks.start * SLOT_LEN)
}

/// Fills `map` from the file, skipping holes.
pub(super) fn read_slots(
    file: &File,
    header_len: u64,
    map: &BlockMap,
    verified: bool,
) -> io::Result<()> {
    let chunk_len = CHUNK_BLOCKS * SLOT_LEN;
    let mut bytes = vec![0; usize::try_from(chunk_len).expect("a chunk is small")];
    let mut first = 0;
    while let Some(at) = next_data(file, header_len + first * SLOT_LEN) {
        first = first.max((at.saturating_sub(header_len)) / chunk_len * CHUNK_BLOCKS);
        if first >= map.block_count() {
            break;
        }
        let len = read_up_to(file, &mut bytes, header_len + first * SLOT_LEN)?;
        for (index, slot) in (first..map.block_count()).zip(bytes[..len].chunks_exact(8)) {
            let check = u64_at(slot, 0);
            if check != 0 {
                map.insert(index, check, verified);
            }
        }
        first += CHUNK_BLOCKS;
    }
    Ok(())
}

/// Start of the next data at or behind `from`; `from` itself if the file system does not support SEEK_DATA.
fn next_data(file: &File, from: u64) -> Option<u64> {
    match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Ok(at) => Some(at),
        Err(rustix::io::Errno::NXIO) => None,
        Err(_) => file
            .metadata()
            .is_ok_and(|it| it.len() > from)
            .then_some(from),
    }
}

/// Reads until the buffer is full or the file ends.
pub(super) fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match file.read_at(&mut buffer[len..], offset + len as u64) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cache::BLOCK_LEN_BYTES;

    fn header(name: String, size: u64, etag: Option<String>) -> MapHeader {
        MapHeader {
            key: ObjectKey { name, size, etag },
            salt: 77,
        }
    }

    proptest! {
        #[test]
        fn a_header_is_read_back_and_damage_is_detected(
            name in ".{0,60}", size in 0_u64..1 << 40, etag in prop::option::of(".{0,20}"),
            place: prop::sample::Index, flip in 1_u8.., tail in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let header = header(name, size, etag);
            let mut bytes = header.encode();
            let len = bytes.len();
            bytes.extend(tail);
            prop_assert_eq!(MapHeader::decode(&bytes), Some((header, len as u64)));
            prop_assert_eq!(MapHeader::decode(&bytes[..place.index(len)]), None);
            bytes[place.index(len)] ^= flip;
            prop_assert_eq!(MapHeader::decode(&bytes), None);
        }

        #[test]
        fn garbage_is_not_a_header(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut begun = MAGIC.to_vec();
            begun.extend(&bytes);
            prop_assert_eq!(MapHeader::decode(&bytes), None);
            prop_assert_eq!(MapHeader::decode(&begun), None);
        }
    }

    #[test]
    fn the_checksum_of_a_block_does_not_depend_on_its_pieces() {
        let bytes: Vec<u8> = (0..70_000_u32).map(|it| it as u8).collect();
        let whole = MapHeader::block_check(7, 3, &[&bytes]);
        for at in [0, 1, 240, 1024, 65_000] {
            let (left, right) = bytes.split_at(at);
            assert_eq!(MapHeader::block_check(7, 3, &[left, right]), whole);
        }
        assert_ne!(MapHeader::block_check(7, 4, &[&bytes]), whole);
    }

    #[test]
    fn slots_are_read_back_across_holes() {
        let file = tempfile::tempfile().unwrap();
        let size = 100_000 * BLOCK_LEN_BYTES;
        let written = [0, 1, 1023, 1024, 50_000, 99_999];
        for index in written {
            write_slot(&file, 56, index, index + 5).unwrap();
        }
        write_slot(&file, 56, 100_000, 1).unwrap();
        clear_slots(&file, 56, 1..2).unwrap();
        let map = BlockMap::new(size);
        read_slots(&file, 56, &map, false).unwrap();
        let found: Vec<u64> = (0..100_000)
            .filter(|index| map.check(*index).is_some())
            .collect();
        assert_eq!(found, [0, 1023, 1024, 50_000, 99_999]);
        assert_eq!(map.check(50_000), Some(50_005));
    }
}
