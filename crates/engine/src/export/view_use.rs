//! What a buffer view is used for, and its JSON and packing for that.

use serde_json::{Map, Value};

use super::super::scene::TableUse;
use super::meshopt_views::{DIRECTION_STRIDE, Packing};

/// The use of a buffer view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ViewUse {
    /// Vertex attributes with this distance between elements.
    Vertex(usize),
    /// The same, rounded for packing.
    Rounded(usize),
    /// Unit vectors, rounded for packing.
    Directions,
    /// Indices of triangles, by bytes of one.
    Index(usize),
    /// Indices of points and lines, by bytes of one.
    OtherIndex(usize),
    /// Numbers of skins, animations and instances.
    Table(TableUse),
    /// The same with elements of this many bytes, for packing.
    PackedTable(TableUse, usize),
    /// Values of keyframes with elements of this many bytes, rounded for packing.
    RoundedTable(usize),
    /// Rotations of keyframes, rounded for packing.
    Rotations,
    /// Indices of sparse accessors, by bytes of one.
    SparseIndex(usize),
    /// Values of sparse accessors.
    SparseValue,
    /// An image or other bytes, each in a view of its own.
    Bytes(usize),
}

impl ViewUse {
    /// How meshopt packs such a view; `None` if it is never packed.
    pub(super) fn packing(self) -> Option<Packing> {
        match self {
            ViewUse::Vertex(stride) | ViewUse::PackedTable(_, stride) => {
                Some(Packing::Plain(stride))
            }
            ViewUse::Rounded(stride) | ViewUse::RoundedTable(stride) => {
                Some(Packing::Exponential(stride))
            }
            ViewUse::Directions => Some(Packing::Octahedral),
            ViewUse::Rotations => Some(Packing::Quaternion),
            ViewUse::Index(length) => Some(Packing::Triangles(length)),
            _ => None,
        }
    }

    /// What readers of the packed view get.
    pub(super) fn unfiltered(self, bytes: Vec<u8>) -> Vec<u8> {
        match self.packing() {
            Some(packing) => packing.unfiltered(bytes),
            None => bytes,
        }
    }

    /// A view of bytes of the first buffer.
    pub(super) fn view_json(self, offset: usize, length: usize) -> Value {
        let mut view = Map::new();
        view.insert("buffer".to_owned(), 0.into());
        if offset > 0 {
            view.insert("byteOffset".to_owned(), offset.into());
        }
        view.insert("byteLength".to_owned(), length.into());
        let stride = match self {
            ViewUse::Vertex(stride) | ViewUse::Rounded(stride) => Some(stride),
            ViewUse::Directions => Some(DIRECTION_STRIDE),
            _ => None,
        };
        if let Some(stride) = stride {
            view.insert("byteStride".to_owned(), stride.into());
            view.insert("target".to_owned(), 34_962.into());
        }
        match self {
            ViewUse::Index(_) | ViewUse::OtherIndex(_) => {
                view.insert("target".to_owned(), 34_963.into());
            }
            _ => {}
        }
        Value::Object(view)
    }
}
