//! Shades a sample: textures, then light. There is a key light over the viewer's left shoulder, a softer one from the
//! right, and a hemisphere with a soft box that metal reflects.
//!
//! All light is linear. The lights turn with the camera, so that all views of a comparison have the same light.

use glam::{Vec3, Vec4};
use std::f32::consts::PI;

use super::camera::Camera;
use super::coverage::ScreenTriangle;
use super::interpolate::InterpolatedPoint;
use super::prepare::PreparedScene;
use super::projection::ShownTriangle;
use super::scene::RenderAlpha;

/// The interpolated normal, which points to the viewer's side.
pub(super) fn outward(point: &InterpolatedPoint, setup: &ScreenTriangle) -> Vec3 {
    point.smooth_normal(Vec3::Y) * if setup.backside { -1.0 } else { 1.0 }
}

/// The light of one picture.
#[derive(Debug, Clone)]
pub(super) struct Lights {
    key: Vec3,
    fill: Vec3,
    /// The main direction of the light: up, tilted towards the viewer.
    zenith: Vec3,
}

/// The share of each light that reaches a point: 0 is fully shadowed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exposure {
    /// Share of the key light, 0 to 1.
    pub(super) key: f32,
    /// Share of the sky light, 0 to 1.
    pub(super) sky: f32,
}

impl Exposure {
    /// Without shadow.
    pub(super) const FULL: Exposure = Exposure { key: 1.0, sky: 1.0 };
}

const SKY: Vec3 = Vec3::new(0.96, 0.98, 1.02);
const GROUND: Vec3 = Vec3::new(0.50, 0.48, 0.46);
const KEY: Vec3 = Vec3::new(1.62, 1.56, 1.46);
const FILL: Vec3 = Vec3::new(0.30, 0.32, 0.36);

/// A material at a point.
struct MaterialSample {
    diffuse: Vec3,
    mirror: Vec3,
    roughness: f32,
}

impl Lights {
    pub(super) fn new(camera: &Camera) -> Lights {
        let local = |x: f32, y: f32, z: f32| {
            (camera.right * x + camera.up * y + camera.towards * z).normalize()
        };
        Lights {
            key: local(-0.55, 0.75, 0.80),
            fill: local(0.85, 0.05, 0.55),
            zenith: (Vec3::Y + camera.up * 0.35 + camera.towards * 0.45).normalize_or(Vec3::Y),
        }
    }

    /// The direction to the key light.
    pub(super) fn key_light_direction(&self) -> Vec3 {
        self.key
    }

    /// The linear colour and alpha of a sample, as it is shown.
    pub(super) fn shade(
        &self,
        scene: &PreparedScene,
        camera: &Camera,
        hit: &InterpolatedPoint,
        shown: &ShownTriangle<'_>,
        exposure: Exposure,
    ) -> Vec4 {
        let material = shown.material;
        let base = hit.base_color(scene, material);
        let alpha = if material.plain.alpha == RenderAlpha::Blend {
            base.w.clamp(0.0, 1.0)
        } else {
            1.0
        };
        if material.plain.unlit {
            return base.truncate().extend(alpha);
        }
        let [occlusion, roughness, metallic] = hit.orm(scene, material).to_array();
        let side = if shown.setup.backside { -1.0 } else { 1.0 };
        let normal = outward(hit, &shown.setup);
        let normal = hit.mapped_normal(scene, material, normal, side);
        let colour = base.truncate().max(Vec3::ZERO);
        let matter = MaterialSample {
            diffuse: colour * (1.0 - metallic),
            mirror: Vec3::splat(0.04).lerp(colour, metallic),
            roughness: roughness.max(0.06),
        };
        let lit = self.lit(
            &matter,
            normal,
            camera.towards_eye(hit.position),
            occlusion,
            exposure,
        );
        tone(lit + hit.emissive(scene, material)).extend(alpha)
    }

    fn lit(
        &self,
        matter: &MaterialSample,
        normal: Vec3,
        eye: Vec3,
        occlusion: f32,
        exposure: Exposure,
    ) -> Vec3 {
        let facing = normal.dot(eye).max(1e-3);
        let shade = occlusion * exposure.sky;
        let mut light = self.hemisphere(normal, 1.0) * matter.diffuse * shade * 0.74;
        let mirrored = normal * (2.0 * normal.dot(eye)) - eye;
        // Reflections at grazing angles are occluded as well.
        let mirror_shade = (shade + (1.0 - shade) * (1.0 - matter.roughness) * 0.3).clamp(0.0, 1.0);
        light += self.surroundings(mirrored, matter.roughness)
            * mirrored_share(matter.mirror, matter.roughness, facing)
            * mirror_shade;
        let key = normal.dot(self.key).max(0.0) * exposure.key;
        if key > 0.0 {
            let sheen = highlight(matter, normal, eye, self.key, facing);
            light += KEY * key * (matter.diffuse * 0.62 + sheen);
        }
        light + FILL * normal.dot(self.fill).max(0.0) * matter.diffuse * occlusion
    }

    /// The sky's colour in a direction, blurred by roughness.
    fn hemisphere(&self, direction: Vec3, roughness: f32) -> Vec3 {
        let width = 0.12 + 0.88 * roughness;
        let t = (direction.dot(self.zenith) / width * 0.5 + 0.5).clamp(0.0, 1.0);
        GROUND.lerp(SKY, t * t * (3.0 - 2.0 * t))
    }

    /// The light that a mirror reflects: the hemisphere, a soft box at the key light and a strip opposite.
    fn surroundings(&self, direction: Vec3, roughness: f32) -> Vec3 {
        let sharpness = 26.0 * (1.0 - roughness) * (1.0 - roughness) + 1.6;
        let lobe = |towards: Vec3| ((direction.dot(towards) - 1.0) * sharpness).exp2();
        let dim = 0.62 + 0.38 * roughness;
        self.hemisphere(direction, roughness) * dim
            + Vec3::splat(1.45) * lobe(self.key) * (1.0 - 0.72 * roughness)
            + Vec3::splat(0.75) * lobe(self.fill) * (1.0 - 0.8 * roughness)
    }
}

/// The share of surrounding light that is mirrored: an approximation of the integral over the GGX lobe.
fn mirrored_share(mirror: Vec3, roughness: f32, facing: f32) -> Vec3 {
    let c0 = Vec4::new(-1.0, -0.0275, -0.572, 0.022);
    let c1 = Vec4::new(1.0, 0.0425, 1.04, -0.04);
    let r = c0 * roughness + c1;
    let a004 = (r.x * r.x).min((-9.28 * facing).exp2()) * r.x + r.y;
    mirror * (-1.04 * a004 + r.z) + (1.04 * a004 + r.w)
}

/// GGX with Smith's shadowing, for one light.
fn highlight(matter: &MaterialSample, normal: Vec3, eye: Vec3, light: Vec3, facing: f32) -> Vec3 {
    let half = (eye + light).normalize_or(normal);
    let (nh, nl, vh) = (
        normal.dot(half).max(0.0),
        normal.dot(light).max(1e-3),
        eye.dot(half).max(0.0),
    );
    let alpha = matter.roughness * matter.roughness;
    let square = alpha * alpha;
    let denominator = nh * nh * (square - 1.0) + 1.0;
    let distribution = square / (PI * denominator * denominator).max(1e-7);
    let k = alpha / 2.0;
    let visibility = 0.25 / ((facing * (1.0 - k) + k) * (nl * (1.0 - k) + k));
    let fresnel = matter.mirror + (Vec3::ONE - matter.mirror) * (1.0 - vh).powi(5);
    fresnel * (distribution * visibility).min(24.0)
}

/// Tone mapping: does not change colours up to a high brightness, then compresses them towards white without a shift of
/// hue (Khronos PBR Neutral).
fn tone(light: Vec3) -> Vec3 {
    const START: f32 = 0.8 - 0.04;
    const DESATURATION: f32 = 0.15;
    let lowest = light.min_element();
    let offset = if lowest < 0.08 {
        lowest - 6.25 * lowest * lowest
    } else {
        0.04
    };
    let colour = light - offset;
    let peak = colour.max_element();
    if peak < START {
        return colour.max(Vec3::ZERO);
    }
    let range = 1.0 - START;
    let pressed = 1.0 - range * range / (peak + range - START);
    let colour = colour * (pressed / peak);
    let towards_white = 1.0 - 1.0 / (DESATURATION * (peak - pressed) + 1.0);
    colour
        .lerp(Vec3::splat(pressed), towards_white)
        .max(Vec3::ZERO)
}
