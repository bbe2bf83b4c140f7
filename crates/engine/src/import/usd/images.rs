//! The images of textures: files as they are, or channels of several put together.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use assetfs_formats::ImageKind;
use bytes::Bytes;

use super::super::channels::{self, Curve, ImageChannel};
use super::super::images::{NoImage, plain_image};
use super::super::scene_builder::SceneBuilder;
use super::resolver::Files;
use super::shader::{ImageUse, TextureSource};
use super::warnings::Warnings;
use assetfs_formats::warnings::WarningKind;

/// A channel of a file, its conversion, and the bits of its factor and summand.
type ChannelKey = Option<(String, ImageChannel, Option<Curve>, Option<[u32; 2]>)>;

/// The bytes of a file that glTF allows with their media type, or why there are none.
type ReadImage = Result<(Bytes, ImageKind), NoImage>;

/// The images that are in the scene already.
pub(super) struct Images {
    files: Rc<RefCell<Files>>,
    read: HashMap<String, ReadImage>,
    whole: HashMap<(String, Option<Curve>), Option<usize>>,
    combined: HashMap<[ChannelKey; 4], Option<usize>>,
}

impl Images {
    pub(super) fn new(files: Rc<RefCell<Files>>) -> Images {
        Images {
            files,
            read: HashMap::new(),
            whole: HashMap::new(),
            combined: HashMap::new(),
        }
    }

    /// Whether the file of a texture can be read; if not, a warning says why.
    pub(super) fn is_readable(&mut self, source: &TextureSource, warnings: &mut Warnings) -> bool {
        match self.read(source) {
            Ok(_) => true,
            Err(why) => {
                warnings.push(why.warning(&source.asset));
                false
            }
        }
    }

    /// The image of a texture; `None`, with a warning, if it cannot be read.
    pub(super) fn whole(
        &mut self,
        source: &TextureSource,
        used: ImageUse,
        builder: &mut SceneBuilder,
        warnings: &mut Warnings,
    ) -> Option<usize> {
        let curve = source.curve(used);
        let key = (source.place().to_owned(), curve);
        if let Some(known) = self.whole.get(&key) {
            return *known;
        }
        let made = self.read(source).and_then(|(bytes, kind)| {
            Ok(match curve {
                None => (name_of(source), kind, bytes),
                Some(curve) => {
                    let bytes = channels::converted(&bytes, curve)?;
                    (png_name_of(source), ImageKind::Png, bytes)
                }
            })
        });
        let made = match made {
            Ok((name, kind, bytes)) => Some(builder.add_image(&name, kind, bytes)),
            Err(why) => {
                warnings.push(why.warning(&source.asset));
                None
            }
        };
        self.whole.insert(key, made);
        made
    }

    /// The image of numbers with the channels red, green and blue of these sources.
    pub(super) fn channels(
        &mut self,
        colors: [Option<&TextureSource>; 3],
        builder: &mut SceneBuilder,
        warnings: &mut Warnings,
    ) -> Option<usize> {
        let own = [ImageChannel::Red, ImageChannel::Green, ImageChannel::Blue];
        let first = colors.into_iter().flatten().next()?;
        let curve = |source: &TextureSource| source.curve(ImageUse::Numbers);
        let is_in_place = |source: &Option<&TextureSource>, own: ImageChannel| match source {
            Some(source) => {
                source.place() == first.place()
                    && curve(source) == curve(first)
                    && source.channel == own
                    && source.shift().is_none()
            }
            None => true,
        };
        // What a missing channel holds does not matter for occlusion (red) alone, or where its factor is 0.
        let are_all = colors[1].is_some() == colors[2].is_some();
        let are_in_place = colors
            .iter()
            .zip(own)
            .all(|(source, own)| is_in_place(source, own));
        if are_all && are_in_place {
            return self.whole(first, ImageUse::Numbers, builder, warnings);
        }
        let [red, green, blue] = colors;
        let parts = [red, green, blue, None];
        self.combine(parts, ImageUse::Numbers, builder, warnings)
    }

    /// The image of a colour with a channel of another image as its alpha.
    pub(super) fn with_alpha(
        &mut self,
        color: Option<&TextureSource>,
        opacity: &TextureSource,
        builder: &mut SceneBuilder,
        warnings: &mut Warnings,
    ) -> Option<usize> {
        let own = [ImageChannel::Red, ImageChannel::Green, ImageChannel::Blue];
        let colors = own.map(|channel| {
            color.map(|color| TextureSource {
                channel,
                // A factor of the material; a bias is not read.
                scale: [1.0; 4],
                bias: [0.0; 4],
                ..color.clone()
            })
        });
        let [red, green, blue] = colors.each_ref().map(Option::as_ref);
        let parts = [red, green, blue, Some(opacity)];
        self.combine(parts, ImageUse::Colors, builder, warnings)
    }

    fn combine(
        &mut self,
        sources: [Option<&TextureSource>; 4],
        colors: ImageUse,
        builder: &mut SceneBuilder,
        warnings: &mut Warnings,
    ) -> Option<usize> {
        let uses = [colors, colors, colors, ImageUse::Numbers];
        let mut key = [const { None }; 4];
        for ((key, source), used) in key.iter_mut().zip(sources).zip(uses) {
            *key = source.map(|it| {
                let shift = it.shift().map(|pair| pair.map(f32::to_bits));
                (it.place().to_owned(), it.channel, it.curve(used), shift)
            });
        }
        if let Some(known) = self.combined.get(&key) {
            return *known;
        }
        let mut parts = [const { None }; 4];
        let mut error = None;
        for ((part, source), used) in parts.iter_mut().zip(sources).zip(uses) {
            let Some(source) = source else { continue };
            match self.channel(source, used) {
                Ok(read) => *part = Some(read),
                Err(why) => error = error.or(Some((source, why))),
            }
        }
        let [red, green, blue, alpha] = parts.each_ref().map(|part| {
            let (bytes, channel) = part.as_ref()?;
            Some((bytes.as_ref(), *channel))
        });
        let first = sources.into_iter().flatten().next()?;
        let combined = match error {
            Some(error) => Err(error),
            None => {
                channels::combined([red, green, blue], alpha).map_err(|why| (first, why.into()))
            }
        };
        let made = match combined {
            Ok(bytes) => Some(builder.add_image(&png_name_of(first), ImageKind::Png, bytes)),
            Err((source, why)) => {
                warnings.push(why.warning(&source.asset));
                None
            }
        };
        self.combined.insert(key, made);
        made
    }

    /// The image and the channel of it that hold what a texture gives.
    fn channel(
        &mut self,
        source: &TextureSource,
        used: ImageUse,
    ) -> Result<(Bytes, ImageChannel), NoImage> {
        let (bytes, _) = self.read(source)?;
        let (curve, shift) = (source.curve(used), source.shift());
        if curve.is_none() && shift.is_none() {
            return Ok((bytes, source.channel));
        }
        let shift = shift.unwrap_or([1.0, 0.0]);
        let changed = channels::shifted((&bytes, source.channel), curve, shift)?;
        Ok((changed, ImageChannel::Red))
    }

    fn read(&mut self, source: &TextureSource) -> ReadImage {
        if let Some(known) = self.read.get(source.place()) {
            return known.clone();
        }
        let read = self.read_file(source);
        self.read.insert(source.place().to_owned(), read.clone());
        read
    }

    fn read_file(&self, source: &TextureSource) -> ReadImage {
        let mut files = self.files.borrow_mut();
        let Some(path) = source.file.as_deref().map(Path::new) else {
            if source.asset.contains("<UDIM>") {
                let why = "images of several tiles (UDIM) are not read";
                return Err(NoImage::Unreadable(why.to_owned()));
            }
            let absence = files.absence_of(&source.asset);
            return Err(match absence.kind() {
                WarningKind::MissingFile => NoImage::Missing(absence.reason()),
                _ => NoImage::Unreadable(absence.reason()),
            });
        };
        files.note_read(path);
        let bytes = fs::read(path).map_err(|error| error.to_string())?;
        Ok(plain_image(bytes, path)?)
    }
}

fn name_of(source: &TextureSource) -> String {
    let path = source.place();
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

fn png_name_of(source: &TextureSource) -> String {
    let name = Path::new(&name_of(source)).with_extension("png");
    name.to_string_lossy().into_owned()
}
