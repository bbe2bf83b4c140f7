//! Finds the visible triangle of each sample: draws the tiles with a depth test.
//!
//! Tiles are independent and their triangles stay in scene order; the picture does not depend on the number of threads.

use std::ops::Range;

use rayon::prelude::*;

use super::alpha::AlphaMask;
use super::bins::{BATCH, Bins, LargeParts};
use super::camera::Camera;
use super::coverage::{ScreenTriangle, Window};
use super::fill::cost_of;
use super::prepare::PreparedScene;
use super::projection::{Projection, Tile, TileBuffer};
use super::scene::RenderAlpha;

/// Triangles that are projected and sorted at once, unless a part has more. This limits the memory of scenes that draw a
/// mesh many times.
const MAX_PROJECTED_TRIANGLES: usize = 2_000_000;
/// Triangles that are sorted into tiles before they are drawn. One takes 56 bytes, and 4 in each of its tiles.
const MAX_SORTED_TRIANGLES: u32 = 1 << 18;
/// A small map of depths is drawn in the order of the scene, until all of its samples were drawn over this many times and
/// [`SAMPLES_OF_EACH`] for each triangle on top.
const MAX_LAYERS: usize = 512;
const SAMPLES_OF_EACH: usize = 16;

impl<'a> Projection<'a> {
    /// Projects the scene onto a picture of `size` pixels a side and draws its solid triangles.
    pub(super) fn new(
        scene: &'a PreparedScene,
        camera: &Camera,
        size: usize,
        samples_in_pixel: usize,
    ) -> Projection<'a> {
        let mut projection = Projection::undrawn(scene, camera, size, samples_in_pixel);
        let count = projection.tiles() * projection.tiles();
        let empty = |tile| Tile {
            solid: TileBuffer::new(&projection, tile),
            blended: Vec::new(),
            is_touched: false,
        };
        let mut tiles: Vec<Tile> = (0..count).map(empty).collect();
        for parts in batches(scene) {
            projection.draw(parts, &mut tiles);
        }
        projection.tiles = tiles;
        projection
    }

    /// Draws the solid triangles of some parts into the tiles, and notes those that are blended later.
    fn draw(&self, parts: Range<usize>, tiles: &mut [Tile]) {
        let Some(last) = self.scene.parts[parts.clone()].last() else {
            return;
        };
        let first = self.scene.parts[parts.start].first_triangle;
        let end = last.first_triangle + last.triangle_count() as u32;
        let large = LargeParts::new(self, parts);
        let mut start = first;
        while start < end {
            let some = start..end.min(start.saturating_add(MAX_SORTED_TRIANGLES));
            start = some.end;
            self.draw_some(&large, some, tiles);
        }
    }

    fn draw_some(&self, large: &LargeParts, triangles: Range<u32>, tiles: &mut [Tile]) {
        let end = triangles.end;
        let bins: Vec<Bins> = triangles
            .into_par_iter()
            .step_by(BATCH)
            .map(|start| self.bin(large, start..end.min(start.saturating_add(BATCH as u32))))
            .collect();
        tiles.par_iter_mut().enumerate().for_each(|(tile, drawn)| {
            drawn.solid.draw(&bins, tile, self);
            for bins in &bins {
                drawn.is_touched |= bins.touch(tile);
                drawn.blended.extend_from_slice(&bins.blended[tile]);
            }
        });
    }

    /// Draws only the depth of the nearest solid surface, without tiles; for small maps, several of which are drawn in
    /// parallel.
    pub(super) fn depths(scene: &'a PreparedScene, camera: &Camera, size: usize) -> Vec<f32> {
        let projection = Projection::undrawn(scene, camera, size, 1);
        let window = Window {
            left: 0,
            top: 0,
            width: size,
            height: size,
        };
        let mut depths = vec![f32::INFINITY; size * size];
        let mut left = size * size * MAX_LAYERS + scene.triangle_count() * SAMPLES_OF_EACH;
        let mut corners = Vec::new();
        for part in &scene.parts {
            let material = &scene.materials[part.mesh.material as usize];
            if material.blends() || part.is_repeated {
                continue;
            }
            projection.project_all(part, &mut corners);
            let is_masked = matches!(material.plain.alpha, RenderAlpha::Mask(_));
            for triangle in 0..part.triangle_count() {
                let corners = part.indices(triangle).map(|index| corners[index as usize]);
                let is_double_sided = material.plain.double_sided;
                let Some(setup) = ScreenTriangle::new(corners, is_double_sided, size) else {
                    continue;
                };
                let number = part.first_triangle + triangle as u32;
                let mut mask = None;
                let mut passes = |x, y| {
                    let mask =
                        mask.get_or_insert_with(|| AlphaMask::new(&projection, number, &corners));
                    mask.passes(&setup, x, y)
                };
                let looked_at = setup.cover(&window, |at, x, y| {
                    let depth = setup.depth(x, y);
                    if depth < depths[at] && (!is_masked || passes(x, y)) {
                        depths[at] = depth;
                    }
                });
                left = left.saturating_sub(cost_of(looked_at, is_masked));
                if left == 0 {
                    return depths;
                }
            }
        }
        depths
    }
}

/// The parts of a scene in groups that are projected at once.
fn batches(scene: &PreparedScene) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut triangles = 0;
    for (number, part) in scene.parts.iter().enumerate() {
        match batches.last_mut() {
            Some(batch) if triangles + part.triangle_count() <= MAX_PROJECTED_TRIANGLES => {
                batch.end = number + 1;
            }
            _ => {
                batches.push(number..number + 1);
                triangles = 0;
            }
        }
        triangles += part.triangle_count();
    }
    batches
}
