//! Drops triangles that have two corners at the same position, because they cover no pixel.

use super::super::scene::Geometry;

/// Removes degenerate triangles and returns how many there were.
pub(super) fn remove(geometry: &mut Geometry) -> usize {
    let before = geometry.indices.len();
    let mut kept = std::mem::take(&mut geometry.indices);
    let is_apart = |one: u32, other: u32| {
        let is_elsewhere = geometry.position(one) != geometry.position(other);
        one != other && (is_elsewhere || moves_apart(geometry, one, other))
    };
    let mut end = 0;
    for start in (0..before).step_by(3) {
        let [a, b, c] = [kept[start], kept[start + 1], kept[start + 2]];
        if is_apart(a, b) && is_apart(b, c) && is_apart(c, a) {
            kept.copy_within(start..start + 3, end);
            end += 3;
        }
    }
    kept.truncate(end);
    geometry.indices = kept;
    (before - end) / 3
}

/// Whether a morph target or a skin can move two vertices apart that have the same position.
fn moves_apart(geometry: &Geometry, one: u32, other: u32) -> bool {
    let differs = |attribute: &super::super::scene::Attribute| {
        attribute.at(one as usize) != attribute.at(other as usize)
    };
    let is_morphed = geometry
        .targets
        .iter()
        .flatten()
        .any(|attribute| attribute.name == "POSITION" && differs(attribute));
    let is_skinned = geometry.attributes.iter().any(|attribute| {
        (attribute.name.starts_with("JOINTS") || attribute.name.starts_with("WEIGHTS"))
            && differs(attribute)
    });
    is_morphed || is_skinned
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::Attribute;
    use super::*;

    #[test]
    fn triangles_with_two_corners_in_one_place_go() {
        let positions = vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0];
        let mut geometry = Geometry {
            indices: vec![0, 1, 2, 0, 0, 1, 0, 1, 3],
            attributes: vec![Attribute::new("POSITION", 3, positions)],
            ..Geometry::default()
        };
        assert_eq!(remove(&mut geometry), 2);
        assert_eq!(geometry.indices, [0, 1, 2]);
    }
}
