//! Encodes numbers as bytes of an accessor: component types, normalized integers, padded columns, limits.

use serde_json::{Map, Value, json};

use super::super::document::{ComponentType, ElementType};
use super::super::scene::Storage;

/// The element type with this number of components; nine and sixteen are matrices.
pub(super) fn element_of(components: usize) -> ElementType {
    match components {
        9 => ElementType::Mat3,
        16 => ElementType::Mat4,
        vector => ElementType::vector(vector),
    }
}

/// Writes the least and greatest value of each component into an accessor.
pub(super) fn add_limits(accessor: &mut Map<String, Value>, values: &[f32], width: usize) {
    let mut min = vec![f32::INFINITY; width];
    let mut max = vec![f32::NEG_INFINITY; width];
    for numbers in values.chunks_exact(width) {
        for (place, number) in numbers.iter().enumerate() {
            min[place] = min[place].min(*number);
            max[place] = max[place].max(*number);
        }
    }
    if !values.is_empty() {
        accessor.insert("min".to_owned(), json!(min));
        accessor.insert("max".to_owned(), json!(max));
    }
}

/// Appends elements, each padded to `stride` bytes.
pub(super) fn encode_rows(
    bytes: &mut Vec<u8>,
    values: &[f32],
    element: ElementType,
    storage: Storage,
    stride: usize,
) {
    for numbers in values.chunks_exact(element.components()) {
        let end = bytes.len() + stride;
        encode(bytes, numbers, element, storage);
        bytes.resize(end, 0);
    }
}

/// Appends one element.
fn encode(bytes: &mut Vec<u8>, numbers: &[f32], element: ElementType, storage: Storage) {
    let start = bytes.len();
    let rows = match element {
        ElementType::Mat2 => 2,
        ElementType::Mat3 => 3,
        _ => numbers.len(),
    };
    for (place, number) in numbers.iter().enumerate() {
        if place > 0 && place % rows == 0 {
            // Columns of small matrices start at multiples of four bytes.
            let filled = (bytes.len() - start).next_multiple_of(4);
            bytes.resize(start + filled, 0);
        }
        encode_number(bytes, *number, storage);
    }
}

fn encode_number(bytes: &mut Vec<u8>, number: f32, storage: Storage) {
    let scaled = |full: f32| {
        if storage.normalized {
            (number * full).round()
        } else {
            number.round()
        }
    };
    match storage.component {
        ComponentType::I8 => bytes.extend_from_slice(&(scaled(127.0) as i8).to_le_bytes()),
        ComponentType::U8 => bytes.extend_from_slice(&(scaled(255.0) as u8).to_le_bytes()),
        ComponentType::I16 => bytes.extend_from_slice(&(scaled(32_767.0) as i16).to_le_bytes()),
        ComponentType::U16 => bytes.extend_from_slice(&(scaled(65_535.0) as u16).to_le_bytes()),
        ComponentType::U32 => bytes.extend_from_slice(&(number as u32).to_le_bytes()),
        ComponentType::F32 => bytes.extend_from_slice(&number.to_le_bytes()),
    }
}
