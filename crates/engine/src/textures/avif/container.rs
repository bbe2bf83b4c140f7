//! The description in an AVIF file: which bytes are the image and its alpha, and how large it is.
//!
//! The format is "AV1 Image File Format (AVIF)" of the Alliance for Open Media; its boxes are those of ISO/IEC 14496-12
//! and 23008-12. Everything is checked against the length of the file, and no pixel is decoded.

use std::ops::Range;

use super::boxes::{Boxes, Fields};

/// An image of one or of two parts. Its ranges lie within the file.
#[derive(Debug, Clone)]
pub(in super::super) struct AvifHeader {
    pub(in super::super) width: u32,
    pub(in super::super) height: u32,
    /// 1 (grey) to 4 (colour and alpha).
    pub(in super::super) channels: u8,
    /// The parts of the file that hold the AV1 data of the colours.
    pub(super) colours: Vec<Range<usize>>,
    /// The same for alpha, which is an image of its own.
    pub(super) alpha: Option<Vec<Range<usize>>>,
    /// How the colours are stored, if the file says it outside of the AV1 data.
    pub(super) description: Option<ColourDescription>,
}

/// How colours become brightness and differences of colours (ITU-T H.273).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ColourDescription {
    pub(super) matrix: u32,
    pub(super) is_full_range: bool,
}

/// The properties that are understood or have no effect on the pixels.
const KNOWN_PROPERTIES: [&[u8; 4]; 6] = [b"ispe", b"av1C", b"colr", b"pixi", b"pasp", b"auxC"];
/// The property values that mark an item as alpha.
const ALPHA_KINDS: [&[u8]; 2] = [
    b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
    b"urn:mpeg:hevc:2015:auxid:1",
];

/// What of the `meta` box is needed.
#[derive(Default)]
struct Meta<'a> {
    primary: u32,
    /// Id and type.
    items: Vec<(u32, [u8; 4])>,
    /// Kind, the item that refers, and the one that it refers to.
    references: Vec<([u8; 4], u32, u32)>,
    properties: Vec<([u8; 4], &'a [u8])>,
    /// The item, the number of the property from one, and whether it must be understood.
    associations: Vec<(u32, usize, bool)>,
    locations: Vec<Location>,
}

struct Location {
    item: u32,
    is_in_meta: bool,
    /// Start and length.
    extents: Vec<(u64, u64)>,
}

impl AvifHeader {
    /// Reads and checks the description.
    pub(in super::super) fn read(bytes: &[u8]) -> Result<AvifHeader, String> {
        let found = Boxes::new(bytes, 0..bytes.len()).find(b"meta")?;
        let part = found.ok_or("this AVIF file describes no image")?;
        // The version and the flags of the box.
        let inside = part.start.saturating_add(4).min(part.end)..part.end;
        let meta = Meta::read(bytes, inside.clone())?;
        let data_in_meta = Boxes::new(bytes, inside).find(b"idat")?;
        meta.header(bytes, data_in_meta)
    }
}

impl<'a> Meta<'a> {
    fn read(bytes: &'a [u8], inside: Range<usize>) -> Result<Meta<'a>, String> {
        let mut meta = Meta::default();
        let mut boxes = Boxes::new(bytes, inside);
        while let Some((kind, part)) = boxes.next()? {
            let mut fields = Fields::new(&bytes[part.clone()]);
            match &kind {
                b"pitm" => {
                    let version = fields.version()?;
                    meta.primary = fields.number(if version == 0 { 2 } else { 4 })? as u32;
                }
                b"iloc" => meta.read_locations(&mut fields)?,
                b"iinf" => {
                    let version = fields.version()?;
                    fields.number(if version == 0 { 2 } else { 4 })?;
                    meta.read_items(bytes, part.end - fields.left()..part.end)?;
                }
                b"iref" => {
                    let version = fields.version()?;
                    meta.read_references(bytes, part.start + 4..part.end, version)?;
                }
                b"iprp" => meta.read_properties(bytes, part)?,
                _ => {}
            }
        }
        Ok(meta)
    }

    fn read_locations(&mut self, fields: &mut Fields) -> Result<(), String> {
        let version = fields.version()?;
        let sizes = fields.number(2)? as usize;
        let [offset, length, base, index] = [12, 8, 4, 0].map(|shift| sizes >> shift & 15);
        let index = if version == 0 { 0 } else { index };
        let wide = if version < 2 { 2 } else { 4 };
        for _ in 0..fields.number(wide)? {
            let item = fields.number(wide)? as u32;
            let method = if version == 0 {
                0
            } else {
                fields.number(2)? & 15
            };
            let file = fields.number(2)?;
            let start = fields.number(base)?;
            let count = fields.number(2)?;
            if method > 1 || file != 0 || (length == 0 && count != 0) {
                return Err("this AVIF file stores its data in a way that is not read".to_owned());
            }
            let mut extents = Vec::new();
            for _ in 0..count {
                fields.number(index)?;
                let at = start.checked_add(fields.number(offset)?);
                extents.push((at.ok_or_else(outside)?, fields.number(length)?));
            }
            self.locations.push(Location {
                item,
                is_in_meta: method == 1,
                extents,
            });
        }
        Ok(())
    }

    fn read_items(&mut self, bytes: &[u8], inside: Range<usize>) -> Result<(), String> {
        let mut boxes = Boxes::new(bytes, inside);
        while let Some((kind, part)) = boxes.next()? {
            let mut fields = Fields::new(&bytes[part]);
            let version = fields.version()?;
            if &kind == b"infe" && version >= 2 {
                let id = fields.number(if version == 2 { 2 } else { 4 })? as u32;
                fields.number(2)?;
                self.items.push((id, fields.kind()?));
            }
        }
        Ok(())
    }

    fn read_references(
        &mut self,
        bytes: &[u8],
        inside: Range<usize>,
        version: u8,
    ) -> Result<(), String> {
        let wide = if version == 0 { 2 } else { 4 };
        let mut boxes = Boxes::new(bytes, inside);
        while let Some((kind, part)) = boxes.next()? {
            let mut fields = Fields::new(&bytes[part]);
            let from = fields.number(wide)? as u32;
            for _ in 0..fields.number(2)? {
                let to = fields.number(wide)? as u32;
                self.references.push((kind, from, to));
            }
        }
        Ok(())
    }

    fn read_properties(&mut self, bytes: &'a [u8], inside: Range<usize>) -> Result<(), String> {
        let mut boxes = Boxes::new(bytes, inside);
        while let Some((kind, part)) = boxes.next()? {
            match &kind {
                b"ipco" => {
                    let mut properties = Boxes::new(bytes, part);
                    while let Some((kind, part)) = properties.next()? {
                        self.properties.push((kind, &bytes[part]));
                    }
                }
                b"ipma" => self.read_associations(&mut Fields::new(&bytes[part]))?,
                _ => {}
            }
        }
        Ok(())
    }

    fn read_associations(&mut self, fields: &mut Fields) -> Result<(), String> {
        let version = fields.number(1)?;
        let has_wide_numbers = fields.number(3)? & 1 != 0;
        for _ in 0..fields.number(4)? {
            let item = fields.number(if version == 0 { 2 } else { 4 })? as u32;
            for _ in 0..fields.number(1)? {
                let (number, essential) = match has_wide_numbers {
                    true => (fields.number(2)?, 1 << 15),
                    false => (fields.number(1)?, 1 << 7),
                };
                let property = (number & (essential - 1)) as usize;
                self.associations
                    .push((item, property, number & essential != 0));
            }
        }
        Ok(())
    }

    fn header(&self, bytes: &[u8], in_meta: Option<Range<usize>>) -> Result<AvifHeader, String> {
        self.check_item(self.primary)?;
        let mut size = Fields::new(
            self.property(self.primary, b"ispe")
                .ok_or("this AVIF file does not say how large its image is")?,
        );
        size.version()?;
        let (width, height) = (size.number(4)? as u32, size.number(4)? as u32);
        if width == 0 || height == 0 {
            return Err("the image of this AVIF file has no pixels".to_owned());
        }
        let alpha = self.alpha();
        if let Some(alpha) = alpha {
            self.check_item(alpha)?;
            let is_multiplied = (b"prem", self.primary, alpha);
            if (self.references.iter()).any(|(kind, from, to)| (kind, *from, *to) == is_multiplied)
            {
                return Err(
                    "this AVIF file has colours that are multiplied by alpha, which are not read"
                        .to_owned(),
                );
            }
        }
        let codec = self.property(self.primary, b"av1C").unwrap_or_default();
        let is_grey = codec.get(2).is_some_and(|flags| flags & 1 << 4 != 0);
        Ok(AvifHeader {
            width,
            height,
            channels: if is_grey { 1 } else { 3 } + u8::from(alpha.is_some()),
            colours: self.data_of(self.primary, bytes, in_meta.clone())?,
            alpha: (alpha.map(|alpha| self.data_of(alpha, bytes, in_meta))).transpose()?,
            description: self.description()?,
        })
    }

    /// Refuses items that are not one AV1 image as it is.
    fn check_item(&self, item: u32) -> Result<(), String> {
        let kind = self.items.iter().find(|(id, _)| *id == item);
        match kind.map(|(_, kind)| kind) {
            Some(b"av01") => {}
            Some(b"grid") => {
                return Err("AVIF images that are put together from tiles are not read".to_owned());
            }
            _ => return Err("this AVIF file has no AV1 image".to_owned()),
        }
        for (kind, data, is_essential) in self.properties_of(item) {
            let changes = match kind {
                b"irot" => data.first().is_some_and(|turns| turns & 3 != 0),
                b"imir" | b"clap" => true,
                kind => is_essential && !KNOWN_PROPERTIES.contains(&kind),
            };
            if changes {
                let name = kind.escape_ascii();
                return Err(format!(
                    "AVIF images with the property \"{name}\" are not read"
                ));
            }
        }
        Ok(())
    }

    fn properties_of(&self, item: u32) -> impl Iterator<Item = (&[u8; 4], &'a [u8], bool)> {
        let own = self.associations.iter().filter(move |(of, ..)| *of == item);
        own.filter_map(|(_, number, is_essential)| {
            let (kind, data) = self.properties.get(number.checked_sub(1)?)?;
            Some((kind, *data, *is_essential))
        })
    }

    fn property(&self, item: u32, wanted: &[u8; 4]) -> Option<&'a [u8]> {
        self.properties_of(item)
            .find(|(kind, ..)| *kind == wanted)
            .map(|(_, data, _)| data)
    }

    /// The item that holds the alpha of the primary one.
    fn alpha(&self) -> Option<u32> {
        let of_primary =
            |(kind, _, to): &&([u8; 4], u32, u32)| kind == b"auxl" && *to == self.primary;
        let mut candidates = (self.references.iter().filter(of_primary)).map(|(_, from, _)| *from);
        candidates.find(|item| {
            let kind = self.property(*item, b"auxC").and_then(|data| data.get(4..));
            let kind = kind.and_then(|text| text.split(|byte| *byte == 0).next());
            kind.is_some_and(|kind| ALPHA_KINDS.contains(&kind))
        })
    }

    fn description(&self) -> Result<Option<ColourDescription>, String> {
        for (kind, data, _) in self.properties_of(self.primary) {
            if kind == b"colr" && data.starts_with(b"nclx") {
                let mut fields = Fields::new(&data[4..]);
                fields.number(4)?;
                return Ok(Some(ColourDescription {
                    matrix: fields.number(2)? as u32,
                    is_full_range: fields.number(1)? & 1 << 7 != 0,
                }));
            }
        }
        Ok(None)
    }

    /// The ranges of the file that an item consists of.
    fn data_of(
        &self,
        item: u32,
        bytes: &[u8],
        in_meta: Option<Range<usize>>,
    ) -> Result<Vec<Range<usize>>, String> {
        let location = (self.locations.iter().find(|location| location.item == item))
            .ok_or("this AVIF file does not say where its image is")?;
        let whole = match location.is_in_meta {
            true => in_meta.ok_or_else(outside)?,
            false => 0..bytes.len(),
        };
        let range = |(start, length): &(u64, u64)| {
            let start = (whole.start as u64).checked_add(*start)?;
            let end = start.checked_add(*length)?;
            (end <= whole.end as u64).then_some(start as usize..end as usize)
        };
        let ranges: Option<Vec<_>> = location.extents.iter().map(range).collect();
        let ranges = ranges.ok_or_else(outside)?;
        // Parts may overlap, so that a short file could have much data.
        let total: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        match total {
            0 => Err("the image of this AVIF file is empty".to_owned()),
            total if total > bytes.len() => Err(outside()),
            _ => Ok(ranges),
        }
    }
}

fn outside() -> String {
    "a part of this AVIF file lies outside of the file".to_owned()
}
