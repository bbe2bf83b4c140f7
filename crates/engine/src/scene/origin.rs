//! The point of the world that positions are measured from.
//!
//! Models in map coordinates are millions of units away from the origin, where 32-bit floats have steps of half a unit.
//! So nodes keep their places in 64 bits, and what is computed of a scene (pictures, errors, distances) is measured from a
//! point near the model.

use glam::{DVec3, Vec3};

use assetfs_render::box_corners;

use super::bounds::Bounds;
use super::content::Scene;

/// Steps of 32-bit floats that are longer than this share of a model's diagonal count as visible.
const VISIBLE_STEP: f64 = 1e-5;

/// The longest step of 32-bit floats at a distance from the origin.
pub fn float_step(distance: f64) -> f64 {
    distance * f64::from(f32::EPSILON)
}

/// A point in the middle of a box, if the box is so far from the origin that 32-bit floats have visible steps there; else
/// zero. It is a multiple of a whole unit, or of a binary fraction of one for a smaller box.
pub fn far_point(low: DVec3, high: DVec3) -> DVec3 {
    let extent = (high - low).length();
    if extent == 0.0 || !is_far(low, high) {
        return DVec3::ZERO;
    }
    let unit = extent.log2().floor().clamp(-40.0, 0.0).exp2();
    ((low + high) / 2.0 / unit).round() * unit
}

/// Whether 32-bit floats have visible steps in a box.
fn is_far(low: DVec3, high: DVec3) -> bool {
    let farthest = low.abs().max(high.abs()).max_element();
    farthest <= f64::from(f32::MAX) && float_step(farthest) > (high - low).length() * VISIBLE_STEP
}

impl Scene {
    /// Chooses the point that positions in the world are measured from, by what the default scene draws at rest.
    pub fn choose_origin(&mut self) {
        let of_geometries = self.geometries.iter().map(|geometry| geometry.bounds());
        let of_geometries: Vec<Option<Bounds>> = of_geometries.collect();
        self.origin = DVec3::ZERO;
        let Some((low, high)) = self.outline(&of_geometries) else {
            return;
        };
        if !is_far(low, high) {
            return;
        }
        // The corners were rounded to the steps there, perhaps to one point. Measured from near them, they are exact.
        self.origin = (low + high) / 2.0;
        let exact = self.outline(&of_geometries);
        self.origin = exact.map_or(DVec3::ZERO, |(low, high)| far_point(low, high));
    }

    /// The corners of a box around the boxes of all geometries as they are drawn, in the world.
    fn outline(&self, of_geometries: &[Option<Bounds>]) -> Option<(DVec3, DVec3)> {
        let mut outline = None;
        for draw in self.measured_draws() {
            let matrices = match draw.joints.as_deref() {
                Some(joints) if !joints.is_empty() => joints,
                _ => std::slice::from_ref(&draw.world),
            };
            let drawn = self.meshes[draw.mesh].primitives.iter();
            for bounds in drawn.filter_map(|primitive| of_geometries[primitive.geometry]) {
                for corner in box_corners(bounds.min, bounds.max) {
                    for matrix in matrices {
                        Bounds::grow(&mut outline, matrix.transform_point3(corner));
                    }
                }
            }
        }
        outline.map(|bounds| self.in_world(bounds))
    }

    /// The corners of a box that is measured from the scene's origin, in the world.
    pub fn in_world(&self, bounds: Bounds) -> (DVec3, DVec3) {
        let corner = |at: Vec3| self.origin + at.as_dvec3();
        (corner(bounds.min), corner(bounds.max))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Attribute, Geometry, Mesh, Primitive};
    use super::*;

    #[test]
    fn only_boxes_far_from_the_origin_for_their_size_have_a_far_point() {
        let cube = |middle: DVec3, side: f64| far_point(middle - side / 2.0, middle + side / 2.0);
        let map = DVec3::new(448_263.123, 5_411_933.456, 100.05);
        assert_eq!(cube(map, 2.0), DVec3::new(448_263.0, 5_411_933.0, 100.0));
        assert_eq!(cube(map, 2_000_000.0), DVec3::ZERO);
        assert_eq!(cube(DVec3::splat(20.0), 1.0), DVec3::ZERO);
        assert_eq!(cube(map, 0.0), DVec3::ZERO);
        assert_eq!(cube(DVec3::splat(f64::INFINITY), 1.0), DVec3::ZERO);
        let small = DVec3::splat(0.123);
        let near = cube(small, 1e-4);
        assert!((near - small).abs().max_element() <= 1e-4, "{near}");
    }

    #[test]
    fn positions_are_measured_from_a_point_near_a_model_that_is_far_away() {
        let place = [448_262.123, 5_411_932.456, 0.0];
        let mut scene = Scene {
            geometries: vec![Geometry {
                indices: vec![0, 1, 2],
                attributes: vec![Attribute::new(
                    "POSITION",
                    3,
                    vec![0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.2, 0.0],
                )],
                ..Geometry::default()
            }],
            meshes: vec![Mesh {
                primitives: vec![Primitive::default()],
                ..Mesh::default()
            }],
            ..Scene::default()
        };
        scene.json.insert(
            "nodes".to_owned(),
            json!([{ "mesh": 0, "translation": place }]),
        );
        scene.choose_origin();
        assert_ne!(scene.origin, DVec3::ZERO);
        let (low, high) = scene.in_world(scene.bounds().unwrap());
        let place = DVec3::from_array(place);
        assert!((low - place).abs().max_element() < 1e-6, "{low}");
        assert!((high - low - DVec3::new(0.1, 0.2, 0.0)).length() < 1e-6);
        scene.list_mut("nodes").unwrap()[0] = json!({ "mesh": 0 });
        scene.choose_origin();
        assert_eq!(scene.origin, DVec3::ZERO);
    }
}
