//! The elements of a PLY file.
//!
//! What a file declares and we do not read is named: each element and each property.

use super::header::{Element, Encoding, Header, Property, Scalar};
use super::source::{Source, truncated};
use super::vertices::Vertices;
use crate::import::polygon;
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::{Warning, WarningKind};

/// The values read from the elements.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) vertices: Vertices,
    /// Three for each triangle.
    pub(super) indices: Vec<u32>,
    /// Two for each of `indices`, or none.
    pub(super) corner_coords: Vec<f32>,
    /// Four fractions for each of `indices`, or none.
    pub(super) corner_colors: Vec<f32>,
    /// The number of its texture for each triangle, or none; below zero for no texture.
    pub(super) textures: Vec<i32>,
    /// What is declared and not read. The file is not named.
    pub(super) left_out: Vec<Warning>,
    /// Faces with fewer than three corners.
    small_faces: u64,
    /// Faces that were not cut into triangles exactly.
    rough_faces: u64,
}

/// The target of a face's property.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FaceTarget {
    Corners,
    CornerCoords,
    CornerColors,
    Color(usize),
    Texture,
    Nothing,
}

impl FaceTarget {
    fn of(property: &Property) -> FaceTarget {
        match (property.name.as_str(), property.list.is_some()) {
            ("vertex_indices" | "vertex_index", true) => FaceTarget::Corners,
            ("texcoord", true) => FaceTarget::CornerCoords,
            ("color", true) => FaceTarget::CornerColors,
            ("red", false) => FaceTarget::Color(0),
            ("green", false) => FaceTarget::Color(1),
            ("blue", false) => FaceTarget::Color(2),
            ("alpha", false) => FaceTarget::Color(3),
            ("texnumber" | "texture_index", false) => FaceTarget::Texture,
            _ => FaceTarget::Nothing,
        }
    }
}

/// The values of one face.
#[derive(Default)]
struct PlyFace {
    corners: Vec<u32>,
    /// Two for each corner, or none.
    coords: Vec<f32>,
    /// Three or four for each corner, or none.
    colors: Vec<f32>,
    /// The colour of all corners.
    color: [f32; 4],
    texture: i32,
}

impl Body {
    /// Reads a text file line by line. If that fails, reads it as one stream of numbers, which then has to end with the last
    /// element.
    pub(super) fn read(header: &Header, bytes: &[u8]) -> Result<Body, String> {
        if header.encoding != Encoding::Text {
            return Body::read_from(header, &mut Source::stream(header.encoding, bytes));
        }
        Body::read_from(header, &mut Source::lines(bytes)).or_else(|why| {
            let mut source = Source::stream(Encoding::Text, bytes);
            let read = Body::read_from(header, &mut source);
            read.ok().filter(|_| source.is_used_up()).ok_or(why)
        })
    }

    fn read_from(header: &Header, source: &mut Source<'_>) -> Result<Body, String> {
        let mut body = Body::default();
        for element in &header.elements {
            // Elements without properties take no bytes, whatever their count.
            if element.properties.is_empty() {
                continue;
            }
            // Each of the other elements takes at least one byte of the file.
            if element.count > source.len_left() {
                return Err(format!(
                    "is truncated: the header says {} elements of \"{}\", more than the {} bytes left can hold",
                    element.count,
                    element.name,
                    source.len_left()
                ));
            }
            match element.name.as_str() {
                "vertex" if body.vertices.count() == 0 => {
                    body.vertices = Vertices::read(element, source, &mut body.left_out)?;
                }
                "face" => body.read_faces(element, source)?,
                "tristrips" => body.read_strips(element, source)?,
                name => {
                    skip(element, source)?;
                    if element.count > 0 {
                        let count = grouped(element.count as u64);
                        let text = format!("{count} elements \"{name}\" are not read");
                        body.left_out.push(Warning::new(WarningKind::NotRead, text));
                    }
                }
            }
        }
        body.vertices.settle(&body.indices);
        body.name_what_is_beyond(source);
        Ok(body)
    }

    fn name_what_is_beyond(&mut self, source: &Source<'_>) {
        if source.long_lines > 0 {
            self.left_out.push(Warning::new(WarningKind::Damaged, format!(
                "{} lines have more numbers than the header declares; the others on these lines are ignored",
                grouped(source.long_lines)
            )));
        }
        if self.small_faces > 0 {
            self.left_out.push(Warning::new(
                WarningKind::Damaged,
                format!(
                    "{} faces with fewer than three corners are left out",
                    grouped(self.small_faces)
                ),
            ));
        }
        if self.rough_faces > 0 {
            let rough = grouped(self.rough_faces);
            let text = format!("{rough} {}", polygon::ROUGH);
            self.left_out.push(Warning::new(WarningKind::NotRead, text));
        }
        if !source.is_used_up() {
            self.left_out.push(Warning::new(
                WarningKind::NotRead,
                format!(
                    "{} bytes after the elements that the header declares are not read",
                    grouped(source.len_left() as u64)
                ),
            ));
        }
    }

    fn read_faces(&mut self, element: &Element, source: &mut Source<'_>) -> Result<(), String> {
        let targets: Vec<FaceTarget> = element.properties.iter().map(FaceTarget::of).collect();
        let unread = element.unread_properties(|at| targets[at] == FaceTarget::Nothing);
        self.left_out.extend(unread);
        let has = |wanted: fn(&FaceTarget) -> bool| targets.iter().any(wanted);
        let has_coords = has(|target| *target == FaceTarget::CornerCoords);
        let has_corner_colors = has(|target| *target == FaceTarget::CornerColors);
        let has_colors = has(|target| matches!(target, FaceTarget::Color(_)));
        let has_textures = has(|target| *target == FaceTarget::Texture);
        self.indices.reserve(element.count * 3);
        let mut face = PlyFace::default();
        for _ in 0..element.count {
            source.begin_element();
            face.read(element, &targets, source)?;
            source.end_element();
            if face.corners.len() < 3 {
                self.small_faces += 1;
            }
            for triangle in self.triangles_of(&face.corners) {
                // Earlier triangles, such as those of strips, may have no such values: fill them up.
                let start = self.indices.len();
                self.indices.extend(triangle.map(|at| face.corners[at]));
                if has_coords {
                    self.corner_coords.resize(start * 2, 0.0);
                    let coords = triangle.into_iter().flat_map(|at| face.coords_of(at));
                    self.corner_coords.extend(coords);
                }
                if has_colors || has_corner_colors {
                    self.corner_colors.resize(start * 4, 1.0);
                    let colors = triangle.into_iter().flat_map(|at| face.color_of(at));
                    self.corner_colors.extend(colors);
                }
                if has_textures {
                    self.textures.resize(start / 3, 0);
                    self.textures.push(face.texture);
                }
            }
        }
        Ok(())
    }

    /// The triangles of a face, as places in `corners`. Vertices that do not exist are reported later.
    fn triangles_of(&mut self, corners: &[u32]) -> Vec<[usize; 3]> {
        match corners.len() {
            0..3 => Vec::new(),
            3 => vec![[0, 1, 2]],
            count => {
                let place = |corner: &u32| self.vertices.position(*corner);
                match corners.iter().map(place).collect::<Option<Vec<_>>>() {
                    Some(places) => {
                        let cut = polygon::exact_triangles(&places);
                        self.rough_faces += u64::from(cut.is_rough);
                        cut.triangles
                    }
                    None => (1..count - 1).map(|at| [0, at, at + 1]).collect(),
                }
            }
        }
    }

    /// Reads strips of triangles, which a negative number separates.
    fn read_strips(&mut self, element: &Element, source: &mut Source<'_>) -> Result<(), String> {
        let is_corners = |at: usize| FaceTarget::of(&element.properties[at]) == FaceTarget::Corners;
        self.left_out
            .extend(element.unread_properties(|at| !is_corners(at)));
        for _ in 0..element.count {
            source.begin_element();
            for (at, property) in element.properties.iter().enumerate() {
                match property.list {
                    Some(length) if is_corners(at) => {
                        self.read_strip(length, property.scalar, source)?;
                    }
                    Some(length) => source.skip_list(length, property.scalar)?,
                    None => {
                        source.number(property.scalar)?;
                    }
                }
            }
            source.end_element();
        }
        Ok(())
    }

    fn read_strip(
        &mut self,
        length: Scalar,
        scalar: Scalar,
        source: &mut Source<'_>,
    ) -> Result<(), String> {
        let count = source.length(length)?;
        let mut strip: Vec<u32> = Vec::new();
        for _ in 0..count {
            let index = source.number(scalar)?;
            if index < 0.0 {
                strip.clear();
                continue;
            }
            strip.push(vertex_of(index)?);
            if let [.., a, b, c] = strip[..] {
                // Repeated vertices only join strips.
                if a != b && b != c && a != c {
                    let is_turned = strip.len().is_multiple_of(2);
                    self.indices
                        .extend(if is_turned { [b, a, c] } else { [a, b, c] });
                }
            }
        }
        Ok(())
    }

    /// Fills the values of corners up for faces that have none, as triangle strips have none.
    pub(super) fn pad(&mut self) {
        let corners = self.indices.len();
        let pad = |values: &mut Vec<f32>, width: usize, value: f32| {
            if !values.is_empty() {
                values.resize(corners * width, value);
            }
        };
        pad(&mut self.corner_coords, 2, 0.0);
        pad(&mut self.corner_colors, 4, 1.0);
        if !self.textures.is_empty() {
            self.textures.resize(corners / 3, 0);
        }
    }
}

impl PlyFace {
    fn read(
        &mut self,
        element: &Element,
        targets: &[FaceTarget],
        source: &mut Source<'_>,
    ) -> Result<(), String> {
        self.corners.clear();
        self.coords.clear();
        self.colors.clear();
        self.color = [1.0; 4];
        self.texture = 0;
        for (property, target) in element.properties.iter().zip(targets) {
            let scalar = property.scalar;
            match (property.list, *target) {
                (Some(length), FaceTarget::Corners) => {
                    for _ in 0..source.length(length)? {
                        self.corners.push(vertex_of(source.number(scalar)?)?);
                    }
                }
                (Some(length), FaceTarget::CornerCoords) => {
                    for _ in 0..source.length(length)? {
                        self.coords.push(source.number(scalar)? as f32);
                    }
                }
                (Some(length), FaceTarget::CornerColors) => {
                    for _ in 0..source.length(length)? {
                        let part = source.number(scalar)? / scalar.full();
                        self.colors.push(part as f32);
                    }
                }
                (Some(length), _) => source.skip_list(length, scalar)?,
                (None, FaceTarget::Color(part)) => {
                    self.color[part] = (source.number(scalar)? / scalar.full()) as f32;
                }
                (None, FaceTarget::Texture) => self.texture = source.number(scalar)? as i32,
                (None, _) => {
                    source.number(scalar)?;
                }
            }
        }
        Ok(())
    }

    /// The texture coordinates of a corner, with v down.
    fn coords_of(&self, corner: usize) -> [f32; 2] {
        match self.coords.get(corner * 2..corner * 2 + 2) {
            Some(coords) => [coords[0], 1.0 - coords[1]],
            None => [0.0; 2],
        }
    }

    fn color_of(&self, corner: usize) -> [f32; 4] {
        let width = self.colors.len() / self.corners.len().max(1);
        match self.colors.get(corner * width..corner * width + 3) {
            Some(color) if width == 3 => [color[0], color[1], color[2], 1.0],
            Some(color) if width == 4 => {
                [color[0], color[1], color[2], self.colors[corner * 4 + 3]]
            }
            _ => self.color,
        }
    }
}

fn vertex_of(index: f64) -> Result<u32, String> {
    if !(0.0..=f64::from(u32::MAX)).contains(&index) {
        return Err(format!("has a face that names vertex {index}"));
    }
    Ok(index as u32)
}

fn skip(element: &Element, source: &mut Source<'_>) -> Result<(), String> {
    if let (Some(stride), false) = (element.stride(), source.is_text()) {
        let length = stride.checked_mul(element.count).ok_or_else(truncated)?;
        source.take(length)?;
        return Ok(());
    }
    for _ in 0..element.count {
        source.begin_element();
        for property in &element.properties {
            match property.list {
                Some(length) => source.skip_list(length, property.scalar)?,
                None => {
                    source.number(property.scalar)?;
                }
            }
        }
        source.end_element();
    }
    Ok(())
}
