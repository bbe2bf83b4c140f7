//! Reads the files of the Basis Universal encoder, whose parts a KTX2 file stores in another order.
//!
//! The format is described in `basisu_file_headers.h` of Basis Universal.

use std::ops::Range;

const HEADER_LEN_BYTES: usize = 77;
const SLICE_LEN_BYTES: usize = 23;
/// The flag of a slice that stores alpha.
const ALPHA_SLICE: u64 = 1;

/// A file of the encoder, with one image.
pub(super) struct BasisFile<'a> {
    pub(super) endpoints: Codebook<'a>,
    pub(super) selectors: Codebook<'a>,
    /// The Huffman tables of all slices.
    pub(super) tables: &'a [u8],
    /// By level, the largest first.
    pub(super) levels: Vec<BasisLevel<'a>>,
}

/// A packed list that the blocks of all levels refer to; empty for UASTC.
pub(super) struct Codebook<'a> {
    pub(super) count: u16,
    pub(super) bytes: &'a [u8],
}

/// The blocks of one level.
#[derive(Default)]
pub(super) struct BasisLevel<'a> {
    pub(super) colour: &'a [u8],
    /// Only for ETC1S with alpha; UASTC stores alpha with the colours.
    pub(super) alpha: Option<&'a [u8]>,
}

impl<'a> BasisFile<'a> {
    /// Reads what the encoder wrote; `None` if it is not such a file.
    pub(super) fn read(file: &'a [u8]) -> Option<BasisFile<'a>> {
        let header = file.get(..HEADER_LEN_BYTES)?;
        if !header.starts_with(b"sB") {
            return None;
        }
        let part = |offset: Range<usize>, length: Range<usize>| {
            let start = number(&header[offset]);
            file.get(start..start.checked_add(number(&header[length]))?)
        };
        let slices = number(&header[14..17]);
        let list = file.get(number(&header[65..69])..)?;
        let list = list.get(..slices.checked_mul(SLICE_LEN_BYTES)?)?;
        let mut levels: Vec<BasisLevel> = Vec::new();
        for slice in list.chunks_exact(SLICE_LEN_BYTES) {
            let start = number(&slice[13..17]);
            let blocks = file.get(start..start.checked_add(number(&slice[17..21]))?)?;
            let level = usize::from(slice[3]);
            let is_alpha = u64::from(slice[4]) & ALPHA_SLICE != 0 && header[20] == 0;
            match is_alpha {
                false if level == levels.len() => levels.push(BasisLevel {
                    colour: blocks,
                    alpha: None,
                }),
                true if level + 1 == levels.len() => levels.last_mut()?.alpha = Some(blocks),
                _ => return None,
            }
        }
        Some(BasisFile {
            endpoints: Codebook {
                count: number(&header[39..41]) as u16,
                bytes: part(41..45, 45..48)?,
            },
            selectors: Codebook {
                count: number(&header[48..50]) as u16,
                bytes: part(50..54, 54..57)?,
            },
            tables: part(57..61, 61..65)?,
            levels,
        })
    }
}

/// A number of at most eight bytes, the lowest first.
fn number(bytes: &[u8]) -> usize {
    let joined = |number: usize, byte: &u8| number << 8 | usize::from(*byte);
    bytes.iter().rev().fold(0, joined)
}
