//! Detects image formats, and converts images to a format that glTF allows.

use std::io::Cursor;
use std::path::Path;

use bytes::Bytes;
use image::{DynamicImage, ImageFormat, ImageReader, Limits};

use super::super::textures;

/// The media type by the first bytes; `None` if they match no format.
pub fn media_type_of(bytes: &[u8]) -> Option<&'static str> {
    let is_riff = |kind: &[u8]| bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(kind);
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if is_riff(b"WEBP") {
        Some("image/webp")
    } else if bytes.starts_with(b"\xabKTX 20\xbb\r\n\x1a\n") {
        Some("image/ktx2")
    } else if bytes.get(4..12) == Some(b"ftypavif") {
        Some("image/avif")
    } else if bytes.starts_with(b"GIF8") {
        Some("image/gif")
    } else if bytes.starts_with(b"BM") {
        Some("image/bmp")
    } else if bytes.starts_with(b"II*\0") || bytes.starts_with(b"MM\0*") {
        Some("image/tiff")
    } else {
        None
    }
}

/// Converts an image to a file that glTF allows: PNG and JPEG are not changed, others become PNG.
pub fn plain_image(bytes: Vec<u8>, path: &Path) -> Result<(Bytes, String), String> {
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
        return as_png(&textures::decode(&bytes)?.into());
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
    as_png(&decoded)
}

fn as_png(decoded: &DynamicImage) -> Result<(Bytes, String), String> {
    let mut png = Cursor::new(Vec::new());
    decoded
        .write_to(&mut png, ImageFormat::Png)
        .map_err(|error| error.to_string())?;
    Ok((png.into_inner().into(), "image/png".to_owned()))
}

/// The usual extension of a media type.
pub fn extension_of(media_type: &str) -> &'static str {
    match media_type {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/webp" => "webp",
        "image/ktx2" => "ktx2",
        "image/avif" => "avif",
        "image/gif" => "gif",
        "image/bmp" => "bmp",
        "image/tiff" => "tiff",
        _ => "bin",
    }
}
