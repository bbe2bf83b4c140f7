//! Accessors: typed, bounds-checked reading of the numbers in the buffers.
//!
//! Every offset and count is checked against the available bytes before anything is allocated, so a hostile count
//! cannot cause an allocation much larger than the file.

use bytes::Bytes;

use super::cursor::Cursor;
use super::element::{ComponentType, ElementType};
use super::error::DocumentError;
use super::gltf_file::Document;

/// The declared type and size of an accessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessorInfo {
    pub index: usize,
    /// Elements.
    pub count: usize,
    /// Shape of an element.
    pub element: ElementType,
    /// Type of a component.
    pub component: ComponentType,
    /// Whether integers are normalized to 0…1 or −1…1.
    pub normalized: bool,
    /// Whether a sparse list replaces some elements.
    pub sparse: bool,
}

/// Maximum count of an accessor without a buffer view, unless the caller passes the expected count. Its elements are
/// all zero and take no bytes in the file, so a small file could ask for any number.
const MAX_ZERO_ELEMENTS: usize = 1 << 20;

/// The byte positions of an accessor's elements.
struct Layout {
    bytes: Bytes,
    stride: usize,
}

/// The accessors of a document.
#[derive(Clone, Copy)]
pub struct Accessors<'d> {
    document: &'d Document,
}

impl Document {
    pub fn accessors(&self) -> Accessors<'_> {
        Accessors { document: self }
    }
}

impl Accessors<'_> {
    /// The declared type and size of accessor `index`, checked.
    pub fn info(&self, index: usize) -> Result<AccessorInfo, DocumentError> {
        let at = self.document.item("accessors", index)?;
        let component_at = at.require("componentType")?;
        let component = ComponentType::from_code(component_at.number()?).ok_or_else(|| {
            component_at.invalid(format!(
                "is {}, which is not a glTF component type",
                component_at.value()
            ))
        })?;
        let element_at = at.require("type")?;
        let element = ElementType::from_name(element_at.text()?).ok_or_else(|| {
            element_at.invalid(format!(
                "is {}, which is not a glTF type",
                element_at.value()
            ))
        })?;
        let normalized = at
            .get("normalized")
            .is_some_and(|value| value.value().as_bool() == Some(true));
        Ok(AccessorInfo {
            index,
            count: at.require("count")?.number()?,
            element,
            component,
            normalized,
            sparse: at.get("sparse").is_some(),
        })
    }

    /// Reads the numbers of an accessor; normalized integers become fractions.
    ///
    /// If `expected` is given, any other count is an error.
    pub fn floats(
        &self,
        info: &AccessorInfo,
        expected: Option<usize>,
    ) -> Result<Vec<f32>, DocumentError> {
        let convert = |value: f64| {
            let value = if info.normalized {
                info.component.fraction(value)
            } else {
                value
            };
            value as f32
        };
        self.read(info, expected, convert)
    }

    /// Reads the integers of an accessor, such as indices or joints.
    pub fn integers(
        &self,
        info: &AccessorInfo,
        expected: Option<usize>,
    ) -> Result<Vec<u32>, DocumentError> {
        self.read(info, expected, |value| value as u32)
    }

    fn read<T: Copy + Default>(
        &self,
        info: &AccessorInfo,
        expected: Option<usize>,
        convert: impl Fn(f64) -> T,
    ) -> Result<Vec<T>, DocumentError> {
        let at = self.document.item("accessors", info.index)?;
        if let Some(expected) = expected
            && expected != info.count
        {
            return Err(at.invalid(format!(
                "has {} elements where {expected} are needed",
                info.count
            )));
        }
        let mut values = match at.get("bufferView") {
            Some(view) => {
                let view = view.index_of(self.document.count("bufferViews"), "bufferView")?;
                let offset = at.number_or("byteOffset", 0)?;
                let layout = self.layout(&at, view, offset, info)?;
                decode(&layout, info, &convert)
            }
            None if expected.is_none() && info.count > MAX_ZERO_ELEMENTS => {
                return Err(at.invalid("has elements but no data"));
            }
            None => vec![convert(0.0); info.count * info.element.components()],
        };
        if let Some(sparse) = at.get("sparse") {
            self.apply_sparse(&sparse, info, &mut values, &convert)?;
        }
        Ok(values)
    }

    /// Checks that all elements lie inside the view, and returns their positions.
    fn layout(
        &self,
        at: &Cursor<'_>,
        view: usize,
        offset: usize,
        info: &AccessorInfo,
    ) -> Result<Layout, DocumentError> {
        let element_len = info.element.len_bytes(info.component);
        let view_at = self.document.item("bufferViews", view)?;
        let stride = match view_at.get("byteStride") {
            Some(stride) => stride.number()?,
            None => element_len,
        };
        if stride < element_len {
            return Err(view_at.invalid(format!(
                "has a byteStride of {stride}, too small for elements of {element_len} bytes"
            )));
        }
        let bytes = self.document.view_bytes(view)?;
        let needed = match info.count {
            0 => Some(offset),
            count => (count - 1)
                .checked_mul(stride)
                .and_then(|span| span.checked_add(element_len))
                .and_then(|span| span.checked_add(offset)),
        };
        match needed {
            Some(needed) if needed <= bytes.len() => Ok(Layout {
                bytes: bytes.slice(offset..),
                stride,
            }),
            _ => Err(at.invalid(format!(
                "reads past the end of bufferViews[{view}]: {} elements of {element_len} bytes do not fit into {} bytes",
                info.count,
                bytes.len()
            ))),
        }
    }

    fn apply_sparse<T: Copy + Default>(
        &self,
        sparse: &Cursor<'_>,
        info: &AccessorInfo,
        values: &mut [T],
        convert: &impl Fn(f64) -> T,
    ) -> Result<(), DocumentError> {
        let count = sparse.require("count")?.number()?;
        if count > info.count {
            return Err(sparse.invalid("has more elements than its accessor"));
        }
        let indices_at = sparse.require("indices")?;
        let code = indices_at.require("componentType")?.number()?;
        let component = ComponentType::from_code(code)
            .ok_or_else(|| indices_at.invalid("has no glTF component type"))?;
        let places = AccessorInfo {
            count,
            element: ElementType::Scalar,
            component,
            normalized: false,
            ..*info
        };
        let places = self.read_sparse_part(&indices_at, &places, &|value| value as usize)?;
        let values_at = sparse.require("values")?;
        let patches =
            self.read_sparse_part(&values_at, &AccessorInfo { count, ..*info }, convert)?;
        let width = info.element.components();
        for (place, patch) in places.iter().zip(patches.chunks_exact(width)) {
            let start = place.checked_mul(width).filter(|_| *place < info.count);
            let Some(start) = start else {
                return Err(indices_at.invalid(format!(
                    "index {place} is out of range ({} elements)",
                    info.count
                )));
            };
            values[start..start + width].copy_from_slice(patch);
        }
        Ok(())
    }

    fn read_sparse_part<T: Copy>(
        &self,
        at: &Cursor<'_>,
        info: &AccessorInfo,
        convert: &impl Fn(f64) -> T,
    ) -> Result<Vec<T>, DocumentError> {
        let view = at
            .require("bufferView")?
            .index_of(self.document.count("bufferViews"), "bufferView")?;
        let offset = at.number_or("byteOffset", 0)?;
        let layout = self.layout(at, view, offset, info)?;
        Ok(decode(&layout, info, convert))
    }
}

/// Reads all elements; the layout has been checked.
fn decode<T: Copy>(layout: &Layout, info: &AccessorInfo, convert: &impl Fn(f64) -> T) -> Vec<T> {
    let offsets = info.element.offsets(info.component.len_bytes());
    let mut values = Vec::with_capacity(info.count * offsets.len());
    for element in 0..info.count {
        let start = element * layout.stride;
        for offset in &offsets {
            values.push(convert(
                info.component.read(&layout.bytes[start + offset..]),
            ));
        }
    }
    values
}
