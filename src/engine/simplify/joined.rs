//! All triangles of a scene as one mesh in one space, so that one error bound holds for all of them.
//!
//! Each geometry is placed where its first node draws it. Borders that two parts share become seams
//! that collapse together, so no crack opens between them; parts that lie on top of each other are
//! moved apart by a hair, since the simplifier would otherwise take them for one.

use std::collections::HashMap;

use glam::{Mat3, Mat4, Vec3};

use super::super::scene::{Draw, Geometry, Mode, Scene};
use super::calls::MAX_ATTRIBUTES;

/// How much a change of each attribute counts, as parts of the model's size.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttributeWeights {
    pub(super) normal: f32,
    pub(super) color: f32,
    pub(super) tex_coord: f32,
}

/// Displacements of so many morph targets take part in the error.
const MAX_MORPHS: usize = 6;

/// One geometry's part of the joined mesh.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Index into the scene's geometries.
    pub(super) geometry: usize,
    /// Its vertices: `first_vertex..end_vertex`.
    pub(super) first_vertex: usize,
    pub(super) end_vertex: usize,
    /// From the geometry's space to the joined space, and back.
    to_joined: Mat4,
    from_joined: Mat4,
    /// How often it is drawn.
    pub(super) uses: u64,
    /// Attribute values are multiplied by these in the joined mesh.
    normal_scale: f32,
    tex_coord_scale: f32,
}

/// The scene's triangles as one mesh.
#[derive(Debug, Clone, Default)]
pub(super) struct Joined {
    pub(super) indices: Vec<u32>,
    pub(super) positions: Vec<[f32; 3]>,
    /// `weights.len()` numbers for each vertex.
    pub(super) attributes: Vec<f32>,
    pub(super) weights: Vec<f32>,
    pub(super) parts: Vec<Part>,
    /// One in the joined space is so much in the world.
    pub(super) extent: f32,
    columns: Columns,
}

/// Where each attribute lies in a vertex of the joined mesh.
#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    normal: Option<usize>,
    color: Option<usize>,
    tex_coord: Option<usize>,
    morphs: Option<usize>,
    morph_count: usize,
}

impl Joined {
    pub(super) fn new(scene: &Scene, weights: AttributeWeights) -> Joined {
        let placed = placed_geometries(scene);
        let mut joined = Joined::default();
        joined.choose_columns(scene, &placed, weights);
        let (center, extent) = size_of_all(scene, &placed);
        joined.extent = extent;
        let to_unit = Mat4::from_scale(Vec3::splat(1.0 / extent)) * Mat4::from_translation(-center);
        let uses = scene.geometry_uses();
        for (geometry, matrix) in placed {
            joined.add(
                &scene.geometries[geometry],
                geometry,
                to_unit * matrix,
                uses[geometry],
            );
        }
        joined.move_apart();
        joined
    }

    fn choose_columns(
        &mut self,
        scene: &Scene,
        placed: &[(usize, Mat4)],
        weights: AttributeWeights,
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
            "3 + 2 + 3 + 18 is less"
        );
        self.columns = columns;
    }

    fn add(&mut self, geometry: &Geometry, index: usize, to_joined: Mat4, uses: u64) {
        let first_vertex = self.positions.len();
        let count = geometry.vertex_count();
        let size = size_of_part(geometry, to_joined);
        let part = Part {
            geometry: index,
            first_vertex,
            end_vertex: first_vertex + count,
            to_joined,
            from_joined: to_joined.inverse(),
            uses,
            normal_scale: size,
            tex_coord_scale: tex_coord_scale(geometry, to_joined),
        };
        self.positions.extend((0..count as u32).map(|vertex| {
            to_joined
                .transform_point3(geometry.position(vertex))
                .to_array()
        }));
        self.attributes
            .resize(self.positions.len() * self.weights.len(), 0.0);
        self.fill_attributes(geometry, &part);
        let offset = first_vertex as u32;
        self.indices
            .extend(geometry.indices.iter().map(|index| index + offset));
        self.parts.push(part);
    }

    fn fill_attributes(&mut self, geometry: &Geometry, part: &Part) {
        if let (Some(column), Some(normals)) = (self.columns.normal, geometry.attribute("NORMAL")) {
            self.fill(part, column, 3, |vertex, to| {
                scaled(to, normals.at(vertex), part.normal_scale);
            });
        }
        if let (Some(column), Some(coords)) =
            (self.columns.tex_coord, geometry.attribute("TEXCOORD_0"))
        {
            self.fill(part, column, 2, |vertex, to| {
                scaled(to, coords.at(vertex), part.tex_coord_scale);
            });
        }
        if let (Some(column), Some(colors)) = (self.columns.color, geometry.attribute("COLOR_0")) {
            self.fill(part, column, 3, |vertex, to| {
                scaled(to, &colors.at(vertex)[..3], part.normal_scale);
            });
        }
        if let Some(column) = self.columns.morphs {
            let linear = Mat3::from_mat4(part.to_joined);
            for (place, target) in strongest_targets(geometry, self.columns.morph_count)
                .into_iter()
                .enumerate()
            {
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
    }

    fn fill(
        &mut self,
        part: &Part,
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

    /// Moves parts that coincide with an earlier part apart by a hair.
    fn move_apart(&mut self) {
        if self.parts.len() < 2 {
            return;
        }
        let mut owners: HashMap<[u32; 3], usize> = HashMap::new();
        for place in 0..self.parts.len() {
            let range = self.parts[place].first_vertex..self.parts[place].end_vertex;
            let bits = |position: &[f32; 3]| position.map(|number| (number + 0.0).to_bits());
            let shared = self.positions[range.clone()]
                .iter()
                .filter(|position| owners.contains_key(&bits(position)))
                .count();
            // A border shared with a neighbour is a small part of all vertices; a twin shares most.
            if shared * 4 > range.len() {
                let step = (place as f32 + 1.0) * 1.37e-6;
                let hair = Vec3::new(step, step * 0.618, step * 0.414);
                for position in &mut self.positions[range.clone()] {
                    *position = (Vec3::from_array(*position) + hair).to_array();
                }
                let part = &mut self.parts[place];
                part.to_joined = Mat4::from_translation(hair) * part.to_joined;
                part.from_joined = part.to_joined.inverse();
            }
            for position in &self.positions[range] {
                owners.entry(bits(position)).or_insert(place);
            }
        }
    }

    /// Triangles as a viewer counts them.
    pub(super) fn drawn_triangles(&self) -> u64 {
        self.triangles_of_parts()
            .iter()
            .zip(&self.parts)
            .map(|(count, part)| count * part.uses)
            .sum()
    }

    /// Triangles that each part has left.
    pub(super) fn triangles_of_parts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.parts.len()];
        for corners in self.indices.chunks_exact(3) {
            counts[self.part_of(corners[0])] += 1;
        }
        counts
    }

    /// Parts that have triangles in `source` and none here.
    pub(super) fn vanished_parts(&self, source: &Joined) -> Vec<usize> {
        let before = source.triangles_of_parts();
        let after = self.triangles_of_parts();
        (0..self.parts.len())
            .filter(|part| before[*part] > 0 && after[*part] == 0)
            .collect()
    }

    /// One part as a mesh of its own.
    pub(super) fn alone(&self, part: usize) -> Joined {
        let known = &self.parts[part];
        let (first, end) = (known.first_vertex, known.end_vertex);
        let stride = self.weights.len();
        let indices = self
            .indices
            .chunks_exact(3)
            .filter(|corners| self.part_of(corners[0]) == part)
            .flatten()
            .map(|index| index - first as u32)
            .collect();
        Joined {
            indices,
            positions: self.positions[first..end].to_vec(),
            attributes: self.attributes[first * stride..end * stride].to_vec(),
            weights: self.weights.clone(),
            parts: vec![Part {
                first_vertex: 0,
                end_vertex: end - first,
                ..known.clone()
            }],
            extent: self.extent,
            columns: self.columns,
        }
    }

    /// The same mesh without the triangles of some parts.
    pub(super) fn without(&self, parts: &[usize]) -> Joined {
        self.filtered(|place| !parts.contains(&place))
    }

    fn filtered(&self, keep: impl Fn(usize) -> bool) -> Joined {
        let indices = self
            .indices
            .chunks_exact(3)
            .filter(|corners| keep(self.part_of(corners[0])))
            .flatten()
            .copied()
            .collect();
        Joined {
            indices,
            ..self.clone()
        }
    }

    /// Takes the triangles of a part, simplified alone, into this mesh, which has none of it.
    pub(super) fn restore(&mut self, part: usize, alone: &Joined) {
        let first = self.parts[part].first_vertex;
        let stride = self.weights.len();
        self.positions[first..first + alone.positions.len()].copy_from_slice(&alone.positions);
        self.attributes[first * stride..first * stride + alone.attributes.len()]
            .copy_from_slice(&alone.attributes);
        let offset = first as u32;
        self.indices
            .extend(alone.indices.iter().map(|index| index + offset));
    }

    fn part_of(&self, vertex: u32) -> usize {
        self.parts
            .partition_point(|part| part.end_vertex <= vertex as usize)
    }

    /// Puts the simplified triangles, and where vertices moved also those, back into the scene.
    pub(super) fn split_into(&self, scene: &mut Scene) {
        let mut indices: Vec<Vec<u32>> = vec![Vec::new(); self.parts.len()];
        for corners in self.indices.chunks_exact(3) {
            let place = self.part_of(corners[0]);
            let first = self.parts[place].first_vertex as u32;
            // A triangle never spans two parts: collapses follow edges, and edges stay in a part.
            indices[place].extend(corners.iter().map(|corner| corner - first));
        }
        for (part, indices) in self.parts.iter().zip(indices) {
            let geometry = &mut scene.geometries[part.geometry];
            geometry.indices = indices;
            // Displacements belong to the place of their vertex, so vertices that morph stay put.
            if geometry.targets.is_empty() {
                self.take_back(part, geometry);
            }
            geometry.compact();
        }
    }

    fn take_back(&self, part: &Part, geometry: &mut Geometry) {
        let stride = self.weights.len();
        let row =
            |vertex: usize| &self.attributes[(part.first_vertex + vertex) * stride..][..stride];
        let used = used_vertices(geometry);
        if let Some(positions) = geometry.attribute_mut("POSITION") {
            for (vertex, position) in positions.values.chunks_exact_mut(3).enumerate() {
                if used[vertex] {
                    let joined = Vec3::from_array(self.positions[part.first_vertex + vertex]);
                    let local = part.from_joined.transform_point3(joined);
                    position.copy_from_slice(&local.to_array());
                }
            }
        }
        let normals = self.columns.normal.zip(geometry.attribute_mut("NORMAL"));
        if let Some((column, normals)) = normals {
            for (vertex, normal) in normals.values.chunks_exact_mut(3).enumerate() {
                if used[vertex] {
                    let moved = Vec3::from_slice(&row(vertex)[column..column + 3]);
                    if let Some(unit) = moved.try_normalize() {
                        normal.copy_from_slice(&unit.to_array());
                    }
                }
            }
        }
        let coords = self
            .columns
            .tex_coord
            .zip(geometry.attribute_mut("TEXCOORD_0"));
        if let Some((column, coords)) = coords {
            for (vertex, coord) in coords.values.chunks_exact_mut(2).enumerate() {
                if used[vertex] {
                    scaled(
                        coord,
                        &row(vertex)[column..column + 2],
                        part.tex_coord_scale.recip(),
                    );
                }
            }
        }
        let colors = self.columns.color.zip(geometry.attribute_mut("COLOR_0"));
        if let Some((column, colors)) = colors {
            let width = colors.components;
            for (vertex, color) in colors.values.chunks_exact_mut(width).enumerate() {
                if used[vertex] {
                    let moved = &row(vertex)[column..column + 3];
                    scaled(&mut color[..3], moved, part.normal_scale.recip());
                    color
                        .iter_mut()
                        .for_each(|part| *part = part.clamp(0.0, 1.0));
                }
            }
        }
    }
}

fn scaled(to: &mut [f32], from: &[f32], factor: f32) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from * factor;
    }
}

fn used_vertices(geometry: &Geometry) -> Vec<bool> {
    let mut used = vec![false; geometry.vertex_count()];
    for index in &geometry.indices {
        used[*index as usize] = true;
    }
    used
}

/// Each geometry of triangles and the matrix of its first draw.
fn placed_geometries(scene: &Scene) -> Vec<(usize, Mat4)> {
    let mut places: Vec<Option<Mat4>> = vec![None; scene.geometries.len()];
    for draw in scene.draws() {
        for primitive in &scene.meshes[draw.mesh].primitives {
            let geometry = &scene.geometries[primitive.geometry];
            places[primitive.geometry].get_or_insert_with(|| placing_matrix(&draw, geometry));
        }
    }
    scene
        .geometries
        .iter()
        .enumerate()
        .filter(|(_, geometry)| geometry.mode == Mode::Triangles && !geometry.indices.is_empty())
        .map(|(index, _)| (index, places[index].unwrap_or(Mat4::IDENTITY)))
        .collect()
}

/// The matrix of a draw; that of the first vertex for a skin. One that cannot be undone is replaced.
fn placing_matrix(draw: &Draw, geometry: &Geometry) -> Mat4 {
    let matrix = match (&draw.joints, geometry.vertex_count()) {
        (Some(_), 1..) => draw.vertex_matrix(geometry, 0),
        _ => draw.world,
    };
    let scale = Mat3::from_mat4(matrix).determinant().abs().cbrt();
    let longest = [matrix.x_axis, matrix.y_axis, matrix.z_axis]
        .iter()
        .map(|axis| axis.truncate().length())
        .fold(0.0, f32::max);
    let can_be_undone = matrix.is_finite() && scale > 1e-12 && scale > longest * 1e-3;
    if can_be_undone {
        matrix
    } else {
        Mat4::IDENTITY
    }
}

fn size_of_all(scene: &Scene, placed: &[(usize, Mat4)]) -> (Vec3, f32) {
    let mut bounds = None;
    for (geometry, matrix) in placed {
        let geometry = &scene.geometries[*geometry];
        for position in geometry.positions().chunks_exact(3) {
            let position = matrix.transform_point3(Vec3::from_slice(position));
            super::super::scene::Bounds::grow(&mut bounds, position);
        }
    }
    match bounds {
        Some(bounds) if bounds.size().max_element() > 0.0 => {
            (bounds.center(), bounds.size().max_element())
        }
        _ => (Vec3::ZERO, 1.0),
    }
}

/// The longest side of a part in the joined space.
fn size_of_part(geometry: &Geometry, to_joined: Mat4) -> f32 {
    let mut bounds = None;
    for position in geometry.positions().chunks_exact(3) {
        let position = to_joined.transform_point3(Vec3::from_slice(position));
        super::super::scene::Bounds::grow(&mut bounds, position);
    }
    bounds
        .map_or(1.0, |bounds| bounds.size().max_element())
        .clamp(1e-4, 1.0)
}

/// What one unit of texture coordinates is in the joined space: the ratio of the lengths of edges.
fn tex_coord_scale(geometry: &Geometry, to_joined: Mat4) -> f32 {
    let Some(coords) = geometry.attribute("TEXCOORD_0") else {
        return 1.0;
    };
    let linear = Mat3::from_mat4(to_joined);
    let (mut in_space, mut in_texture) = (0.0f64, 0.0f64);
    for corners in geometry.indices.chunks_exact(3) {
        for (one, other) in [(0, 1), (1, 2), (2, 0)] {
            let (one, other) = (corners[one], corners[other]);
            let edge = linear * (geometry.position(other) - geometry.position(one));
            let (a, b) = (coords.at(one as usize), coords.at(other as usize));
            in_space += f64::from(edge.length());
            in_texture += f64::from((b[0] - a[0]).hypot(b[1] - a[1]));
        }
    }
    let scale = (in_space / in_texture) as f32;
    if scale.is_finite() && scale > 0.0 {
        scale.clamp(1e-6, 1e6)
    } else {
        1.0
    }
}

/// The targets that move vertices most.
fn strongest_targets(geometry: &Geometry, count: usize) -> Vec<usize> {
    let mut strengths: Vec<(usize, f32)> = geometry
        .targets
        .iter()
        .enumerate()
        .filter_map(|(index, target)| {
            let deltas = target.iter().find(|deltas| deltas.name == "POSITION")?;
            let strength = deltas.values.iter().map(|number| number * number).sum();
            Some((index, strength))
        })
        .collect();
    strengths.sort_by(|one, other| other.1.total_cmp(&one.1));
    strengths.truncate(count);
    strengths.into_iter().map(|(index, _)| index).collect()
}
