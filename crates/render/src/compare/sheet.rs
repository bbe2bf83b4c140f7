//! Joins pictures side by side.

use std::path::Path;

use super::super::files::{PictureError, write_png};
use super::super::picture::Picture;

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
    pub fn write_png(&self, path: &Path) -> Result<(), PictureError> {
        write_png(path, (self.width, self.height), &self.rgba)
    }
}
