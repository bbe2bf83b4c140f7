//! The header of a KTX2 file, checked against the length of the file.
//!
//! The format is the Khronos Group's "KTX File Format Specification", version 2.0; what a texture may hold is in
//! `KHR_texture_basisu`.

use std::ops::Range;

/// How the blocks of 4 by 4 pixels are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum BasisCodec {
    /// Small: two colours a block, from codebooks.
    Etc1s,
    /// Large and exact: 16 bytes a block.
    Uastc,
}

/// What the header of an image says. Its offsets and lengths lie within the file.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Ktx2Header {
    pub(in super::super) width: u32,
    pub(in super::super) height: u32,
    pub(in super::super) codec: BasisCodec,
    pub(in super::super) has_alpha: bool,
}

pub(super) const IDENTIFIER: &[u8; 12] = b"\xabKTX 20\xbb\r\n\x1a\n";
/// The part of the header before the list of levels.
pub(super) const FIXED_LEN_BYTES: usize = 80;
pub(super) const LEVEL_LEN_BYTES: usize = 24;
pub(super) const BYTES_OF_UASTC_BLOCK: u64 = 16;
/// The transcoder reads no more levels.
const MAX_LEVELS: u32 = 16;
/// An image with more pixels must have a byte for every so many: else a file of a kilobyte could demand a gigabyte.
const UNPROVEN_PIXELS: u64 = 1 << 24;
const PIXELS_OF_BYTE: u64 = 1 << 14;

pub(super) const BASIS_LZ: u32 = 1;
pub(super) const ZSTANDARD: u32 = 2;

pub(super) const MODEL_ETC1S: u8 = 163;
pub(super) const MODEL_UASTC: u8 = 166;

impl Ktx2Header {
    /// Reads and checks the header.
    pub(in super::super) fn read(bytes: &[u8]) -> Result<Ktx2Header, String> {
        if bytes.len() < FIXED_LEN_BYTES || !bytes.starts_with(IDENTIFIER) {
            return Err("this is not a KTX2 file".to_owned());
        }
        let [
            vk_format,
            type_size,
            width,
            height,
            depth,
            layers,
            faces,
            levels,
            packing,
        ] = std::array::from_fn(|index| u32_at(bytes, 12 + index * 4));
        if vk_format != 0 || type_size != 1 {
            return Err(
                "this KTX2 file has no Basis Universal image (ETC1S or UASTC), which glTF demands"
                    .to_owned(),
            );
        }
        if width == 0 || height == 0 || depth != 0 || layers > 1 || faces != 1 {
            return Err("this KTX2 file is not one flat image".to_owned());
        }
        let pixels = u64::from(width) * u64::from(height);
        if pixels > UNPROVEN_PIXELS && pixels / PIXELS_OF_BYTE > bytes.len() as u64 {
            return Err(format!(
                "this KTX2 file has {} bytes, too few for {width} by {height} pixels",
                bytes.len()
            ));
        }
        if !(1..=MAX_LEVELS).contains(&levels) {
            return Err(format!(
                "this KTX2 file has {levels} levels; 1 to {MAX_LEVELS} are read"
            ));
        }
        let format = range(bytes, u32_at(bytes, 48).into(), u32_at(bytes, 52).into())?;
        range(bytes, u32_at(bytes, 56).into(), u32_at(bytes, 60).into())?;
        let codebooks = range(bytes, u64_at(bytes, 64), u64_at(bytes, 72))?;
        let header = Ktx2Header::of_format(&bytes[format], width, height)?;
        match (header.codec, packing) {
            (BasisCodec::Etc1s, BASIS_LZ) => check_codebooks(&bytes[codebooks], levels)?,
            (BasisCodec::Uastc, 0 | ZSTANDARD) => {}
            _ => {
                return Err(format!(
                    "this KTX2 file is packed in an unknown way ({packing})"
                ));
            }
        }
        for level in 0..levels {
            check_level(bytes, level, &header, packing)?;
        }
        Ok(header)
    }

    /// Reads codec and channels from the basic data format descriptor.
    fn of_format(format: &[u8], width: u32, height: u32) -> Result<Ktx2Header, String> {
        let no_image = || "this KTX2 file does not describe its pixels".to_owned();
        let model = *format.get(12).ok_or_else(no_image)?;
        let first_channel = format.get(31).ok_or_else(no_image)? & 15;
        let (codec, has_alpha) = match model {
            // ETC1S has a second sample for alpha.
            MODEL_ETC1S => (BasisCodec::Etc1s, format.len() == 60),
            // RGBA, or grey and alpha.
            MODEL_UASTC => (BasisCodec::Uastc, matches!(first_channel, 3 | 5)),
            _ => {
                return Err(format!(
                    "this KTX2 file has pixels of model {model}; ETC1S and UASTC are read"
                ));
            }
        };
        Ok(Ktx2Header {
            width,
            height,
            codec,
            has_alpha,
        })
    }

    /// The blocks of a level.
    fn blocks(&self, level: u32) -> u64 {
        let across = |side: u32| u64::from((side >> level).max(1).div_ceil(4));
        across(self.width) * across(self.height)
    }
}

fn check_level(bytes: &[u8], level: u32, header: &Ktx2Header, packing: u32) -> Result<(), String> {
    let at = FIXED_LEN_BYTES + level as usize * LEVEL_LEN_BYTES;
    if bytes.len() < at + LEVEL_LEN_BYTES {
        return Err("this KTX2 file ends in its list of levels".to_owned());
    }
    let stored = range(bytes, u64_at(bytes, at), u64_at(bytes, at + 8))?;
    let unpacked = u64_at(bytes, at + 16);
    let is_right = match header.codec {
        BasisCodec::Etc1s => unpacked == 0,
        BasisCodec::Uastc => {
            Some(unpacked) == header.blocks(level).checked_mul(BYTES_OF_UASTC_BLOCK)
                && (packing == ZSTANDARD || unpacked == stored.len() as u64)
        }
    };
    if is_right {
        return Ok(());
    }
    Err(format!(
        "level {level} of this KTX2 file has another length than its size needs"
    ))
}

/// Checks the lengths in the header of BasisLZ.
fn check_codebooks(data: &[u8], levels: u32) -> Result<(), String> {
    const HEADER_LEN_BYTES: u64 = 20;
    const IMAGE_LEN_BYTES: u64 = 20;
    let mut needed = HEADER_LEN_BYTES + u64::from(levels) * IMAGE_LEN_BYTES;
    if data.len() as u64 >= needed {
        // The lengths of endpoints, selectors and tables.
        needed += [4, 8, 12]
            .map(|at| u64::from(u32_at(data, at)))
            .iter()
            .sum::<u64>();
    }
    if data.len() as u64 >= needed {
        return Ok(());
    }
    Err("this KTX2 file ends in its codebooks".to_owned())
}

/// A part of the file, if it lies within the file.
fn range(bytes: &[u8], start: u64, length: u64) -> Result<Range<usize>, String> {
    start
        .checked_add(length)
        .filter(|end| *end <= bytes.len() as u64)
        .map(|end| start as usize..end as usize)
        .ok_or_else(|| "a part of this KTX2 file lies outside of the file".to_owned())
}

/// The number at a place that lies within the bytes.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
