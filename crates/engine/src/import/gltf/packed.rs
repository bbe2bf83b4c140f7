//! Buffer views packed by `EXT_meshopt_compression` and its KHR successor, unpacked in place.
//!
//! Counts are checked against the packed bytes before anything is allocated; the decoders check every byte that they
//! read.

use bytes::Bytes;

use super::super::super::document::{Cursor, Document, DocumentError};

/// The greatest ratio of unpacked to packed bytes of a view (plus a small constant): the
/// format spends at least two bits on sixteen bytes of a block, and headers on top.
const MAX_RATIO: usize = 2_048;
/// The greatest unpacked size of a view.
const MAX_UNPACKED_BYTES: usize = 2 << 30;

/// Unpacks every packed view of the document.
pub(super) fn unpack_views(document: &mut Document) -> Result<(), DocumentError> {
    let mut unpacked = Vec::new();
    for (index, view) in document.top().list("bufferViews")?.iter().enumerate() {
        let packing = ["EXT_meshopt_compression", "KHR_meshopt_compression"]
            .iter()
            .find_map(|name| view.extension(name));
        if let Some(packing) = packing {
            unpacked.push((index, unpack(document, &packing)?));
        }
    }
    for (index, bytes) in unpacked {
        document.set_decoded_view(index, Bytes::from(bytes));
    }
    Ok(())
}

fn unpack(document: &Document, at: &Cursor<'_>) -> Result<Vec<u8>, DocumentError> {
    let packed = packed_bytes(document, at)?;
    let stride = at.require("byteStride")?.number()?;
    let count = at.require("count")?.number()?;
    let length = count.checked_mul(stride);
    let most = packed.len().saturating_mul(MAX_RATIO).saturating_add(4_096);
    let Some(length) = length.filter(|length| *length <= most.min(MAX_UNPACKED_BYTES)) else {
        return Err(at.invalid(format!(
            "says {count} elements of {stride} bytes, more than {} packed bytes can hold",
            packed.len()
        )));
    };
    let damaged = |error: meshopt::Error| at.invalid(format!("is damaged: {error}"));
    let mode = at.require("mode")?.text()?;
    let mut bytes = match (mode, stride) {
        ("ATTRIBUTES", _) => vertices(&packed, count, stride)
            .ok_or_else(|| at.invalid(format!("has a byteStride of {stride}")))?
            .map_err(damaged)?,
        ("TRIANGLES", _) if !count.is_multiple_of(3) => {
            return Err(at.invalid("has a count of indices that is no multiple of three"));
        }
        ("TRIANGLES", 2) => shorts(meshopt::decode_index_buffer(&packed, count).map_err(damaged)?),
        ("TRIANGLES", 4) => longs(meshopt::decode_index_buffer(&packed, count).map_err(damaged)?),
        ("INDICES", 2) => shorts(meshopt::decode_index_sequence(&packed, count).map_err(damaged)?),
        ("INDICES", 4) => longs(meshopt::decode_index_sequence(&packed, count).map_err(damaged)?),
        _ => return Err(at.invalid(format!("has the mode {mode} with a byteStride of {stride}"))),
    };
    debug_assert_eq!(bytes.len(), length);
    let filter = at
        .get("filter")
        .map_or(Ok("NONE"), |filter| filter.text())?;
    apply_filter(at, filter, stride, &mut bytes)?;
    Ok(bytes)
}

fn packed_bytes(document: &Document, at: &Cursor<'_>) -> Result<Bytes, DocumentError> {
    let buffer = at
        .require("buffer")?
        .index_of(document.count("buffers"), "buffer")?;
    let bytes = document.buffer(buffer).expect("the index was just checked");
    let offset = at.number_or("byteOffset", 0)?;
    let length = at.require("byteLength")?.number()?;
    match offset.checked_add(length) {
        Some(end) if end <= bytes.len() => Ok(bytes.slice(offset..end)),
        _ => Err(at.invalid("ends after its buffer")),
    }
}

/// Bytes of one vertex; the decoder needs the size at compile time.
#[derive(Clone, Copy)]
struct UnpackedVertex<const N: usize>([u8; N]);

impl<const N: usize> Default for UnpackedVertex<N> {
    fn default() -> Self {
        UnpackedVertex([0; N])
    }
}

fn rows<const N: usize>(packed: &[u8], count: usize) -> Result<Vec<u8>, meshopt::Error> {
    let rows: Vec<UnpackedVertex<N>> = meshopt::decode_vertex_buffer(packed, count)?;
    Ok(rows.iter().flat_map(|row| row.0).collect())
}

/// Unpacks vertices; `None` if the format does not allow the stride.
fn vertices(packed: &[u8], count: usize, stride: usize) -> Option<Result<Vec<u8>, meshopt::Error>> {
    macro_rules! by_stride {
        ($($length:literal)*) => {
            match stride {
                $($length => Some(rows::<$length>(packed, count)),)*
                _ => None,
            }
        };
    }
    by_stride!(
        4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64 68 72 76 80 84 88 92 96 100 104 108 112 116
        120 124 128 132 136 140 144 148 152 156 160 164 168 172 176 180 184 188 192 196 200 204 208
        212 216 220 224 228 232 236 240 244 248 252 256
    )
}

fn shorts(indices: Vec<u16>) -> Vec<u8> {
    indices.into_iter().flat_map(u16::to_le_bytes).collect()
}

fn longs(indices: Vec<u32>) -> Vec<u8> {
    indices.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn apply_filter(
    at: &Cursor<'_>,
    filter: &str,
    stride: usize,
    bytes: &mut Vec<u8>,
) -> Result<(), DocumentError> {
    match (filter, stride) {
        ("NONE", _) => {}
        ("OCTAHEDRAL", 4) => {
            let mut rows = quads(bytes, |[part]| i8::from_le_bytes([part]));
            meshopt::decode_filter_oct(&mut rows);
            *bytes = rows
                .as_flattened()
                .iter()
                .flat_map(|it| it.to_le_bytes())
                .collect();
        }
        ("OCTAHEDRAL", 8) => {
            let mut rows = quads(bytes, i16::from_le_bytes);
            meshopt::decode_filter_oct(&mut rows);
            *bytes = rows
                .as_flattened()
                .iter()
                .flat_map(|it| it.to_le_bytes())
                .collect();
        }
        ("QUATERNION", 8) => {
            let mut rows = quads(bytes, i16::from_le_bytes);
            meshopt::decode_filter_quat(&mut rows);
            *bytes = rows
                .as_flattened()
                .iter()
                .flat_map(|it| it.to_le_bytes())
                .collect();
        }
        ("COLOR", 4) => {
            let mut rows = quads(bytes, |[part]| part);
            meshopt::decode_filter_color(&mut rows);
            *bytes = rows.into_iter().flatten().collect();
        }
        ("COLOR", 8) => {
            let mut rows = quads(bytes, u16::from_le_bytes);
            meshopt::decode_filter_color(&mut rows);
            *bytes = rows
                .as_flattened()
                .iter()
                .flat_map(|it| it.to_le_bytes())
                .collect();
        }
        ("EXPONENTIAL", stride) if stride.is_multiple_of(4) => {
            let words = bytes.as_chunks().0.iter();
            let mut rows: Vec<[u32; 1]> = words.map(|word| [u32::from_le_bytes(*word)]).collect();
            // Each number is decoded independently, so the width of a row does not matter.
            meshopt::decode_filter_exp(&mut rows);
            *bytes = rows
                .as_flattened()
                .iter()
                .flat_map(|it| it.to_le_bytes())
                .collect();
        }
        _ => {
            return Err(at.invalid(format!(
                "has the filter {filter} with a byteStride of {stride}"
            )));
        }
    }
    Ok(())
}

fn quads<T, const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<[T; 4]> {
    let rows = bytes.as_chunks::<N>().0.as_chunks::<4>().0.iter();
    rows.map(|row| row.map(&read)).collect()
}
