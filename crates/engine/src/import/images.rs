//! Converts images to a format that glTF allows.

use std::io::Cursor;
use std::path::Path;

use bytes::Bytes;
use image::{DynamicImage, ImageFormat, ImageReader, Limits};

use super::super::textures::decode;
use assetfs_formats::ImageKind;
use assetfs_formats::warnings::{Warning, WarningKind};

/// Why a texture has no image.
#[derive(Debug, Clone)]
pub(super) enum NoImage {
    /// The name of its file leads to none.
    Missing(String),
    /// The image cannot be read, or none can be made of it.
    Unreadable(String),
}

impl From<String> for NoImage {
    fn from(why: String) -> NoImage {
        NoImage::Unreadable(why)
    }
}

impl NoImage {
    /// The warning about the texture of this name.
    pub(super) fn warning(&self, name: &str) -> Warning {
        let (kind, why) = match self {
            NoImage::Missing(why) => (WarningKind::MissingFile, why),
            NoImage::Unreadable(why) => (WarningKind::BadTexture, why),
        };
        Warning::new(kind, format!("the texture \"{name}\" is left out: {why}"))
    }
}

/// Converts an image to a file that glTF allows: PNG and JPEG are not changed, others become PNG.
pub(crate) fn plain_image(bytes: Vec<u8>, path: &Path) -> Result<(Bytes, ImageKind), String> {
    if bytes.is_empty() {
        return Err("the file is empty".to_owned());
    }
    let known = ImageKind::of_bytes(&bytes);
    if let Some(kind) = known.filter(|kind| kind.is_plain()) {
        return Ok((bytes.into(), kind));
    }
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let format = match (known, extension.as_str()) {
        (Some(ImageKind::WebP), _) => ImageFormat::WebP,
        (Some(ImageKind::Bmp), _) => ImageFormat::Bmp,
        (None, "tga") => ImageFormat::Tga,
        (Some(kind), _) if kind.gltf_extension().is_some() => {
            return Ok((as_png(&decode(&bytes)?.into())?, ImageKind::Png));
        }
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
    Ok((as_png(&decoded)?, ImageKind::Png))
}

pub(super) fn as_png(image: &DynamicImage) -> Result<Bytes, String> {
    let mut png = Cursor::new(Vec::new());
    let written = image.write_to(&mut png, ImageFormat::Png);
    written.map_err(|error| error.to_string())?;
    Ok(png.into_inner().into())
}
