//! The images that maps of materials name, each in the scene once.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use serde_json::Value;

use super::super::channels::ImageChannel;
use super::super::file_names::find_file as find;
use super::super::images::plain_image;
use super::super::scene_builder::SceneBuilder;
use super::map_options::MapPlace;
use super::mtl::MtlEntry;
use assetfs_formats::input_files::InputFiles;
use assetfs_formats::warnings::{Warning, WarningKind};

/// A file, and the channel to take from it. Without a channel, a colour image gives its colours, and an opacity image the
/// channel that `channels::mask_channel` finds.
pub(super) type ChannelFile = (Option<PathBuf>, Option<ImageChannel>);

/// Reads images and remembers those that are in the scene.
pub(super) struct MtlImages<'a> {
    dir: &'a InputFiles,
    images: HashMap<PathBuf, Option<usize>>,
    /// Images that are made of channels of several files.
    combined: HashMap<Vec<ChannelFile>, Option<usize>>,
    /// Bytes of the model and all files read for it.
    pub(super) size_bytes: u64,
}

impl<'a> MtlImages<'a> {
    pub(super) fn new(dir: &'a InputFiles, size_bytes: u64) -> MtlImages<'a> {
        MtlImages {
            dir,
            images: HashMap::new(),
            combined: HashMap::new(),
            size_bytes,
        }
    }

    /// One image of several files, named like the first of them that there is.
    pub(super) fn combine(
        &mut self,
        files: Vec<ChannelFile>,
        builder: &mut SceneBuilder,
        join: impl Fn(&[ChannelFile], &[Option<Bytes>]) -> Result<Bytes, String>,
    ) -> Option<usize> {
        let known = files.iter().find_map(|(path, _)| path.as_ref())?;
        let name = super::super::file_names::file_name(known);
        if let Some(made) = self.combined.get(&files) {
            return *made;
        }
        let read: Result<Vec<Option<Bytes>>, String> = files
            .iter()
            .map(|(path, _)| {
                let Some(path) = path else { return Ok(None) };
                let bytes = fs::read(path).map_err(|error| error.to_string())?;
                self.size_bytes += bytes.len() as u64;
                Ok(Some(plain_image(bytes, path)?.0))
            })
            .collect();
        let made = read.and_then(|read| join(&files, &read));
        let made = made.map_err(|error| unreadable(&name, &error));
        let image = builder.add_png(&name, made);
        self.combined.insert(files, image);
        image
    }

    /// The file of a map, if it was uploaded.
    pub(super) fn file_of(
        &self,
        entry: &MtlEntry,
        key: &str,
        builder: &mut SceneBuilder,
    ) -> Option<PathBuf> {
        let name = &entry.maps.get(key)?.file;
        match find(self.dir, &entry.library, name) {
            Ok(path) => Some(path),
            Err(why) => {
                builder.warnings.push(why.warning(name));
                None
            }
        }
    }

    /// The use of a map as JSON.
    pub(super) fn texture(
        &mut self,
        entry: &MtlEntry,
        key: &str,
        builder: &mut SceneBuilder,
    ) -> Option<Value> {
        let map = entry.maps.get(key)?;
        let path = self.file_of(entry, key, builder)?;
        let image = match self.images.get(&path) {
            Some(known) => *known,
            None => self.read_image(path, &map.file, builder),
        };
        Some(texture_json(image?, map.place(), builder))
    }

    fn read_image(
        &mut self,
        path: PathBuf,
        name: &str,
        builder: &mut SceneBuilder,
    ) -> Option<usize> {
        let read = fs::read(&path).map_err(|error| error.to_string());
        let image = match read.and_then(|bytes| {
            self.size_bytes += bytes.len() as u64;
            plain_image(bytes, &path)
        }) {
            Ok((bytes, kind)) => {
                let file = super::super::file_names::file_name(&path);
                Some(builder.add_image(&file, kind, bytes))
            }
            Err(error) => {
                builder.warnings.push(unreadable(name, &error));
                None
            }
        };
        self.images.insert(path, image);
        image
    }
}

fn unreadable(name: &str, error: &str) -> Warning {
    let text = format!("the texture \"{name}\" cannot be read ({error}); it is left out");
    Warning::new(WarningKind::BadTexture, text)
}

/// The use of an image as JSON.
pub(super) fn texture_json(image: usize, place: MapPlace, builder: &mut SceneBuilder) -> Value {
    builder.texture_use(image, 0, place.wraps, place.transform)
}
