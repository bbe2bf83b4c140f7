//! Normalizes attributes as glTF requires: unit normals and tangents, weights that sum to one, index 0 for joints
//! without a weight.
//!
//! Values that already comply are not changed.

use glam::{Vec3, Vec4};

use super::super::document::ComponentType;
use super::super::scene::{Geometry, Mode, Storage};

/// Validators and viewers accept a unit vector whose length differs from 1 by at most this.
const UNIT_TOLERANCE: f32 = 0.000_4;

pub(super) fn normalize_attributes(geometry: &mut Geometry) {
    unit_normals(geometry);
    unit_tangents(geometry);
    sum_of_weights(geometry);
    clamp_colors(geometry);
}

fn is_unit(vector: Vec3) -> bool {
    (vector.length() - 1.0).abs() <= UNIT_TOLERANCE
}

fn unit_normals(geometry: &mut Geometry) {
    let Some(normals) = geometry.attribute("NORMAL") else {
        return;
    };
    if normals.components != 3 {
        return;
    }
    let mut values = normals.values.clone();
    let is_missing = |normal: &[f32]| Vec3::from_slice(normal).length() < 1e-6;
    let faces = values
        .chunks_exact(3)
        .any(is_missing)
        .then(|| face_normals(geometry));
    for (vertex, normal) in values.chunks_exact_mut(3).enumerate() {
        let vector = Vec3::from_slice(normal);
        if is_unit(vector) {
            continue;
        }
        let of_faces = || faces.as_ref().map_or(Vec3::Y, |faces| faces[vertex]);
        let unit = vector.try_normalize().unwrap_or_else(of_faces);
        normal.copy_from_slice(&unit.to_array());
    }
    geometry
        .attribute_mut("NORMAL")
        .expect("found above")
        .values = values;
}

/// A normal for each vertex from the faces around it, weighted by their area.
pub(in super::super) fn face_normals(geometry: &Geometry) -> Vec<Vec3> {
    let mut sums = vec![Vec3::ZERO; geometry.vertex_count()];
    if geometry.mode == Mode::Triangles {
        for corners in geometry.indices.chunks_exact(3) {
            let [a, b, c] = [corners[0], corners[1], corners[2]].map(|at| geometry.position(at));
            let area = (b - a).cross(c - a);
            for corner in corners {
                sums[*corner as usize] += area;
            }
        }
    }
    sums.into_iter()
        .map(|sum| sum.try_normalize().unwrap_or(Vec3::Y))
        .collect()
}

fn unit_tangents(geometry: &mut Geometry) {
    let normals = geometry
        .attribute("NORMAL")
        .map(|normals| normals.values.clone());
    let Some(tangents) = geometry.attribute_mut("TANGENT") else {
        return;
    };
    if tangents.components != 4 {
        return;
    }
    for (vertex, tangent) in tangents.values.chunks_exact_mut(4).enumerate() {
        let vector = Vec4::from_slice(tangent);
        let direction = vector.truncate();
        let sign = if vector.w < 0.0 { -1.0 } else { 1.0 };
        if !is_unit(direction) {
            let normal = normals
                .as_ref()
                .map_or(Vec3::Y, |normals| Vec3::from_slice(&normals[vertex * 3..]));
            let unit = direction
                .try_normalize()
                .unwrap_or_else(|| normal.any_orthogonal_vector().normalize_or(Vec3::X));
            tangent[..3].copy_from_slice(&unit.to_array());
        }
        tangent[3] = sign;
    }
}

fn clamp_colors(geometry: &mut Geometry) {
    for attribute in &mut geometry.attributes {
        let is_fraction = attribute.storage.normalized;
        if attribute.name.starts_with("COLOR_") || is_fraction {
            for number in &mut attribute.values {
                *number = number.clamp(if is_fraction { -1.0 } else { 0.0 }, 1.0);
            }
        }
    }
}

/// Makes the weights of all sets of a vertex sum to 1, exactly if they are stored as integers.
fn sum_of_weights(geometry: &mut Geometry) {
    let sets: Vec<(usize, usize)> = (0..)
        .map_while(|set| {
            let place = |name: &str| {
                let name = format!("{name}_{set}");
                geometry
                    .attributes
                    .iter()
                    .position(|found| found.name == name)
            };
            Some((place("JOINTS")?, place("WEIGHTS")?))
        })
        .collect();
    if sets.is_empty() {
        return;
    }
    let steps = match geometry.attributes[sets[0].1].storage.component {
        ComponentType::U8 => Some(255.0),
        ComponentType::U16 => Some(65_535.0),
        _ => None,
    };
    for vertex in 0..geometry.vertex_count() {
        let mut weights = Vec::with_capacity(sets.len() * 4);
        let mut joints = Vec::with_capacity(sets.len() * 4);
        for (joint_place, weight_place) in &sets {
            joints.extend_from_slice(geometry.attributes[*joint_place].at(vertex));
            weights.extend_from_slice(geometry.attributes[*weight_place].at(vertex));
        }
        normalize(&mut weights, steps);
        drop_unused(&mut joints, &mut weights);
        for (set, (joint_place, weight_place)) in sets.iter().enumerate() {
            let part = set * 4..set * 4 + 4;
            let own = vertex * 4..vertex * 4 + 4;
            geometry.attributes[*joint_place].values[own.clone()]
                .copy_from_slice(&joints[part.clone()]);
            geometry.attributes[*weight_place].values[own].copy_from_slice(&weights[part]);
        }
    }
    for (joint_place, _) in &sets {
        let joints = &mut geometry.attributes[*joint_place];
        let component = if joints.values.iter().all(|joint| *joint < 256.0) {
            ComponentType::U8
        } else {
            ComponentType::U16
        };
        joints.storage = Storage {
            component,
            normalized: false,
        };
    }
}

fn normalize(weights: &mut [f32], steps: Option<f32>) {
    for weight in weights.iter_mut() {
        *weight = weight.max(0.0);
    }
    let sum: f32 = weights.iter().sum();
    if sum <= 0.0 {
        weights[0] = 1.0;
    } else if (sum - 1.0).abs() > 1e-6 {
        weights.iter_mut().for_each(|weight| *weight /= sum);
    }
    let Some(steps) = steps else { return };
    let rounded: Vec<f32> = weights
        .iter()
        .map(|weight| (weight * steps).round())
        .collect();
    let missing = steps - rounded.iter().sum::<f32>();
    let greatest = (0..rounded.len())
        .max_by(|one, other| rounded[*one].total_cmp(&rounded[*other]))
        .expect("a vertex has weights");
    for (place, weight) in weights.iter_mut().enumerate() {
        let extra = if place == greatest { missing } else { 0.0 };
        *weight = (rounded[place] + extra) / steps;
    }
}

/// Sets the index of a joint without weight to 0, and adds up the weights of a joint that is listed twice.
fn drop_unused(joints: &mut [f32], weights: &mut [f32]) {
    for place in 0..joints.len() {
        if weights[place] <= 0.0 {
            joints[place] = 0.0;
            weights[place] = 0.0;
            continue;
        }
        let earlier =
            (0..place).find(|earlier| weights[*earlier] > 0.0 && joints[*earlier] == joints[place]);
        if let Some(earlier) = earlier {
            weights[earlier] += weights[place];
            joints[place] = 0.0;
            weights[place] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stored_as_bytes_sum_to_255() {
        let mut weights = [0.333, 0.333, 0.333, 0.0];
        normalize(&mut weights, Some(255.0));
        let bytes: Vec<u32> = weights
            .iter()
            .map(|weight| (weight * 255.0).round() as u32)
            .collect();
        assert_eq!(bytes.iter().sum::<u32>(), 255);
    }

    #[test]
    fn joints_without_weight_are_named_zero() {
        let (mut joints, mut weights) = ([3.0, 5.0, 3.0, 9.0], [0.5, 0.25, 0.25, 0.0]);
        drop_unused(&mut joints, &mut weights);
        assert_eq!(joints, [3.0, 5.0, 0.0, 0.0]);
        assert_eq!(weights, [0.75, 0.25, 0.0, 0.0]);
    }
}
