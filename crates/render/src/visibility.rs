//! Finds the triangles that are visible from outside: draws the scene from many directions.
//!
//! In doubt a triangle is visible: one that is too small to cover a sample counts as visible if one of its corners lies
//! at the surface. Triangles behind transparent ones are visible; a back face counts only if its material is
//! double-sided.

use glam::Vec3;
use rayon::prelude::*;

use super::camera::Camera;
use super::coverage::ScreenTriangle;
use super::prepare::PreparedScene;
use super::projection::{NOTHING, Projection};
use super::scene::BoundingBox;

impl PreparedScene {
    /// For each instance of the scene and each triangle of its mesh, whether it is seen from any of `directions`
    /// directions, evenly spread around the box, in pictures of `size`² samples.
    pub fn seen_triangles(
        &self,
        bounds: &BoundingBox,
        directions: usize,
        size: usize,
    ) -> Vec<Vec<bool>> {
        let seen = (0..directions)
            .into_par_iter()
            .map(|number| self.seen_from(sphere_direction(number, directions), bounds, size))
            .reduce(
                || vec![false; self.triangle_count()],
                |mut all, some| {
                    all.iter_mut()
                        .zip(some)
                        .for_each(|(all, some)| *all |= some);
                    all
                },
            );
        let mut by_part: Vec<Vec<bool>> = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let mut of_mesh = vec![false; part.mesh.source_triangles];
            for at in 0..part.triangle_count() {
                of_mesh[part.number_in_mesh(at)] = seen[part.first_triangle as usize + at];
            }
            by_part.push(of_mesh);
        }
        by_part
    }

    fn seen_from(&self, direction: Vec3, bounds: &BoundingBox, size: usize) -> Vec<bool> {
        let projection = Projection::new(self, &Camera::of_light(direction, bounds), size, 1);
        let mut seen = vec![false; self.triangle_count()];
        let mut depths = vec![f32::INFINITY; size * size];
        for tile in 0..projection.tiles() * projection.tiles() {
            let buffer = projection.solid_tile(tile);
            let window = &buffer.window;
            for (y, row) in buffer.depths.chunks(window.width).enumerate() {
                let at = (window.top + y) * size + window.left;
                depths[at..at + row.len()].copy_from_slice(row);
            }
            for &number in buffer.triangles.iter().filter(|number| **number != NOTHING) {
                seen[number as usize] = true;
            }
            for number in projection.blended(tile) {
                if seen[number as usize] {
                    continue;
                }
                let Some(setup) = projection.screen_triangle(number) else {
                    continue;
                };
                setup.cover(window, |at, x, y| {
                    seen[number as usize] |= setup.depth(x, y) <= buffer.depths[at]
                });
            }
        }
        for (number, seen) in seen.iter_mut().enumerate().filter(|(_, seen)| !**seen) {
            *seen = corner_at_surface(&projection, number as u32, &depths);
        }
        seen
    }
}

/// Whether a triangle that faces the viewer has a corner that is not clearly hidden.
fn corner_at_surface(projection: &Projection<'_>, triangle: u32, depths: &[f32]) -> bool {
    let corners = projection.corners(triangle);
    let is_double_sided = projection.scene.material_of(triangle).plain.double_sided;
    if !ScreenTriangle::faces_viewer(corners, is_double_sided) {
        return false;
    }
    let size = projection.samples as i64;
    // The depth a surface at 45° gains over two samples.
    let slack = 2.0 / size as f32;
    corners.iter().any(|corner| {
        let (x, y) = (i64::from(corner.x >> 8), i64::from(corner.y >> 8));
        (-1..=1)
            .flat_map(|dy| (-1..=1).map(move |dx| (x + dx, y + dy)))
            .any(|(x, y)| {
                let inside = (0..size).contains(&x) && (0..size).contains(&y);
                !inside || corner.z <= depths[(y * size + x) as usize] + slack
            })
    })
}

/// Direction `number` of `count`, spread evenly over the sphere.
pub fn sphere_direction(number: usize, count: usize) -> Vec3 {
    const GOLDEN_ANGLE: f32 = 2.399_963_2;
    let height = 1.0 - (number as f32 + 0.5) / count as f32 * 2.0;
    let radius = (1.0 - height * height).max(0.0).sqrt();
    let angle = number as f32 * GOLDEN_ANGLE;
    Vec3::new(radius * angle.cos(), height, radius * angle.sin())
}
