//! The vertices of a PLY file.

use glam::DVec3;

use super::header::{Element, Property};
use super::source::Source;
use crate::import::far;
use assetfs_formats::warnings::Warning;

#[derive(Debug, Default)]
pub(super) struct Vertices {
    /// The positions as they are in the file.
    exact: Vec<DVec3>,
    /// The coordinates x, y and z of each vertex after [`Vertices::settle`] has subtracted the offset.
    pub(super) positions: Vec<f32>,
    pub(super) offset: DVec3,
    /// Three for each vertex, or none.
    pub(super) normals: Vec<f32>,
    /// Two for each vertex, or none.
    pub(super) coords: Vec<f32>,
    /// Four fractions for each vertex, or none.
    pub(super) colors: Vec<f32>,
}

/// The target of a vertex's property.
#[derive(Debug, Clone, Copy, PartialEq)]
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

impl Vertices {
    pub(super) fn read(
        element: &Element,
        source: &mut Source<'_>,
        left_out: &mut Vec<Warning>,
    ) -> Result<Vertices, String> {
        let target_of = |property: &Property| match property.list {
            None => PropertyTarget::of(&property.name),
            Some(_) => PropertyTarget::Nothing,
        };
        let targets: Vec<PropertyTarget> = element.properties.iter().map(target_of).collect();
        for axis in 0..3 {
            if !targets.contains(&PropertyTarget::Position(axis)) {
                return Err("holds no model: its vertices have no x, y and z".to_owned());
            }
        }
        left_out.extend(element.unread_properties(|at| targets[at] == PropertyTarget::Nothing));
        let has = |wanted: fn(&PropertyTarget) -> bool| targets.iter().any(wanted);
        let count = element.count;
        let mut vertices = Vertices::default();
        vertices.exact.resize(count, DVec3::ZERO);
        if has(|target| matches!(target, PropertyTarget::Normal(_))) {
            vertices.normals.resize(count * 3, 0.0);
        }
        if has(|target| matches!(target, PropertyTarget::Coord(_))) {
            vertices.coords.resize(count * 2, 0.0);
        }
        if has(|target| matches!(target, PropertyTarget::Color(_))) {
            vertices.colors.resize(count * 4, 1.0);
        }
        for vertex in 0..count {
            source.begin_element();
            for (property, target) in element.properties.iter().zip(&targets) {
                if let Some(length) = property.list {
                    source.skip_list(length, property.scalar)?;
                    continue;
                }
                let value = source.number(property.scalar)?;
                vertices.set(vertex, *target, value, property.scalar.full());
            }
            source.end_element();
        }
        Ok(vertices)
    }

    fn set(&mut self, vertex: usize, target: PropertyTarget, value: f64, full: f64) {
        match target {
            PropertyTarget::Position(axis) => self.exact[vertex][axis] = value,
            PropertyTarget::Normal(axis) => self.normals[vertex * 3 + axis] = value as f32,
            PropertyTarget::Coord(0) => self.coords[vertex * 2] = value as f32,
            PropertyTarget::Coord(_) => self.coords[vertex * 2 + 1] = 1.0 - value as f32,
            PropertyTarget::Color(part) => self.colors[vertex * 4 + part] = (value / full) as f32,
            PropertyTarget::Nothing => {}
        }
    }

    pub(super) fn count(&self) -> usize {
        self.exact.len().max(self.positions.len() / 3)
    }

    pub(super) fn position(&self, vertex: u32) -> Option<DVec3> {
        self.exact.get(vertex as usize).copied()
    }

    /// Rounds the positions to 32 bits. If the vertices of the triangles (or all, if there are no triangles) are far from
    /// the origin, an offset is subtracted first.
    pub(super) fn settle(&mut self, used: &[u32]) {
        let exact = std::mem::take(&mut self.exact);
        self.offset = match used.is_empty() {
            true => far::offset_of(exact.iter().copied()),
            false => {
                let used = used.iter().filter_map(|vertex| exact.get(*vertex as usize));
                far::offset_of(used.copied())
            }
        };
        let near = exact.into_iter().map(|it| far::near(it, self.offset));
        self.positions = near.flatten().collect();
    }
}
