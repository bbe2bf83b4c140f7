//! Decodes, changes and encodes one image.

use super::super::scene::Image;
use super::super::settings::TextureFormat;
use super::pixels::Pixels;
use super::usage::{AlphaUse, Usage};
use super::{encode, ktx2, webp};

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
        source_type: &'static str,
    },
    WebP {
        is_lossless: bool,
    },
    Ktx2,
}

impl ImageEncoding {
    /// The encoding of an image. `keeps_kind` says whether WebP and KTX2 may stay what they are.
    pub(super) fn of(
        image: &Image,
        usage: &Usage,
        asked: TextureFormat,
        keeps_kind: bool,
    ) -> ImageEncoding {
        let source_type = image.replaces.unwrap_or(&image.media_type);
        match (asked, source_type) {
            (TextureFormat::WebP, _) => ImageEncoding::WebP { is_lossless: false },
            (TextureFormat::Ktx2, _) => ImageEncoding::Ktx2,
            (TextureFormat::Auto, "image/webp") if keeps_kind => ImageEncoding::WebP {
                is_lossless: webp::is_lossless(&image.bytes),
            },
            (TextureFormat::Auto, "image/ktx2") if keeps_kind && !usage.is_mixed() => {
                ImageEncoding::Ktx2
            }
            // What replaces a lossless image stays lossless.
            (TextureFormat::Auto, "image/png") if image.replaces.is_some() => {
                ImageEncoding::Plain {
                    asked: TextureFormat::Png,
                    source_type: "image/png",
                }
            }
            (asked, "image/jpeg") => ImageEncoding::Plain {
                asked,
                source_type: "image/jpeg",
            },
            (asked, _) => ImageEncoding::Plain {
                asked,
                source_type: "image/png",
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
        ImageEncoding::WebP { is_lossless } if webp::fits(&pixels) => {
            webp::encode(&pixels, usage, is_lossless)
        }
        ImageEncoding::WebP { .. } => {
            encode::encode(&pixels, usage, TextureFormat::Auto, &image.media_type)
        }
        ImageEncoding::Plain { asked, source_type } => {
            encode::encode(&pixels, usage, asked, source_type)
        }
    }
}
