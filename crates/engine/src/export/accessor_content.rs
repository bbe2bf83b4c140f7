//! The key by which equal vertex data is found, so that it is written once.

use xxhash_rust::xxh3::xxh3_128;

use super::super::scene::{Attribute, Storage};
use super::rounding::Step;

/// Two accessors with equal values of this type hold the same data: form, storage, and a hash of the numbers.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct AccessorContent {
    form: AccessorForm,
    components: usize,
    storage: Storage,
    /// The attribute name without its set number if the form depends on it: rounding, and the limits of sparse accessors.
    kind: String,
    /// To which the numbers are rounded for packing.
    step: Option<Step>,
    hash: u128,
}

#[derive(PartialEq, Eq, Hash)]
pub(super) enum AccessorForm {
    Attribute,
    /// Normals or tangents, rounded as directions.
    Directions,
    SparseAttribute,
    Triangles,
    OtherIndices,
}

impl AccessorContent {
    /// An attribute without compression. Its name is left out, so that attributes with equal numbers share one accessor.
    pub(super) fn of_numbers(attribute: &Attribute) -> AccessorContent {
        AccessorContent {
            kind: String::new(),
            ..AccessorContent::of_attribute(AccessorForm::Attribute, attribute, None)
        }
    }

    pub(super) fn of_attribute(
        form: AccessorForm,
        attribute: &Attribute,
        step: Option<Step>,
    ) -> AccessorContent {
        let bytes = attribute
            .values
            .iter()
            .flat_map(|value| value.to_le_bytes());
        let kind = attribute.name.split('_').next().unwrap_or_default();
        AccessorContent {
            form,
            components: attribute.components,
            storage: attribute.storage,
            kind: kind.to_owned(),
            step,
            hash: xxh3_128(&bytes.collect::<Vec<u8>>()),
        }
    }

    pub(super) fn of_indices(
        indices: &[u32],
        storage: Storage,
        are_triangles: bool,
    ) -> AccessorContent {
        let bytes = indices.iter().flat_map(|index| index.to_le_bytes());
        AccessorContent {
            form: match are_triangles {
                true => AccessorForm::Triangles,
                false => AccessorForm::OtherIndices,
            },
            components: 1,
            storage,
            kind: String::new(),
            step: None,
            hash: xxh3_128(&bytes.collect::<Vec<u8>>()),
        }
    }
}
