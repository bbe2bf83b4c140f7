//! Which code decodes and encodes which kind of image, within limits; changing one image from one kind to another.

use std::io::Cursor;

use assetfs_formats::{ImageKind, TextureFormat};
use image::{ImageDecoder, ImageReader, Limits, RgbaImage};

use super::super::scene::Image;
use super::super::settings::TextureQuality;
use super::avif::{self, AvifHeader};
use super::ktx2::{self, Ktx2Header};
use super::pixels::Pixels;
use super::usage::{AlphaUse, Usage};
use super::{encode, webp};

/// Images with more pixels (16384 by 16384) are not changed.
const MAX_PIXELS: u64 = 1 << 28;

/// A lossy image that saves more than this factor is smaller than without loss: that saves a third of a PNG.
const WORTH_EXACT: usize = 2;

/// Who decodes an image.
enum Decoder {
    Ktx2,
    Avif,
    /// The crate `image`.
    Image,
}

impl Decoder {
    fn of(bytes: &[u8]) -> Decoder {
        use ImageKind::{Avif, Bmp, Gif, Jpeg, Ktx2, Png, Tiff, WebP};
        match ImageKind::of_bytes(bytes) {
            Some(Ktx2) => Decoder::Ktx2,
            Some(Avif) => Decoder::Avif,
            Some(Png | Jpeg | WebP | Gif | Bmp | Tiff) | None => Decoder::Image,
        }
    }
}

/// Decodes an image of any format that the engine reads, to eight bits for red, green, blue and alpha.
///
/// # Errors
/// When the image is damaged, too large or of another format; the text says why.
pub fn decode(bytes: &[u8]) -> Result<RgbaImage, String> {
    let Pixels {
        width,
        height,
        rgba,
    } = Pixels::decode(bytes)?;
    Ok(RgbaImage::from_raw(width, height, rgba).expect("four bytes for each pixel"))
}

/// Width and height of an encoded image, read from its header alone.
pub fn dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    checked_dimensions(bytes).ok()
}

/// How many channels an encoded image has: 1 (grey) to 4 (colour and alpha).
pub fn channels(bytes: &[u8]) -> Option<u8> {
    Some(match Decoder::of(bytes) {
        Decoder::Ktx2 if Ktx2Header::read(bytes).ok()?.has_alpha => 4,
        Decoder::Ktx2 => 3,
        Decoder::Avif => AvifHeader::read(bytes).ok()?.channels,
        Decoder::Image => {
            let decoder = reader(bytes)?.into_decoder().ok()?;
            decoder.color_type().channel_count()
        }
    })
}

impl Pixels {
    pub(super) fn decode(bytes: &[u8]) -> Result<Pixels, String> {
        let (width, height) = checked_dimensions(bytes)?;
        if u64::from(width) * u64::from(height) > MAX_PIXELS {
            return Err(format!("{width} by {height} pixels are too many"));
        }
        let rgba = match Decoder::of(bytes) {
            Decoder::Ktx2 => ktx2::decode(bytes)?,
            Decoder::Avif => avif::decode(bytes)?,
            Decoder::Image => reader(bytes)
                .ok_or("not an image")?
                .decode()
                .map_err(|error| error.to_string())?
                .into_rgba8()
                .into_raw(),
        };
        Ok(Pixels {
            width,
            height,
            rgba,
        })
    }
}

fn checked_dimensions(bytes: &[u8]) -> Result<(u32, u32), String> {
    match Decoder::of(bytes) {
        Decoder::Ktx2 => Ktx2Header::read(bytes).map(|header| (header.width, header.height)),
        Decoder::Avif => AvifHeader::read(bytes).map(|header| (header.width, header.height)),
        Decoder::Image => reader(bytes)
            .and_then(|reader| reader.into_dimensions().ok())
            .ok_or_else(|| "not an image".to_owned()),
    }
}

fn reader(bytes: &[u8]) -> Option<ImageReader<Cursor<&[u8]>>> {
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .ok()?;
    reader.format()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(4 << 30);
    reader.limits(limits);
    Some(reader)
}

/// What becomes of an image.
pub(super) struct ConversionTarget {
    /// Within the limit; some encodings need a slightly smaller one.
    pub(super) size: (u32, u32),
    pub(super) encoding: ImageEncoding,
    pub(super) flips: bool,
}

impl ConversionTarget {
    /// The size of the encoded image.
    pub(super) fn final_size(&self) -> (u32, u32) {
        match self.encoding {
            ImageEncoding::Ktx2 => ktx2::size_of(self.size),
            ImageEncoding::WebP { .. } | ImageEncoding::Plain { .. } => self.size,
        }
    }
}

/// How an image is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImageEncoding {
    /// PNG or JPEG.
    Plain {
        asked: TextureFormat,
        source: Option<ImageKind>,
        quality: TextureQuality,
    },
    /// Without a quality nothing is lost.
    WebP {
        quality: Option<TextureQuality>,
    },
    Ktx2,
}

impl ImageEncoding {
    /// The encoding of an image. `keeps_kind` says whether WebP and KTX2 may stay what they are.
    pub(super) fn of(
        image: &Image,
        usage: &Usage,
        asked: TextureFormat,
        quality: TextureQuality,
        keeps_kind: bool,
    ) -> ImageEncoding {
        let source = image.replaces.or(image.kind());
        let kept = source.filter(|_| keeps_kind);
        match asked {
            TextureFormat::WebP => ImageEncoding::WebP {
                quality: Some(quality),
            },
            TextureFormat::Ktx2 => ImageEncoding::Ktx2,
            TextureFormat::Auto if kept == Some(ImageKind::WebP) => ImageEncoding::WebP {
                quality: Some(quality).filter(|_| !webp::is_lossless(&image.bytes)),
            },
            TextureFormat::Auto if kept == Some(ImageKind::Ktx2) && !usage.is_mixed() => {
                ImageEncoding::Ktx2
            }
            // What replaces a lossless image stays lossless.
            TextureFormat::Auto if image.replaces == Some(ImageKind::Png) => ImageEncoding::Plain {
                asked: TextureFormat::Png,
                source,
                quality,
            },
            TextureFormat::Auto | TextureFormat::Png | TextureFormat::Jpg => ImageEncoding::Plain {
                asked,
                source,
                quality,
            },
        }
    }
}

/// Encodes an image as its target says; as PNG or JPEG where it is too large for WebP.
pub(super) fn convert(
    image: &Image,
    usage: &Usage,
    target: &ConversionTarget,
) -> Result<encode::Encoded, String> {
    let mut pixels = Pixels::decode(&image.bytes)?;
    if target.flips {
        pixels.flip_green();
    }
    let size = target.final_size();
    if (pixels.width, pixels.height) != size {
        pixels = pixels.resized(size, usage);
    }
    if usage.alpha == AlphaUse::Unused {
        pixels.forget_alpha();
    }
    match target.encoding {
        ImageEncoding::Ktx2 => ktx2::encode(pixels, usage),
        ImageEncoding::WebP { quality } if webp::fits(&pixels) => {
            let encoded = webp::encode(&pixels, usage, quality)?;
            if quality.is_none() || encoded.bytes.len() * WORTH_EXACT < image.bytes.len() {
                return Ok(encoded);
            }
            // Pictures of few colours are smaller without loss.
            let exact = webp::encode(&pixels, usage, None)?;
            Ok(match exact.bytes.len() < encoded.bytes.len() {
                true => exact,
                false => encoded,
            })
        }
        ImageEncoding::WebP { .. } => encode::encode(
            &pixels,
            usage,
            TextureFormat::Auto,
            image.kind(),
            TextureQuality::High,
        ),
        ImageEncoding::Plain {
            asked,
            source,
            quality,
        } => encode::encode(&pixels, usage, asked, source, quality),
    }
}
