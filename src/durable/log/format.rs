//! The format of an append log: a header, then frames. A frame contains the records of one sync under one
//! checksum. This module is pure: it encodes and decodes, and distinguishes a torn tail from damage.
//!
//! The checksums of a frame are seeded with the salt of the log and the offset of the frame, so neither bytes
//! of an older log nor a log stored inside a record can be mistaken for a frame. A frame is written only
//! after the previous one is durable. So a good frame behind a bad one proves damage, and a bad end without a
//! good frame behind it is an incomplete write.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The format version.
pub(super) const VERSION: u32 = 1;
/// Length of the file header: magic, version, zero, salt, checksum.
pub(super) const HEADER_LEN: usize = 32;
/// Length of a frame header: body length, its checksum, checksum of the body.
const FRAME_HEADER_LEN: usize = 16;
/// Maximum length of a frame body.
pub(super) const MAX_FRAME_BODY_LEN: usize = 1 << 30;

/// An incomplete last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TornTail {
    /// End of the good part of the log.
    pub(super) offset: u64,
    /// Number of bytes behind it.
    pub(super) len_bytes: u64,
}

/// A decoded log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) salt: u64,
    pub(super) records: Vec<Vec<u8>>,
    /// Length of the good part.
    pub(super) good_len: u64,
    pub(super) torn: Option<TornTail>,
}

/// Why a file cannot be decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DecodeError {
    /// A correct but incomplete header: the creation was interrupted, and no record is lost.
    Incomplete,
    NotALog,
    Version(u32),
    Damaged {
        offset: u64,
        next_good: u64,
    },
}

/// Encodes the header of a new log.
pub(super) fn encode_header(magic: [u8; 8], salt: u64) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(&magic);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..24].copy_from_slice(&salt.to_le_bytes());
    let check = xxh3_64_with_seed(&header[..24], u64::from_le_bytes(magic));
    header[24..].copy_from_slice(&check.to_le_bytes());
    header
}

/// Encodes the records as one frame for `offset`; `None` if they are too large.
pub(super) fn encode_frame<R: AsRef<[u8]>>(
    salt: u64,
    offset: u64,
    records: &[R],
) -> Option<Vec<u8>> {
    let body_len = records
        .iter()
        .try_fold(0_usize, |sum, record| {
            sum.checked_add(4)?.checked_add(record.as_ref().len())
        })
        .filter(|len| *len <= MAX_FRAME_BODY_LEN)?;
    let mut frame = Vec::with_capacity(FRAME_HEADER_LEN + body_len);
    frame.resize(FRAME_HEADER_LEN, 0);
    for record in records {
        let record = record.as_ref();
        let len = u32::try_from(record.len()).expect("the body is shorter than 1 GiB");
        frame.extend_from_slice(&len.to_le_bytes());
        frame.extend_from_slice(record);
    }
    let len = u32::try_from(body_len).expect("the body is shorter than 1 GiB");
    let body_check = xxh3_64_with_seed(&frame[FRAME_HEADER_LEN..], seed(salt, offset));
    frame[..4].copy_from_slice(&len.to_le_bytes());
    frame[4..8].copy_from_slice(&head_check(salt, offset, len).to_le_bytes());
    frame[8..16].copy_from_slice(&body_check.to_le_bytes());
    Some(frame)
}

/// Decodes a whole log.
pub(super) fn decode(magic: [u8; 8], bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let salt = decode_header(magic, bytes)?;
    let mut records = Vec::new();
    let mut offset = HEADER_LEN;
    while let Some(next) = decode_frame(salt, bytes, offset, Some(&mut records)) {
        offset = next;
    }
    if let Some(next_good) = find_frame(salt, bytes, offset + 1) {
        return Err(DecodeError::Damaged {
            offset: offset as u64,
            next_good: next_good as u64,
        });
    }
    let torn = (offset < bytes.len()).then(|| TornTail {
        offset: offset as u64,
        len_bytes: (bytes.len() - offset) as u64,
    });
    Ok(Decoded {
        salt,
        records,
        good_len: offset as u64,
        torn,
    })
}

/// Returns the records of all good frames of a damaged log in order, and the number of other bytes. Records in
/// between are lost, so a record may not fit the ones before it.
pub(super) fn salvage(bytes: &[u8]) -> (Vec<Vec<u8>>, u64) {
    let Some(header) = bytes.get(..HEADER_LEN) else {
        return (Vec::new(), bytes.len() as u64);
    };
    // Each frame has its own checksums, so the header may be damaged.
    let salt = u64::from_le_bytes(array(header, 16));
    let (mut records, mut lost) = (Vec::new(), 0);
    let mut offset = HEADER_LEN;
    loop {
        while let Some(next) = decode_frame(salt, bytes, offset, Some(&mut records)) {
            offset = next;
        }
        let next = find_frame(salt, bytes, offset + 1).unwrap_or(bytes.len());
        lost += (next - offset) as u64;
        offset = next;
        if offset == bytes.len() {
            return (records, lost);
        }
    }
}

fn decode_header(magic: [u8; 8], bytes: &[u8]) -> Result<u64, DecodeError> {
    let magic_part = &magic[..bytes.len().min(8)];
    if !bytes.starts_with(magic_part) {
        return Err(DecodeError::NotALog);
    }
    let Some(header) = bytes.get(..HEADER_LEN) else {
        return Err(DecodeError::Incomplete);
    };
    let version = u32::from_le_bytes(array(header, 8));
    let salt = u64::from_le_bytes(array(header, 16));
    if version != VERSION {
        return Err(DecodeError::Version(version));
    }
    if header != encode_header(magic, salt) {
        return Err(DecodeError::NotALog);
    }
    Ok(salt)
}

/// Decodes the frame at `offset`, appends its records, and returns its end; `None` if there is no good frame.
fn decode_frame(
    salt: u64,
    bytes: &[u8],
    offset: usize,
    records: Option<&mut Vec<Vec<u8>>>,
) -> Option<usize> {
    let header = bytes.get(offset..offset.checked_add(FRAME_HEADER_LEN)?)?;
    let len = u32::from_le_bytes(array(header, 0));
    if head_check(salt, offset as u64, len) != u32::from_le_bytes(array(header, 4)) {
        return None;
    }
    let start = offset + FRAME_HEADER_LEN;
    let end = start.checked_add(usize::try_from(len).ok()?)?;
    let body = bytes.get(start..end)?;
    if xxh3_64_with_seed(body, seed(salt, offset as u64)) != u64::from_le_bytes(array(header, 8)) {
        return None;
    }
    let decoded = decode_body(body)?;
    if let Some(records) = records {
        records.extend(decoded.into_iter().map(<[u8]>::to_vec));
    }
    Some(end)
}

fn decode_body(mut body: &[u8]) -> Option<Vec<&[u8]>> {
    let mut records = Vec::new();
    while !body.is_empty() {
        let (len, rest) = body.split_first_chunk::<4>()?;
        let (record, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        records.push(record);
        body = rest;
    }
    Some(records)
}

/// Finds the first good frame at or behind `from`. The separate checksum of the length keeps this linear.
fn find_frame(salt: u64, bytes: &[u8], from: usize) -> Option<usize> {
    (from..bytes.len().saturating_sub(FRAME_HEADER_LEN - 1))
        .find(|offset| decode_frame(salt, bytes, *offset, None).is_some())
}

fn seed(salt: u64, offset: u64) -> u64 {
    salt ^ offset.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn head_check(salt: u64, offset: u64, len: u32) -> u32 {
    // Any 32 bits of an xxh3 hash are equally good.
    xxh3_64_with_seed(&len.to_le_bytes(), seed(salt, offset)) as u32
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N]
        .try_into()
        .expect("the slice has the length of the array")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAGIC: [u8; 8] = *b"testlog\n";

    fn build(batches: &[Vec<Vec<u8>>]) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = encode_header(MAGIC, 7).to_vec();
        let mut ends = vec![bytes.len()];
        for batch in batches {
            let frame = encode_frame(7, bytes.len() as u64, batch).unwrap();
            bytes.extend(frame);
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn batches() -> impl Strategy<Value = Vec<Vec<Vec<u8>>>> {
        let record = prop::collection::vec(any::<u8>(), 0..40);
        prop::collection::vec(prop::collection::vec(record, 1..4), 0..6)
    }

    proptest! {
        #[test]
        fn every_prefix_gives_whole_batches_and_reports_the_rest(batches in batches()) {
            let (bytes, ends) = build(&batches);
            for len in HEADER_LEN..=bytes.len() {
                let whole = ends.iter().filter(|end| **end <= len).count() - 1;
                let decoded = decode(MAGIC, &bytes[..len]).unwrap();
                prop_assert_eq!(&decoded.records, &batches[..whole].concat());
                prop_assert_eq!(decoded.good_len, ends[whole] as u64);
                prop_assert_eq!(decoded.torn.is_some(), len > ends[whole]);
            }
            for len in 0..HEADER_LEN {
                prop_assert_eq!(decode(MAGIC, &bytes[..len]), Err(DecodeError::Incomplete));
            }
        }

        #[test]
        fn damage_never_yields_a_record_that_was_not_written(
            batches in batches(),
            hits in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..4),
        ) {
            let (mut bytes, _) = build(&batches);
            for (place, flip) in &hits {
                let at = place.index(bytes.len());
                bytes[at] ^= flip;
            }
            if let Ok(decoded) = decode(MAGIC, &bytes) {
                prop_assert!(batches.concat().starts_with(&decoded.records));
            }
        }

        #[test]
        fn damage_before_a_good_frame_is_reported_with_its_place(batches in batches(), place: prop::sample::Index, flip in 1_u8..) {
            prop_assume!(batches.len() >= 2);
            let (mut bytes, ends) = build(&batches);
            let last = ends[ends.len() - 2];
            let at = ends[0] + place.index(last - ends[0]);
            bytes[at] ^= flip;
            let hit = ends.iter().rposition(|end| *end <= at).unwrap();
            prop_assert_eq!(
                decode(MAGIC, &bytes),
                Err(DecodeError::Damaged { offset: ends[hit] as u64, next_good: ends[hit + 1] as u64 })
            );
        }
    }

    #[test]
    fn all_frames_except_the_damaged_one_are_salvaged() {
        let (mut bytes, ends) = build(&[
            vec![b"one".to_vec()],
            vec![b"two".to_vec()],
            vec![b"three".to_vec()],
        ]);
        bytes[ends[1] + 1] ^= 1;
        bytes[3] ^= 1;
        let (records, lost) = salvage(&bytes);
        assert_eq!(records, [b"one".to_vec(), b"three".to_vec()]);
        assert_eq!(lost, (ends[2] - ends[1]) as u64);
        assert_eq!(salvage(&bytes[..7]), (Vec::new(), 7));
        bytes[17] ^= 1;
        assert!(
            salvage(&bytes).0.is_empty(),
            "no frame is valid without the salt"
        );
    }

    #[test]
    fn a_log_stored_in_a_record_is_not_a_frame_of_the_outer_log() {
        let (inner, _) = build(&[vec![b"inner".to_vec()]]);
        let (mut outer, ends) = build(&[vec![inner.clone(), inner]]);
        outer.truncate(ends[1] - 1);
        let decoded = decode(MAGIC, &outer).unwrap();
        assert!(decoded.records.is_empty());
        assert!(decoded.torn.is_some());
    }

    #[test]
    fn zeros_behind_the_last_frame_are_a_torn_tail() {
        let (mut bytes, _) = build(&[vec![b"kept".to_vec()]]);
        bytes.extend([0; 5000]);
        let decoded = decode(MAGIC, &bytes).unwrap();
        assert_eq!(decoded.records, [b"kept"]);
        assert_eq!(decoded.torn.unwrap().len_bytes, 5000);
    }

    #[test]
    fn other_files_and_versions_are_distinguished() {
        let (bytes, _) = build(&[]);
        assert_eq!(decode(*b"otherlog", &bytes), Err(DecodeError::NotALog));
        assert_eq!(decode(MAGIC, b"hello"), Err(DecodeError::NotALog));
        let mut newer = bytes.clone();
        newer[8] = 9;
        assert_eq!(decode(MAGIC, &newer), Err(DecodeError::Version(9)));
        let mut salted = bytes;
        salted[17] ^= 1;
        assert_eq!(decode(MAGIC, &salted), Err(DecodeError::NotALog));
    }
}
