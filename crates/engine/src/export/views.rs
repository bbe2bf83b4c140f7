//! The binary part of a glTF file: buffer views by use, accessors into them.
//!
//! Data of one use and stride shares a view, so the JSON stays small. Invariant: every accessor is aligned to its
//! component, every view to four bytes, and different uses have different views, as the glTF validator requires. Equal
//! vertex data is written once: primitives of other attributes may share their positions, for example.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::super::document::{ComponentType, ElementType};
use super::super::scene::{Attribute, Storage, Table, TableUse};
use super::accessor_content::{AccessorContent, AccessorForm};
use super::encoding::{add_limits, element_of, encode_rows};
use super::meshopt_views;
use super::rounding::{self, Step, Steps};
use super::view_layout::ViewLayout;
use super::view_use::ViewUse;

/// Collects buffer views and accessors.
#[derive(Default)]
pub(super) struct Views {
    /// Views in order of first use, with their bytes.
    views: Vec<(ViewUse, Vec<u8>)>,
    places: BTreeMap<ViewUse, usize>,
    accessors: Vec<Value>,
    /// The accessors of vertex data, by what they hold.
    written: HashMap<AccessorContent, usize>,
    blobs: usize,
    /// How vertices and triangles are packed with meshopt, if they are.
    packing: Option<Steps>,
    /// Whether attributes have types that only `KHR_mesh_quantization` allows.
    is_quantized: bool,
}

/// The finished views.
pub(super) struct FinishedViews {
    pub(super) layout: ViewLayout,
    pub(super) accessors: Vec<Value>,
    /// Whether the file needs `KHR_mesh_quantization`.
    pub(super) is_quantized: bool,
}

impl Views {
    /// Adds numbers and returns the accessor's index.
    fn add_numbers(
        &mut self,
        usage: ViewUse,
        element: ElementType,
        storage: Storage,
        values: &[f32],
        with_limits: bool,
    ) -> usize {
        let width = element.components();
        let count = values.len() / width;
        let stride = match usage {
            ViewUse::Vertex(stride) => stride,
            _ => element.len_bytes(storage.component),
        };
        let (view, offset) = self.append(usage, storage.component.len_bytes(), |bytes| {
            encode_rows(bytes, values, element, storage, stride);
        });
        let mut accessor = accessor_json(view, offset, count, element, storage);
        if with_limits {
            add_limits(&mut accessor, values, width);
        }
        self.push_accessor(accessor)
    }

    /// Views that [`Views::finish`] packs with meshopt.
    pub(super) fn packing(steps: Steps) -> Views {
        Views {
            packing: Some(steps),
            ..Views::default()
        }
    }

    /// Begins the geometry with this number.
    pub(super) fn begin_geometry(&mut self, geometry: usize) {
        if let Some(steps) = &mut self.packing {
            steps.begin(geometry);
        }
    }

    fn step_of(&self, attribute: &Attribute) -> Option<Step> {
        self.packing.as_ref()?.of_attribute(attribute)
    }

    /// Adds a vertex attribute and returns the accessor's index.
    pub(super) fn add_attribute(&mut self, attribute: &Attribute) -> usize {
        let is_direction = matches!(&*attribute.name, "NORMAL" | "TANGENT");
        if self.packing.is_some()
            && is_direction
            && let Some(bytes) = meshopt_views::filtered_directions(attribute)
        {
            let content = AccessorContent::of_attribute(AccessorForm::Directions, attribute, None);
            return self.once(content, |views| views.add_directions(attribute, &bytes));
        }
        self.add_plain_attribute(attribute)
    }

    /// The same for attributes that are never unit vectors: in morph targets, normals are displacements.
    pub(super) fn add_plain_attribute(&mut self, attribute: &Attribute) -> usize {
        if self.packing.is_some() {
            let step = self.step_of(attribute);
            let content = AccessorContent::of_attribute(AccessorForm::Attribute, attribute, step);
            return self.once(content, |views| views.write_attribute(attribute));
        }
        let content = AccessorContent::of_numbers(attribute);
        let index = self.once(content, |views| views.write_attribute(attribute));
        // Places need limits, also if another attribute with these numbers came first.
        if attribute.name == "POSITION"
            && let Some(accessor) = self.accessors[index].as_object_mut()
            && !accessor.contains_key("min")
        {
            add_limits(accessor, &attribute.values, attribute.components);
        }
        index
    }

    /// The accessor with this content, which is written if there is none yet.
    fn once(&mut self, content: AccessorContent, write: impl FnOnce(&mut Views) -> usize) -> usize {
        if let Some(written) = self.written.get(&content) {
            return *written;
        }
        let accessor = write(self);
        self.written.insert(content, accessor);
        accessor
    }

    fn write_attribute(&mut self, attribute: &Attribute) -> usize {
        let (mut storage, mut values) = (attribute.storage, Cow::Borrowed(&attribute.values));
        if self.packing.is_some() && storage == Storage::FLOAT && attribute.components <= 4 {
            if rounding::fits_bytes(attribute) {
                storage = Storage::SIGNED_BYTES;
                self.is_quantized = true;
            } else if let Some(weights) = rounding::weights_for_bytes(attribute) {
                (storage, values) = (Storage::BYTES, Cow::Owned(weights));
            } else {
                return self.add_rounded(attribute);
            }
        }
        let element = element_of(attribute.components);
        let stride = element.len_bytes(storage.component).next_multiple_of(4);
        let is_position = attribute.name == "POSITION";
        self.is_quantized |= is_position && storage == Storage::WHOLE;
        self.add_numbers(
            ViewUse::Vertex(stride),
            element,
            storage,
            &values,
            is_position,
        )
    }

    /// Adds numbers that pass through and returns the accessor's index.
    pub(super) fn add_table(&mut self, usage: TableUse, table: &Table) -> usize {
        let Table {
            element, values, ..
        } = table;
        let storage = Storage {
            component: table.component,
            normalized: table.normalized,
        };
        let stride = element.len_bytes(storage.component);
        let width = element.components();
        let packs = self.packing.is_some();
        if packs
            && usage == TableUse::KeyRotations
            && *element == ElementType::Vec4
            && let Some(bytes) = meshopt_views::filtered_rotations(values)
        {
            let (view, offset) =
                self.append(ViewUse::Rotations, 2, |all| all.extend_from_slice(&bytes));
            let accessor = accessor_json(view, offset, table.count(), *element, Storage::SIGNED);
            return self.push_accessor(accessor);
        }
        let usage = match usage {
            TableUse::KeyRotations => TableUse::KeyValues,
            other => other,
        };
        if packs && usage == TableUse::KeyValues && storage == Storage::FLOAT && width <= 4 {
            let (bytes, _) = meshopt_views::rounded(values, width, meshopt_views::KEY_BITS);
            let usage = ViewUse::RoundedTable(stride);
            let (view, offset) = self.append(usage, 4, |all| all.extend_from_slice(&bytes));
            let accessor = accessor_json(view, offset, table.count(), *element, storage);
            return self.push_accessor(accessor);
        }
        let view = match packs {
            true => ViewUse::PackedTable(usage, stride),
            false => ViewUse::Table(usage),
        };
        let with_limits = usage == TableUse::KeyTimes;
        self.add_numbers(view, *element, storage, values, with_limits)
    }

    /// Adds normals or tangents, of which `bytes` are prepared for packing.
    fn add_directions(&mut self, attribute: &Attribute, bytes: &[u8]) -> usize {
        self.is_quantized = true;
        let (view, offset) =
            self.append(ViewUse::Directions, 4, |all| all.extend_from_slice(bytes));
        let element = element_of(attribute.components);
        let accessor = accessor_json(
            view,
            offset,
            attribute.count(),
            element,
            Storage::SIGNED_BYTES,
        );
        self.push_accessor(accessor)
    }

    fn add_rounded(&mut self, attribute: &Attribute) -> usize {
        let (numbers, width) = (&attribute.values, attribute.components);
        let (bytes, values) = match self.step_of(attribute) {
            Some(step) => rounding::stepped(numbers, step),
            None => meshopt_views::rounded(numbers, width, meshopt_views::OTHER_BITS),
        };
        let element = element_of(attribute.components);
        let usage = ViewUse::Rounded(attribute.components * 4);
        let (view, offset) = self.append(usage, 4, |all| all.extend_from_slice(&bytes));
        let mut accessor = accessor_json(view, offset, attribute.count(), element, Storage::FLOAT);
        if attribute.name == "POSITION" {
            add_limits(&mut accessor, &values, attribute.components);
        }
        self.push_accessor(accessor)
    }

    /// Adds an accessor whose data is elsewhere.
    pub(super) fn add_accessor(&mut self, accessor: Map<String, Value>) -> usize {
        self.push_accessor(accessor)
    }

    /// Adds indices of `vertex_count` vertices and returns the accessor's index.
    pub(super) fn add_indices(
        &mut self,
        indices: &[u32],
        vertex_count: usize,
        are_triangles: bool,
    ) -> usize {
        // The greatest value of an index type is reserved for primitive restart.
        let component = index_component(vertex_count);
        let storage = Storage {
            component,
            normalized: false,
        };
        let content = AccessorContent::of_indices(indices, storage, are_triangles);
        self.once(content, |views| {
            views.write_indices(indices, storage, are_triangles)
        })
    }

    fn write_indices(&mut self, indices: &[u32], storage: Storage, are_triangles: bool) -> usize {
        let length = storage.component.len_bytes();
        let usage = if are_triangles {
            ViewUse::Index(length)
        } else {
            ViewUse::OtherIndex(length)
        };
        let (view, offset) = self.append(usage, length, |bytes| {
            bytes.reserve(indices.len() * length);
            for index in indices {
                bytes.extend_from_slice(&index.to_le_bytes()[..length]);
            }
        });
        let accessor = accessor_json(view, offset, indices.len(), ElementType::Scalar, storage);
        self.push_accessor(accessor)
    }

    /// Adds bytes in a view of their own and returns the view's index.
    pub(super) fn add_bytes(&mut self, data: &[u8]) -> usize {
        self.blobs += 1;
        let (view, _) = self.append(ViewUse::Bytes(self.blobs), 1, |bytes| {
            bytes.extend_from_slice(data);
        });
        view
    }

    /// The views as JSON, the accessors, and the buffer.
    pub(super) fn finish(self) -> FinishedViews {
        FinishedViews {
            layout: ViewLayout::of(self.views, self.packing.is_some()),
            accessors: self.accessors,
            is_quantized: self.is_quantized,
        }
    }

    fn append(
        &mut self,
        usage: ViewUse,
        alignment: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> (usize, usize) {
        let view = *self.places.entry(usage).or_insert_with(|| {
            self.views.push((usage, Vec::new()));
            self.views.len() - 1
        });
        let bytes = &mut self.views[view].1;
        bytes.resize(bytes.len().next_multiple_of(alignment), 0);
        let offset = bytes.len();
        write(bytes);
        (view, offset)
    }

    fn push_accessor(&mut self, accessor: Map<String, Value>) -> usize {
        self.accessors.push(Value::Object(accessor));
        self.accessors.len() - 1
    }
}

fn index_component(greatest: usize) -> ComponentType {
    if greatest <= usize::from(u16::MAX) {
        ComponentType::U16
    } else {
        ComponentType::U32
    }
}

fn accessor_json(
    view: usize,
    offset: usize,
    count: usize,
    element: ElementType,
    storage: Storage,
) -> Map<String, Value> {
    let mut accessor = Map::new();
    accessor.insert("bufferView".to_owned(), view.into());
    if offset > 0 {
        accessor.insert("byteOffset".to_owned(), offset.into());
    }
    accessor.insert("componentType".to_owned(), storage.component.code().into());
    if storage.normalized {
        accessor.insert("normalized".to_owned(), true.into());
    }
    accessor.insert("count".to_owned(), count.into());
    accessor.insert("type".to_owned(), element.name().into());
    accessor
}

mod sparse;
#[cfg(test)]
mod tests;
