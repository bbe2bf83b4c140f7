//! Writes the joined mesh back into the scene: triangles, and vertices that moved.

use glam::{Vec2, Vec3};

use super::super::super::scene::{Attribute, Geometry, Scene};
use super::{JoinedMesh, JoinedPart, scaled};

/// The reach of a vertex is this fraction of its longest edge, plus this multiple of the distance that it moved.
const OF_EDGE: f32 = 0.25;
const OF_MOVE: f32 = 2.0;

impl JoinedMesh {
    /// Writes the simplified triangles, and the vertices that moved, into the scene.
    pub(in super::super) fn split_into(&self, scene: &mut Scene) {
        let mut indices: Vec<Vec<u32>> = vec![Vec::new(); self.parts.len()];
        for corners in self.indices.chunks_exact(3) {
            let place = self.part_of(corners[0]);
            let first = self.parts[place].first_vertex as u32;
            let in_part = |corner: &u32| self.part_of(*corner) == place;
            // Collapses follow edges, edges stay in a part, and seams between parts are protected.
            assert!(
                corners.iter().all(in_part),
                "a triangle never spans two parts"
            );
            indices[place].extend(corners.iter().map(|corner| corner - first));
        }
        for (part, indices) in self.parts.iter().zip(indices) {
            let geometry = &mut scene.geometries[part.geometry];
            geometry.indices = indices;
            // Displacements of morph targets are relative to the position of their vertex, so these vertices do not
            // move.
            if geometry.targets.is_empty() {
                self.take_back(part, geometry);
            }
            geometry.compact();
        }
    }

    fn take_back(&self, part: &JoinedPart, geometry: &mut Geometry) {
        let reaches = self.reaches(part, geometry);
        let columns = self.columns;
        let shown = |column: Option<usize>| column.filter(|_| part.shows_coords);
        self.write_positions(part, geometry, &reaches);
        self.write_directions(part, geometry, "NORMAL", columns.normal, &reaches);
        self.write_directions(part, geometry, "TANGENT", shown(columns.tangent), &reaches);
        let attribute = geometry.attribute_mut("TEXCOORD_0");
        if let Some((column, coords)) = shown(columns.tex_coord).zip(attribute) {
            self.write_coords(part, coords, column, &reaches);
        }
        let attribute = geometry.attribute_mut("COLOR_0");
        if let Some((column, colors)) = columns.color.zip(attribute) {
            self.write_colors(part, colors, column, &reaches);
        }
    }

    /// For each used vertex, the maximum distance on the surface from which its attributes may come.
    ///
    /// The simplifier fits attributes to the triangles that a vertex replaces; if one of those is a sliver, the fitted
    /// values may be far off.
    fn reaches(&self, part: &JoinedPart, geometry: &Geometry) -> Vec<Option<f32>> {
        let place =
            |vertex: u32| Vec3::from_array(self.positions[part.first_vertex + vertex as usize]);
        let mut reaches = vec![None; geometry.vertex_count()];
        for corners in geometry.indices.chunks_exact(3) {
            for (at, corner) in corners.iter().enumerate() {
                let edge = place(*corner).distance(place(corners[(at + 1) % 3]));
                for end in [*corner, corners[(at + 1) % 3]] {
                    let reach = &mut reaches[end as usize];
                    *reach = Some(edge.max(reach.unwrap_or(0.0)));
                }
            }
        }
        for (vertex, reach) in (0..).zip(&mut reaches) {
            if let Some(reach) = reach {
                let before = part.to_joined.transform_point3(geometry.position(vertex));
                *reach = *reach * OF_EDGE + before.distance(place(vertex)) * OF_MOVE;
            }
        }
        reaches
    }

    fn row(&self, part: &JoinedPart, vertex: usize) -> &[f32] {
        let stride = self.weights.len();
        &self.attributes[(part.first_vertex + vertex) * stride..][..stride]
    }

    fn write_positions(&self, part: &JoinedPart, geometry: &mut Geometry, reaches: &[Option<f32>]) {
        let Some(positions) = geometry.attribute_mut("POSITION") else {
            return;
        };
        for (vertex, position) in positions.values.chunks_exact_mut(3).enumerate() {
            let own = part.to_joined.transform_point3(Vec3::from_slice(position));
            if reaches[vertex].is_some() && !self.space.is_stray(own) {
                let joined = Vec3::from_array(self.positions[part.first_vertex + vertex]);
                let local = part.from_joined.transform_point3(joined);
                if local.is_finite() {
                    position.copy_from_slice(&local.to_array());
                }
            }
        }
    }

    fn write_directions(
        &self,
        part: &JoinedPart,
        geometry: &mut Geometry,
        name: &str,
        column: Option<usize>,
        reaches: &[Option<f32>],
    ) {
        let Some((column, attribute)) = column.zip(geometry.attribute_mut(name)) else {
            return;
        };
        let width = attribute.components;
        for (vertex, direction) in attribute.values.chunks_exact_mut(width).enumerate() {
            let moved = Vec3::from_slice(&self.row(part, vertex)[column..column + 3]);
            if let Some(unit) = moved.try_normalize().filter(|_| reaches[vertex].is_some()) {
                direction[..3].copy_from_slice(&unit.to_array());
            }
        }
    }

    fn write_coords(
        &self,
        part: &JoinedPart,
        coords: &mut Attribute,
        column: usize,
        reaches: &[Option<f32>],
    ) {
        for (vertex, coord) in coords.values.chunks_exact_mut(2).enumerate() {
            let Some(reach) = reaches[vertex] else {
                continue;
            };
            let before = Vec2::from_slice(coord) * part.tex_coord_scale;
            let fitted = Vec2::from_slice(&self.row(part, vertex)[column..column + 2]);
            let step = fitted - before;
            if step.is_finite() {
                let after = before + step.clamp_length_max(reach);
                coord.copy_from_slice(&(after / part.tex_coord_scale).to_array());
            }
        }
    }

    fn write_colors(
        &self,
        part: &JoinedPart,
        colors: &mut Attribute,
        column: usize,
        reaches: &[Option<f32>],
    ) {
        let width = colors.components;
        for (vertex, color) in colors.values.chunks_exact_mut(width).enumerate() {
            let moved = &self.row(part, vertex)[column..column + 3];
            if reaches[vertex].is_some() && moved.iter().all(|channel| channel.is_finite()) {
                scaled(&mut color[..3], moved, part.color_scale.recip());
                for channel in color {
                    *channel = channel.clamp(0.0, 1.0);
                }
            }
        }
    }
}
