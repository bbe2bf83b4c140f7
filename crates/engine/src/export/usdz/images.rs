//! The images of a package: those of the scene as they are, and normal maps whose strength is put into their pixels.
//!
//! `UsdUVTexture` can scale normals, but Apple's viewers expect the plain scale and bias of normal maps.

use std::collections::BTreeMap;
use std::io::Cursor;

use assetfs_formats::ImageKind;
use bytes::Bytes;
use glam::Vec3;
use image::{DynamicImage, ImageFormat, RgbImage};

use super::super::super::scene::{Image, Scene};
use super::super::super::textures;
use super::identifiers::identifier;

/// Loss in a normal map shows in every highlight.
const JPEG_QUALITY: u8 = 95;

/// The images that materials use.
pub(super) struct UsdImages<'s> {
    scene: &'s Scene,
    /// `None` if the pixels cannot be decoded.
    files: BTreeMap<ImageKey, Option<(String, Bytes)>>,
}

/// An image, and the bits of the strength that is in its pixels.
type ImageKey = (usize, Option<u32>);

impl<'s> UsdImages<'s> {
    pub(super) fn new(scene: &'s Scene) -> UsdImages<'s> {
        UsdImages {
            scene,
            files: BTreeMap::new(),
        }
    }

    /// The names and bytes of all of them.
    pub(super) fn finish(self) -> Vec<(String, Bytes)> {
        self.files.into_values().flatten().collect()
    }

    /// The name of an image in the package.
    pub(super) fn name_of(&mut self, index: usize) -> String {
        let image = &self.scene.images[index];
        let file = self.files.entry((index, None)).or_insert_with(|| {
            let name = format!("{}.{}", stem_of(image, index), image.extension());
            Some((name, image.bytes.clone()))
        });
        file.as_ref()
            .map(|(name, _)| name.clone())
            .unwrap_or_default()
    }

    /// The name of a normal map with x and y multiplied by `strength`; `None` if the image cannot be decoded.
    pub(super) fn name_with_strength(&mut self, index: usize, strength: f32) -> Option<String> {
        if strength == 1.0 {
            return Some(self.name_of(index));
        }
        let image = &self.scene.images[index];
        let number = self.files.range((index, None)..(index + 1, None)).count();
        let file = self
            .files
            .entry((index, Some(strength.to_bits())))
            .or_insert_with(|| {
                let (bytes, extension) = with_strength(image, strength)?;
                let name = format!("{}_strength_{number}.{extension}", stem_of(image, index));
                Some((name, bytes))
            });
        file.as_ref().map(|(name, _)| name.clone())
    }
}

fn stem_of(image: &Image, index: usize) -> String {
    let own = image
        .file_name
        .as_deref()
        .or(image.json.get("name").and_then(|name| name.as_str()));
    let stem = own.map_or("texture", |name| name.split('.').next().unwrap_or(name));
    format!("textures/{}_{index}", identifier(stem))
}

/// The pixels of a normal map with x and y multiplied by `strength`, as JPEG if it was one, and the extension.
fn with_strength(image: &Image, strength: f32) -> Option<(Bytes, &'static str)> {
    let mut pixels = textures::decode(&image.bytes).ok()?;
    pixels
        .pixels_mut()
        .for_each(|pixel| scale(&mut pixel.0, strength));
    let colors = DynamicImage::from(pixels).into_rgb8();
    match image.kind() {
        Some(kind @ ImageKind::Jpeg) => Some((as_jpeg(&colors)?.into(), kind.name())),
        _ => {
            let mut bytes = Cursor::new(Vec::new());
            colors.write_to(&mut bytes, ImageFormat::Png).ok()?;
            Some((bytes.into_inner().into(), ImageKind::Png.name()))
        }
    }
}

/// Multiplies x and y of the normal in a pixel, and makes its length 1.
fn scale(pixel: &mut [u8; 4], strength: f32) {
    let [x, y, z] = [0, 1, 2].map(|at| f32::from(pixel[at]) / 127.5 - 1.0);
    let scaled = Vec3::new(x * strength, y * strength, z);
    let normal = scaled.try_normalize().unwrap_or(Vec3::Z);
    for (value, number) in pixel.iter_mut().zip(normal.to_array()) {
        *value = ((number + 1.0) * 127.5).round() as u8;
    }
}

fn as_jpeg(pixels: &RgbImage) -> Option<Vec<u8>> {
    let sides = [pixels.width(), pixels.height()].map(u16::try_from);
    let [Ok(width), Ok(height)] = sides else {
        return None;
    };
    let mut bytes = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, JPEG_QUALITY);
    // The channels of a normal map are unrelated.
    encoder.set_sampling_factor(jpeg_encoder::SamplingFactor::R_4_4_4);
    let kind = jpeg_encoder::ColorType::Rgb;
    encoder.encode(pixels, width, height, kind).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strengths_turn_normals_and_keep_their_length() {
        let scaled = |mut pixel: [u8; 4], strength: f32| {
            scale(&mut pixel, strength);
            pixel
        };
        assert_eq!(scaled([128, 128, 255, 7], 1.0), [128, 128, 255, 7]);
        // (0.6, 0, 0.8) becomes (0, 0, 1) and (0.83, 0, 0.55).
        let slanted = [204, 128, 230, 255];
        assert_eq!(scaled(slanted, 0.0), [128, 128, 255, 255]);
        let steep = scaled(slanted, 2.0);
        assert!(
            steep[0].abs_diff(233) <= 1 && steep[2].abs_diff(198) <= 1,
            "{steep:?}"
        );
    }
}
