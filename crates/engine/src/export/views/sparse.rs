//! Displacements of morph targets as sparse accessors.

use serde_json::{Value, json};

use super::super::super::scene::{Attribute, Storage};
use super::super::accessor_content::{AccessorContent, AccessorForm};
use super::super::encoding::{add_limits, element_of, encode_rows};
use super::super::meshopt_views::{self, Packing};
use super::super::rounding;
use super::super::view_use::ViewUse;
use super::{Views, index_component};

/// Bytes of JSON that a sparse accessor has more than a plain one.
const JSON_OF_SPARSE: usize = 150;

impl Views {
    /// Adds an attribute as a sparse accessor of the elements that are not zero if that is smaller, else as a plain
    /// one.
    pub(in super::super) fn add_sparse_attribute(&mut self, attribute: &Attribute) -> usize {
        let step = self.step_of(attribute);
        let content = AccessorContent::of_attribute(AccessorForm::SparseAttribute, attribute, step);
        self.once(content, |views| views.write_sparse_attribute(attribute))
    }

    fn write_sparse_attribute(&mut self, attribute: &Attribute) -> usize {
        let width = attribute.components;
        let kept: Vec<u32> = attribute
            .values
            .chunks_exact(width)
            .enumerate()
            .filter(|(_, numbers)| numbers.iter().any(|number| *number != 0.0))
            .map(|(index, _)| index as u32)
            .collect();
        let storage = sparse_storage(attribute);
        let element = element_of(width);
        let sparse_len = kept.len() * (element.len_bytes(storage.component) + 4) + JSON_OF_SPARSE;
        if sparse_len >= self.plain_len(attribute) {
            return self.add_plain_attribute(attribute);
        }
        let mut accessor = json!({
            "componentType": storage.component.code(),
            "count": attribute.count(),
            "type": element.name(),
        });
        let accessor = accessor.as_object_mut().expect("made as an object");
        if attribute.name == "POSITION" {
            add_limits(accessor, &attribute.values, width);
        }
        if !kept.is_empty() {
            let sparse = self.sparse_json(attribute, &kept);
            accessor.insert("sparse".to_owned(), sparse);
        }
        self.is_quantized |= storage == Storage::WHOLE;
        let accessor = std::mem::take(accessor);
        self.push_accessor(accessor)
    }

    /// About how many bytes an attribute takes that is not sparse.
    fn plain_len(&self, attribute: &Attribute) -> usize {
        let (values, width) = (&attribute.values, attribute.components);
        let length = values.len() * 4;
        let rows = |storage: Storage| {
            let element = element_of(width);
            let stride = element.len_bytes(storage.component).next_multiple_of(4);
            let mut bytes = Vec::new();
            encode_rows(&mut bytes, values, element, storage, stride);
            (Packing::Plain(stride), bytes)
        };
        let (packing, bytes) = match self.step_of(attribute) {
            _ if attribute.storage == Storage::WHOLE => rows(Storage::WHOLE),
            Some(_) if rounding::fits_bytes(attribute) => rows(Storage::SIGNED_BYTES),
            Some(step) => {
                let (bytes, _) = rounding::stepped(values, step);
                (Packing::Exponential(width * 4), bytes)
            }
            None => return length,
        };
        meshopt_views::pack(packing, &bytes).map_or(length, |packed| packed.bytes.len().min(length))
    }

    fn sparse_json(&mut self, attribute: &Attribute, kept: &[u32]) -> Value {
        let component = index_component(kept.last().map_or(0, |last| *last as usize));
        let length = component.len_bytes();
        let (index_view, index_offset) =
            self.append(ViewUse::SparseIndex(length), length, |bytes| {
                for index in kept {
                    bytes.extend_from_slice(&index.to_le_bytes()[..length]);
                }
            });
        let (element, storage) = (element_of(attribute.components), sparse_storage(attribute));
        let stride = element.len_bytes(storage.component);
        let (value_view, value_offset) = self.append(ViewUse::SparseValue, 4, |bytes| {
            for index in kept {
                encode_rows(
                    bytes,
                    attribute.at(*index as usize),
                    element,
                    storage,
                    stride,
                );
            }
        });
        json!({
            "count": kept.len(),
            "indices": {
                "bufferView": index_view,
                "byteOffset": index_offset,
                "componentType": component.code(),
            },
            "values": { "bufferView": value_view, "byteOffset": value_offset },
        })
    }
}

/// How the numbers of a sparse accessor are stored.
fn sparse_storage(attribute: &Attribute) -> Storage {
    match attribute.storage {
        Storage::WHOLE => Storage::WHOLE,
        _ => Storage::FLOAT,
    }
}
