//! The options of a map statement as glTF has them: the transform of coordinates, repetition, the channel of an image.

use super::super::super::scene::{UvTransform, Wrap};
use super::super::channels::ImageChannel;
use assetfs_formats::wavefront::MapStatement;

/// A use of an image by a material.
#[derive(Debug, Clone, Default)]
pub(super) struct MapUse {
    pub(super) file: String,
    options: Vec<(String, Vec<String>)>,
}

/// Where an image is on a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MapPlace {
    pub(super) transform: UvTransform,
    pub(super) wraps: [Wrap; 2],
}

impl MapUse {
    pub(super) fn new(statement: MapStatement) -> MapUse {
        MapUse {
            file: statement.file,
            options: statement.options,
        }
    }

    fn option(&self, name: &str) -> Option<&[String]> {
        let found = self.options.iter().rev().find(|(own, _)| own == name);
        found.map(|(_, values)| values.as_slice())
    }

    fn number(&self, name: &str, place: usize) -> Option<f32> {
        let word = self.option(name)?.get(place)?;
        let number: f32 = word.replace(',', ".").parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// Its transform in glTF, whose v points down: a place of the surface shows `place * s + o` of the image.
    pub(super) fn place(&self) -> MapPlace {
        let [u, v] = [0, 1].map(|axis| self.number("o", axis).unwrap_or(0.0));
        let [width, height] = [0, 1].map(|axis| self.number("s", axis).unwrap_or(1.0));
        let wrap = match self.is_on("clamp") {
            true => Wrap::ClampToEdge,
            false => Wrap::Repeat,
        };
        MapPlace {
            transform: UvTransform {
                offset: [u, 1.0 - height - v],
                rotation: 0.0,
                scale: [width, height],
            },
            wraps: [wrap; 2],
        }
    }

    fn is_on(&self, name: &str) -> bool {
        let value = self.option(name).and_then(<[String]>::first);
        value.is_some_and(|value| value.eq_ignore_ascii_case("on"))
    }

    /// The strength of a bump map.
    pub(super) fn strength(&self) -> f32 {
        self.number("bm", 0).unwrap_or(1.0)
    }

    /// The channel that `imfchan` chooses.
    pub(super) fn channel(&self) -> Option<ImageChannel> {
        match self.option("imfchan")?.first()?.to_lowercase().as_str() {
            "r" => Some(ImageChannel::Red),
            "g" => Some(ImageChannel::Green),
            "b" => Some(ImageChannel::Blue),
            "m" => Some(ImageChannel::Alpha),
            "l" => Some(ImageChannel::Luma),
            _ => None,
        }
    }

    /// The options that change how the image looks and are not read. `is_scalar` says that the map shows one channel.
    pub(super) fn unread(&self, is_scalar: bool) -> Vec<&str> {
        let is_unread = |name: &str| match name {
            "o" | "s" | "clamp" => false,
            "imfchan" => !is_scalar || self.channel().is_none(),
            "blendu" | "blendv" => !self.is_on(name),
            "cc" => self.is_on("cc"),
            "mm" => [self.number("mm", 0), self.number("mm", 1)] != [Some(0.0), Some(1.0)],
            "t" => (0..3).any(|axis| self.number("t", axis).is_some_and(|by| by != 0.0)),
            "boost" => self.number("boost", 0) != Some(0.0),
            _ => true,
        };
        let names = self.options.iter().map(|(name, _)| name.as_str());
        names.filter(|name| is_unread(name)).collect()
    }
}
