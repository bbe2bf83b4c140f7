//! The header of a PLY file: which elements with which properties follow, and how they are stored.

use super::super::lines::{text, words};

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
    pub(super) texture_file: Option<String>,
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
            texture_file: None,
            len_bytes: 0,
        };
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
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
                self.texture_file = start.map(|start| text(&line[start + 11..]));
            }
            _ => {}
        }
        Ok(())
    }

    fn last(&mut self) -> Result<&mut Element, String> {
        self.elements
            .last_mut()
            .ok_or_else(|| "has a property before any element".to_owned())
    }
}
