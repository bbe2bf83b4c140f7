//! Decoded images, read within limits.

use std::io::Cursor;

use image::{ImageDecoder, ImageReader, Limits};

use super::super::import::images::media_type_of;
use super::avif::{self, AvifHeader};
use super::ktx2::{self, Ktx2Header};

/// Images with more pixels (16384 by 16384) are not changed.
const MAX_PIXELS: u64 = 1 << 28;

/// An image as eight bits for red, green, blue and alpha.
#[derive(Debug, Clone)]
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Four bytes a pixel.
    pub(super) rgba: Vec<u8>,
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

fn checked_dimensions(bytes: &[u8]) -> Result<(u32, u32), String> {
    match Decoder::of(bytes) {
        Decoder::Ktx2 => Ktx2Header::read(bytes).map(|header| (header.width, header.height)),
        Decoder::Avif => AvifHeader::read(bytes).map(|header| (header.width, header.height)),
        Decoder::Image => reader(bytes)
            .and_then(|reader| reader.into_dimensions().ok())
            .ok_or_else(|| "not an image".to_owned()),
    }
}

pub(super) fn dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    checked_dimensions(bytes).ok()
}

pub(super) fn channels(bytes: &[u8]) -> Option<u8> {
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

    /// Whether any pixel is not opaque.
    pub(super) fn has_alpha(&self) -> bool {
        self.rgba.chunks_exact(4).any(|pixel| pixel[3] != 255)
    }

    pub(super) fn forget_alpha(&mut self) {
        for pixel in self.rgba.chunks_exact_mut(4) {
            pixel[3] = 255;
        }
    }

    pub(super) fn flip_green(&mut self) {
        for pixel in self.rgba.chunks_exact_mut(4) {
            pixel[1] = 255 - pixel[1];
        }
    }

    /// Whether red, green and blue are the same everywhere.
    pub(super) fn is_grey(&self) -> bool {
        self.rgba
            .chunks_exact(4)
            .all(|pixel| pixel[0] == pixel[1] && pixel[1] == pixel[2])
    }
}
