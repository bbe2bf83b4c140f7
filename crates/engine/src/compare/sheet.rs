//! Joins pictures side by side, and writes pictures as files.

use std::path::Path;

use super::super::error::EngineError;
use super::super::render::Picture;

/// Pixels between two pictures.
const GAP: usize = 8;

/// A wide picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    pub width: usize,
    pub height: usize,
    /// sRGB with alpha, four bytes a pixel.
    pub rgba: Vec<u8>,
}

/// The pictures in a row, on white.
pub fn side_by_side(pictures: &[&Picture]) -> Sheet {
    let height = pictures
        .iter()
        .map(|picture| picture.size)
        .max()
        .unwrap_or(0);
    let gaps = GAP * pictures.len().saturating_sub(1);
    let width = pictures.iter().map(|picture| picture.size).sum::<usize>() + gaps;
    let mut sheet = Sheet {
        width,
        height,
        rgba: vec![255; width * height * 4],
    };
    let mut left = 0;
    for picture in pictures {
        for (y, row) in picture.rgba.chunks(picture.size * 4).enumerate() {
            let at = (y * width + left) * 4;
            sheet.rgba[at..at + row.len()].copy_from_slice(row);
        }
        left += picture.size + GAP;
    }
    sheet
}

impl Sheet {
    /// Writes a PNG.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_png(&self, path: &Path) -> Result<(), EngineError> {
        write_png(path, (self.width, self.height), &self.rgba)
    }
}

impl Picture {
    /// Writes a PNG.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_png(&self, path: &Path) -> Result<(), EngineError> {
        write_png(path, (self.size, self.size), &self.rgba)
    }

    /// Writes the picture as JPEG; transparent pixels become white.
    pub fn write_jpeg(&self, path: &Path) -> Result<(), EngineError> {
        const QUALITY: u8 = 90;
        let pixels: Vec<u8> = self
            .rgba
            .chunks_exact(4)
            .flat_map(|pixel| {
                let alpha = u16::from(pixel[3]);
                [pixel[0], pixel[1], pixel[2]]
                    .map(|value| ((u16::from(value) * alpha + 255 * (255 - alpha)) / 255) as u8)
            })
            .collect();
        let mut bytes = Vec::new();
        let side = u16::try_from(self.size).unwrap_or(u16::MAX);
        jpeg_encoder::Encoder::new(&mut bytes, QUALITY)
            .encode(&pixels, side, side, jpeg_encoder::ColorType::Rgb)
            .map_err(|error| failed(path, error))?;
        write(path, &bytes)
    }
}

fn write_png(path: &Path, (width, height): (usize, usize), rgba: &[u8]) -> Result<(), EngineError> {
    let opaque = rgba.chunks_exact(4).all(|pixel| pixel[3] == 255);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_color(if opaque {
        png::ColorType::Rgb
    } else {
        png::ColorType::Rgba
    });
    let mut writer = encoder
        .write_header()
        .map_err(|error| failed(path, error))?;
    let written = if opaque {
        let rgb: Vec<u8> = rgba
            .chunks_exact(4)
            .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
            .collect();
        writer.write_image_data(&rgb)
    } else {
        writer.write_image_data(rgba)
    };
    written
        .and_then(|()| writer.finish())
        .map_err(|error| failed(path, error))?;
    write(path, &bytes)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    std::fs::write(path, bytes).map_err(|source| EngineError::Io {
        path: path.to_owned(),
        source,
    })
}

fn failed(path: &Path, error: impl std::error::Error) -> EngineError {
    EngineError::Export(format!(
        "{}: the picture cannot be written: {error}",
        path.display()
    ))
}
