//! Encoding as WebP, lossy for colours and lossless for everything else. Decoding is done by the crate `image`.

mod calls;

use assetfs_formats::ImageKind;

use super::encode::Encoded;
use super::pixels::Pixels;
use super::usage::Usage;

/// As visible as JPEG at the quality that colours get there.
const QUALITY: f32 = 90.0;
/// How long the lossless encoder searches, from 0 to 100.
const LOSSLESS_EFFORT: f32 = 60.0;
/// The longest side that the format can store.
const MAX_SIDE: u32 = 16_383;

/// Whether the format can store an image of this size.
pub(super) fn fits(pixels: &Pixels) -> bool {
    (1..=MAX_SIDE).contains(&pixels.width) && (1..=MAX_SIDE).contains(&pixels.height)
}

/// Whether the file stores its pixels without loss. Files with alpha or metadata have other chunks before the pixels.
pub(super) fn is_lossless(bytes: &[u8]) -> bool {
    const FIRST_CHUNK: usize = 12;
    let mut rest = bytes.get(FIRST_CHUNK..).unwrap_or_default();
    while let Some((head, data)) = rest.split_at_checked(8) {
        match &head[..4] {
            b"VP8L" => return true,
            b"VP8 " => return false,
            _ => {}
        }
        let length = u32::from_le_bytes(head[4..].try_into().expect("four bytes"));
        // The data of a chunk is padded to an even length.
        let next = (length as usize).next_multiple_of(2);
        rest = data.get(next..).unwrap_or_default();
    }
    false
}

/// Encodes colours with loss, and normals and numbers without: lossy WebP halves the resolution of differences between
/// channels, of which these consist. With `lossless`, colours are exact too.
pub(super) fn encode(pixels: &Pixels, usage: &Usage, lossless: bool) -> Result<Encoded, String> {
    let is_lossy = !lossless && usage.is_srgb() && !usage.is_normal();
    let quality = if is_lossy {
        calls::Quality::Lossy(QUALITY)
    } else {
        calls::Quality::Lossless(LOSSLESS_EFFORT)
    };
    Ok(Encoded {
        bytes: calls::encode(pixels, quality)?,
        kind: ImageKind::WebP,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::TextureSlot;
    use super::super::usage::AlphaUse;
    use super::*;

    fn sample(width: u32, height: u32) -> Pixels {
        let pixel = |at: u32| {
            let (x, y) = (at % width, at / width);
            [(x * 4) as u8, (y * 5) as u8, (x + y) as u8, !(x as u8)]
        };
        Pixels {
            width,
            height,
            rgba: (0..width * height).flat_map(pixel).collect(),
        }
    }

    fn usage(slot: TextureSlot) -> Usage {
        Usage {
            slots: [slot].into(),
            alpha: AlphaUse::Data,
        }
    }

    #[test]
    fn numbers_are_exact_also_under_transparent_pixels() {
        let mut pixels = sample(33, 17);
        for pixel in pixels.rgba.chunks_exact_mut(4).take(50) {
            pixel[3] = 0;
        }
        for slot in [TextureSlot::Normal, TextureSlot::Orm] {
            let encoded = encode(&pixels, &usage(slot), false).unwrap();
            assert!(is_lossless(&encoded.bytes), "{slot:?}");
            let decoded = Pixels::decode(&encoded.bytes).unwrap();
            assert_eq!((decoded.width, decoded.height), (33, 17));
            assert_eq!(decoded.rgba, pixels.rgba, "{slot:?}");
        }
    }

    #[test]
    fn colours_lose_little_and_alpha_nothing() {
        let pixels = sample(64, 48);
        let encoded = encode(&pixels, &usage(TextureSlot::BaseColor), false).unwrap();
        assert!(!is_lossless(&encoded.bytes));
        let decoded = Pixels::decode(&encoded.bytes).unwrap();
        let pairs = decoded
            .rgba
            .chunks_exact(4)
            .zip(pixels.rgba.chunks_exact(4));
        assert!(pairs.clone().all(|(one, other)| one[3] == other[3]));
        let off: u32 = pairs
            .map(|(one, other)| {
                (0..3)
                    .map(|at| u32::from(one[at].abs_diff(other[at])))
                    .sum::<u32>()
            })
            .sum();
        assert!(off / (64 * 48 * 3) < 12, "{off}");
        let exact = encode(&pixels, &usage(TextureSlot::BaseColor), true).unwrap();
        assert_eq!(Pixels::decode(&exact.bytes).unwrap().rgba, pixels.rgba);
    }

    #[test]
    fn sizes_that_the_format_lacks_do_not_fit() {
        let wide = |width| Pixels {
            width,
            height: 1,
            rgba: vec![9; width as usize * 4],
        };
        assert!(fits(&wide(16_383)) && !fits(&wide(16_384)) && !fits(&wide(0)));
        let widest = encode(&wide(16_383), &usage(TextureSlot::Orm), false).unwrap();
        assert_eq!(Pixels::decode(&widest.bytes).unwrap().width, 16_383);
        assert!(encode(&wide(16_384), &usage(TextureSlot::Orm), false).is_err());
    }

    #[test]
    fn the_kind_of_a_cut_file_is_not_lossless() {
        for bytes in [&b""[..], b"RIFF", b"RIFF\0\0\0\0WEBPVP8X\xff\xff\xff\xff"] {
            assert!(!is_lossless(bytes));
        }
    }
}
