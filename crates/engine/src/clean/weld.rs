//! Joins vertices that are equal in every attribute, those of morph targets included.

use xxhash_rust::xxh3::Xxh3Default;

use super::super::alike::firsts_equal;
use super::super::scene::{Attribute, Geometry};

/// Redirects the indices of equal vertices to the first of them; returns how many vertices became unused.
pub(super) fn weld(geometry: &mut Geometry) -> usize {
    weld_by(geometry, |_| true)
}

/// As [`weld`], but compares only attributes for which `counts` returns true.
pub fn weld_by(geometry: &mut Geometry, counts: impl Fn(&Attribute) -> bool) -> usize {
    let count = geometry.vertex_count();
    let attributes: Vec<&Attribute> = geometry
        .all_attributes()
        .filter(|attribute| counts(attribute))
        .collect();
    let firsts = firsts_equal(
        count,
        |vertex| hash_of(&attributes, vertex),
        |one, other| is_equal(&attributes, one, other),
    );
    for index in &mut geometry.indices {
        *index = firsts[*index as usize];
    }
    let joined = (0..)
        .zip(&firsts)
        .filter(|(vertex, first)| vertex != *first);
    joined.count()
}

fn hash_of(attributes: &[&Attribute], vertex: usize) -> u64 {
    let mut hasher = Xxh3Default::new();
    for attribute in attributes {
        for number in attribute.at(vertex) {
            hasher.update(&bits(*number).to_le_bytes());
        }
    }
    hasher.digest()
}

fn is_equal(attributes: &[&Attribute], one: usize, other: usize) -> bool {
    attributes.iter().all(|attribute| {
        let (one, other) = (attribute.at(one), attribute.at(other));
        one.iter()
            .zip(other)
            .all(|(one, other)| bits(*one) == bits(*other))
    })
}

/// The bits of a number, with -0 replaced by 0.
fn bits(number: f32) -> u32 {
    (number + 0.0).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_vertices_equal_in_everything_are_joined() {
        let mut geometry = Geometry {
            indices: vec![0, 1, 2, 3, 4, 2],
            attributes: vec![
                Attribute::new(
                    "POSITION",
                    3,
                    vec![
                        0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, -0.0, 0.0, 0.0, 1.0, 0.0, 0.0,
                    ],
                ),
                Attribute::new(
                    "TEXCOORD_0",
                    2,
                    vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.0],
                ),
            ],
            ..Geometry::default()
        };
        assert_eq!(weld(&mut geometry), 1);
        assert_eq!(geometry.indices, [0, 1, 2, 0, 4, 2]);
    }
}
