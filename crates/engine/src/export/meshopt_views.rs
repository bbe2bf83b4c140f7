//! Packs buffer views with `EXT_meshopt_compression`, which allows version 0 of the vertex codec only: readers of this
//! extension refuse version 1, which belongs to `KHR_meshopt_compression`.
//!
//! Floats are first rounded to a number of bits of their range, which makes them compressible; accessors declare the
//! values after unpacking.

use meshopt::EncodeExpMode;

use super::super::scene::Attribute;

/// The packing of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// Elements of this many bytes, without a filter.
    Plain(usize),
    /// Elements of this many bytes, with the exponential filter.
    Exponential(usize),
    /// Indices of triangles, of this many bytes each.
    Triangles(usize),
}

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

/// Bits of the range that an attribute keeps. Of normals and tangents 10 are 0.1 degrees; viewers that quantize meshes
/// usually keep 8.
pub(super) fn bits_of(attribute: &Attribute) -> i32 {
    match attribute.name.split('_').next().unwrap_or_default() {
        "POSITION" => 16,
        "TEXCOORD" => 15,
        "NORMAL" | "TANGENT" => 10,
        _ => 12,
    }
}

/// Bits of the range that the values of keyframes keep: 0.004 degrees of a rotation, which adds up along a chain of bones.
pub(super) const KEY_BITS: i32 = 15;

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
