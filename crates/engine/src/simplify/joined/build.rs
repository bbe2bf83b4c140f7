//! Builds the joined mesh from the scene: positions in one space, attributes scaled to lengths.

use std::sync::Arc;

use glam::{Mat3, Mat4, Vec3};
use meshopt::SimplifyVertex;

use super::super::super::scene::{Geometry, Scene};
use super::super::SourceInfo;
use super::super::meshopt_calls::MAX_ATTRIBUTES;
use super::super::motion::Motion;
use super::super::recipe::{AttributeWeights, Recipe};
use super::placement::{placed_geometries, size_of_part, strongest_targets, tex_coord_scale};
use super::space::JoinedSpace;
use super::{Columns, JoinedMesh, JoinedPart, scaled};

/// Maximum number of morph targets whose displacements count for the error.
const MAX_MORPHS: usize = 6;

impl JoinedMesh {
    /// Joins the scene's triangles. Attributes that no texture shows do not count in the error; the positions to which
    /// skins move vertices do.
    pub(in super::super) fn new(scene: &Scene, known: &SourceInfo, recipe: &Recipe) -> JoinedMesh {
        let placed = placed_geometries(scene);
        let weights = &recipe.weights;
        let mut joined = JoinedMesh {
            recipe: *recipe,
            ..JoinedMesh::default()
        };
        joined.choose_columns(scene, &placed, weights);
        joined.choose_motion(&known.motion);
        let space = JoinedSpace::new(scene, &placed);
        joined.space = space;
        let uses = scene.geometry_uses();
        for (index, matrix) in placed {
            let geometry = &scene.geometries[index];
            let to_joined = space.to_unit * matrix;
            let size = size_of_part(geometry, to_joined, &space);
            let texturing = &known.texturings[index];
            let normal_part = match texturing.has_normal_map {
                true => weights.mapped_normal / weights.normal,
                false => 1.0,
            };
            let first_vertex = joined.positions.len();
            joined.add(
                geometry,
                JoinedPart {
                    geometry: index,
                    first_vertex,
                    end_vertex: first_vertex + geometry.vertex_count(),
                    to_joined,
                    from_joined: to_joined.inverse(),
                    uses: uses[index],
                    normal_scale: size * normal_part,
                    tangent_scale: size,
                    color_scale: size,
                    tex_coord_scale: tex_coord_scale(geometry, to_joined, &space),
                    shows_coords: texturing.coordinate_sets > 0,
                },
            );
            joined.fill_motion(&known.motion, geometry);
        }
        joined.settle_seams(scene, &known.texturings);
        joined.spread_equal_pieces();
        joined.lock_borders();
        joined
    }

    /// Adds columns for the positions of skinned vertices in as many poses as the simplifier allows.
    fn choose_motion(&mut self, motion: &Motion) {
        let start = self.weights.len();
        let count = motion.skinned_poses().min((MAX_ATTRIBUTES - start) / 3);
        if count > 0 {
            self.weights
                .resize(start + count * 3, self.recipe.weights.motion);
            self.columns.motion = Some(start);
            self.columns.pose_count = count;
        }
    }

    /// Writes the positions of the last part's vertices in each pose.
    fn fill_motion(&mut self, motion: &Motion, geometry: &Geometry) {
        let (Some(column), Some(part)) = (self.columns.motion, self.parts.last().cloned()) else {
            return;
        };
        let space = self.space;
        for pose in 0..self.columns.pose_count {
            if let Some(places) = motion.places(pose, part.geometry, geometry) {
                let is_stray = |vertex: usize| {
                    let rest = geometry.position(vertex as u32);
                    space.is_stray(part.to_joined.transform_point3(rest))
                };
                self.fill(&part, column + pose * 3, 3, |vertex, to| {
                    let place = space.to_unit.transform_point3(places[vertex]);
                    let place = match is_stray(vertex) {
                        true => space.pulled_in(place),
                        false => place,
                    };
                    to.copy_from_slice(&place.to_array());
                });
            }
        }
    }

    fn choose_columns(
        &mut self,
        scene: &Scene,
        placed: &[(usize, Mat4)],
        weights: &AttributeWeights,
    ) {
        let has = |name: &str, components: &[usize]| {
            placed.iter().any(|(geometry, _)| {
                scene.geometries[*geometry]
                    .attribute(name)
                    .is_some_and(|found| components.contains(&found.components))
            })
        };
        let mut add = |count: usize, weight: f32| {
            let start = self.weights.len();
            self.weights.resize(start + count, weight);
            start
        };
        let mut columns = Columns::default();
        if has("NORMAL", &[3]) {
            columns.normal = Some(add(3, weights.normal));
        }
        if has("TANGENT", &[4]) {
            columns.tangent = Some(add(3, weights.tangent));
        }
        if has("TEXCOORD_0", &[2]) {
            columns.tex_coord = Some(add(2, weights.tex_coord));
        }
        if has("COLOR_0", &[3, 4]) {
            columns.color = Some(add(3, weights.color));
        }
        let targets = placed
            .iter()
            .map(|(geometry, _)| scene.geometries[*geometry].targets.len())
            .max()
            .unwrap_or(0);
        columns.morph_count = targets.min(MAX_MORPHS);
        if columns.morph_count > 0 {
            columns.morphs = Some(add(columns.morph_count * 3, 1.0));
        }
        assert!(
            self.weights.len() <= MAX_ATTRIBUTES,
            "3 + 3 + 2 + 3 + 18 is less"
        );
        self.columns = columns;
    }

    fn add(&mut self, geometry: &Geometry, part: JoinedPart) {
        let count = geometry.vertex_count();
        for vertex in 0..count as u32 {
            let place = part.to_joined.transform_point3(geometry.position(vertex));
            let flags = match self.space.is_stray(place) {
                true => SimplifyVertex::Lock,
                false => self.recipe.vertex_flags(),
            };
            self.positions.push(self.space.pulled_in(place).to_array());
            self.protections.push(flags);
        }
        self.attributes
            .resize(self.positions.len() * self.weights.len(), 0.0);
        self.fill_attributes(geometry, &part);
        self.fill_morphs(geometry, &part);
        let number = self.parts.len() as u32;
        Arc::make_mut(&mut self.part_of_vertex).extend(std::iter::repeat_n(number, count));
        let offset = part.first_vertex as u32;
        self.indices
            .extend(geometry.indices.iter().map(|index| index + offset));
        self.parts.push(part);
    }

    fn fill_attributes(&mut self, geometry: &Geometry, part: &JoinedPart) {
        let columns = self.columns;
        let shown = |name: &str| geometry.attribute(name).filter(|_| part.shows_coords);
        for (column, attribute, width, scale) in [
            (
                columns.normal,
                geometry.attribute("NORMAL"),
                3,
                part.normal_scale,
            ),
            (columns.tangent, shown("TANGENT"), 3, part.tangent_scale),
            (
                columns.tex_coord,
                shown("TEXCOORD_0"),
                2,
                part.tex_coord_scale,
            ),
            (
                columns.color,
                geometry.attribute("COLOR_0"),
                3,
                part.color_scale,
            ),
        ] {
            if let (Some(column), Some(attribute)) = (column, attribute) {
                self.fill(part, column, width, |vertex, to| {
                    scaled(to, &attribute.at(vertex)[..width], scale);
                });
            }
        }
    }

    fn fill_morphs(&mut self, geometry: &Geometry, part: &JoinedPart) {
        let Some(column) = self.columns.morphs else {
            return;
        };
        let linear = Mat3::from_mat4(part.to_joined);
        let strongest = strongest_targets(geometry, self.columns.morph_count);
        for (place, target) in strongest.into_iter().enumerate() {
            let deltas = geometry.targets[target]
                .iter()
                .find(|deltas| deltas.name == "POSITION")
                .expect("only targets that move vertices are chosen");
            self.fill(part, column + place * 3, 3, |vertex, to| {
                let moved = linear * Vec3::from_slice(deltas.at(vertex));
                to.copy_from_slice(&moved.to_array());
            });
        }
    }

    fn fill(
        &mut self,
        part: &JoinedPart,
        column: usize,
        width: usize,
        write: impl Fn(usize, &mut [f32]),
    ) {
        let stride = self.weights.len();
        for vertex in 0..part.end_vertex - part.first_vertex {
            let start = (part.first_vertex + vertex) * stride + column;
            write(vertex, &mut self.attributes[start..start + width]);
        }
    }
}
