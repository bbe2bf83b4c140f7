//! Packs charts by their boxes, in rows from the tallest chart to the flattest. Fast for any number of charts.

use glam::{DVec2, Vec2Swizzles};

use super::shape::{Arrangement, FlatShape, Place, size_of};

/// Halvings of the range of scales.
const SEARCH: usize = 24;

/// There is always a packing: the scale may become as small as needed, and the padding with it.
pub(super) fn pack(shapes: &[FlatShape], padding: f64) -> Arrangement {
    let sizes: Vec<DVec2> = shapes.iter().map(|shape| size_of(&shape.uvs)).collect();
    let mut order: Vec<usize> = (0..shapes.len()).collect();
    let height = |at: usize| sizes[at].min_element();
    order.sort_by(|a, b| height(*b).total_cmp(&height(*a)).then(a.cmp(b)));
    // No box needs more than a square of its own, so a scale for these squares fits.
    let squares = (shapes.len() as f64).sqrt().ceil();
    let padding = padding.min(0.1 / squares);
    let longest = sizes
        .iter()
        .map(|size| size.max_element())
        .fold(0.0, f64::max);
    let (mut fits, mut fails) = ((1.0 / squares - 2.0 * padding) / longest, 1.0 / longest);
    let mut places = in_rows(&sizes, &order, padding, fits).unwrap_or_default();
    for _ in 0..SEARCH {
        let scale = (fits + fails) / 2.0;
        match in_rows(&sizes, &order, padding, scale) {
            Some(better) => (fits, places) = (scale, better),
            None => fails = scale,
        }
    }
    Arrangement {
        scale: fits,
        places,
    }
}

/// The places at a scale, each box lying on its longer side, if all fit.
fn in_rows(sizes: &[DVec2], order: &[usize], padding: f64, scale: f64) -> Option<Vec<Place>> {
    let nowhere = Place {
        quarter_turns: 0,
        corner: DVec2::ZERO,
    };
    let mut places = vec![nowhere; sizes.len()];
    // Rounding may push the last box of a row a little over the edge.
    let edge = 1.0 + 1e-9;
    let mut corner = DVec2::ZERO;
    let mut top: f64 = 0.0;
    for at in order {
        let size = sizes[*at];
        let quarter_turns = usize::from(size.y > size.x);
        let size = if quarter_turns == 1 { size.yx() } else { size };
        let size = size * scale + 2.0 * padding;
        if corner.x + size.x > edge {
            corner = DVec2::new(0.0, top);
        }
        top = top.max(corner.y + size.y);
        if top > edge || size.x > edge {
            return None;
        }
        places[*at] = Place {
            quarter_turns,
            corner: corner + DVec2::splat(padding),
        };
        corner.x += size.x;
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(count: usize) -> Vec<FlatShape> {
        (0..count)
            .map(|at| {
                let size = DVec2::new(0.2 + (at * 7 % 13) as f64, 0.1 + (at * 5 % 11) as f64);
                FlatShape {
                    uvs: vec![DVec2::ZERO, DVec2::new(size.x, 0.0), size],
                    triangles: vec![[0, 1, 2]],
                    area: size.x * size.y / 2.0,
                }
            })
            .collect()
    }

    #[test]
    fn boxes_lie_in_the_square_at_a_distance() {
        for (count, padding) in [(1, 0.01), (2, 0.05), (7, 0.001), (300, 0.001), (300, 0.05)] {
            let shapes = boxes(count);
            let packed = pack(&shapes, padding);
            let least = padding.min(0.1 / (count as f64).sqrt().ceil());
            let placed: Vec<(DVec2, DVec2)> = (shapes.iter().zip(&packed.places))
                .map(|(shape, place)| {
                    let size = size_of(&shape.uvs);
                    let size = if place.quarter_turns == 1 {
                        size.yx()
                    } else {
                        size
                    };
                    (place.corner, place.corner + size * packed.scale)
                })
                .collect();
            for (at, (low, high)) in placed.iter().enumerate() {
                assert!(low.min_element() >= 0.0 && high.max_element() <= 1.0 + 1e-6);
                for (other_low, other_high) in &placed[..at] {
                    let gap = (low - other_high).max(other_low - high).max_element();
                    assert!(gap >= 2.0 * least - 1e-9, "{count} boxes: {gap}");
                }
            }
        }
    }
}
