//! Converts images to a format that glTF allows.

use std::io::Cursor;
use std::path::Path;

use bytes::Bytes;
use image::{DynamicImage, ImageFormat, ImageReader, Limits};

use super::super::textures::decode;
use super::super::textures::media_type::media_type_of;

/// Converts an image to a file that glTF allows: PNG and JPEG are not changed, others become PNG.
pub(crate) fn plain_image(bytes: Vec<u8>, path: &Path) -> Result<(Bytes, String), String> {
    if bytes.is_empty() {
        return Err("the file is empty".to_owned());
    }
    let known = media_type_of(&bytes);
    if let Some(kind @ ("image/png" | "image/jpeg")) = known {
        return Ok((bytes.into(), kind.to_owned()));
    }
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    if let Some("image/ktx2" | "image/avif") = known {
        return Ok((as_png(&decode(&bytes)?.into())?, "image/png".to_owned()));
    }
    let format = match (known, extension.as_str()) {
        (Some("image/webp"), _) => ImageFormat::WebP,
        (Some("image/bmp"), _) => ImageFormat::Bmp,
        (None, "tga") => ImageFormat::Tga,
        _ => {
            return Err(
                "images of this kind are not read; PNG, JPEG, WebP, AVIF, KTX2, BMP and TGA are"
                    .to_owned(),
            );
        }
    };
    let mut reader = ImageReader::with_format(Cursor::new(&bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(2 << 30);
    reader.limits(limits);
    let decoded = reader.decode().map_err(|error| error.to_string())?;
    Ok((as_png(&decoded)?, "image/png".to_owned()))
}

pub(super) fn as_png(image: &DynamicImage) -> Result<Bytes, String> {
    let mut png = Cursor::new(Vec::new());
    let written = image.write_to(&mut png, ImageFormat::Png);
    written.map_err(|error| error.to_string())?;
    Ok(png.into_inner().into())
}
