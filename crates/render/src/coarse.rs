//! Coarse copies of meshes that a scene draws very often.
//!
//! A few kilobytes can ask for thousands of millions of triangles: a mesh of 800 triangles at 50,000 places. In a scene of
//! more than [`MAX_EXACT_TRIANGLES`] triangles, meshes that several instances share are drawn from copies in which vertices nearer
//! to each other than half a pixel are merged. Hardly anything that a picture can show is lost, because a camera from
//! outside always has the whole scene in its picture. Other scenes are drawn as they are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use glam::{IVec3, Vec3};
use rayon::prelude::*;

use super::prepare::PreparedScene;
use super::prepared_mesh::PreparedMesh;
use super::scene::BoundingBox;

/// Triangles up to which a scene is drawn as it is.
const MAX_EXACT_TRIANGLES: usize = 4_000_000;
/// Cells along the diagonal of a scene: two for each pixel of a job's pictures.
const CELLS: f32 = 1_024.0;
/// Smaller meshes are drawn as they are.
const MIN_TRIANGLES: usize = 16;

/// A mesh, and the power of two that is the side of the cells within which its vertices are merged.
type CoarseKey = (*const PreparedMesh, i32);

impl PreparedScene {
    /// The scene as pictures of `bounds` show it: with coarse meshes, if it has too many triangles.
    pub fn coarsened(self, bounds: &BoundingBox) -> PreparedScene {
        let cell = (bounds.high - bounds.low).length() / CELLS;
        if self.triangle_count() <= MAX_EXACT_TRIANGLES || !cell.is_normal() {
            return self;
        }
        let power = |scale: f32| (cell / scale).log2().floor().clamp(-126.0, 126.0) as i32;
        let mut keys: Vec<Option<CoarseKey>> = Vec::with_capacity(self.parts.len());
        let mut wanted: HashMap<CoarseKey, &PreparedMesh> = HashMap::new();
        for part in &self.parts {
            let scale = part.shared_scale().filter(|scale| *scale > 0.0);
            let scale = scale.filter(|_| part.triangle_count() >= MIN_TRIANGLES);
            let key = scale.map(|scale| (Arc::as_ptr(&part.mesh), power(scale)));
            if let Some(key) = key {
                wanted.insert(key, &part.mesh);
            }
            keys.push(key);
        }
        // Pointers cannot go to other threads.
        let (known, meshes): (Vec<CoarseKey>, Vec<(i32, &PreparedMesh)>) = wanted
            .into_iter()
            .map(|(key, mesh)| (key, (key.1, mesh)))
            .unzip();
        let coarse: Vec<Arc<PreparedMesh>> = meshes
            .par_iter()
            .map(|(power, mesh)| Arc::new(merged(mesh, f32::from_bits(bits_of_power(*power)))))
            .collect();
        let coarse: HashMap<CoarseKey, Arc<PreparedMesh>> = known.into_iter().zip(coarse).collect();
        let mut parts = self.parts;
        for (part, key) in parts.iter_mut().zip(keys) {
            if let Some(mesh) = key.and_then(|key| coarse.get(&key)) {
                part.mesh = Arc::clone(mesh);
            }
        }
        let mut scene = PreparedScene::of(parts, self.materials, self.pyramids);
        scene.is_coarse = true;
        scene
    }
}

/// The bits of a power of two.
fn bits_of_power(power: i32) -> u32 {
    ((power + 127) as u32) << 23
}

/// The mesh with one vertex for each cell and each octant that normals in it point to, at the mean of the cell. A mesh
/// that is hardly larger than a cell keeps its outline.
fn merged(mesh: &PreparedMesh, cell: f32) -> PreparedMesh {
    let (low, high) = mesh.positions.iter().fold(
        (Vec3::INFINITY, Vec3::NEG_INFINITY),
        |(low, high), position| (low.min(*position), high.max(*position)),
    );
    let cell = cell.min((high - low).max_element() / 3.0);
    if !cell.is_normal() {
        return mesh.clone();
    }
    let cell_of = |position: Vec3| ((position - low) / cell).floor().as_ivec3();
    let mut sums: HashMap<IVec3, (Vec3, f32)> = HashMap::new();
    let used: HashSet<u32> = mesh.triangles.iter().flatten().copied().collect();
    for index in (0..mesh.positions.len() as u32).filter(|index| used.contains(index)) {
        let position = mesh.positions[index as usize];
        let (sum, count) = sums.entry(cell_of(position)).or_default();
        *sum += position - low;
        *count += 1.0;
    }
    let mut kept: HashMap<(IVec3, u32), u32> = HashMap::new();
    let mut coarse = PreparedMesh {
        material: mesh.material,
        ..PreparedMesh::default()
    };
    let mut known = HashSet::new();
    for triangle in &mesh.triangles {
        let corners = triangle.map(|index| {
            let at = index as usize;
            let cell = cell_of(mesh.positions[at]);
            let octant = mesh
                .normals
                .get(at)
                .map_or(0, |normal| normal.is_negative_bitmask());
            *kept.entry((cell, octant)).or_insert_with(|| {
                let (sum, count) = sums[&cell];
                coarse.push_vertex_of(mesh, at, low + sum / count)
            })
        });
        let [a, b, c] = corners.map(|corner| coarse.positions[corner as usize]);
        if a != b && b != c && c != a && known.insert(turned(corners)) {
            coarse.triangles.push(corners);
        }
    }
    coarse.source_triangles = coarse.triangles.len();
    coarse
}

/// The corners with the least one first, in the same winding.
fn turned([a, b, c]: [u32; 3]) -> [u32; 3] {
    match a.min(b).min(c) {
        least if least == a => [a, b, c],
        least if least == b => [b, c, a],
        _ => [c, a, b],
    }
}

#[cfg(test)]
mod tests {
    use glam::Mat4;

    use super::super::scene::{RenderInstance, RenderMesh, RenderScene};
    use super::*;

    /// A wavy sheet from 0 to 1 with so many squares on each side.
    fn sheet(squares: u32) -> RenderMesh {
        let side = squares + 1;
        let place = |at: u32| at as f32 / squares as f32;
        let point = |at: u32| Vec3::new(place(at % side), place(at / side), place(at % 3) * 0.01);
        let square = |at: u32| {
            let low = at / squares * side + at % squares;
            [
                low,
                low + 1,
                low + side + 1,
                low,
                low + side + 1,
                low + side,
            ]
        };
        RenderMesh {
            positions: (0..side * side).map(point).collect(),
            indices: (0..squares * squares).flat_map(square).collect(),
            ..RenderMesh::default()
        }
    }

    fn row_of(mesh: RenderMesh, count: usize, step: f32) -> RenderScene {
        let instance = |at: usize| RenderInstance {
            mesh: 0,
            world: Mat4::from_translation(Vec3::X * (at as f32 * step)),
            name: String::new(),
        };
        RenderScene {
            meshes: vec![mesh],
            instances: (0..count).map(instance).collect(),
            ..RenderScene::default()
        }
    }

    #[test]
    fn only_scenes_of_very_many_triangles_become_coarse() {
        for (count, is_coarse) in [(2_000, false), (6_000, true)] {
            let scene = row_of(sheet(20), count, 2.0);
            let bounds = scene.bounding_box().unwrap();
            let prepared = PreparedScene::new(&scene).coarsened(&bounds);
            assert_eq!(prepared.is_coarse, is_coarse);
            assert_eq!(prepared.triangle_count() < count * 100, is_coarse);
            assert_eq!(prepared.parts.len(), count);
            // Tiny as they are, none of them vanishes.
            assert!(prepared.parts.iter().all(|part| part.triangle_count() > 0));
        }
    }

    #[test]
    fn cells_smaller_than_the_triangles_change_nothing() {
        let scene = row_of(sheet(20), 2, 2.0);
        let prepared = PreparedScene::new(&scene);
        let mesh = &prepared.parts[0].mesh;
        let same = merged(mesh, 0.001);
        assert_eq!(same.triangles.len(), mesh.triangles.len());
        let corner = |mesh: &PreparedMesh, at: usize| {
            mesh.triangles[at].map(|index| mesh.positions[index as usize])
        };
        for at in 0..same.triangles.len() {
            let moved = corner(&same, at)
                .iter()
                .zip(corner(mesh, at))
                .any(|(one, other)| one.distance(other) > 1e-6);
            assert!(!moved);
        }
    }
}
