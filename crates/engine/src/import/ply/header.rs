//! The header of a PLY file: which elements with which properties follow, and how they are stored.

use super::super::lines::{text, words};
use assetfs_formats::warnings::{Warning, WarningKind};

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Text,
    LittleEndian,
    BigEndian,
}

/// The type of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Scalar {
    fn from_name(name: &[u8]) -> Option<Scalar> {
        Some(match name {
            b"char" | b"int8" => Scalar::I8,
            b"uchar" | b"uint8" => Scalar::U8,
            b"short" | b"int16" => Scalar::I16,
            b"ushort" | b"uint16" => Scalar::U16,
            b"int" | b"int32" => Scalar::I32,
            b"uint" | b"uint32" => Scalar::U32,
            b"float" | b"float32" => Scalar::F32,
            b"double" | b"float64" => Scalar::F64,
            _ => return None,
        })
    }

    pub(super) fn len_bytes(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::F64 => 8,
        }
    }

    /// The stored value that stands for the fraction 1.
    pub(super) fn full(self) -> f64 {
        match self {
            Scalar::I8 => 127.0,
            Scalar::U8 => 255.0,
            Scalar::I16 => 32_767.0,
            Scalar::U16 => 65_535.0,
            Scalar::I32 => f64::from(i32::MAX),
            Scalar::U32 => f64::from(u32::MAX),
            Scalar::F32 | Scalar::F64 => 1.0,
        }
    }
}

/// A property of an element.
#[derive(Debug, Clone)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) scalar: Scalar,
    /// For a list: the type of its length.
    pub(super) list: Option<Scalar>,
}

/// A kind of element.
#[derive(Debug, Clone)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) count: usize,
    pub(super) properties: Vec<Property>,
}

impl Element {
    pub(super) fn has(&self, property: &str) -> bool {
        self.properties.iter().any(|own| own.name == property)
    }

    /// A warning that names the properties that are not read; `None` if there are none.
    pub(super) fn unread_properties(&self, is_unread: impl Fn(usize) -> bool) -> Option<Warning> {
        let names: Vec<String> = (0..self.properties.len())
            .filter(|at| is_unread(*at))
            .map(|at| format!("\"{}\"", self.properties[at].name))
            .collect();
        (!names.is_empty() && self.count > 0).then(|| {
            let text = format!(
                "of each \"{}\" these properties are not read: {}",
                self.name,
                names.join(", ")
            );
            Warning::new(WarningKind::NotRead, text)
        })
    }

    /// Bytes of one element; `None` if a list makes the length variable.
    pub(super) fn stride(&self) -> Option<usize> {
        self.properties
            .iter()
            .map(|property| match property.list {
                None => Some(property.scalar.len_bytes()),
                Some(_) => None,
            })
            .sum()
    }
}

#[derive(Debug)]
pub(super) struct Header {
    pub(super) encoding: Encoding,
    pub(super) elements: Vec<Element>,
    /// The images that comments name, in their order.
    pub(super) texture_files: Vec<String>,
    /// Where the body starts.
    pub(super) len_bytes: usize,
}

impl Header {
    pub(super) fn read(bytes: &[u8]) -> Result<Header, String> {
        if !bytes.starts_with(b"ply") {
            return Err("is not a PLY file: it does not start with \"ply\"".to_owned());
        }
        let mut header = Header {
            encoding: Encoding::Text,
            elements: Vec::new(),
            texture_files: Vec::new(),
            len_bytes: 0,
        };
        // Some programs end lines with CR alone. In a binary file, the byte after it may then look like an LF.
        let first_end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let line_end = match first_end.map(|end| (bytes[end], bytes.get(end + 1))) {
            Some((b'\r', next)) if next != Some(&b'\n') => b'\r',
            _ => b'\n',
        };
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            let Some(end) = rest.iter().position(|byte| *byte == line_end) else {
                return Err("is truncated: its header does not end".to_owned());
            };
            let line = rest[..end].trim_ascii();
            at += end + 1;
            if line == b"end_header" {
                header.len_bytes = at;
                return Ok(header);
            }
            header.read_line(line)?;
        }
    }

    /// The element of this name; the first one, if there are several.
    pub(super) fn element(&self, name: &str) -> Option<&Element> {
        self.elements.iter().find(|element| element.name == name)
    }

    fn read_line(&mut self, line: &[u8]) -> Result<(), String> {
        let wrong = || format!("has a header line that cannot be read: \"{}\"", text(line));
        let parts: Vec<&[u8]> = words(line).collect();
        match parts[..] {
            [b"format", name, ..] => {
                self.encoding = match name {
                    b"ascii" => Encoding::Text,
                    b"binary_little_endian" => Encoding::LittleEndian,
                    b"binary_big_endian" => Encoding::BigEndian,
                    _ => return Err(wrong()),
                };
            }
            [b"element", name, count] => {
                let count = text(count).parse().map_err(|_| wrong())?;
                self.elements.push(Element {
                    name: text(name),
                    count,
                    properties: Vec::new(),
                });
            }
            [b"property", b"list", length, scalar, name] => {
                let property = Property {
                    name: text(name),
                    scalar: Scalar::from_name(scalar).ok_or_else(wrong)?,
                    list: Some(Scalar::from_name(length).ok_or_else(wrong)?),
                };
                self.last()?.properties.push(property);
            }
            [b"property", scalar, name] => {
                let property = Property {
                    name: text(name),
                    scalar: Scalar::from_name(scalar).ok_or_else(wrong)?,
                    list: None,
                };
                self.last()?.properties.push(property);
            }
            [b"comment", b"TextureFile", ..] => {
                let start = line.windows(11).position(|part| part == b"TextureFile");
                let named = start.map(|start| text(&line[start + 11..]));
                let named = named.map(|name| name.trim_matches('"').to_owned());
                self.texture_files
                    .extend(named.filter(|name| !name.is_empty()));
            }
            [] | [b"ply" | b"comment" | b"obj_info", ..] => {}
            _ => return Err(wrong()),
        }
        Ok(())
    }

    fn last(&mut self) -> Result<&mut Element, String> {
        self.elements
            .last_mut()
            .ok_or_else(|| "has a property before any element".to_owned())
    }
}
