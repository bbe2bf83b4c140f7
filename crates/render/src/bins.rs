//! Sorts triangles into the tiles of a picture.
//!
//! The corners of solid triangles are kept with them, so that drawing a tile reads memory in one row: a scene may have a
//! million parts of a few triangles each.

use std::ops::Range;

use rayon::prelude::*;

use super::coverage::{ScreenCorner, ScreenTriangle};
use super::prepared_part::PreparedPart;
use super::projection::{Projection, TILE};
use super::scene::RenderAlpha;

/// Number of triangles that one task sorts into tiles.
pub(super) const BATCH: usize = 16_384;

/// A solid triangle that touches a tile, from a side of it that is drawn.
pub(super) struct BinnedTriangle {
    pub(super) number: u32,
    pub(super) is_masked: bool,
    pub(super) corners: [ScreenCorner; 3],
}

impl BinnedTriangle {
    /// The depth of its nearest corner.
    pub(super) fn nearest(&self) -> f32 {
        let [a, b, c] = self.corners;
        a.z.min(b.z).min(c.z)
    }

    pub(super) fn on_screen(&self, projection: &Projection<'_>) -> Option<ScreenTriangle> {
        // Sides that are not drawn are not in a tile.
        ScreenTriangle::new(self.corners, true, projection.samples)
    }
}

/// The triangles of each tile, in the order of the scene.
pub(super) struct Bins {
    /// Opaque and masked ones.
    triangles: Vec<BinnedTriangle>,
    /// For each tile the places of its solid triangles in `triangles`.
    solid: Vec<Vec<u32>>,
    /// For each tile the numbers of its blended triangles.
    pub(super) blended: Vec<Vec<u32>>,
}

impl Bins {
    fn new(tiles: usize) -> Bins {
        Bins {
            triangles: Vec::new(),
            solid: vec![Vec::new(); tiles],
            blended: vec![Vec::new(); tiles],
        }
    }

    /// The solid triangles of a tile.
    pub(super) fn solid_of(&self, tile: usize) -> impl Iterator<Item = &BinnedTriangle> {
        let places = self.solid[tile].iter();
        places.map(|place| &self.triangles[*place as usize])
    }

    /// Whether a triangle touches a tile.
    pub(super) fn touch(&self, tile: usize) -> bool {
        !self.solid[tile].is_empty() || !self.blended[tile].is_empty()
    }
}

/// The corners of those of some parts that have many. Other parts are projected where they are needed.
pub(super) struct LargeParts {
    first_part: usize,
    corners: Vec<Vec<ScreenCorner>>,
}

impl LargeParts {
    pub(super) fn new(projection: &Projection<'_>, parts: Range<usize>) -> LargeParts {
        let corners = |number: usize| {
            let part = &projection.scene.parts[number];
            let vertices = part.mesh.positions.len() as u32;
            if vertices as usize <= BATCH || part.is_repeated {
                return Vec::new();
            }
            (0..vertices)
                .into_par_iter()
                .with_min_len(BATCH)
                .map(|index| projection.project(part.position(index)))
                .collect()
        };
        LargeParts {
            first_part: parts.start,
            corners: parts
                .into_par_iter()
                .with_min_len(64)
                .map(corners)
                .collect(),
        }
    }

    /// The corners of a part on the screen, perhaps in `scratch`.
    fn corners<'a>(
        &'a self,
        projection: &Projection<'_>,
        number: usize,
        scratch: &'a mut Vec<ScreenCorner>,
    ) -> &'a [ScreenCorner] {
        let known = &self.corners[number - self.first_part];
        if !known.is_empty() {
            return known;
        }
        projection.project_all(&projection.scene.parts[number], scratch);
        scratch
    }
}

impl Projection<'_> {
    /// The positions of a part on the screen.
    pub(super) fn project_all(&self, part: &PreparedPart, into: &mut Vec<ScreenCorner>) {
        into.clear();
        let indices = 0..part.mesh.positions.len() as u32;
        into.extend(indices.map(|index| self.project(part.position(index))));
    }

    /// Sorts triangles of parts that `large` was made of.
    pub(super) fn bin(&self, large: &LargeParts, triangles: Range<u32>) -> Bins {
        let tiles = self.tiles();
        let mut bins = Bins::new(tiles * tiles);
        let mut scratch = Vec::new();
        for (number, range) in self.scene.parts_in(triangles) {
            let part = &self.scene.parts[number];
            if part.is_repeated {
                continue;
            }
            let material = &self.scene.materials[part.mesh.material as usize];
            let is_masked = matches!(material.plain.alpha, RenderAlpha::Mask(_));
            let screen = large.corners(self, number, &mut scratch);
            for triangle in range {
                let corners = part.indices(triangle).map(|index| screen[index as usize]);
                let is_double_sided = material.plain.double_sided;
                let Some(setup) = ScreenTriangle::new(corners, is_double_sided, self.samples)
                else {
                    continue;
                };
                let number = part.first_triangle + triangle as u32;
                match material.blends() {
                    true => {
                        self.tiles_of(&setup)
                            .for_each(|tile| bins.blended[tile].push(number));
                    }
                    false => {
                        let place = bins.triangles.len() as u32;
                        self.tiles_of(&setup)
                            .for_each(|tile| bins.solid[tile].push(place));
                        bins.triangles.push(BinnedTriangle {
                            number,
                            is_masked,
                            corners,
                        });
                    }
                }
            }
        }
        bins
    }

    /// The tiles that a triangle touches.
    fn tiles_of(&self, triangle: &ScreenTriangle) -> impl Iterator<Item = usize> {
        let (low, high) = (triangle.low, triangle.high);
        let (left, right) = (low.0 / TILE, high.0 / TILE);
        let rows = low.1 / TILE..=high.1 / TILE;
        let is_one = left == right && low.1 / TILE == high.1 / TILE;
        rows.flat_map(move |row| (left..=right).map(move |column| row * self.tiles() + column))
            .filter(move |tile| is_one || triangle.touches(&self.window(*tile)))
    }
}
