//! Views and cameras: the direction to look from, and the projection that fits a box into a square picture.
//!
//! The six plain views are parallel projections, so that a silhouette can be compared pixel by pixel; the three-quarter
//! view is in perspective. Everything depends on the given box alone, never on the scene that is drawn: source and
//! result get the same camera.

use std::f32::consts::TAU;

use glam::{Mat4, Vec3, Vec4};

use super::scene::BoundingBox;
use super::scene::box_corners;

/// A direction to look from. The front of a glTF model looks along +Z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum View {
    /// From +Z.
    Front,
    /// From -Z.
    Back,
    /// From -X.
    Left,
    /// From +X.
    Right,
    /// From +Y.
    Top,
    /// From -Y.
    Bottom,
    /// From the front, a little to the right and above; in perspective.
    ThreeQuarter,
    /// One of [`View::TURNS`] steps around the model, counted from the front to the right, at the height of the
    /// three-quarter view. In perspective, at the same distance for every step.
    Turn(u8),
    /// From a place inside of the model, in perspective with a field of view of 90°.
    Inside {
        /// The place of the camera.
        eye: Vec3,
        /// A horizontal direction, against which the camera looks.
        towards: Vec3,
    },
}

impl View {
    /// The six views of a comparison.
    pub const SIX: [View; 6] = [
        View::Back,
        View::Bottom,
        View::Front,
        View::Left,
        View::Right,
        View::Top,
    ];

    /// Number of steps of a turntable; fewer in unoptimized builds.
    pub const TURNS: u8 = if cfg!(debug_assertions) { 6 } else { 18 };

    /// The name in file names.
    pub fn name(self) -> &'static str {
        match self {
            View::Front => "front",
            View::Back => "back",
            View::Left => "left",
            View::Right => "right",
            View::Top => "top",
            View::Bottom => "bottom",
            View::ThreeQuarter => "three-quarter",
            View::Turn(_) => "turn",
            View::Inside { .. } => "inside",
        }
    }

    /// Whether the camera is inside of the model.
    pub fn is_inside(self) -> bool {
        matches!(self, View::Inside { .. })
    }

    /// The direction from the model to the camera, and the up vector of the picture.
    fn axes(self) -> (Vec3, Vec3) {
        match self {
            View::Front => (Vec3::Z, Vec3::Y),
            View::Back => (Vec3::NEG_Z, Vec3::Y),
            View::Left => (Vec3::NEG_X, Vec3::Y),
            View::Right => (Vec3::X, Vec3::Y),
            View::Top => (Vec3::Y, Vec3::NEG_Z),
            View::Bottom => (Vec3::NEG_Y, Vec3::Z),
            View::ThreeQuarter => (THREE_QUARTER.normalize(), Vec3::Y),
            View::Turn(step) => {
                let angle = TAU * f32::from(step) / f32::from(View::TURNS);
                let height = THREE_QUARTER.normalize().y;
                let across = (1.0 - height * height).sqrt();
                let towards = Vec3::new(angle.sin() * across, height, angle.cos() * across);
                (towards, Vec3::Y)
            }
            View::Inside { towards, .. } => (towards, Vec3::Y),
        }
    }
}

/// A camera for one view of a box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Camera {
    /// From the world to clip space; y up, depth 0 to 1.
    pub(super) clip: Mat4,
    /// The position of the camera; `None` for a parallel projection.
    pub(super) eye: Option<Vec3>,
    /// The direction from the model to the camera.
    pub(super) towards: Vec3,
    pub(super) right: Vec3,
    pub(super) up: Vec3,
}

/// The direction from the model to the camera of the three-quarter view.
const THREE_QUARTER: Vec3 = Vec3::new(0.56, 0.36, 0.80);

/// Empty border around the model, as a fraction.
const BORDER: f32 = 1.07;

impl Camera {
    pub(super) fn new(view: View, bounds: &BoundingBox) -> Camera {
        let (towards, helper) = view.axes();
        let right = helper.cross(towards).normalize();
        let up = towards.cross(right);
        let frame = CameraFrame { towards, right, up };
        match view {
            View::ThreeQuarter => frame.perspective(bounds, &box_corners(bounds.low, bounds.high)),
            View::Turn(_) => frame.perspective(bounds, &rims(bounds)),
            View::Inside { eye, .. } => frame.inside(bounds, eye),
            _ => frame.parallel(bounds),
        }
    }

    /// A camera at a light that sees the whole box.
    pub(super) fn of_light(towards: Vec3, bounds: &BoundingBox) -> Camera {
        let right = towards.any_orthonormal_vector();
        CameraFrame {
            towards,
            right,
            up: towards.cross(right),
        }
        .parallel(bounds)
    }

    /// The direction from a point to the eye.
    pub(super) fn towards_eye(&self, point: Vec3) -> Vec3 {
        self.eye
            .map_or(self.towards, |eye| (eye - point).normalize_or(self.towards))
    }
}

struct CameraFrame {
    towards: Vec3,
    right: Vec3,
    up: Vec3,
}

impl CameraFrame {
    fn parallel(&self, bounds: &BoundingBox) -> Camera {
        let centre = (bounds.low + bounds.high) / 2.0;
        let reach = box_corners(bounds.low, bounds.high)
            .map(|corner| self.local(corner - centre).abs())
            .into_iter()
            .fold(Vec3::ZERO, Vec3::max);
        let half = (reach.x.max(reach.y) * BORDER).max(f32::MIN_POSITIVE * 1e6);
        // A result that is drawn with its source's camera may extend a little beyond the source's box.
        let depth = reach.z.max(half * 0.1) * 1.5;
        let eye = centre + self.towards * depth;
        let clip = parallel_projection(half, 2.0 * depth) * self.look_from(eye);
        self.camera(clip, None)
    }

    /// Moves the camera back until all points are inside of a field of view of 26°, then centres the picture.
    fn perspective(&self, bounds: &BoundingBox, points: &[Vec3]) -> Camera {
        const HALF_ANGLE_TANGENT: f32 = 0.231;
        let centre = (bounds.low + bounds.high) / 2.0;
        let points = points.iter().map(|point| self.local(*point - centre));
        let points: Vec<Vec3> = points.collect();
        let (mut shift_x, mut shift_y, mut distance) = (0.0_f32, 0.0_f32, 1.0_f32);
        for _ in 0..8 {
            distance = points
                .iter()
                .map(|c| {
                    c.z + (c.x - shift_x).abs().max((c.y - shift_y).abs()) * BORDER
                        / HALF_ANGLE_TANGENT
                })
                .fold(0.0, f32::max);
            let (low, high) = points
                .iter()
                .fold((Vec3::MAX, Vec3::MIN), |(low, high), c| {
                    let seen =
                        Vec3::new(c.x - shift_x, c.y - shift_y, 0.0) / (distance - c.z).max(1e-9);
                    (low.min(seen), high.max(seen))
                });
            shift_x += (low.x + high.x) / 2.0 * distance;
            shift_y += (low.y + high.y) / 2.0 * distance;
        }
        let reach = points.iter().map(|c| c.z.abs()).fold(0.0, f32::max);
        let distance = distance.max(1e-6);
        let eye = centre + self.right * shift_x + self.up * shift_y + self.towards * distance;
        let near = (distance - reach * 1.5).max(distance * 0.02);
        let far = distance + reach * 4.0;
        let clip = perspective_projection(HALF_ANGLE_TANGENT, near, far) * self.look_from(eye);
        self.camera(clip, Some(eye))
    }

    /// From a place in the box; everything from close to it to the farthest corner is in the picture.
    fn inside(&self, bounds: &BoundingBox, eye: Vec3) -> Camera {
        const HALF_ANGLE_TANGENT: f32 = 1.0;
        let (near, far) = planes_inside(bounds);
        let projection = perspective_projection(HALF_ANGLE_TANGENT, near, far);
        self.camera(projection * self.look_from(eye), Some(eye))
    }

    /// The matrix from the world to the eye: x right, y up, looking along -z.
    fn look_from(&self, eye: Vec3) -> Mat4 {
        let turned = Mat4::from_cols(
            self.right.extend(0.0),
            self.up.extend(0.0),
            self.towards.extend(0.0),
            Vec4::W,
        )
        .transpose();
        turned * Mat4::from_translation(-eye)
    }

    fn local(&self, offset: Vec3) -> Vec3 {
        Vec3::new(
            offset.dot(self.right),
            offset.dot(self.up),
            offset.dot(self.towards),
        )
    }

    fn camera(&self, clip: Mat4, eye: Option<Vec3>) -> Camera {
        Camera {
            clip,
            eye,
            towards: self.towards,
            right: self.right,
            up: self.up,
        }
    }
}

/// The near and the far plane of a camera inside of the box.
fn planes_inside(bounds: &BoundingBox) -> (f32, f32) {
    let diagonal = (bounds.high - bounds.low).length().max(1e-6);
    (diagonal * 0.002, diagonal * 1.5)
}

/// The distance along the view of a depth in clip space, for a camera inside of the box.
pub(super) fn distance_inside(depth: f32, bounds: &BoundingBox) -> f32 {
    let (near, far) = planes_inside(bounds);
    match depth < 1.0 {
        true => near / (1.0 - depth * (far - near) / far),
        false => f32::INFINITY,
    }
}

/// Maps a box of width and height `2 half` and the given depth to clip space with depth 0 to 1.
fn parallel_projection(half: f32, depth: f32) -> Mat4 {
    Mat4::from_diagonal(Vec4::new(1.0 / half, 1.0 / half, -1.0 / depth, 1.0))
}

/// Maps a viewing pyramid to clip space with depth 0 at `near` to 1 at `far`.
fn perspective_projection(half_angle_tangent: f32, near: f32, far: f32) -> Mat4 {
    let scale = 1.0 / half_angle_tangent;
    let depth = far / (near - far);
    Mat4::from_cols(
        Vec4::new(scale, 0.0, 0.0, 0.0),
        Vec4::new(0.0, scale, 0.0, 0.0),
        Vec4::new(0.0, 0.0, depth, -1.0),
        Vec4::new(0.0, 0.0, near * depth, 0.0),
    )
}

/// The rims of the vertical cylinder around the box, which looks the same from every step of a turntable.
fn rims(bounds: &BoundingBox) -> Vec<Vec3> {
    let centre = (bounds.low + bounds.high) / 2.0;
    let half = (bounds.high - bounds.low) / 2.0;
    let radius = half.x.hypot(half.z);
    let points = 4 * u16::from(View::TURNS);
    (0..points)
        .flat_map(|point| {
            let angle = TAU * f32::from(point) / f32::from(points);
            let across = Vec3::new(angle.sin(), 0.0, angle.cos()) * radius;
            [-half.y, half.y].map(|height| centre + across + Vec3::Y * height)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_holds_the_whole_box() {
        let bounds = BoundingBox {
            low: Vec3::new(-1.0, 0.0, -5.0),
            high: Vec3::new(2.0, 0.3, 4.0),
        };
        for view in View::SIX.into_iter().chain([View::ThreeQuarter]) {
            let camera = Camera::new(view, &bounds);
            let mut widest: f32 = 0.0;
            for corner in box_corners(bounds.low, bounds.high) {
                let seen = camera.clip.project_point3(corner);
                assert!(
                    seen.x.abs() <= 1.0 && seen.y.abs() <= 1.0,
                    "{view:?} {seen}"
                );
                assert!((0.0..=1.0).contains(&seen.z), "{view:?} {seen}");
                widest = widest.max(seen.x.abs()).max(seen.y.abs());
            }
            assert!(widest > 0.85, "{view:?} wastes the picture: {widest}");
        }
    }

    #[test]
    fn right_hand_of_the_front_view_is_plus_x() {
        let bounds = BoundingBox {
            low: Vec3::splat(-1.0),
            high: Vec3::splat(1.0),
        };
        let seen = |view, point| Camera::new(view, &bounds).clip.project_point3(point);
        assert!(seen(View::Front, Vec3::X).x > 0.5);
        assert!(seen(View::Back, Vec3::X).x < -0.5);
        assert!(seen(View::Left, Vec3::Z).x > 0.5);
        assert!(seen(View::Right, Vec3::Z).x < -0.5);
        assert!(seen(View::Top, Vec3::Z).y < -0.5);
        assert!(seen(View::Bottom, Vec3::Z).y > 0.5);
    }
}
