//! Shapes without a mesh (`Cube`, `Sphere`, `Cylinder`, `Cone`, `Capsule`, `Plane`) as triangles.

use glam::Vec3;
use openusd::usd::Prim;

use super::super::super::scene::{Attribute, Geometry};
use super::values::{flag, number, of, text};

/// Pieces of a circle.
const PIECES: u32 = 32;

/// A point of an outline that turns around the axis: radius, height, and the normal in the same two directions.
type OutlinePoint = ([f32; 2], [f32; 2]);

/// Whether prims of a type are such shapes.
pub(super) fn is_shape(kind: &str) -> bool {
    ["Cube", "Plane", "Sphere", "Cylinder", "Cone", "Capsule"].contains(&kind)
}

/// The triangles of a prim of this kind; `None` if it is no such shape.
pub(super) fn of_prim(prim: &Prim, kind: &str) -> Option<Geometry> {
    let size = |name: &str, usual: f64| {
        let written = of(prim, name).and_then(|value| number(&value));
        written.filter(|size| size.is_finite()).unwrap_or(usual) as f32
    };
    let geometry = match kind {
        "Cube" => return Some(cube(size("size", 2.0) / 2.0)),
        "Plane" => {
            return Some(plane(
                prim,
                size("width", 2.0) / 2.0,
                size("length", 2.0) / 2.0,
            ));
        }
        "Sphere" => turned(&arc(size("radius", 1.0), 0.0, -90.0, 90.0)),
        "Cylinder" => {
            let (radius, half) = (size("radius", 1.0), size("height", 2.0) / 2.0);
            turned(&[
                ([0.0, -half], [0.0, -1.0]),
                ([radius, -half], [0.0, -1.0]),
                ([radius, -half], [1.0, 0.0]),
                ([radius, half], [1.0, 0.0]),
                ([radius, half], [0.0, 1.0]),
                ([0.0, half], [0.0, 1.0]),
            ])
        }
        "Cone" => {
            let (radius, half) = (size("radius", 1.0), size("height", 2.0) / 2.0);
            let slope = Vec3::new(half * 2.0, radius, 0.0).normalize_or(Vec3::Y);
            let slope = [slope.x, slope.y];
            turned(&[
                ([0.0, -half], [0.0, -1.0]),
                ([radius, -half], [0.0, -1.0]),
                ([radius, -half], slope),
                ([0.0, half], slope),
            ])
        }
        "Capsule" => {
            let (radius, half) = (size("radius", 0.5), size("height", 1.0) / 2.0);
            let mut outline = arc(radius, -half, -90.0, 0.0);
            outline.extend(arc(radius, half, 0.0, 90.0));
            turned(&outline)
        }
        _ => return None,
    };
    let axis = text(prim, "axis");
    let axis = if kind == "Sphere" {
        Some("Z")
    } else {
        axis.as_deref()
    };
    Some(along(geometry, axis.unwrap_or("Z")))
}

/// Whether a shape is seen from behind; planes are, unless the layer says otherwise.
pub(super) fn is_double_sided(prim: &Prim, kind: &str) -> bool {
    flag(prim, "doubleSided") || (kind == "Plane" && of(prim, "doubleSided").is_none())
}

/// A part of a circle around (0, `middle`), from and to these degrees above the ground.
fn arc(radius: f32, middle: f32, from: f32, to: f32) -> Vec<OutlinePoint> {
    let pieces = (PIECES as f32 * (to - from) / 360.0).round() as u32;
    let point = |piece: u32| {
        let angle = (from + (to - from) * piece as f32 / pieces as f32).to_radians();
        // The poles are exactly on the axis.
        let across = if angle.cos().abs() < 1e-6 {
            0.0
        } else {
            angle.cos()
        };
        let normal = [across, angle.sin()];
        ([radius * normal[0], middle + radius * normal[1]], normal)
    };
    (0..=pieces).map(point).collect()
}

/// The surface that an outline makes around the z axis.
fn turned(outline: &[OutlinePoint]) -> Geometry {
    let (mut positions, mut normals, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for piece in 0..=PIECES {
        // The last line is bit-identical to the first.
        let angle = (piece % PIECES) as f32 / PIECES as f32 * std::f32::consts::TAU;
        let (sin, cos) = angle.sin_cos();
        for ([radius, height], [across, up]) in outline {
            positions.extend([radius * cos, radius * sin, *height]);
            normals.extend([across * cos, across * sin, *up]);
        }
    }
    let count = outline.len() as u32;
    for piece in 0..PIECES {
        for row in 0..count - 1 {
            let [low, high] = [row, row + 1].map(|row| outline[row as usize].0);
            // Two points at one place differ in their normals: no surface lies between them.
            if low == high {
                continue;
            }
            let a = piece * count + row;
            let (b, c, d) = (a + count, a + count + 1, a + 1);
            // A piece that ends on the axis is one triangle.
            if low[0] != 0.0 {
                indices.extend([a, b, c]);
            }
            if high[0] != 0.0 {
                indices.extend([a, c, d]);
            }
        }
    }
    shape(positions, normals, indices)
}

/// The geometry, which stands along z, along another axis.
fn along(mut geometry: Geometry, axis: &str) -> Geometry {
    for attribute in &mut geometry.attributes {
        for part in attribute.values.chunks_exact_mut(3) {
            match axis {
                "X" => part.rotate_right(1),
                "Y" => part.rotate_left(1),
                _ => {}
            }
        }
    }
    geometry
}

fn plane(prim: &Prim, width: f32, length: f32) -> Geometry {
    let axis = text(prim, "axis");
    let axis = axis.as_deref().unwrap_or("Z");
    // Around x and y, the width is along z or x, and the length along y or z: the axes that `along` swaps.
    let [right, up] = match axis {
        "X" | "Y" => [length, width],
        _ => [width, length],
    };
    let corners = [[-right, -up], [right, -up], [right, up], [-right, up]];
    let positions = corners.iter().flat_map(|[x, y]| [*x, *y, 0.0]).collect();
    let normals = [0.0, 0.0, 1.0].repeat(4);
    along(shape(positions, normals, vec![0, 1, 2, 0, 2, 3]), axis)
}

fn cube(half: f32) -> Geometry {
    let (mut positions, mut normals, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for (axis, sign) in (0..3).flat_map(|axis| [(axis, 1.0), (axis, -1.0)]) {
        let normal = Vec3::AXES[axis] * sign;
        let (right, up) = (
            Vec3::AXES[(axis + 1) % 3] * sign,
            Vec3::AXES[(axis + 2) % 3],
        );
        let first = positions.len() as u32 / 3;
        for (x, y) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
            positions.extend(((normal + right * x + up * y) * half).to_array());
            normals.extend(normal.to_array());
        }
        indices.extend([0, 1, 2, 0, 2, 3].map(|corner| first + corner));
    }
    shape(positions, normals, indices)
}

fn shape(positions: Vec<f32>, normals: Vec<f32>, indices: Vec<u32>) -> Geometry {
    Geometry {
        indices,
        attributes: vec![
            Attribute::new("POSITION", 3, positions),
            Attribute::new("NORMAL", 3, normals),
        ],
        ..Geometry::default()
    }
}
