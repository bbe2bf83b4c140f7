//! The transform of a prim from its `xformOpOrder`, as `UsdGeomXformable` defines it.

use glam::{DMat4, DQuat, DVec3};
use openusd::sdf::Value;
use openusd::usd::{Attribute, Prim};

use super::values::{is_plain_text, number, text_of, texts, value, vector};

const INVERTED: &str = "!invert!";
const RESET: &str = "!resetXformStack!";

/// The operations of a prim, the outermost first.
pub(super) struct Operations {
    names: Vec<String>,
    /// Whether the transforms of the parents do not apply.
    pub(super) resets: bool,
}

impl Operations {
    pub(super) fn of(prim: &Prim) -> Operations {
        let order = value(&prim.attribute("xformOpOrder"), None);
        let mut names = order.map(texts).unwrap_or_default();
        // What is listed before a reset does not count.
        let reset = names.iter().rposition(|name| name == RESET);
        if let Some(reset) = reset {
            names.drain(..=reset);
        }
        names.retain(|name| is_plain_text(name));
        Operations {
            names,
            resets: reset.is_some(),
        }
    }

    /// The times at which an operation has a value of its own.
    pub(super) fn times(&self, prim: &Prim) -> Vec<f64> {
        let names = self.names.iter();
        let attributes = names.map(|name| prim.attribute(name.trim_start_matches(INVERTED)));
        let mut times: Vec<f64> = attributes
            .flat_map(|attribute| attribute.time_sample_times().unwrap_or_default())
            .filter(|time| time.is_finite())
            .collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        times
    }

    /// The matrix to the parent, at rest or at a time.
    pub(super) fn matrix(&self, prim: &Prim, time: Option<f64>) -> DMat4 {
        let matrices = self.names.iter().map(|name| one(prim, name, time));
        matrices.fold(DMat4::IDENTITY, |all, matrix| all * matrix)
    }
}

fn one(prim: &Prim, name: &str, time: Option<f64>) -> DMat4 {
    let (name, is_inverted) = match name.strip_prefix(INVERTED) {
        Some(name) => (name, true),
        None => (name, false),
    };
    let kind = name.strip_prefix("xformOp:").unwrap_or(name);
    let kind = kind.split(':').next().unwrap_or(kind);
    let matrix = value(&prim.attribute(name), time).and_then(|value| of_value(kind, value));
    let matrix = matrix
        .filter(|matrix| matrix.is_finite())
        .unwrap_or(DMat4::IDENTITY);
    match is_inverted {
        true if matrix.determinant() != 0.0 => matrix.inverse(),
        true => DMat4::IDENTITY,
        false => matrix,
    }
}

fn of_value(kind: &str, value: Value) -> Option<DMat4> {
    let axis = |name: &str| match name {
        "X" => DVec3::X,
        "Y" => DVec3::Y,
        _ => DVec3::Z,
    };
    Some(match kind {
        "transform" => match value {
            // Rows of matrices for row vectors are columns of those for column vectors.
            Value::Matrix4d(matrix) => DMat4::from_cols_array(&matrix.0),
            _ => return None,
        },
        "translate" => DMat4::from_translation(three(value)?),
        "scale" => DMat4::from_scale(three(value)?),
        "orient" => {
            let [x, y, z, w] = vector::<4>(value)?.map(f64::from);
            let turn = DQuat::from_xyzw(x, y, z, w);
            match turn.length_squared() > 0.0 {
                true => DMat4::from_quat(turn.normalize()),
                false => DMat4::IDENTITY,
            }
        }
        "translateX" | "translateY" | "translateZ" => {
            DMat4::from_translation(axis(&kind[9..]) * number(&value)?)
        }
        "scaleX" | "scaleY" | "scaleZ" => {
            let along = axis(&kind[5..]);
            DMat4::from_scale(DVec3::ONE - along + along * number(&value)?)
        }
        "rotateX" | "rotateY" | "rotateZ" => {
            DMat4::from_axis_angle(axis(&kind[6..]), number(&value)?.to_radians())
        }
        "rotateXYZ" | "rotateXZY" | "rotateYXZ" | "rotateYZX" | "rotateZXY" | "rotateZYX" => {
            let angles = three(value)?;
            // The first named axis turns first.
            let turns = kind[6..].chars().map(|name| {
                let along = axis(name.encode_utf8(&mut [0; 4]));
                DMat4::from_axis_angle(along, along.dot(angles).to_radians())
            });
            turns.fold(DMat4::IDENTITY, |all, turn| turn * all)
        }
        _ => return None,
    })
}

/// Three numbers in full precision.
fn three(value: Value) -> Option<DVec3> {
    match value {
        Value::Vec3d(v) => Some(DVec3::new(v.x, v.y, v.z)),
        other => vector::<3>(other).map(|v| DVec3::from_array(v.map(f64::from))),
    }
}

/// Whether a prim is drawn, which may change over time.
pub(super) struct Visibility {
    attribute: Attribute,
    times: Vec<f64>,
}

impl Visibility {
    pub(super) fn of(prim: &Prim) -> Visibility {
        let attribute = prim.attribute("visibility");
        let mut times = attribute.time_sample_times().unwrap_or_default();
        times.retain(|time| time.is_finite());
        Visibility { attribute, times }
    }

    fn is_visible(&self, time: Option<f64>) -> bool {
        let visibility = value(&self.attribute, time);
        visibility.and_then(|value| text_of(&value)).as_deref() != Some("invisible")
    }

    /// Whether it is drawn at no time.
    pub(super) fn is_never(&self) -> bool {
        let mut times = self.times.iter();
        !self.is_visible(None) && !times.any(|time| self.is_visible(Some(*time)))
    }

    /// Whether it is drawn at some times only.
    pub(super) fn changes(&self) -> bool {
        let mut times = self.times.iter();
        let at_rest = self.is_visible(None);
        times.any(|time| self.is_visible(Some(*time)) != at_rest)
    }

    /// The times of its values.
    pub(super) fn times(&self) -> &[f64] {
        &self.times
    }

    /// The scale that shows or hides it, at rest or at a time. glTF has no other way to hide a node for a time.
    pub(super) fn scale(&self, time: Option<f64>) -> f32 {
        match self.is_visible(time) {
            true => 1.0,
            false => 0.0,
        }
    }
}
