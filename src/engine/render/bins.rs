//! Sorts triangles into the tiles of a picture.
//!
//! The corners of solid triangles are kept with them, so that drawing a tile reads memory in one row: a scene may have a
//! million parts of a few triangles each.

use std::ops::Range;

use rayon::prelude::*;

use super::coverage::{ScreenCorner, ScreenTriangle};
use super::prepared_part::PreparedPart;
use super::raster::{Projection, TILE};
use super::scene::RenderAlpha;

/// Number of triangles that one task sorts into tiles.
pub(super) const BATCH: usize = 16_384;

/// A solid triangle that touches a tile, from a side of it that is drawn.
pub(super) struct BinnedTriangle {
    pub(super) number: u32,
    pub(super) is_masked: bool,
    pub(super) corners: [ScreenCorner; 3],
}

/// Triangles of each tile: opaque and masked ones, then blended ones.
pub(super) struct Bins {
    pub(super) solid: Vec<Vec<BinnedTriangle>>,
    pub(super) blended: Vec<Vec<u32>>,
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
        let mut bins = Bins {
            solid: (0..tiles * tiles).map(|_| Vec::new()).collect(),
            blended: vec![Vec::new(); tiles * tiles],
        };
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
                for row in setup.low.1 / TILE..=setup.high.1 / TILE {
                    for column in setup.low.0 / TILE..=setup.high.0 / TILE {
                        let tile = row * tiles + column;
                        match material.blends() {
                            true => bins.blended[tile].push(number),
                            false => bins.solid[tile].push(BinnedTriangle {
                                number,
                                is_masked,
                                corners,
                            }),
                        }
                    }
                }
            }
        }
        bins
    }
}
