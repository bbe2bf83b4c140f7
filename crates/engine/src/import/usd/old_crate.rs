//! Binary layers before version 0.7, changed so that the library reads their time samples.
//!
//! The times of samples are a vector: a count of eight bytes, then the numbers. The library reads them as an array, and
//! arrays of these versions begin with a count of four bytes; before version 0.5 with a rank and a count of four bytes
//! each. So the library reads no times or wrong ones. [`modern`] rewrites the eight bytes of each count as the head of an
//! array. From version 0.5 on that head is only the last four of them, so each value representation (the eight bytes that
//! have the type and the offset of a value) is changed to point to these.

use std::collections::BTreeSet;

use super::crate_check::MAGIC;

/// The type code of a vector of doubles in a value representation.
const DOUBLE_VECTOR: u64 = 48;
/// The bits of a value representation with the offset of the value.
const OFFSET: u64 = (1 << 48) - 1;

/// Whether the library reads the time samples of a layer of this version wrongly.
pub(super) fn is_old(bytes: &[u8]) -> bool {
    version(bytes).is_some_and(|version| version < (0, 7))
}

fn version(bytes: &[u8]) -> Option<(u8, u8)> {
    let version = bytes.strip_prefix(MAGIC)?;
    Some((*version.first()?, *version.get(1)?))
}

/// Rewrites a layer such that the library reads its time samples correctly.
pub(super) fn modern(mut bytes: Vec<u8>) -> Vec<u8> {
    let has_rank = version(&bytes).is_none_or(|version| version < (0, 5));
    let values: Vec<(usize, u64)> = time_values(&bytes).collect();
    let places: BTreeSet<u64> = values.iter().map(|(_, place)| *place).collect();
    for place in places {
        let place = place as usize;
        let count: [u8; 4] = bytes[place..place + 4].try_into().expect("four bytes");
        bytes[place + 4..place + 8].copy_from_slice(&count);
    }
    if !has_rank {
        for (at, place) in values {
            let value = (DOUBLE_VECTOR << 48) | (place + 4);
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
    bytes
}

/// The positions of the value representations of vectors of times, each with the offset of its vector. A vector counts
/// only if the same number of samples follows it.
fn time_values(bytes: &[u8]) -> impl Iterator<Item = (usize, u64)> {
    let is_double_vector =
        |at: &usize| bytes[*at + 6] == DOUBLE_VECTOR as u8 && bytes[*at + 7] == 0;
    let starts = 0..bytes.len().saturating_sub(7);
    starts.filter(is_double_vector).filter_map(|at| {
        let place = number(bytes, at as u64)? & OFFSET;
        let times = number(bytes, place)?;
        let end = times.checked_mul(8)?.checked_add(place)?.checked_add(8)?;
        // The offset of the samples is relative to its own position.
        let offset = number(bytes, at as u64 + 8)?;
        let samples = (at as u64 + 8).checked_add(offset)?;
        let fits = times > 0 && times <= u64::from(u32::MAX) && end <= bytes.len() as u64;
        (fits && number(bytes, samples)? == times).then_some((at, place))
    })
}

fn number(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let eight = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A layer with two times at byte 32, whose value representation is at byte 56.
    fn layer(minor: u8) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([0, minor]);
        bytes.resize(32, 0);
        bytes.extend(2u64.to_le_bytes());
        bytes.extend([1f64, 10.0].iter().flat_map(|time| time.to_le_bytes()));
        for number in [(DOUBLE_VECTOR << 48) | 32, 8, 2, 77, 78] {
            bytes.extend(u64::to_le_bytes(number));
        }
        bytes
    }

    #[test]
    fn times_of_old_layers_get_the_head_of_an_array() {
        let old = modern(layer(4));
        assert_eq!(old[36..40], 2u32.to_le_bytes());
        assert_eq!(number(&old, 56), Some((DOUBLE_VECTOR << 48) | 32));
        let newer = modern(layer(6));
        assert_eq!(number(&newer, 56), Some((DOUBLE_VECTOR << 48) | 36));
        assert_eq!(newer[36..40], 2u32.to_le_bytes());
        assert_eq!(newer[40..56], old[40..56]);
        assert!(is_old(&old) && !is_old(&layer(7)) && !is_old(b"#usda 1.0"));
    }

    #[test]
    fn words_that_only_look_like_times_are_left() {
        let mut bytes = layer(6);
        let last = bytes.len() - 24;
        bytes[last] = 3;
        assert_eq!(modern(bytes.clone()), bytes);
    }
}
