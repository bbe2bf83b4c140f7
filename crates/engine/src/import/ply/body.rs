//! The elements of a PLY file.

use super::header::{Element, Encoding, Header, Property, Scalar};

/// The values read from the elements.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// Three for each vertex.
    pub(super) positions: Vec<f32>,
    /// Three for each vertex, or none.
    pub(super) normals: Vec<f32>,
    /// Two for each vertex, or none.
    pub(super) coords: Vec<f32>,
    /// Four fractions for each vertex, or none.
    pub(super) colors: Vec<f32>,
    /// Three for each triangle.
    pub(super) indices: Vec<u32>,
}

/// The target of a vertex's property.
#[derive(Debug, Clone, Copy)]
enum PropertyTarget {
    Position(usize),
    Normal(usize),
    Coord(usize),
    Color(usize),
    Nothing,
}

impl PropertyTarget {
    fn of(name: &str) -> PropertyTarget {
        match name {
            "x" => PropertyTarget::Position(0),
            "y" => PropertyTarget::Position(1),
            "z" => PropertyTarget::Position(2),
            "nx" => PropertyTarget::Normal(0),
            "ny" => PropertyTarget::Normal(1),
            "nz" => PropertyTarget::Normal(2),
            "u" | "s" | "texture_u" => PropertyTarget::Coord(0),
            "v" | "t" | "texture_v" => PropertyTarget::Coord(1),
            "red" | "r" | "diffuse_red" => PropertyTarget::Color(0),
            "green" | "g" | "diffuse_green" => PropertyTarget::Color(1),
            "blue" | "b" | "diffuse_blue" => PropertyTarget::Color(2),
            "alpha" | "a" | "diffuse_alpha" => PropertyTarget::Color(3),
            _ => PropertyTarget::Nothing,
        }
    }
}

impl Body {
    pub(super) fn read(header: &Header, bytes: &[u8]) -> Result<Body, String> {
        let mut body = Body::default();
        let mut source = Source {
            encoding: header.encoding,
            rest: bytes,
        };
        for element in &header.elements {
            // Elements without properties take no bytes, whatever their count.
            if element.properties.is_empty() {
                continue;
            }
            // Each of the other elements takes at least one byte of the file.
            if element.count > source.rest.len() {
                return Err(format!(
                    "is truncated: the header says {} elements of \"{}\", more than the {} bytes left can hold",
                    element.count,
                    element.name,
                    source.rest.len()
                ));
            }
            match element.name.as_str() {
                "vertex" => body.read_vertices(element, &mut source)?,
                "face" => body.read_faces(element, &mut source)?,
                _ => skip(element, &mut source)?,
            }
        }
        Ok(body)
    }

    fn read_vertices(&mut self, element: &Element, source: &mut Source<'_>) -> Result<(), String> {
        let targets: Vec<PropertyTarget> = element
            .properties
            .iter()
            .map(|property| PropertyTarget::of(&property.name))
            .collect();
        let has = |wanted: fn(&PropertyTarget) -> bool| targets.iter().any(wanted);
        let count = element.count;
        self.positions.resize(count * 3, 0.0);
        if has(|target| matches!(target, PropertyTarget::Normal(_))) {
            self.normals.resize(count * 3, 0.0);
        }
        if has(|target| matches!(target, PropertyTarget::Coord(_))) {
            self.coords.resize(count * 2, 0.0);
        }
        if has(|target| matches!(target, PropertyTarget::Color(_))) {
            self.colors.resize(count * 4, 1.0);
        }
        for vertex in 0..count {
            for (property, target) in element.properties.iter().zip(&targets) {
                if let Some(length) = property.list {
                    source.skip_list(length, property.scalar)?;
                    continue;
                }
                let value = source.number(property.scalar)?;
                match *target {
                    PropertyTarget::Position(axis) => {
                        self.positions[vertex * 3 + axis] = value as f32
                    }
                    PropertyTarget::Normal(axis) => self.normals[vertex * 3 + axis] = value as f32,
                    PropertyTarget::Coord(0) => self.coords[vertex * 2] = value as f32,
                    PropertyTarget::Coord(_) => self.coords[vertex * 2 + 1] = 1.0 - value as f32,
                    PropertyTarget::Color(part) => {
                        self.colors[vertex * 4 + part] = (value / property.scalar.full()) as f32;
                    }
                    PropertyTarget::Nothing => {}
                }
            }
        }
        Ok(())
    }

    fn read_faces(&mut self, element: &Element, source: &mut Source<'_>) -> Result<(), String> {
        self.indices.reserve(element.count * 3);
        let is_corners = |property: &Property| {
            ["vertex_indices", "vertex_index"].contains(&property.name.as_str())
        };
        for _ in 0..element.count {
            for property in &element.properties {
                match property.list {
                    Some(length) if is_corners(property) => {
                        self.read_face(length, property.scalar, source)?;
                    }
                    Some(length) => source.skip_list(length, property.scalar)?,
                    None => {
                        source.number(property.scalar)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a face and cuts it as a fan, as programs that write PLY expect.
    fn read_face(
        &mut self,
        length: Scalar,
        scalar: Scalar,
        source: &mut Source<'_>,
    ) -> Result<(), String> {
        let count = source.length(length)?;
        let (mut first, mut before) = (0, 0);
        for corner in 0..count {
            let index = source.number(scalar)?;
            if !(0.0..=f64::from(u32::MAX)).contains(&index) {
                return Err(format!("has a face that names vertex {index}"));
            }
            let index = index as u32;
            match corner {
                0 => first = index,
                1 => {}
                _ => self.indices.extend([first, before, index]),
            }
            before = index;
        }
        Ok(())
    }
}

fn skip(element: &Element, source: &mut Source<'_>) -> Result<(), String> {
    if let (Some(stride), true) = (element.stride(), source.encoding != Encoding::Text) {
        let length = stride.checked_mul(element.count).ok_or_else(truncated)?;
        source.take(length)?;
        return Ok(());
    }
    for _ in 0..element.count {
        for property in &element.properties {
            match property.list {
                Some(length) => source.skip_list(length, property.scalar)?,
                None => {
                    source.number(property.scalar)?;
                }
            }
        }
    }
    Ok(())
}

fn truncated() -> String {
    "is truncated: it ends before the elements that its header declares".to_owned()
}

/// The bytes that are left.
struct Source<'a> {
    encoding: Encoding,
    rest: &'a [u8],
}

impl<'a> Source<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn length(&mut self, scalar: Scalar) -> Result<usize, String> {
        let length = self.number(scalar)?;
        if !(0.0..=self.rest.len() as f64).contains(&length) {
            return Err(truncated());
        }
        Ok(length as usize)
    }

    fn skip_list(&mut self, length: Scalar, scalar: Scalar) -> Result<(), String> {
        let count = self.length(length)?;
        for _ in 0..count {
            self.number(scalar)?;
        }
        Ok(())
    }

    #[inline]
    fn number(&mut self, scalar: Scalar) -> Result<f64, String> {
        if self.encoding == Encoding::Text {
            return self.word();
        }
        let taken = self.take(scalar.len_bytes())?;
        let mut eight = [0u8; 8];
        let length = taken.len();
        if self.encoding == Encoding::LittleEndian {
            eight[..length].copy_from_slice(taken);
        } else {
            for (to, from) in eight.iter_mut().zip(taken.iter().rev()) {
                *to = *from;
            }
        }
        let bits = u64::from_le_bytes(eight);
        Ok(match scalar {
            Scalar::I8 => f64::from(bits as u8 as i8),
            Scalar::U8 => f64::from(bits as u8),
            Scalar::I16 => f64::from(bits as u16 as i16),
            Scalar::U16 => f64::from(bits as u16),
            Scalar::I32 => f64::from(bits as u32 as i32),
            Scalar::U32 => f64::from(bits as u32),
            Scalar::F32 => f64::from(f32::from_bits(bits as u32)),
            Scalar::F64 => f64::from_bits(bits),
        })
    }

    fn word(&mut self) -> Result<f64, String> {
        let start = self
            .rest
            .iter()
            .position(|byte| !byte.is_ascii_whitespace())
            .ok_or_else(truncated)?;
        let rest = &self.rest[start..];
        let end = rest
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(rest.len());
        self.rest = &rest[end..];
        std::str::from_utf8(&rest[..end])
            .ok()
            .and_then(|word| word.parse().ok())
            .ok_or_else(|| {
                let word = String::from_utf8_lossy(&rest[..end.min(40)]).into_owned();
                format!("has \"{word}\" where a number should be")
            })
    }
}
