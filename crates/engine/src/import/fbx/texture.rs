//! Textures of an FBX file: their images, inside the file or beside it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use assetfs_formats::ImageKind;
use bytes::Bytes;

use super::super::channels::{self, ImageChannel};
use super::super::file_names::find_file;
use super::super::images::{NoImage, plain_image};
use super::super::scene_builder::SceneBuilder;
use assetfs_formats::input_files::InputFiles;
use assetfs_formats::text::decoded;

/// The images that are in the scene already, by the textures of the file.
pub(super) struct FbxTextures<'a> {
    dir: &'a InputFiles,
    model: &'a Path,
    /// What was read of each texture; `None` after a warning.
    read: HashMap<u32, Option<NamedImage>>,
    images: HashMap<u32, Option<usize>>,
    surfaces: HashMap<[Option<u32>; 2], Option<SurfaceImage>>,
    /// Images of a colour with the alpha of a mask.
    masked: HashMap<[Option<u32>; 2], Option<usize>>,
    /// Bytes of the model and all files read for it.
    pub(super) size_bytes: u64,
}

/// An image of roughness and metalness, and which of them it has.
type SurfaceImage = (usize, [bool; 2]);

/// The name, media type and bytes of an image.
type NamedImage = (String, ImageKind, Bytes);

impl<'a> FbxTextures<'a> {
    pub(super) fn new(dir: &'a InputFiles, model: &'a Path, size_bytes: u64) -> FbxTextures<'a> {
        FbxTextures {
            dir,
            model,
            read: HashMap::new(),
            images: HashMap::new(),
            surfaces: HashMap::new(),
            masked: HashMap::new(),
            size_bytes,
        }
    }

    /// The scene's image of a texture; `None` with a warning if it cannot be read.
    pub(super) fn image_of(
        &mut self,
        texture: &ufbx::Texture,
        builder: &mut SceneBuilder,
    ) -> Option<usize> {
        let id = texture.element.typed_id;
        if let Some(known) = self.images.get(&id) {
            return *known;
        }
        let read = self.read(texture, builder);
        let made = read.map(|(name, kind, bytes)| builder.add_image(&name, kind, bytes));
        self.images.insert(id, made);
        made
    }

    /// The colours of one texture, or white, with the opacity of another; `None` with a warning if it cannot be made.
    pub(super) fn masked_image_of(
        &mut self,
        color: Option<&ufbx::Texture>,
        mask: &ufbx::Texture,
        builder: &mut SceneBuilder,
    ) -> Option<usize> {
        let key = [color, Some(mask)].map(|texture| texture.map(|it| it.element.typed_id));
        if let Some(known) = self.masked.get(&key) {
            return *known;
        }
        let made = self.read(mask, builder).and_then(|(mask_name, _, mask)| {
            let color = color.and_then(|color| self.read(color, builder));
            let name = color.as_ref().map_or(&mask_name, |(name, ..)| name);
            let source = |channel| color.as_ref().map(|(.., bytes)| (&bytes[..], channel));
            let joined = channels::mask_channel(&mask).and_then(|channel| {
                channels::combined(
                    [ImageChannel::Red, ImageChannel::Green, ImageChannel::Blue].map(source),
                    Some((&mask[..], channel)),
                )
            });
            let joined = joined.map_err(|why| NoImage::Unreadable(why).warning(&mask_name));
            builder.add_png(name, joined)
        });
        self.masked.insert(key, made);
        made
    }

    /// One image of the textures of roughness and metalness.
    pub(super) fn surface_of(
        &mut self,
        textures: [Option<&ufbx::Texture>; 2],
        builder: &mut SceneBuilder,
    ) -> Option<SurfaceImage> {
        let key = textures.map(|texture| texture.map(|texture| texture.element.typed_id));
        if let Some(known) = self.surfaces.get(&key) {
            return *known;
        }
        // One texture for both is packed as in glTF. Where it is grey, its channels are equal.
        let places = match key[0] == key[1] {
            true => [ImageChannel::Green, ImageChannel::Blue],
            false => [ImageChannel::Luma; 2],
        };
        let read = textures.map(|texture| texture.and_then(|texture| self.read(texture, builder)));
        let made = self.combine(&read, places, builder);
        self.surfaces.insert(key, made);
        made
    }

    fn combine(
        &self,
        read: &[Option<NamedImage>; 2],
        places: [ImageChannel; 2],
        builder: &mut SceneBuilder,
    ) -> Option<SurfaceImage> {
        let (name, ..) = read.iter().flatten().next()?;
        let source = |index: usize| {
            let (.., bytes) = read[index].as_ref()?;
            Some((&bytes[..], places[index]))
        };
        let joined = channels::combined([None, source(0), source(1)], None);
        let joined = joined.map_err(|why| NoImage::Unreadable(why).warning(name));
        let image = builder.add_png(name, joined)?;
        Some((image, read.each_ref().map(Option::is_some)))
    }

    /// Reads a texture; `None` with a warning if that fails.
    fn read(&mut self, texture: &ufbx::Texture, builder: &mut SceneBuilder) -> Option<NamedImage> {
        let id = texture.element.typed_id;
        if let Some(known) = self.read.get(&id) {
            return known.clone();
        }
        let read = match self.bytes_of(texture) {
            Ok(read) => Some(read),
            Err(why) => {
                let [name, ..] = names_of(texture);
                builder.warnings.push(why.warning(&name));
                None
            }
        };
        self.read.insert(id, read.clone());
        read
    }

    /// Reads the embedded bytes, else the file that one of the texture's names leads to.
    fn bytes_of(&mut self, texture: &ufbx::Texture) -> Result<NamedImage, NoImage> {
        let names = names_of(texture);
        let mut given = names.iter().filter(|name| !name.is_empty());
        let name = given.next().map_or("texture", |name| name);
        let last = name.rsplit(['/', '\\']).next().unwrap_or(name).to_owned();
        let content: &[u8] = &texture.content;
        if !content.is_empty() {
            let (bytes, kind) = plain_image(content.to_vec(), Path::new(&last))?;
            return Ok((last, kind, bytes));
        }
        let mut reason = NoImage::Missing(String::new());
        let mut found = None;
        for name in names.iter().filter(|name| !name.is_empty()) {
            match find_file(self.dir, self.model, name) {
                Ok(path) => {
                    found = Some(path);
                    break;
                }
                Err(why) => reason = why,
            }
        }
        let path = found.ok_or(reason)?;
        let bytes = fs::read(&path).map_err(|error| error.to_string())?;
        self.size_bytes += bytes.len() as u64;
        let (bytes, kind) = plain_image(bytes, &path)?;
        Ok((last, kind, bytes))
    }
}

/// The names of a texture's file, most of which may be empty. Old programs did not write UTF-8.
fn names_of(texture: &ufbx::Texture) -> [Cow<'_, str>; 3] {
    [
        &texture.raw_relative_filename,
        &texture.raw_filename,
        &texture.raw_absolute_filename,
    ]
    .map(|name| decoded(name))
}

/// The file texture of a map; of several layers the first.
pub(super) fn file_texture(map: &ufbx::MaterialMap) -> Option<&ufbx::Texture> {
    let texture = map.texture.as_ref().filter(|_| map.texture_enabled)?;
    Some(texture.file_textures.first().unwrap_or(texture))
}
