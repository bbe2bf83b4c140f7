//! Where two pictures differ most: tiles and parts.

use std::collections::BTreeMap;

use super::super::picture::{NO_PART, Picture};
use super::super::prepare::PreparedScene;

/// Pixels on each side of a tile.
pub(super) const TILE: usize = 32;
/// A pixel with a greater difference counts as changed.
const CHANGED: f32 = 0.22;
/// Parts that cover fewer pixels in all views are too small to judge.
const MIN_PIXELS: usize = 12;

/// A part whose visible pixels mostly differ from the source.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedPart {
    /// Its name in the source.
    pub name: String,
    /// The share of its visible pixels that look different.
    pub changed_share: f64,
}

/// Left, top and score of the tile with the greatest sum of differences; the sum prevents that a tile with few visible
/// pixels is chosen because of one bad pixel.
pub(super) fn worst_tile(
    size: usize,
    errors: &[f32],
    seen: &[bool],
) -> Option<(usize, usize, f64)> {
    let mut worst: Option<(f32, (usize, usize, f64))> = None;
    for top in (0..size).step_by(TILE) {
        for left in (0..size).step_by(TILE) {
            let places = tile_places(size, (left, top)).filter(|at| seen[*at]);
            let sum: f32 = places.clone().map(|at| errors[at]).sum();
            if sum > worst.map_or(0.0, |(most, _)| most) {
                worst = Some((sum, (left, top, score(places.map(|at| errors[at])))));
            }
        }
    }
    worst.map(|(_, tile)| tile)
}

fn tile_places(size: usize, (left, top): (usize, usize)) -> impl Iterator<Item = usize> + Clone {
    let (right, bottom) = ((left + TILE).min(size), (top + TILE).min(size));
    (top..bottom).flat_map(move |y| (left..right).map(move |x| y * size + x))
}

/// The part with the greatest sum of differences in a tile.
pub(super) fn worst_part(picture: &Picture, errors: &[f32], corner: (usize, usize)) -> Option<u32> {
    let mut sums: BTreeMap<u32, f32> = BTreeMap::new();
    for at in tile_places(picture.size, corner).filter(|at| picture.parts[*at] != NO_PART) {
        *sums.entry(picture.parts[at]).or_default() += errors[at];
    }
    sums.into_iter()
        .max_by(|one, two| one.1.total_cmp(&two.1))
        .map(|(part, _)| part)
}

/// The parts of the source most of whose visible pixels changed, the worst first. `views` are pictures of the source with the
/// differences of their pixels.
pub(super) fn changed_parts<'a>(
    source: &PreparedScene,
    views: impl Iterator<Item = (&'a Picture, &'a [f32])>,
) -> Vec<ChangedPart> {
    const MAX_CHANGED_SHARE: f64 = 0.6;
    // Pixels of each part, and how many of them changed.
    let mut counts: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for (picture, errors) in views {
        for (part, error) in picture
            .parts
            .iter()
            .zip(errors)
            .filter(|(part, _)| **part != NO_PART)
        {
            let (pixels, changed) = counts.entry(*part).or_default();
            *pixels += 1;
            *changed += usize::from(*error > CHANGED);
        }
    }
    let mut parts: Vec<ChangedPart> = counts
        .into_iter()
        .filter(|(_, (pixels, _))| *pixels >= MIN_PIXELS)
        .map(|(part, (pixels, changed))| ChangedPart {
            name: source.part_name(part).unwrap_or("a part").to_owned(),
            changed_share: changed as f64 / pixels as f64,
        })
        .filter(|part| part.changed_share > MAX_CHANGED_SHARE)
        .collect();
    parts.sort_by(|one, two| two.changed_share.total_cmp(&one.changed_share));
    parts
}

/// From 0 to 100, of the differences of pixels.
pub(super) fn score(errors: impl Iterator<Item = f32>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for error in errors {
        sum += f64::from(error);
        count += 1;
    }
    if count == 0 {
        100.0
    } else {
        100.0 * (1.0 - sum / f64::from(count))
    }
}
