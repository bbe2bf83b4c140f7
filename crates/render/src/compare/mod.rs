//! Compares a result with its source: makes scores, heat maps and warnings from pictures of six sides, and from inside
//! of the rooms of a model.
//!
//! A mean over a picture hides a vanished part, so the worst tile and the parts that changed most are reported as
//! well. Scores run from 0 (completely different) to 100 (equal) and count only the pixels where either model is
//! visible, so that an empty background does not raise them.

mod flip;
mod heat;
mod places;
mod rough;
mod sheet;

use glam::Vec3;
use rayon::prelude::*;

use super::camera::View;
use super::picture::{NO_PART, Picture};
use super::prepare::PreparedScene;
use super::srgb::linear_of_srgb;
use flip::Linear;
pub use places::ChangedPart;
use places::{TILE, changed_parts, score, worst_part, worst_tile};

pub use rough::{QuickDifference, quick_difference};
pub use sheet::{Sheet, side_by_side};

/// One of so many views from inside counts: the worst ones.
const WORST_INSIDE: usize = 4;
/// Two sets of pictures, compared.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// In the order of the pictures.
    pub views: Vec<ViewComparison>,
    /// Parts of the source most of whose pixels look different in the result, the worst first.
    pub changed_parts: Vec<ChangedPart>,
}

/// One view of both models, compared.
#[derive(Debug, Clone)]
pub struct ViewComparison {
    /// The direction of the view.
    pub view: View,
    /// 0 to 100.
    pub score: f64,
    /// The mean difference over the whole picture, background included: 0 to 1, as papers give it.
    pub mean_difference: f64,
    /// The tile with the greatest difference; `None` if the pictures are equal.
    pub worst_tile: Option<WorstTile>,
    /// The differences as a heat map: dark pixels are equal, bright ones different.
    pub heat_map: Picture,
}

/// The tile that differs most.
#[derive(Debug, Clone, PartialEq)]
pub struct WorstTile {
    /// Pixels from the left of the picture.
    pub left: usize,
    /// Pixels from its top.
    pub top: usize,
    /// 0 to 100, over the pixels of the tile in which either model is visible.
    pub score: f64,
    /// The source's part with the greatest difference there.
    pub part: Option<String>,
}

/// A set of pictures of one model, and the names of its parts.
#[derive(Debug, Clone, Copy)]
pub struct PictureSet<'a> {
    /// The scene that the pictures show.
    pub scene: &'a PreparedScene,
    /// The pictures, in the same order and size as those they are compared with.
    pub pictures: &'a [(View, Picture)],
}

impl Comparison {
    /// Compares the result's pictures with the source's, view by view.
    pub fn new(source: PictureSet<'_>, result: PictureSet<'_>) -> Comparison {
        let compared: Vec<ComparedView> = source
            .pictures
            .par_iter()
            .zip(result.pictures)
            .map(|((view, one), (_, two))| ComparedView::new(*view, one, two, source.scene))
            .collect();
        let pictures = source.pictures.iter().map(|(_, picture)| picture);
        let errors = compared.iter().map(|compared| &compared.errors[..]);
        let changed_parts = changed_parts(source.scene, pictures.zip(errors));
        Comparison {
            views: compared.into_iter().map(|compared| compared.view).collect(),
            changed_parts,
        }
    }

    /// The mean of the views' scores. For a model with rooms, the lower one of the means from outside and of the worst
    /// views from inside: a room without its furniture is not the same room, however it looks from outside, and most
    /// views from inside show walls.
    pub fn average_score(&self) -> f64 {
        let outside = self.sorted_scores(false);
        let mut inside = self.sorted_scores(true);
        inside.truncate(inside.len().div_ceil(WORST_INSIDE));
        let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
        let means = [outside, inside].map(|scores| match scores.is_empty() {
            true => 100.0,
            false => mean(&scores),
        });
        means[0].min(means[1])
    }

    /// The scores of the views from inside or outside, the worst first.
    fn sorted_scores(&self, is_inside: bool) -> Vec<f64> {
        let views = self.views.iter();
        let mut scores: Vec<f64> = views
            .filter(|compared| compared.view.is_inside() == is_inside)
            .map(|compared| compared.score)
            .collect();
        scores.sort_by(f64::total_cmp);
        scores
    }

    /// The number of views from inside.
    pub fn inside_views(&self) -> usize {
        let views = self.views.iter();
        views.filter(|compared| compared.view.is_inside()).count()
    }

    /// The mean over all views of [`ViewComparison::mean_difference`].
    pub fn mean_difference(&self) -> f64 {
        let sum: f64 = self.views.iter().map(|view| view.mean_difference).sum();
        sum / self.views.len().max(1) as f64
    }

    /// The score of the best view.
    pub fn best_score(&self) -> f64 {
        self.views.iter().map(|view| view.score).fold(0.0, f64::max)
    }

    /// The score of the worst view.
    pub fn worst_score(&self) -> f64 {
        self.views
            .iter()
            .map(|view| view.score)
            .fold(100.0, f64::min)
    }

    /// The worst tile of all views.
    pub fn worst_tile(&self) -> Option<(View, &WorstTile)> {
        let tiles = self
            .views
            .iter()
            .filter_map(|view| Some((view.view, view.worst_tile.as_ref()?)));
        tiles.min_by(|(_, one), (_, two)| one.score.total_cmp(&two.score))
    }

    /// Differences that the user should check, as warnings; empty if the result looks like the source.
    pub fn warnings(&self) -> Vec<String> {
        const POOR_TILE: f64 = 55.0;
        let mut warnings: Vec<String> = self
            .changed_parts
            .iter()
            .map(|part| {
                let percent = part.changed_share * 100.0;
                format!(
                    "{}: {percent:.0} % of its visible pixels differ from the source",
                    part.name
                )
            })
            .collect();
        if let Some((view, tile)) = self.worst_tile().filter(|(_, tile)| tile.score < POOR_TILE) {
            let part = tile
                .part
                .as_deref()
                .map(|part| format!(", mostly {part}"))
                .unwrap_or_default();
            warnings.push(format!(
                "the {} view differs most around pixel {}, {} (score {:.0} there{part})",
                view.name(),
                tile.left + TILE / 2,
                tile.top + TILE / 2,
                tile.score
            ));
        }
        warnings
    }
}

/// A view with the differences of its pixels.
struct ComparedView {
    view: ViewComparison,
    errors: Vec<f32>,
}

impl ComparedView {
    fn new(view: View, one: &Picture, two: &Picture, source: &PreparedScene) -> ComparedView {
        let size = one.size;
        let mut errors = differences(one, two);
        if view.is_inside() {
            count_moved_surfaces(&mut errors, one, two);
        }
        let seen: Vec<bool> = one
            .parts
            .iter()
            .zip(&two.parts)
            .map(|(one, two)| *one != NO_PART || *two != NO_PART)
            .collect();
        let all = (0..size * size).filter(|at| seen[*at]);
        let score = score(all.map(|at| errors[at]));
        let worst_tile = worst_tile(size, &errors, &seen).map(|(left, top, score)| {
            let part = worst_part(one, &errors, (left, top));
            let part = part
                .and_then(|part| source.part_name(part))
                .map(str::to_owned);
            WorstTile {
                left,
                top,
                score,
                part,
            }
        });
        let mean_difference =
            errors.iter().copied().map(f64::from).sum::<f64>() / errors.len().max(1) as f64;
        let heat_map = heat::heat_map(size, &errors, &one.parts);
        ComparedView {
            view: ViewComparison {
                view,
                score,
                mean_difference,
                worst_tile,
                heat_map,
            },
            errors,
        }
    }
}

/// From inside of a room, a pixel differs completely if it shows a surface that is nearer or farther than the source's,
/// or none. A wall behind furniture that is missing may have the same colour.
fn count_moved_surfaces(errors: &mut [f32], one: &Picture, two: &Picture) {
    let depths = one.depths.iter().zip(&two.depths);
    for (error, (one, two)) in errors.iter_mut().zip(depths) {
        let is_same = one == two || (one - two).abs() <= one.min(*two) * MOVED;
        if !is_same {
            *error = 1.0;
        }
    }
}

/// A surface has moved if its distance changes by more than this fraction.
const MOVED: f32 = 0.1;

/// The difference of each pixel. Computes only the rectangle that holds all pixels that differ.
fn differences(one: &Picture, two: &Picture) -> Vec<f32> {
    let size = one.size;
    let mut errors = vec![0.0; size * size];
    let Some((left, top, right, bottom)) = changed_rectangle(one, two) else {
        return errors;
    };
    let cut = |picture: &Picture| {
        let pixels = (top..bottom).flat_map(|y| (left..right).map(move |x| y * size + x));
        let pixels = pixels
            .map(|at| linear(&picture.rgba[at * 4..at * 4 + 4]))
            .collect();
        Linear {
            width: right - left,
            height: bottom - top,
            pixels,
        }
    };
    let found = flip::flip(&cut(one), &cut(two));
    for (y, row) in found.chunks(right - left).enumerate() {
        let at = (top + y) * size + left;
        errors[at..at + row.len()].copy_from_slice(row);
    }
    errors
}

/// Left, top, right and bottom of the pixels that differ, widened by the radius of the filters.
fn changed_rectangle(one: &Picture, two: &Picture) -> Option<(usize, usize, usize, usize)> {
    let size = one.size;
    let (pixels, _) = one.rgba.as_chunks::<4>();
    let (others, _) = two.rgba.as_chunks::<4>();
    let mut bounds: Option<(usize, usize, usize, usize)> = None;
    for (at, _) in pixels
        .iter()
        .zip(others)
        .enumerate()
        .filter(|(_, (one, two))| one != two)
    {
        let (x, y) = (at % size, at / size);
        let (left, top, right, bottom) = bounds.unwrap_or((x, y, x, y));
        bounds = Some((left.min(x), top.min(y), right.max(x), bottom.max(y)));
    }
    let reach = 2 * flip::reach();
    bounds.map(|(left, top, right, bottom)| {
        let far = |end: usize| (end + 1 + reach).min(size);
        (
            left.saturating_sub(reach),
            top.saturating_sub(reach),
            far(right),
            far(bottom),
        )
    })
}

/// The linear colour of a pixel, blended over mid grey.
fn linear(pixel: &[u8]) -> Vec3 {
    let alpha = f32::from(pixel[3]) / 255.0;
    let colour = Vec3::new(
        f32::from(pixel[0]),
        f32::from(pixel[1]),
        f32::from(pixel[2]),
    ) / 255.0;
    let colour = Vec3::from_array(colour.to_array().map(linear_of_srgb));
    Vec3::splat(0.2).lerp(colour, alpha)
}
