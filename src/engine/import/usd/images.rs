//! The images of textures: files as they are, or channels of several put together.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use bytes::Bytes;

use super::super::channels::{self, ImageChannel};
use super::super::images::plain_image;
use super::super::scene_builder::SceneBuilder;
use super::Warnings;
use super::resolver::{Absence, Files};
use super::shader::TextureSource;

/// A channel of a file, and the bits of its factor and summand.
type ChannelKey = Option<(String, ImageChannel, Option<[u32; 2]>)>;

/// The images that are in the scene already.
pub(super) struct Images {
    files: Rc<RefCell<Files>>,
    whole: HashMap<String, Option<usize>>,
    combined: HashMap<[ChannelKey; 4], Option<usize>>,
}

impl Images {
    pub(super) fn new(files: Rc<RefCell<Files>>) -> Images {
        Images {
            files,
            whole: HashMap::new(),
            combined: HashMap::new(),
        }
    }

    /// The image of a texture; `None`, with a warning, if it cannot be read.
    pub(super) fn whole(
        &mut self,
        source: &TextureSource,
        builder: &mut SceneBuilder,
        warnings: &mut Warnings,
    ) -> Option<usize> {
        let key = source.place().to_owned();
        if let Some(known) = self.whole.get(&key) {
            return *known;
        }
        let made = match self.read(source) {
            Ok((bytes, media_type)) => {
                Some(builder.add_image(&name_of(source), &media_type, bytes))
            }
            Err(why) => {
                warnings.add(left_out(source, &why));
                None
            }
        };
        self.whole.insert(key, made);
        made
    }

    /// The image with the channels red, green and blue of these sources, and perhaps alpha.
    pub(super) fn channels(
        &mut self,
        colors: [Option<&TextureSource>; 3],
        alpha: Option<&TextureSource>,
        builder: &mut SceneBuilder,
        warnings: &mut Warnings,
    ) -> Option<usize> {
        let own = [ImageChannel::Red, ImageChannel::Green, ImageChannel::Blue];
        let first = colors.into_iter().flatten().next().or(alpha)?;
        let is_in_place = |source: &Option<&TextureSource>, own: ImageChannel| match source {
            Some(source) => {
                source.place() == first.place() && source.channel == own && source.shift().is_none()
            }
            None => true,
        };
        // What a missing channel holds does not matter for occlusion (red) alone, or where its factor is 0.
        let are_all = colors[1].is_some() == colors[2].is_some();
        let are_in_place = colors
            .iter()
            .zip(own)
            .all(|(source, own)| is_in_place(source, own));
        if alpha.is_none() && are_all && are_in_place {
            return self.whole(first, builder, warnings);
        }
        self.combine(colors, alpha, builder, warnings)
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
                bias: [0.0; 4],
                ..color.clone()
            })
        });
        self.combine(
            colors.each_ref().map(Option::as_ref),
            Some(opacity),
            builder,
            warnings,
        )
    }

    fn combine(
        &mut self,
        colors: [Option<&TextureSource>; 3],
        alpha: Option<&TextureSource>,
        builder: &mut SceneBuilder,
        warnings: &mut Warnings,
    ) -> Option<usize> {
        let [red, green, blue] = colors;
        let sources = [red, green, blue, alpha];
        let key = sources.map(|source| {
            source.map(|it| {
                let shift = it.shift().map(|pair| pair.map(f32::to_bits));
                (it.place().to_owned(), it.channel, shift)
            })
        });
        if let Some(known) = self.combined.get(&key) {
            return *known;
        }
        let mut read = |source: Option<&TextureSource>| {
            let source = source?;
            let read = self
                .read(source)
                .and_then(|(bytes, _)| match source.shift() {
                    None => Ok((bytes, source.channel)),
                    Some(shift) => channels::shifted((&bytes, source.channel), shift)
                        .map(|bytes| (bytes, ImageChannel::Red)),
                });
            read.map_err(|why| warnings.add(left_out(source, &why)))
                .ok()
        };
        let parts = sources.map(&mut read);
        let [red, green, blue, alpha] = parts.each_ref().map(|part| {
            let (bytes, channel) = part.as_ref()?;
            Some((bytes.as_ref(), *channel))
        });
        let first = sources.into_iter().flatten().next()?;
        let made = match channels::combined([red, green, blue], alpha) {
            _ if parts.iter().all(Option::is_none) => None,
            Ok(bytes) => {
                let name = Path::new(&name_of(first)).with_extension("png");
                Some(builder.add_image(&name.to_string_lossy(), "image/png", bytes))
            }
            Err(why) => {
                warnings.add(left_out(first, &why));
                None
            }
        };
        self.combined.insert(key, made);
        made
    }

    fn read(&self, source: &TextureSource) -> Result<(Bytes, String), String> {
        let mut files = self.files.borrow_mut();
        let Some(path) = source.file.as_deref().map(Path::new) else {
            if source.asset.contains("<UDIM>") {
                return Err("images of several tiles (UDIM) are not read".to_owned());
            }
            let absence = files.absent().get(&source.asset);
            return Err(absence.map_or_else(|| Absence::Missing.reason(), Absence::reason));
        };
        files.note_read(path);
        let bytes = fs::read(path).map_err(|error| error.to_string())?;
        plain_image(bytes, path)
    }
}

fn name_of(source: &TextureSource) -> String {
    let path = source.place();
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

fn left_out(source: &TextureSource, why: &str) -> String {
    format!("the texture \"{}\" is left out: {why}", source.asset)
}
