//! Writes KTX2 files: header, list of levels, description of the pixels, codebooks and levels.
//!
//! The format is the Khronos Group's "KTX File Format Specification", version 2.0, with the values that
//! `KHR_texture_basisu` demands: sRGB with the primaries of BT.709 for colours, linear without primaries for other data.

use super::basis::BasisFile;
use super::header::{
    BASIS_LZ, BYTES_OF_UASTC_BLOCK, BasisCodec, FIXED_LEN_BYTES, IDENTIFIER, Ktx2Header,
    LEVEL_LEN_BYTES, MODEL_ETC1S, MODEL_UASTC, ZSTANDARD,
};

const ZSTANDARD_LEVEL: i32 = 19;
const WRITER: &[u8] = b"KTXwriter\0assetfs\0";

/// The packed bytes of a level, and how many they are unpacked.
struct PackedLevel {
    bytes: Vec<u8>,
    unpacked: u64,
}

/// Writes the parts of the encoder's file as KTX2. UASTC is packed with Zstandard.
pub(super) fn write(
    file: &BasisFile<'_>,
    header: &Ktx2Header,
    is_srgb: bool,
) -> Result<Vec<u8>, String> {
    let levels = packed_levels(file, header.codec)?;
    let format = data_format(header, is_srgb);
    let mut writer = (WRITER.len() as u32).to_le_bytes().to_vec();
    writer.extend_from_slice(WRITER);
    writer.resize(writer.len().next_multiple_of(4), 0);
    let (packing, codebooks) = match header.codec {
        BasisCodec::Etc1s => (BASIS_LZ, codebooks(file)),
        BasisCodec::Uastc => (ZSTANDARD, Vec::new()),
    };

    let format_at = FIXED_LEN_BYTES + levels.len() * LEVEL_LEN_BYTES;
    let writer_at = format_at + format.len();
    let writer_end = writer_at + writer.len();
    // The codebooks begin at a multiple of eight.
    let codebooks_at = match codebooks.is_empty() {
        true => 0,
        false => writer_end.next_multiple_of(8),
    };
    let levels_at = writer_end.max(codebooks_at + codebooks.len());

    let mut out = IDENTIFIER.to_vec();
    let (width, height, count) = (header.width, header.height, levels.len() as u32);
    let numbers = [0, 1, width, height, 0, 0, 1, count, packing];
    let parts = [format_at, format.len(), writer_at, writer.len()].map(|number| number as u32);
    out.extend(numbers.into_iter().chain(parts).flat_map(u32::to_le_bytes));
    let codebooks_place = [codebooks_at as u64, codebooks.len() as u64];
    out.extend(codebooks_place.into_iter().flat_map(u64::to_le_bytes));
    // The smallest level is stored first, so that a reader can show it early.
    let mut ends_at = levels_at + levels.iter().map(|level| level.bytes.len()).sum::<usize>();
    for level in &levels {
        ends_at -= level.bytes.len();
        let numbers = [ends_at as u64, level.bytes.len() as u64, level.unpacked];
        out.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
    }
    out.extend([format, writer].concat());
    if !codebooks.is_empty() {
        out.resize(codebooks_at, 0);
        out.extend(codebooks);
    }
    for level in levels.iter().rev() {
        out.extend_from_slice(&level.bytes);
    }
    Ok(out)
}

fn packed_levels(file: &BasisFile<'_>, codec: BasisCodec) -> Result<Vec<PackedLevel>, String> {
    let levels = file.levels.iter().map(|level| match codec {
        BasisCodec::Etc1s => Ok(PackedLevel {
            bytes: [level.colour, level.alpha.unwrap_or_default()].concat(),
            unpacked: 0,
        }),
        BasisCodec::Uastc => zstd::bulk::compress(level.colour, ZSTANDARD_LEVEL)
            .map(|bytes| PackedLevel {
                bytes,
                unpacked: level.colour.len() as u64,
            })
            .map_err(|error| format!("a level of the KTX2 image is not packed: {error}")),
    });
    levels.collect()
}

/// The basic data format descriptor.
fn data_format(header: &Ktx2Header, is_srgb: bool) -> Vec<u8> {
    const BT709: u8 = 1;
    const UNSPECIFIED: u8 = 0;
    const LINEAR: u8 = 1;
    const SRGB: u8 = 2;
    let (model, bits) = match header.codec {
        BasisCodec::Etc1s => (MODEL_ETC1S, 64),
        BasisCodec::Uastc => (MODEL_UASTC, BYTES_OF_UASTC_BLOCK as u16 * 8),
    };
    // What the samples of a block are: the first bit, the bits less one, the channel.
    let samples: &[(u16, u16, u8)] = match (header.codec, header.has_alpha) {
        (BasisCodec::Etc1s, false) => &[(0, 63, 0)],
        (BasisCodec::Etc1s, true) => &[(0, 63, 0), (64, 63, 15)],
        (BasisCodec::Uastc, false) => &[(0, 127, 0)],
        (BasisCodec::Uastc, true) => &[(0, 127, 3)],
    };
    debug_assert!(samples.iter().all(|(_, last, _)| last + 1 == bits));
    let (transfer, primaries) = match is_srgb {
        true => (SRGB, BT709),
        false => (LINEAR, UNSPECIFIED),
    };
    let block_len = 24 + 16 * samples.len() as u16;
    let mut out = u32::from(block_len + 4).to_le_bytes().to_vec();
    // Vendor and type of the block are 0; its version is 2.
    out.extend([0, 0, 0, 0, 2, 0]);
    out.extend(block_len.to_le_bytes());
    // Flags 0: alpha is not multiplied with the colours. Blocks are 4 by 4 pixels; packed planes have no size.
    out.extend([model, primaries, transfer, 0, 3, 3, 0, 0]);
    out.extend([0; 8]);
    for (first, last, channel) in samples {
        out.extend(first.to_le_bytes());
        out.extend([*last as u8, *channel]);
        out.extend([0; 8]);
        out.extend(u32::MAX.to_le_bytes());
    }
    out
}

/// The data of BasisLZ that all levels share.
fn codebooks(file: &BasisFile<'_>) -> Vec<u8> {
    let counts = [file.endpoints.count, file.selectors.count];
    let parts = [file.endpoints.bytes, file.selectors.bytes, file.tables];
    let mut out: Vec<u8> = counts.into_iter().flat_map(u16::to_le_bytes).collect();
    let lengths = parts.map(|part| part.len() as u32);
    out.extend(lengths.into_iter().chain([0]).flat_map(u32::to_le_bytes));
    for level in &file.levels {
        let colour = level.colour.len() as u32;
        let (alpha_at, alpha) = level
            .alpha
            .map_or((0, 0), |alpha| (colour, alpha.len() as u32));
        let numbers = [0, 0, colour, alpha_at, alpha];
        out.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
    }
    out.extend(parts.concat());
    out
}
