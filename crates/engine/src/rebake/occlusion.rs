//! Ambient occlusion: the share of the sky that each point of the surface sees. It changes slowly over the surface, so it
//! is baked at a lower resolution than the other textures.

use glam::{Vec3, Vec3A};
use rayon::prelude::*;

use super::super::render::{PreparedScene, RenderAlpha};
use super::atlas::{Atlas, NOTHING};
use super::caster::{Caster, LowPoint, low_point, mixed, parts_below};
use super::fill::fill;
use super::maps::Pixel;
use assetfs_render::Tree;

/// The longest side of the map.
pub(super) const MAX_SIDE: u32 = 512;
/// What is farther away than this part of the model's size darkens nothing.
const FARTHEST: f32 = 0.25;

/// The opaque triangles of a scene, which darken each other.
pub(super) struct Surroundings {
    tree: Tree,
    size: f32,
    /// Directions around the z axis, more of them near it.
    directions: Vec<Vec3>,
}

impl Surroundings {
    /// `size` is that of the model.
    pub(super) fn new(scene: &PreparedScene, size: f32, rays: u32) -> Surroundings {
        let is_opaque = |triangle: &u32| {
            scene.material(scene.material_number(*triangle)).alpha == RenderAlpha::Opaque
        };
        let triangles = (0..scene.triangle_count() as u32).filter(is_opaque);
        let corners: Vec<[Vec3A; 3]> = triangles
            .map(|triangle| scene.corners(triangle).map(Vec3A::from))
            .collect();
        Surroundings {
            tree: Tree::new(&corners),
            size,
            directions: (0..rays).map(|ray| towards_sky(ray, rays)).collect(),
        }
    }

    /// The share of the sky that is seen from a point.
    fn light_at(&self, point: Vec3A, normal: Vec3) -> f32 {
        let (across, along) = normal.any_orthonormal_pair();
        let start = point + Vec3A::from(normal) * self.size * 1e-4;
        let reach = self.size * FARTHEST;
        let mut light = 0.0;
        for local in &self.directions {
            let direction = Vec3A::from(across * local.x + along * local.y + normal * local.z);
            // Far surfaces darken less, so that the limit of the distance shows no edge.
            light += match self.tree.first_hit(start, direction, reach) {
                Some(hit) => (hit.distance / reach).clamp(0.0, 1.0),
                None => 1.0,
            };
        }
        light / self.directions.len().max(1) as f32
    }
}

/// Direction `ray` of `rays` around the z axis; their density grows with the cosine.
fn towards_sky(ray: u32, rays: u32) -> Vec3 {
    const GOLDEN_ANGLE: f32 = 2.399_963_2;
    let out = ((ray as f32 + 0.5) / rays as f32).sqrt();
    let angle = ray as f32 * GOLDEN_ANGLE;
    let up = (1.0 - out * out).max(0.0).sqrt();
    Vec3::new(out * angle.cos(), out * angle.sin(), up)
}

/// The occlusion of a low mesh, in a small square picture.
#[derive(Debug)]
pub(super) struct OcclusionMap {
    side: u32,
    light: Vec<u8>,
}

impl OcclusionMap {
    /// `atlas` is the low mesh at the resolution of the map, with one sample a texel.
    pub(super) fn new(
        source: &PreparedScene,
        caster: &Caster<'_>,
        atlas: &Atlas,
        around: &Surroundings,
    ) -> OcclusionMap {
        let parts = parts_below(atlas, caster);
        let bands: Vec<Vec<(bool, u8)>> = (0..atlas.band_count())
            .into_par_iter()
            .map(|band| {
                let range = atlas.rows(band);
                let owners = atlas.covered(band).into_iter().enumerate();
                owners
                    .map(|(at, owner)| {
                        if owner == NOTHING {
                            return (false, 255);
                        }
                        let (x, y) = (at as u32 % atlas.side, at as u32 / atlas.side + range.start);
                        let triangle = &atlas.triangles[owner as usize];
                        let weights = atlas.weights(triangle, x, y);
                        let point = low_point(triangle, weights, &parts[owner as usize]);
                        let light = light_at(source, caster, &point, around);
                        (true, (light * 255.0 + 0.5) as u8)
                    })
                    .collect()
            })
            .collect();
        let (is_covered, mut light): (Vec<bool>, Vec<Pixel>) = bands
            .into_iter()
            .flatten()
            .map(|(covered, light)| (covered, [light; 4]))
            .unzip();
        fill(atlas.side, &is_covered, [&mut light]);
        OcclusionMap {
            side: atlas.side,
            light: light.into_iter().map(|[light, ..]| light).collect(),
        }
    }

    /// The share of light at a texel of an atlas with `side` texels on each side: 0 to 1.
    pub(super) fn at(&self, x: u32, y: u32, side: u32) -> f32 {
        let place = |texel: u32| {
            let exact = (texel as f32 + 0.5) * self.side as f32 / side as f32 - 0.5;
            let low = exact.max(0.0) as u32;
            let high = (low + 1).min(self.side - 1);
            (
                low.min(self.side - 1),
                high,
                (exact - low as f32).clamp(0.0, 1.0),
            )
        };
        let ((left, right, fx), (top, bottom, fy)) = (place(x), place(y));
        let read = |x: u32, y: u32| f32::from(self.light[(y * self.side + x) as usize]);
        let upper = read(left, top) * (1.0 - fx) + read(right, top) * fx;
        let lower = read(left, bottom) * (1.0 - fx) + read(right, bottom) * fx;
        (upper * (1.0 - fy) + lower * fy) / 255.0
    }
}

fn light_at(
    source: &PreparedScene,
    caster: &Caster<'_>,
    point: &LowPoint<'_>,
    around: &Surroundings,
) -> f32 {
    let Some(found) = caster.find(point) else {
        return 1.0;
    };
    let corners = source.corners(found.triangle).map(Vec3A::from);
    let seen = source.surface_point(found.triangle, found.weights, 0.0);
    around.light_at(mixed(corners, found.weights), seen.smooth_normal)
}
