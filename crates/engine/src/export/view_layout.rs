//! Lays out the bytes of all buffer views in a buffer. A view is packed with meshopt only where that saves more bytes than
//! the JSON that describes the packing takes. Views that stay unpacked hold the same rounded values as packed ones, so a
//! model looks the same either way.

use serde_json::{Value, json};

use super::meshopt_views::{self, PackedView};
use super::view_use::ViewUse;

/// Bytes of JSON that say how one view is packed.
const JSON_OF_VIEW: usize = 150;
/// Bytes of JSON of the fallback buffer and of the name of the extension, twice.
const JSON_OF_FILE: usize = 125;

/// The views as JSON, and the buffer that they refer to.
#[derive(Default)]
pub(super) struct ViewLayout {
    pub(super) views: Vec<Value>,
    pub(super) buffer: Vec<u8>,
    /// Length of the fallback buffer that packed views refer to; `None` without packed views.
    pub(super) fallback_len_bytes: Option<usize>,
}

impl ViewLayout {
    /// Without `packs`, no view is packed.
    pub(super) fn of(views: Vec<(ViewUse, Vec<u8>)>, packs: bool) -> ViewLayout {
        let mut layout = ViewLayout::default();
        if !packs {
            for (usage, bytes) in &views {
                layout.add_plain(*usage, bytes);
            }
            return layout;
        }
        let packed: Vec<_> = views
            .iter()
            .map(|(usage, bytes)| usage.packing().and_then(|how| worth_packing(how, bytes)))
            .collect();
        let saved: usize = packed.iter().flatten().map(|(saved, _)| saved).sum();
        for ((usage, bytes), packed) in views.into_iter().zip(packed) {
            match packed.filter(|_| saved > JSON_OF_FILE) {
                Some((_, packed)) => layout.add_packed(usage, bytes.len(), &packed),
                None => layout.add_plain(usage, &usage.unfiltered(bytes)),
            }
        }
        layout
    }

    fn align(&mut self) {
        self.buffer.resize(self.buffer.len().next_multiple_of(4), 0);
    }

    fn add_plain(&mut self, usage: ViewUse, bytes: &[u8]) {
        self.align();
        let view = usage.view_json(self.buffer.len(), bytes.len());
        self.views.push(view);
        self.buffer.extend_from_slice(bytes);
    }

    fn add_packed(&mut self, usage: ViewUse, length: usize, packed: &PackedView) {
        self.align();
        let start = self.fallback_len_bytes.unwrap_or(0).next_multiple_of(4);
        self.fallback_len_bytes = Some(start + length);
        let mut extension = json!({ "buffer": 0 });
        if !self.buffer.is_empty() {
            extension["byteOffset"] = self.buffer.len().into();
        }
        extension["byteLength"] = packed.bytes.len().into();
        extension["byteStride"] = packed.stride.into();
        extension["count"] = packed.count.into();
        extension["mode"] = packed.mode.into();
        if let Some(filter) = packed.filter {
            extension["filter"] = filter.into();
        }
        let mut view = usage.view_json(start, length);
        view["buffer"] = 1.into();
        view["extensions"] = json!({ "EXT_meshopt_compression": extension });
        self.views.push(view);
        self.buffer.extend_from_slice(&packed.bytes);
    }
}

/// The packed bytes, and how many bytes the file has fewer by them; `None` if it would not be smaller.
fn worth_packing(how: meshopt_views::Packing, bytes: &[u8]) -> Option<(usize, PackedView)> {
    let packed = meshopt_views::pack(how, bytes)?;
    let saved = bytes.len().checked_sub(packed.bytes.len() + JSON_OF_VIEW)?;
    (saved > 0).then_some((saved, packed))
}
