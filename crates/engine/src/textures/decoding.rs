//! Decodes images of all formats that are read, within limits.

use std::io::Cursor;

use image::{ImageDecoder, ImageReader, Limits, RgbaImage};

use super::avif::{self, AvifHeader};
use super::ktx2::{self, Ktx2Header};
use super::media_type::media_type_of;
use super::pixels::Pixels;

/// Images with more pixels (16384 by 16384) are not changed.
const MAX_PIXELS: u64 = 1 << 28;

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

/// Who decodes an image.
enum Decoder {
    Ktx2,
    Avif,
    /// The crate `image`.
    Image,
}

impl Decoder {
    fn of(bytes: &[u8]) -> Decoder {
        match media_type_of(bytes) {
            Some("image/ktx2") => Decoder::Ktx2,
            Some("image/avif") => Decoder::Avif,
            _ => Decoder::Image,
        }
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
