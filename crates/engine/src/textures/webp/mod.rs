//! Encoding as WebP, lossy for colours and lossless for everything else. Decoding is done by the crate `image`.

mod calls;

use assetfs_formats::ImageKind;

use super::super::settings::TextureQuality;
use super::encode::Encoded;
use super::pixels::Pixels;
use super::usage::Usage;
use assetfs_render::linear_of_srgb;
use calls::{Lossy, Quality};

/// As visible as JPEG at the quality that colours get there.
const FINE: Lossy = Lossy {
    quality: 90.0,
    sharp: true,
    detailed: false,
};
/// Colours where more may be lost.
const SMALL: Lossy = Lossy {
    quality: 83.0,
    sharp: true,
    detailed: true,
};
/// Normals and other numbers where more may be lost.
const NUMBERS: Lossy = Lossy {
    quality: 85.0,
    sharp: false,
    detailed: false,
};
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

/// Encodes colours with loss. Lossy WebP halves the resolution of differences between channels, of which normals and numbers
/// consist: at a high quality they lose nothing. Without a quality nothing does.
pub(super) fn encode(
    pixels: &Pixels,
    usage: &Usage,
    quality: Option<TextureQuality>,
) -> Result<Encoded, String> {
    let is_colour = usage.is_srgb() && !usage.is_normal();
    let bytes = match (quality, is_colour) {
        (Some(TextureQuality::High), true) => calls::encode(pixels, Quality::Lossy(FINE))?,
        (Some(TextureQuality::Medium), true) => small_colours(pixels)?,
        (Some(TextureQuality::Medium), false) => calls::encode(pixels, Quality::Lossy(NUMBERS))?,
        (Some(TextureQuality::High), false) | (None, _) => {
            calls::encode(pixels, Quality::Lossless(LOSSLESS_EFFORT))?
        }
    };
    Ok(Encoded {
        bytes,
        kind: ImageKind::WebP,
    })
}

/// Encodes colours with and without sharp edges, which help pictures of many colours and harm those of few; returns what is
/// nearer to the pixels.
fn small_colours(pixels: &Pixels) -> Result<Vec<u8>, String> {
    let written = |sharp| {
        let bytes = calls::encode(pixels, Quality::Lossy(Lossy { sharp, ..SMALL }))?;
        let off = squares_of_light(&Pixels::decode(&bytes)?, pixels);
        Ok::<_, String>((off, bytes))
    };
    let (sharp, plain) = rayon::join(|| written(true), || written(false));
    let (sharp, plain) = (sharp?, plain?);
    Ok(if sharp.0 <= plain.0 { sharp.1 } else { plain.1 })
}

/// The sum of the squared differences of light.
fn squares_of_light(one: &Pixels, other: &Pixels) -> f64 {
    let light: [f32; 256] = std::array::from_fn(|value| linear_of_srgb(value as f32 / 255.0));
    let pairs = one.rgba.chunks_exact(4).zip(other.rgba.chunks_exact(4));
    pairs
        .flat_map(|(one, other)| (0..3).map(move |at| (one[at], other[at])))
        .map(|(one, other)| f64::from(light[usize::from(one)] - light[usize::from(other)]).powi(2))
        .sum()
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
            let encoded = encode(&pixels, &usage(slot), Some(TextureQuality::High)).unwrap();
            assert!(is_lossless(&encoded.bytes), "{slot:?}");
            let decoded = Pixels::decode(&encoded.bytes).unwrap();
            assert_eq!((decoded.width, decoded.height), (33, 17));
            assert_eq!(decoded.rgba, pixels.rgba, "{slot:?}");
        }
    }

    #[test]
    fn numbers_of_medium_quality_are_smaller_and_near() {
        // Waves and grain, as normal maps have them.
        let pixel = |at: u32| {
            let (x, y) = ((at % 128) as f32, (at / 128) as f32);
            let grain = (at.wrapping_mul(0x9e37_79b1) >> 29) as u8;
            let wave = |angle: f32| (120.0 + 60.0 * angle.sin()) as u8;
            [wave(x * 0.2) + grain, wave(y * 0.15) + 7 - grain, 230, 255]
        };
        let pixels = Pixels {
            width: 128,
            height: 128,
            rgba: (0..128 * 128).flat_map(pixel).collect(),
        };
        let written = |quality| encode(&pixels, &usage(TextureSlot::Normal), Some(quality));
        let small = written(TextureQuality::Medium).unwrap().bytes;
        let exact = written(TextureQuality::High).unwrap().bytes;
        assert!(small.len() < exact.len(), "{} {}", small.len(), exact.len());
        let decoded = Pixels::decode(&small).unwrap();
        let off = decoded.rgba.iter().zip(&pixels.rgba);
        let mean = off
            .map(|(one, other)| f64::from(one.abs_diff(*other)))
            .sum::<f64>()
            / (128.0 * 128.0 * 4.0);
        assert!(mean < 3.0, "{mean}");
    }

    #[test]
    fn colours_lose_little_and_alpha_nothing() {
        let pixels = sample(64, 48);
        let encoded = encode(
            &pixels,
            &usage(TextureSlot::BaseColor),
            Some(TextureQuality::High),
        )
        .unwrap();
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
        let exact = encode(&pixels, &usage(TextureSlot::BaseColor), None).unwrap();
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
        let widest = encode(
            &wide(16_383),
            &usage(TextureSlot::Orm),
            Some(TextureQuality::High),
        )
        .unwrap();
        assert_eq!(Pixels::decode(&widest.bytes).unwrap().width, 16_383);
        assert!(
            encode(
                &wide(16_384),
                &usage(TextureSlot::Orm),
                Some(TextureQuality::High)
            )
            .is_err()
        );
    }

    #[test]
    fn the_kind_of_a_cut_file_is_not_lossless() {
        for bytes in [&b""[..], b"RIFF", b"RIFF\0\0\0\0WEBPVP8X\xff\xff\xff\xff"] {
            assert!(!is_lossless(bytes));
        }
    }
}
