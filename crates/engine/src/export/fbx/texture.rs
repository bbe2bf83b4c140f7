//! Textures: their images inside the file, with factors applied, and the sets of coordinates that they read.

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;

use super::super::super::scene::{Image, Scene, TextureUse, Wrap};
use super::super::super::textures::tinted;
use super::super::grey::{SurfaceChannel, split};
use super::binary::{FbxValue, Record};
use super::document::{FbxDocument, ObjectId, properties, property, text};
use super::mesh::uv_name;

/// An image of the scene as it is written. The factors are bits of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum WrittenImage {
    /// Its light and its alpha are multiplied.
    Tinted { image: usize, factors: [u32; 4] },
    /// A channel of it, multiplied.
    Channel {
        image: usize,
        channel: SurfaceChannel,
        factor: u32,
    },
}

impl WrittenImage {
    pub(super) fn tinted(image: usize, factors: [f32; 4]) -> WrittenImage {
        WrittenImage::Tinted {
            image,
            factors: factors.map(f32::to_bits),
        }
    }

    pub(super) fn channel(image: usize, channel: SurfaceChannel, factor: f32) -> WrittenImage {
        WrittenImage::Channel {
            image,
            channel,
            factor: factor.to_bits(),
        }
    }

    fn source(self) -> usize {
        match self {
            WrittenImage::Tinted { image, .. } | WrittenImage::Channel { image, .. } => image,
        }
    }
}

/// A channel of an image.
#[derive(Debug, Clone)]
pub(super) struct GreyImage {
    pub(super) mean: f32,
    /// Whether all pixels have the same value.
    pub(super) is_uniform: bool,
    png: Bytes,
}

/// The textures that are in the file already.
pub(super) struct FbxTextureObjects<'s> {
    scene: &'s Scene,
    /// By image, set of texture coordinates and wrap modes.
    textures: HashMap<(WrittenImage, usize, [bool; 2]), ObjectId>,
    videos: HashMap<WrittenImage, (ObjectId, String)>,
    greys: HashMap<WrittenImage, Option<GreyImage>>,
}

impl<'s> FbxTextureObjects<'s> {
    pub(super) fn new(scene: &'s Scene) -> FbxTextureObjects<'s> {
        FbxTextureObjects {
            scene,
            textures: HashMap::new(),
            videos: HashMap::new(),
            greys: HashMap::new(),
        }
    }

    /// The texture object for a texture of a material, with this image.
    pub(super) fn add(
        &mut self,
        texture: &TextureUse,
        image: WrittenImage,
        document: &mut FbxDocument,
    ) -> ObjectId {
        // The format has no mirrored repetition.
        let clamped = [texture.wrap_s, texture.wrap_t].map(|wrap| wrap == Wrap::ClampToEdge);
        let key = (image, texture.tex_coord, clamped);
        if let Some(made) = self.textures.get(&key) {
            return *made;
        }
        let (video, file) = self.video(image, document);
        let wrap = |name: &str, is_clamped: bool| {
            property(name, "enum", "", [i32::from(is_clamped).into()])
        };
        let records = vec![
            Record::of("Type", "TextureVideoClip"),
            Record::of("Version", 202),
            Record::of("TextureName", format!("{file}\0\u{1}Texture")),
            properties([
                text("UVSet", &uv_name(texture.tex_coord)),
                property("UseMaterial", "bool", "", [1.into()]),
                wrap("WrapModeU", clamped[0]),
                wrap("WrapModeV", clamped[1]),
            ]),
            Record::of("Media", format!("{file}\0\u{1}Video")),
            Record::of("FileName", file.as_str()),
            Record::of("RelativeFilename", file.as_str()),
        ];
        let made = document.add("Texture", (&file, "Texture"), "", records);
        document.connect(video, made);
        self.textures.insert(key, made);
        made
    }

    /// The grey image of a channel. `None` if the source cannot be decoded, or if `image` is no channel.
    pub(super) fn grey_of(&mut self, image: WrittenImage) -> Option<GreyImage> {
        let WrittenImage::Channel {
            image: source,
            channel,
            factor,
        } = image
        else {
            return None;
        };
        let bytes = &self.scene.images[source].bytes;
        let made = self.greys.entry(image).or_insert_with(|| {
            let (mean, png) = split(bytes, channel, f32::from_bits(factor))?;
            Some(GreyImage {
                mean,
                is_uniform: png.is_none(),
                png: png.unwrap_or_default().into(),
            })
        });
        made.clone()
    }

    /// The object that holds the bytes of an image, and the name of its file.
    fn video(&mut self, written: WrittenImage, document: &mut FbxDocument) -> (ObjectId, String) {
        if let Some(made) = self.videos.get(&written) {
            return made.clone();
        }
        let (suffix, image) = self.pixels(written);
        let own = image.json.get("name").and_then(|name| name.as_str());
        let stem = image.file_stem().or(own).unwrap_or("texture");
        let stem = stem.replace(['/', '\\'], "_");
        let file = format!("{stem}_{}{suffix}.{}", written.source(), image.extension());
        let records = vec![
            Record::of("Type", "Clip"),
            properties([text("Path", &file)]),
            Record::of("UseMipMap", 0),
            Record::of("Filename", file.as_str()),
            Record::of("RelativeFilename", file.as_str()),
            Record::of("Content", FbxValue::Raw(image.bytes.clone())),
        ];
        let made = document.add("Video", (&file, "Video"), "Clip", records);
        self.videos.insert(written, (made, file.clone()));
        (made, file)
    }

    /// The image with its factors, and a suffix that makes the name of its file unique. An image that cannot be decoded
    /// stays as it is.
    fn pixels(&mut self, written: WrittenImage) -> (String, Cow<'s, Image>) {
        let image = &self.scene.images[written.source()];
        let number = self.videos.len();
        match written {
            WrittenImage::Tinted { factors, .. } => {
                let factors = factors.map(f32::from_bits);
                if factors != [1.0; 4]
                    && let Ok(tinted) = tinted(image, factors)
                {
                    return (format!("_tinted_{number}"), Cow::Owned(tinted));
                }
            }
            WrittenImage::Channel { channel, .. } => {
                if let Some(grey) = self.grey_of(written) {
                    let grey = Image {
                        media_type: "image/png".to_owned(),
                        bytes: grey.png,
                        ..image.clone()
                    };
                    return (format!("{}_{number}", channel.suffix()), Cow::Owned(grey));
                }
            }
        }
        (String::new(), Cow::Borrowed(image))
    }
}
