//! Rounding of positions and texture coordinates before they are packed: to multiples of a power of two, which depends on the
//! size of the model or of its images. Other numbers keep a number of bits of their range ([`super::meshopt_views`]).

use serde_json::Value;

use super::super::scene::{Attribute, Scene, Storage, slots_of};
use super::super::textures::dimensions;

/// Number of steps of positions along the longest side of the model; the nearest power of two makes it 11,585 to 23,171.
const STEPS_OF_MODEL: f32 = 16_384.0;
/// Number of steps along the longest side of each geometry, at least; in the same way.
const STEPS_OF_PART: f32 = 4_096.0;
/// The step for normals and tangents of morph targets that do not fit into bytes.
const DISPLACED_DIRECTION: Step = Step(-8);

/// The exponent of a power of two. Numbers are rounded to multiples of this power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Step(i32);

impl Step {
    /// The least exponent that the filter stores.
    const LEAST: i32 = -100;
    /// Bits of a number in steps, of which the filter stores 24 with the sign. One is for rounding.
    const BITS: i32 = 22;

    /// The greatest power of two that is at most `length`.
    fn at_most(length: f32) -> Step {
        let exponent = match length > 0.0 && length.is_finite() {
            true => length.log2().floor() as i32,
            false => Step::LEAST,
        };
        Step(exponent.max(Step::LEAST))
    }

    /// The power of two that is nearest to `length`: between 0.71 and 1.42 times as long.
    fn near(length: f32) -> Step {
        Step::at_most(length * std::f32::consts::SQRT_2)
    }

    /// The step of the positions of each geometry of a scene, and of their displacements.
    fn of_positions(scene: &Scene) -> Vec<Step> {
        let model = scene
            .bounds()
            .map_or(0.0, |bounds| bounds.size().max_element());
        let drawn = scene.geometries.iter().zip(scene.largest_draws());
        let steps = drawn.map(|(geometry, draw)| {
            let part = geometry
                .bounds()
                .map_or(0.0, |bounds| bounds.size().max_element());
            let part = Step::near(part / STEPS_OF_PART);
            let scale = draw.map_or(0.0, |draw| draw.scale_of(geometry));
            match scale > 0.0 {
                true => Step(part.0.min(Step::near(model / STEPS_OF_MODEL / scale).0)),
                false => part,
            }
        });
        steps.collect()
    }

    pub(super) fn length(self) -> f64 {
        f64::from(self.0).exp2()
    }

    /// Whether viewers can scale a node by it: they may take a scale that is nearly 0 for 0.
    pub(super) fn scales(self) -> bool {
        (-30..=30).contains(&self.0)
    }

    /// This step, or the least one that stores all the numbers.
    fn for_numbers(self, values: &[f32]) -> Step {
        let greatest = values
            .iter()
            .fold(0.0_f32, |most, number| most.max(number.abs()));
        Step(self.0.max(Step::at_most(greatest).0 + 1 - Step::BITS))
    }
}

/// The steps of a scene that is being written.
pub(super) struct Steps {
    /// Of the positions of each geometry.
    geometries: Vec<Step>,
    /// Of the positions of the geometry that is being written.
    positions: Step,
    texture_coordinates: Step,
}

impl Steps {
    pub(super) fn of(scene: &Scene) -> Steps {
        Steps {
            geometries: Step::of_positions(scene),
            positions: Step(Step::LEAST),
            texture_coordinates: step_of_texture_coordinates(scene),
        }
    }

    /// Begins the geometry with this number.
    pub(super) fn begin(&mut self, geometry: usize) {
        self.positions = self.geometries[geometry];
    }

    /// Of the positions of the geometry with this number.
    pub(super) fn of_geometry(&self, geometry: usize) -> Step {
        self.geometries[geometry]
    }

    /// To what an attribute is rounded; `None` for those that keep bits of their range. Normals and tangents are those of
    /// morph targets here; those of vertices are packed as directions.
    pub(super) fn of_attribute(&self, attribute: &Attribute) -> Option<Step> {
        if attribute.storage != Storage::FLOAT {
            return None;
        }
        match attribute.name.split('_').next() {
            Some("POSITION") => Some(self.positions),
            Some("TEXCOORD") => Some(self.texture_coordinates),
            Some("NORMAL" | "TANGENT") => Some(DISPLACED_DIRECTION),
            _ => None,
        }
    }
}

/// Whether normals or tangents of a morph target are written as bytes, as those of vertices: they move by at most a 254th.
pub(super) fn fits_bytes(attribute: &Attribute) -> bool {
    matches!(&*attribute.name, "NORMAL" | "TANGENT")
        && attribute.values.iter().all(|number| number.abs() <= 1.0)
}

/// Weights of joints in whole 255ths with the sum one; `None` for other attributes, and where a vertex has more weights in
/// another set.
pub(super) fn weights_for_bytes(attribute: &Attribute) -> Option<Vec<f32>> {
    const STEPS: f32 = 255.0;
    if attribute.name != "WEIGHTS_0" || attribute.components != 4 {
        return None;
    }
    let mut values = attribute.values.clone();
    for row in values.as_chunks_mut::<4>().0 {
        let is_whole = (row.iter().sum::<f32>() - 1.0).abs() < 1.0 / STEPS;
        if !is_whole || row.iter().any(|weight| *weight < 0.0) {
            return None;
        }
        let mut steps = row.map(|weight| (weight * STEPS).round());
        let missing = STEPS - steps.iter().sum::<f32>();
        *steps.iter_mut().max_by(|one, other| one.total_cmp(other))? += missing;
        *row = steps.map(|count| count / STEPS);
    }
    Some(values)
}

/// Rounds floats to multiples of a step; returns the words to store, and the values after unpacking.
pub(super) fn stepped(values: &[f32], step: Step) -> (Vec<u8>, Vec<f32>) {
    let step = step.for_numbers(values);
    let (Step(exponent), step) = (step, step.length());
    let (mut bytes, mut unpacked) = (Vec::with_capacity(values.len() * 4), Vec::new());
    for number in values {
        let steps = (f64::from(*number) / step).round() as i32;
        // 24 bits are the number of steps, eight the exponent.
        let word = (steps & 0x00ff_ffff) | (exponent << 24);
        bytes.extend_from_slice(&word.to_le_bytes());
        unpacked.push((f64::from(steps) * step) as f32);
    }
    (bytes, unpacked)
}

/// Texture coordinates are rounded as for an image of at least so many pixels a side.
const LEAST_SIDE: u32 = 512;

/// A quarter of a pixel of the largest image, divided by the largest scale of a texture transform. So texture coordinates move
/// by at most an eighth of a pixel.
fn step_of_texture_coordinates(scene: &Scene) -> Step {
    let sides = scene
        .images
        .iter()
        .filter_map(|image| dimensions(&image.bytes));
    let side = sides.map(|(width, height)| width.max(height)).max();
    let materials = scene.list("materials").iter();
    let scales = materials.flat_map(slots_of).flat_map(|(_, _, texture)| {
        let scale = texture.pointer("/extensions/KHR_texture_transform/scale");
        let scale = scale.and_then(Value::as_array).into_iter().flatten();
        scale.filter_map(Value::as_f64).collect::<Vec<_>>()
    });
    let most = scales.fold(1.0_f64, |most, scale| most.max(scale.abs()));
    Step::at_most(0.25 / (side.unwrap_or(0).max(LEAST_SIDE) as f32 * most as f32))
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::{Geometry, Mesh, Primitive};
    use super::super::meshopt_views::Packing;
    use super::*;

    /// The whole model, a part that is drawn at twice its size, and one that is tiny.
    #[test]
    fn small_parts_are_rounded_as_the_model_but_never_to_fewer_steps_than_show_them() {
        let of_size = |size: f32| Geometry {
            indices: vec![0, 1, 2],
            attributes: vec![Attribute::new(
                "POSITION",
                3,
                vec![0.0, 0.0, 0.0, size, 0.0, 0.0, 0.0, size, 0.0],
            )],
            ..Geometry::default()
        };
        let mesh = |geometry| Mesh {
            primitives: vec![Primitive {
                geometry,
                ..Primitive::default()
            }],
            ..Mesh::default()
        };
        let json = serde_json::json!({
            "scene": 0, "scenes": [{ "nodes": [0, 1, 2] }],
            "nodes": [{ "mesh": 0 }, { "mesh": 1, "scale": [2, 2, 2] }, { "mesh": 2 }],
        });
        let scene = Scene {
            json: json.as_object().unwrap().clone(),
            geometries: [16.0, 4.0, 0.001].map(of_size).to_vec(),
            meshes: (0..3).map(mesh).collect(),
            ..Scene::default()
        };
        // 16 / 2^14; half of that where a mesh is drawn at twice its size; at most 0.001 / 2^12.
        assert_eq!(
            Step::of_positions(&scene),
            [Step(-10), Step(-11), Step(-22)]
        );
    }

    #[test]
    fn weights_of_one_set_are_bytes_whose_sum_is_255() {
        let weights = |values: &[f32]| Attribute::new("WEIGHTS_0", 4, values.to_vec());
        let rows = [0.334, 0.333, 0.333, 0.0, 0.2501, 0.2501, 0.2499, 0.2499];
        let bytes = weights_for_bytes(&weights(&rows)).unwrap();
        for (row, before) in bytes.chunks(4).zip(rows.chunks(4)) {
            let steps = row.iter().map(|weight| (weight * 255.0).round());
            assert_eq!(steps.sum::<f32>(), 255.0);
            let mut pairs = row.iter().zip(before);
            assert!(pairs.all(|(one, two)| (one - two).abs() < 1.5 / 255.0));
        }
        assert!(weights_for_bytes(&weights(&[0.5, 0.2, 0.0, 0.0])).is_none());
        assert!(weights_for_bytes(&weights(&[1.5, -0.5, 0.0, 0.0])).is_none());
    }

    #[test]
    fn the_nearest_power_of_two_is_between_0_71_and_1_42_times_as_long() {
        for (length, exponent) in [(1.0, 0), (1.4, 0), (1.42, 1), (0.72, 0), (0.7, -1)] {
            assert_eq!(Step::near(length), Step(exponent), "{length}");
        }
        assert_eq!(Step::near(0.0), Step(Step::LEAST));
    }

    #[test]
    fn numbers_are_rounded_by_at_most_half_a_step_and_read_back_as_the_filter_does() {
        let step = Step::at_most(1.8 / STEPS_OF_MODEL);
        assert_eq!(step, Step(-14));
        for values in [
            vec![-0.3, 7.0, 1.25, 0.4, 7.05, -0.55, 0.123_456_7, 7.0, 0.0],
            vec![1e6, -0.25],
            vec![0.0],
            vec![1e-42, 3e38],
        ] {
            let (bytes, unpacked) = stepped(&values, step);
            let read = Packing::Exponential(4).unfiltered(bytes);
            let words = read.as_chunks::<4>().0.iter();
            let words = words.map(|word| u32::from_le_bytes(*word));
            let Step(exponent) = step.for_numbers(&values);
            for ((before, after), word) in values.iter().zip(&unpacked).zip(words) {
                assert_eq!(after.to_bits(), word, "{before}");
                let off = (f64::from(*before) - f64::from(*after)).abs();
                assert!(off <= f64::from(exponent).exp2() / 2.0, "{before} {after}");
            }
        }
    }
}
