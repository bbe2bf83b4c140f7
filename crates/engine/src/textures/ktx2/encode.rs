//! Encoding as KTX2: ETC1S for colours, UASTC for normals and other numbers, with all levels.

use assetfs_formats::ImageKind;

use super::super::encode::Encoded;
use super::super::pixels::Pixels;
use super::super::usage::Usage;
use super::basis::BasisFile;
use super::header::{BasisCodec, Ktx2Header};
use super::{calls, container};

/// The longest side that the encoder takes.
const MAX_SIDE: u32 = 16_384;
/// The side of a block. glTF demands multiples of it.
const BLOCK: u32 = 4;

/// The size that an image of this size gets: the next smaller multiples of four, at least four.
pub(in super::super) fn size_of(size: (u32, u32)) -> (u32, u32) {
    let whole = |side: u32| (side - side % BLOCK).clamp(BLOCK, MAX_SIDE);
    (whole(size.0), whole(size.1))
}

/// Encodes an image whose sides are multiples of four, with all smaller levels.
pub(in super::super) fn encode(pixels: Pixels, usage: &Usage) -> Result<Encoded, String> {
    let is_srgb = usage.is_srgb();
    let codec = match is_srgb {
        true => BasisCodec::Etc1s,
        false => BasisCodec::Uastc,
    };
    let levels = levels_of(pixels, usage);
    let basis = calls::encode(&levels, codec, is_srgb)?;
    let header = Ktx2Header {
        width: levels[0].width,
        height: levels[0].height,
        codec,
        has_alpha: levels.iter().any(Pixels::has_alpha),
    };
    let file = BasisFile::read(&basis)
        .filter(|file| file.levels.len() == levels.len())
        .ok_or("the KTX2 encoder wrote an unknown file")?;
    Ok(Encoded {
        bytes: container::write(&file, &header, is_srgb)?,
        kind: ImageKind::Ktx2,
    })
}

/// The image and its halves, down to one pixel.
fn levels_of(pixels: Pixels, usage: &Usage) -> Vec<Pixels> {
    let mut levels = vec![pixels];
    while let Some(last) = levels.last().filter(|last| last.width.max(last.height) > 1) {
        let half = ((last.width / 2).max(1), (last.height / 2).max(1));
        let smaller = last.resized(half, usage);
        levels.push(smaller);
    }
    levels
}
