//! Soft light for pictures that are shown to users: shadows of the key light, of the sky, and on a floor.
//!
//! The sky and the key light are sampled in fixed directions, each with a small depth map of the scene; nothing is
//! random. Comparisons do not use this, because a shadow would show one difference in two places.

use glam::{Mat4, Vec2, Vec3};
use rayon::prelude::*;

use super::camera::Camera;
use super::prepare::PreparedScene;
use super::projection::Projection;
use super::scene::BoundingBox;
use super::shade::{Exposure, Lights};
use super::texture::rounded_down;

/// Texels on each side of a depth map.
const MAP_SIZE: usize = 320;
/// The size of the key light: the tangent of half its angle.
const KEY_SPREAD: f32 = 0.16;

/// Shadow maps of the lights, and the floor of a scene.
pub(super) struct Studio {
    sky: Vec<DepthMap>,
    key: Vec<DepthMap>,
    floor: Floor,
}

/// The shadow on the floor: a blurred grid of darkness. The blur hides the steps between the shadows of a few lights.
struct Floor {
    height: f32,
    /// The grid's corner with the smallest x and z, and the side of its square.
    corner: Vec2,
    side: f32,
    darkness: Vec<f32>,
}

/// Points on each side of the floor's grid.
const FLOOR_POINTS: usize = 192;

impl Studio {
    /// Places `sky_lights` lights over the scene, and a quarter as many for the key light.
    pub(super) fn new(
        scene: &PreparedScene,
        bounds: &BoundingBox,
        lights: &Lights,
        sky_lights: usize,
    ) -> Studio {
        let map = |direction: &Vec3| DepthMap::new(scene, bounds, *direction);
        let sky: Vec<Vec3> = (0..sky_lights)
            .map(|number| sky_direction(number, sky_lights))
            .collect();
        let key: Vec<Vec3> = key_directions(lights.key_light_direction(), (sky_lights / 4).max(1));
        let (sky, key) = rayon::join(
            || sky.par_iter().map(map).collect(),
            || key.par_iter().map(map).collect(),
        );
        let mut studio = Studio {
            sky,
            key,
            floor: Floor::under(bounds),
        };
        studio.floor.darkness = studio.floor_darkness();
        studio
    }

    /// How much light reaches a point of a surface.
    pub(super) fn exposure(&self, point: Vec3, normal: Vec3) -> Exposure {
        let key: f32 = self.key.iter().map(|map| map.lit(point, normal)).sum();
        let (mut sky, mut total) = (0.0, 0.0);
        for map in &self.sky {
            let weight = normal.dot(map.direction);
            if weight > 0.0 {
                sky += weight * map.lit(point, normal);
                total += weight;
            }
        }
        let sky = if total > 0.0 { sky / total } else { 0.5 };
        // A constant share stands for light that walls and floor reflect.
        Exposure {
            key: key / self.key.len() as f32,
            sky: 0.16 + 0.84 * sky,
        }
    }

    /// How dark the floor is where a ray from the eye through clip space `x`, `y` meets it.
    pub(super) fn floor_shadow(&self, camera: &Camera, from_clip: &Mat4, x: f32, y: f32) -> f32 {
        let near = from_clip.project_point3(Vec3::new(x, y, 0.0));
        let far = from_clip.project_point3(Vec3::new(x, y, 1.0));
        let down = near.y - far.y;
        if down <= 0.0 || camera.towards.y <= 0.05 {
            return 0.0;
        }
        let point = near + (far - near) * ((near.y - self.floor.height) / down);
        self.floor.at(Vec2::new(point.x, point.z))
    }

    fn floor_darkness(&self) -> Vec<f32> {
        let floor = &self.floor;
        let dark: Vec<f32> = (0..FLOOR_POINTS * FLOOR_POINTS)
            .into_par_iter()
            .map(|number| {
                let place = Vec2::new(
                    (number % FLOOR_POINTS) as f32,
                    (number / FLOOR_POINTS) as f32,
                );
                let place = floor.corner + (place + 0.5) * (floor.side / FLOOR_POINTS as f32);
                let exposure = self.exposure(Vec3::new(place.x, floor.height, place.y), Vec3::Y);
                (1.0 - exposure.sky) * 0.80 + (1.0 - exposure.key) * 0.34
            })
            .collect();
        // Two box blurs in each direction; close to the model the sharp shadow is kept.
        let blurred = [5, 3].iter().fold(dark.clone(), |dark, radius| {
            blurred(&blurred(&dark, *radius), *radius)
        });
        dark.iter()
            .zip(blurred)
            .map(|(sharp, soft)| soft.max(sharp * sharp * 0.9))
            .collect()
    }
}

impl Floor {
    /// A square around the model's footprint, wide enough for its shadow; without darkness yet.
    fn under(bounds: &BoundingBox) -> Floor {
        let size = bounds.high - bounds.low;
        let side = size.x.max(size.z) * 1.5 + size.y * 1.5;
        let centre = (bounds.low + bounds.high) / 2.0;
        let corner = Vec2::new(centre.x, centre.z) - side / 2.0;
        Floor {
            height: bounds.low.y,
            corner,
            side: side.max(f32::MIN_POSITIVE),
            darkness: Vec::new(),
        }
    }

    /// The darkness at a place, interpolated between the grid's points and fading out towards the border.
    fn at(&self, place: Vec2) -> f32 {
        let within = (place - self.corner) / self.side;
        let fade = (1.0 - (within * 2.0 - 1.0).length()).clamp(0.0, 0.5) * 2.0;
        if fade <= 0.0 || fade.is_nan() {
            return 0.0;
        }
        let grid = (within * FLOOR_POINTS as f32 - 0.5)
            .clamp(Vec2::ZERO, Vec2::splat(FLOOR_POINTS as f32 - 1.001));
        let (x, y) = (grid.x as usize, grid.y as usize);
        let (fx, fy) = (grid.x.fract(), grid.y.fract());
        let row = |y: usize| {
            let at = y * FLOOR_POINTS + x;
            self.darkness[at] * (1.0 - fx) + self.darkness[at + 1] * fx
        };
        fade * (row(y) * (1.0 - fy) + row(y + 1) * fy)
    }
}

/// A box blur along the rows, transposed: applied twice, it blurs in both directions and restores the orientation.
fn blurred(values: &[f32], radius: usize) -> Vec<f32> {
    let mut result = vec![0.0; values.len()];
    for (y, row) in values.chunks(FLOOR_POINTS).enumerate() {
        for x in 0..FLOOR_POINTS {
            let window = &row[x.saturating_sub(radius)..(x + radius + 1).min(FLOOR_POINTS)];
            result[x * FLOOR_POINTS + y] = window.iter().sum::<f32>() / window.len() as f32;
        }
    }
    result
}

/// Direction `number` of `count`, spread evenly over the upper hemisphere and slightly below the horizon.
fn sky_direction(number: usize, count: usize) -> Vec3 {
    const GOLDEN_ANGLE: f32 = 2.399_963_2;
    let height = 1.0 - (number as f32 + 0.5) / count as f32 * 1.08;
    let radius = (1.0 - height * height).max(0.0).sqrt();
    let angle = number as f32 * GOLDEN_ANGLE;
    Vec3::new(radius * angle.cos(), height, radius * angle.sin()).normalize()
}

/// Directions in a disc around the key light.
fn key_directions(key: Vec3, count: usize) -> Vec<Vec3> {
    const GOLDEN_ANGLE: f32 = 2.399_963_2;
    let across = key.any_orthonormal_vector();
    let other = key.cross(across);
    let place = |number: usize| {
        let radius = ((number as f32 + 0.5) / count as f32).sqrt() * KEY_SPREAD;
        let angle = number as f32 * GOLDEN_ANGLE;
        (key + across * (radius * angle.cos()) + other * (radius * angle.sin())).normalize()
    };
    (0..count).map(place).collect()
}

/// The depth map of a distant light.
struct DepthMap {
    direction: Vec3,
    clip: Mat4,
    depths: Vec<f32>,
    /// The side of a texel in the world, and in depth.
    texel: f32,
    texel_depth: f32,
}

impl DepthMap {
    fn new(scene: &PreparedScene, bounds: &BoundingBox, direction: Vec3) -> DepthMap {
        let camera = Camera::of_light(direction, bounds);
        let depths = Projection::depths(scene, &camera, MAP_SIZE);
        let texel = 2.0 / (MAP_SIZE as f32 * camera.clip.row(0).truncate().length());
        let texel_depth = texel * camera.clip.row(2).truncate().length();
        DepthMap {
            direction,
            clip: camera.clip,
            depths,
            texel,
            texel_depth,
        }
    }

    /// The share of the light that reaches a point, interpolated between the four nearest texels.
    fn lit(&self, point: Vec3, normal: Vec3) -> f32 {
        let slope = (1.0 - normal.dot(self.direction)).clamp(0.0, 1.0);
        let lifted = point + normal * (self.texel * (0.6 + 1.6 * slope));
        let seen = self.clip.transform_point3(lifted);
        let x = (seen.x * 0.5 + 0.5) * MAP_SIZE as f32 - 0.5;
        let y = (0.5 - seen.y * 0.5) * MAP_SIZE as f32 - 0.5;
        let (left, top) = rounded_down(x, y);
        let (fx, fy) = (x - left, y - top);
        let depth = seen.z - self.texel_depth * 0.9;
        let open = |texel: f32| if texel >= depth { 1.0 } else { 0.0 };
        let [[one, two], [three, four]] = self.texels(left, top).map(|row| row.map(open));
        let upper = one * (1.0 - fx) + two * fx;
        let lower = three * (1.0 - fx) + four * fx;
        upper * (1.0 - fy) + lower * fy
    }

    /// The depths of the four texels right of and below this corner; outside of the map nothing is in the way.
    fn texels(&self, left: f32, top: f32) -> [[f32; 2]; 2] {
        const LAST: f32 = MAP_SIZE as f32 - 1.0;
        if left >= 0.0 && top >= 0.0 && left < LAST && top < LAST {
            let at = top as usize * MAP_SIZE + left as usize;
            return [at, at + MAP_SIZE].map(|at| [self.depths[at], self.depths[at + 1]]);
        }
        [top, top + 1.0].map(|y| {
            [left, left + 1.0].map(|x| {
                let is_inside = (0.0..=LAST).contains(&x) && (0.0..=LAST).contains(&y);
                match is_inside {
                    true => self.depths[y as usize * MAP_SIZE + x as usize],
                    false => f32::INFINITY,
                }
            })
        })
    }
}
