//! Packs buffer views with `EXT_meshopt_compression`, which allows version 0 of the vertex codec only: readers of this
//! extension refuse version 1, which belongs to `KHR_meshopt_compression`.
//!
//! Floats are first rounded to a number of bits of their range, which makes them compressible; accessors declare the
//! values after unpacking.

use glam::{Vec3, Vec4};
use meshopt::EncodeExpMode;

use super::super::scene::Attribute;

/// The packing of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// Elements of this many bytes, without a filter.
    Plain(usize),
    /// Elements of this many bytes, with the exponential filter.
    Exponential(usize),
    /// Unit vectors as four integers, with the octahedral filter.
    Octahedral,
    /// Rotations as four integers, with the filter for quaternions.
    Quaternion,
    /// Indices of triangles, of this many bytes each.
    Triangles(usize),
}

impl Packing {
    /// Undoes the filter that prepared these bytes for packing.
    pub(super) fn unfiltered(self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Packing::Plain(_) | Packing::Triangles(_) => bytes,
            Packing::Exponential(_) => {
                let words = bytes.as_chunks::<4>().0.iter();
                let mut words: Vec<[u32; 1]> =
                    words.map(|word| [u32::from_le_bytes(*word)]).collect();
                meshopt::decode_filter_exp(&mut words);
                let words = words.into_iter();
                words.flat_map(|[word]| word.to_le_bytes()).collect()
            }
            Packing::Octahedral => {
                let rows = bytes.as_chunks::<DIRECTION_STRIDE>().0.iter();
                let mut rows: Vec<[i8; 4]> = rows.map(|row| row.map(|byte| byte as i8)).collect();
                meshopt::decode_filter_oct(&mut rows);
                rows.into_iter()
                    .flat_map(|row| row.map(|number| number as u8))
                    .collect()
            }
            Packing::Quaternion => {
                let numbers = bytes.as_chunks::<2>().0.iter();
                let numbers: Vec<i16> = numbers.map(|two| i16::from_le_bytes(*two)).collect();
                let mut rows = numbers.as_chunks::<4>().0.to_vec();
                meshopt::decode_filter_quat(&mut rows);
                let numbers = rows.into_iter().flatten();
                numbers.flat_map(i16::to_le_bytes).collect()
            }
        }
    }
}

/// Bytes of a unit vector: four integers of 8 bits.
pub(super) const DIRECTION_STRIDE: usize = 4;
/// Bytes of a rotation: four integers of 16 bits.
const ROTATION_STRIDE: usize = 8;

/// A packed view.
pub(super) struct PackedView {
    pub(super) bytes: Vec<u8>,
    pub(super) stride: usize,
    pub(super) count: usize,
    pub(super) mode: &'static str,
    pub(super) filter: Option<&'static str>,
}

/// Packs the bytes of a view; `None` if the encoder refuses them.
pub(super) fn pack(packing: Packing, bytes: &[u8]) -> Option<PackedView> {
    let (stride, mode, filter) = match packing {
        Packing::Plain(stride) => (stride, "ATTRIBUTES", None),
        Packing::Exponential(stride) => (stride, "ATTRIBUTES", Some("EXPONENTIAL")),
        Packing::Octahedral => (DIRECTION_STRIDE, "ATTRIBUTES", Some("OCTAHEDRAL")),
        Packing::Quaternion => (ROTATION_STRIDE, "ATTRIBUTES", Some("QUATERNION")),
        Packing::Triangles(length) => (length, "TRIANGLES", None),
    };
    let packed = match packing {
        Packing::Triangles(length) => {
            let indices: Vec<u32> = bytes
                .chunks_exact(length)
                .map(|index| {
                    let mut four = [0; 4];
                    four[..length].copy_from_slice(index);
                    u32::from_le_bytes(four)
                })
                .collect();
            let vertices = indices.iter().max().map_or(0, |last| *last as usize + 1);
            meshopt::encode_index_buffer(&indices, vertices).ok()?
        }
        _ => vertices(bytes, stride)?,
    };
    Some(PackedView {
        count: bytes.len() / stride,
        bytes: packed,
        stride,
        mode,
        filter,
    })
}

/// Bits of the range that other attributes than positions, texture coordinates and directions keep.
pub(super) const OTHER_BITS: i32 = 12;

/// Bits of normals and tangents: they turn by at most 1.25 degrees, as in most programs that pack meshes.
const DIRECTION_BITS: i32 = 8;

/// Bits of the range that the values of keyframes keep.
pub(super) const KEY_BITS: i32 = 15;

/// Bits of rotations: less than 0.02 degrees, which add up along a chain of bones. Most programs keep 12.
const ROTATION_BITS: i32 = 14;

/// Prepares rotations for packing; `None` if one of them is none. Viewers get the same rotation, but maybe its negative, which
/// is the same.
pub(super) fn filtered_rotations(values: &[f32]) -> Option<Vec<u8>> {
    let rows = values.as_chunks::<4>().0.iter();
    let unit: Option<Vec<[f32; 4]>> = rows
        .map(|row| Some(Vec4::from_array(*row).try_normalize()?.to_array()))
        .collect();
    let rows = meshopt::encode_filter_quat(&unit?, ROTATION_BITS);
    let numbers = rows.as_flattened().iter();
    Some(numbers.flat_map(|number| number.to_le_bytes()).collect())
}

/// Prepares normals or tangents for packing; `None` if one of them has no direction. The fourth number of tangents stays.
pub(super) fn filtered_directions(attribute: &Attribute) -> Option<Vec<u8>> {
    let rows = attribute.values.chunks_exact(attribute.components);
    let unit: Option<Vec<[f32; 4]>> = rows
        .map(|row| {
            let direction = Vec3::from_slice(row).try_normalize()?;
            let handedness = row.get(3).copied().unwrap_or_default();
            Some(direction.extend(handedness).to_array())
        })
        .collect();
    let rows = meshopt::encode_filter_oct::<i8>(&unit?, DIRECTION_BITS);
    let numbers = rows.as_flattened().iter();
    Some(numbers.flat_map(|number| number.to_le_bytes()).collect())
}

/// Rounds floats for packing, `components` an element; returns the words to store, and the values after unpacking.
pub(super) fn rounded(values: &[f32], components: usize, bits: i32) -> (Vec<u8>, Vec<f32>) {
    let words: Vec<[u32; 1]> = match components {
        2 => filtered::<2>(values, bits),
        3 => filtered::<3>(values, bits),
        4 => filtered::<4>(values, bits),
        _ => filtered::<1>(values, bits),
    };
    let bytes = words
        .iter()
        .flat_map(|word| word[0].to_le_bytes())
        .collect();
    let mut unpacked = words;
    meshopt::decode_filter_exp(&mut unpacked);
    let values = unpacked
        .iter()
        .map(|word| f32::from_bits(word[0]))
        .collect();
    (bytes, values)
}

/// One exponent for each component of all vectors: every vertex is rounded to the same grid.
const SHARED: EncodeExpMode = EncodeExpMode::SharedComponent;

fn filtered<const N: usize>(values: &[f32], bits: i32) -> Vec<[u32; 1]> {
    let rows = values.as_chunks::<N>().0;
    let words = meshopt::encode_filter_exp(rows, bits, SHARED);
    words.into_iter().flatten().map(|word| [word]).collect()
}

/// The version of the vertex codec that the extension allows.
const VERTEX_CODEC: i32 = 0;

/// Bytes of one vertex; the encoder needs the size at compile time.
#[derive(Clone, Copy)]
struct PackedVertex<const N: usize>([u8; N]);

fn packed_rows<const N: usize>(bytes: &[u8]) -> Option<Vec<u8>> {
    let rows: Vec<PackedVertex<N>> = bytes
        .chunks_exact(N)
        .map(|row| PackedVertex(std::array::from_fn(|at| row[at])))
        .collect();
    meshopt::encode_vertex_buffer_level(&rows, 2, Some(VERTEX_CODEC)).ok()
}

fn vertices(bytes: &[u8], stride: usize) -> Option<Vec<u8>> {
    macro_rules! by_stride {
        ($($length:literal)*) => {
            match stride {
                $($length => packed_rows::<$length>(bytes),)*
                _ => None,
            }
        };
    }
    by_stride!(4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64)
}

#[cfg(test)]
mod tests {
    use glam::Quat;

    use super::*;

    /// Directions all around, and the axes.
    fn directions() -> Vec<Vec3> {
        let spiral = (0..2_000).map(|step| {
            let height = step as f32 / 999.5 - 1.0;
            let around = step as f32 * 2.399_963;
            let radius = (1.0 - height * height).max(0.0).sqrt();
            Vec3::new(radius * around.cos(), height, radius * around.sin())
        });
        spiral.chain([Vec3::X, -Vec3::Y, Vec3::Z]).collect()
    }

    fn shorts(bytes: &[u8]) -> Vec<[i16; 4]> {
        let rows = bytes.as_chunks::<2>().0.as_chunks::<4>().0.iter();
        rows.map(|row| row.map(i16::from_le_bytes)).collect()
    }

    fn degrees(cosine: f64) -> f64 {
        cosine.clamp(-1.0, 1.0).acos().to_degrees()
    }

    #[test]
    fn packed_rotations_lose_less_than_two_hundredths_of_a_degree() {
        let turned = |(step, axis): (usize, &Vec3)| {
            // Not quite unit quaternions, as files have them.
            Quat::from_axis_angle(*axis, step as f32 * 0.01) * 1.0002
        };
        let rotations: Vec<Quat> = directions().iter().enumerate().map(turned).collect();
        let values: Vec<f32> = rotations.iter().flat_map(|one| one.to_array()).collect();
        let bytes = filtered_rotations(&values).unwrap();
        let rows = shorts(&Packing::Quaternion.unfiltered(bytes));
        for (before, after) in rotations.iter().zip(rows) {
            let after = after.map(|number| f64::from(number) / 32_767.0);
            let before = before.to_array().map(f64::from);
            let length = |one: &[f64; 4]| one.iter().map(|part| part * part).sum::<f64>().sqrt();
            let dot: f64 = before.iter().zip(after).map(|(one, two)| one * two).sum();
            let cosine = dot / length(&before) / length(&after);
            // The sine is exact where the cosine is nearly 1.
            let half = (1.0 - cosine * cosine).max(0.0).sqrt().asin();
            assert!(half.to_degrees() * 2.0 < 0.02, "{before:?} {after:?}");
        }
        assert!(filtered_rotations(&[0.0; 4]).is_none());
        assert!(filtered_rotations(&[f32::NAN, 0.0, 0.0, 1.0]).is_none());
    }

    #[test]
    fn packed_directions_stay_units_and_turn_by_at_most_one_and_a_quarter_degrees() {
        for components in [3, 4] {
            let rows = directions().into_iter().enumerate();
            let sign = |place: usize| if place.is_multiple_of(2) { 1.0 } else { -1.0 };
            let values: Vec<f32> = rows
                .flat_map(|(place, row)| row.extend(sign(place)).to_array()[..components].to_vec())
                .collect();
            let attribute = Attribute::new("TANGENT", components, values);
            let bytes = filtered_directions(&attribute).unwrap();
            let bytes = Packing::Octahedral.unfiltered(bytes);
            let rows = bytes.as_chunks::<4>().0.iter();
            let rows = rows.map(|row| row.map(|byte| byte as i8));
            for (place, (before, after)) in directions().into_iter().zip(rows).enumerate() {
                let after = after.map(|number| f64::from(number) / 127.0);
                let length = after[..3]
                    .iter()
                    .map(|part| part * part)
                    .sum::<f64>()
                    .sqrt();
                assert!((length - 1.0).abs() < 0.008, "{after:?}");
                let dot: f64 = before
                    .to_array()
                    .iter()
                    .zip(after)
                    .map(|(one, two)| f64::from(*one) * two)
                    .sum();
                assert!(degrees(dot / length) < 1.25, "{before} {after:?}");
                assert!(components == 3 || after[3] == f64::from(sign(place)));
            }
        }
        let flat = Attribute::new("NORMAL", 3, vec![0.0; 3]);
        assert!(filtered_directions(&flat).is_none());
    }
}
