//! The storage types of glTF attributes: which are kept, which become float.

use super::super::super::document::{AccessorInfo, ComponentType};
use super::super::super::scene::Storage;

/// The storage in which an attribute will be written again.
///
/// Types that the core format allows are kept; types that need `KHR_mesh_quantization` become float.
pub(super) fn storage_of(name: &str, info: &AccessorInfo) -> Storage {
    let stored = Storage {
        component: info.component,
        normalized: info.normalized,
    };
    let is_unsigned = matches!(info.component, ComponentType::U8 | ComponentType::U16);
    let kind = name.split_once('_').map_or(name, |(kind, _)| kind);
    match kind {
        "TEXCOORD" | "COLOR" | "WEIGHTS" if is_unsigned && info.normalized => stored,
        "JOINTS" if is_unsigned => Storage {
            normalized: false,
            ..stored
        },
        "JOINTS" => Storage {
            component: ComponentType::U16,
            normalized: false,
        },
        // Names that start with an underscore are application-specific.
        "" if info.component != ComponentType::U32 => stored,
        _ => Storage::FLOAT,
    }
}

/// The numbers of components that the format allows for an attribute.
pub(super) fn allowed_components(name: &str) -> &'static [usize] {
    let kind = name.split_once('_').map_or(name, |(kind, _)| kind);
    match kind {
        "POSITION" | "NORMAL" => &[3],
        "TANGENT" => &[3, 4],
        "TEXCOORD" => &[2],
        "COLOR" => &[3, 4],
        "JOINTS" | "WEIGHTS" => &[4],
        _ => &[1, 2, 3, 4, 9, 16],
    }
}
