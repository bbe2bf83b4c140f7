//! Removes parts that are smaller than a given percentage of the model.
//!
//! A part is a set of triangles of one mesh connected by shared positions, whatever their materials. Its size is measured in
//! the world, where its geometry is drawn largest.

use std::collections::HashMap;

use glam::Mat4;

use super::super::alike::{Sets, bits_of};
use super::super::scene::{Bounds, Mode, Scene};

/// Removes parts whose diagonal is below `percent` of the model's; returns how many.
pub(super) fn remove(scene: &mut Scene, percent: f32) -> usize {
    let Some(whole) = scene.bounds() else {
        return 0;
    };
    remove_below(scene, whole.diagonal() * percent / 100.0)
}

fn remove_below(scene: &mut Scene, least: f32) -> usize {
    let parts = Parts::of(scene);
    let bounds = parts.bounds(scene);
    let is_small = |part: u32| bounds[&part].is_none_or(|bounds| bounds.diagonal() < least);
    let small: Vec<u32> = bounds.keys().copied().filter(|at| is_small(*at)).collect();
    if small.is_empty() {
        return 0;
    }
    for (geometry, parts) in scene.geometries.iter_mut().zip(&parts.of_vertex) {
        if geometry.mode != Mode::Triangles {
            continue;
        }
        let before = geometry.indices.len();
        let corners = geometry.indices.chunks_exact(3);
        let kept = corners.filter(|corners| !is_small(parts[corners[0] as usize]));
        geometry.indices = kept.flatten().copied().collect();
        if geometry.indices.len() != before {
            geometry.compact();
        }
    }
    small.len()
}

/// The part of each vertex of each geometry, represented by the number of one of its vertices.
struct Parts {
    of_vertex: Vec<Vec<u32>>,
}

impl Parts {
    fn of(scene: &Scene) -> Parts {
        let mut firsts = Vec::with_capacity(scene.geometries.len());
        let mut count = 0;
        for geometry in &scene.geometries {
            firsts.push(count);
            count += geometry.vertex_count() as u32;
        }
        let mut sets = Sets::new(count as usize);
        // Vertices at one place of a mesh are connected, whatever their primitive and material.
        for mesh in &scene.meshes {
            let mut first_at: HashMap<[u32; 3], u32> = HashMap::new();
            for primitive in &mesh.primitives {
                let geometry = &scene.geometries[primitive.geometry];
                if geometry.mode != Mode::Triangles {
                    continue;
                }
                for vertex in 0..geometry.vertex_count() as u32 {
                    let own = firsts[primitive.geometry] + vertex;
                    let place = bits_of(geometry.position(vertex).to_array());
                    sets.join(*first_at.entry(place).or_insert(own), own);
                }
            }
        }
        for (geometry, first) in scene.geometries.iter().zip(&firsts) {
            if geometry.mode == Mode::Triangles {
                sets.join_triangles(&geometry.indices, *first);
            }
        }
        let all_vertices = scene.geometries.iter().zip(firsts);
        Parts {
            of_vertex: all_vertices
                .map(|(geometry, first)| {
                    let vertices = first..first + geometry.vertex_count() as u32;
                    vertices.map(|vertex| sets.root(vertex)).collect()
                })
                .collect(),
        }
    }

    /// The bounds of each part in the world.
    fn bounds(&self, scene: &Scene) -> HashMap<u32, Option<Bounds>> {
        let mut bounds: HashMap<u32, Option<Bounds>> = HashMap::new();
        let drawn = scene.geometries.iter().zip(scene.largest_draws());
        for ((geometry, draw), parts) in drawn.zip(&self.of_vertex) {
            if geometry.mode != Mode::Triangles || geometry.vertex_count() == 0 {
                continue;
            }
            let to_world = draw.map_or(Mat4::IDENTITY, |draw| draw.vertex_matrix(geometry, 0));
            for index in &geometry.indices {
                let position = to_world.transform_point3(geometry.position(*index));
                Bounds::grow(bounds.entry(parts[*index as usize]).or_default(), position);
            }
        }
        bounds
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::{Attribute, Geometry, Mesh, Primitive};
    use super::*;

    /// A scene whose only mesh has a primitive for each list of positions.
    fn scene(primitives: Vec<Vec<f32>>) -> Scene {
        let geometries = primitives.iter().map(|positions| Geometry {
            indices: (0..positions.len() as u32 / 3).collect(),
            attributes: vec![Attribute::new("POSITION", 3, positions.clone())],
            ..Geometry::default()
        });
        Scene {
            geometries: geometries.collect(),
            meshes: vec![Mesh {
                primitives: (0..primitives.len())
                    .map(|geometry| Primitive {
                        geometry,
                        ..Primitive::default()
                    })
                    .collect(),
                ..Mesh::default()
            }],
            ..Scene::default()
        }
    }

    const LARGE: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];

    #[test]
    fn a_part_below_the_size_goes_as_a_whole() {
        let positions = [
            2.0, 0.0, 0.0, 2.01, 0.0, 0.0, 2.0, 0.01, 0.0, // small
            2.01, 0.0, 0.0, 2.01, 0.01, 0.0, 2.0, 0.01, 0.0, // connected to it
        ];
        let mut scene = scene(vec![[&LARGE[..], &positions[..]].concat()]);
        assert_eq!(remove_below(&mut scene, 0.1), 1);
        assert_eq!(scene.geometries[0].triangle_count(), 1);
    }

    #[test]
    fn a_small_field_of_another_material_is_no_part_of_its_own() {
        let field = vec![0.0, 0.0, 0.0, 0.0, 0.01, 0.0, -0.01, 0.0, 0.0];
        let loose = vec![3.0, 0.0, 0.0, 3.0, 0.01, 0.0, 3.01, 0.0, 0.0];
        let mut scene = scene(vec![LARGE.to_vec(), field, loose]);
        assert_eq!(remove_below(&mut scene, 0.1), 1);
        let left: Vec<usize> = scene
            .geometries
            .iter()
            .map(|it| it.triangle_count())
            .collect();
        assert_eq!(left, [1, 1, 0]);
    }
}
