//! A new surface around a class: voxel remeshing by `meshopt`. Parts that touch or overlap become one closed surface without
//! what is inside of it, so few triangles go further than by decimation. Thin sheets and open surfaces may be lost: a result
//! must be compared with the source.

use meshopt::{RemeshOptions, VertexDataAdapter, typed_to_bytes};

use super::super::alike::distinct;
use super::super::clean::face_normals;
use super::super::scene::{Attribute, Geometry};

/// Classes with fewer triangles are not remeshed: they have no detail that a new surface could join.
const MIN_TRIANGLES: usize = 500;

/// A mesh of new triangles near the surface of `mesh`, with positions and normals of this length. `cells` is the number of
/// voxels on the longest side (4 to 256). `None` if it is too small for that, or nothing comes out.
pub(super) fn remeshed(mesh: &Geometry, cells: u32, normal_length: f32) -> Option<Geometry> {
    if mesh.indices.len() / 3 < MIN_TRIANGLES {
        return None;
    }
    let adapter = VertexDataAdapter::new(typed_to_bytes(mesh.positions()), 12, 0).ok()?;
    let corners = meshopt::remesh(&mesh.indices, &adapter, cells, RemeshOptions::Solve);
    let (places, indices) = distinct(corners.into_iter().map(|corner| corner.map(f32::to_bits)));
    let positions: Vec<f32> = places.into_iter().flatten().map(f32::from_bits).collect();
    if indices.is_empty() || !positions.iter().all(|number| number.is_finite()) {
        return None;
    }
    let mut made = Geometry {
        attributes: vec![Attribute::new("POSITION", 3, positions)],
        indices,
        ..Geometry::default()
    };
    let normals = face_normals(&made);
    let normals = normals
        .iter()
        .flat_map(|it| (*it * normal_length).to_array());
    let normals = Attribute::new("NORMAL", 3, normals.collect());
    made.attributes.push(normals);
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A box around the origin whose sides have `steps` × `steps` squares.
    fn cube(half: f32, steps: u32) -> Geometry {
        let (mut positions, mut indices) = (Vec::new(), Vec::new());
        for (axis, side) in [0, 1, 2]
            .into_iter()
            .flat_map(|axis| [(axis, 1.0), (axis, -1.0)])
        {
            let first = positions.len() as u32 / 3;
            for at in 0..(steps + 1) * (steps + 1) {
                let along = |step: u32| (step as f32 / steps as f32 * 2.0 - 1.0) * half;
                let mut place = [0.0; 3];
                place[axis] = side * half;
                place[(axis + 1) % 3] = along(at % (steps + 1)) * side;
                place[(axis + 2) % 3] = along(at / (steps + 1));
                positions.extend(place);
            }
            for at in 0..steps * steps {
                let a = first + at / steps * (steps + 1) + at % steps;
                let (b, c, d) = (a + 1, a + steps + 1, a + steps + 2);
                indices.extend([a, b, c, c, b, d]);
            }
        }
        Geometry {
            indices,
            attributes: vec![Attribute::new("POSITION", 3, positions)],
            ..Geometry::default()
        }
    }

    #[test]
    fn a_new_surface_lies_on_the_old_one_and_leaves_out_what_is_inside() {
        let mut both = cube(1.0, 10);
        let inner = cube(0.5, 10);
        let offset = both.vertex_count() as u32;
        let corners: Vec<u32> = inner.indices.iter().map(|corner| corner + offset).collect();
        both.indices.extend(corners);
        let inner = inner.positions().to_vec();
        both.attributes[0].values.extend(inner);
        let made = remeshed(&both, 32, 1.0).unwrap();
        let mut high = 0.0_f32;
        for vertex in 0..made.vertex_count() as u32 {
            let place = made.position(vertex);
            let from_middle = place.abs().max_element();
            high = high.max(from_middle);
            assert!(
                (from_middle - 1.0).abs() < 0.1,
                "{place} is not on the outer box"
            );
        }
        assert!(high <= 1.05, "{high}");
        let again = remeshed(&both, 32, 1.0).unwrap();
        assert_eq!(made.indices, again.indices);
        assert_eq!(made.positions(), again.positions());
    }

    #[test]
    fn small_meshes_stay_as_they_are() {
        assert!(remeshed(&cube(1.0, 2), 32, 1.0).is_none());
    }
}
