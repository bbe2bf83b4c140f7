//! Finds the visible triangle of each sample: projection, tiles, depth test.
//!
//! Tiles are independent and their triangles stay in scene order; the picture does not depend on the number of threads.

use std::ops::Range;

use glam::{Mat4, Vec3};
use rayon::prelude::*;

use super::bins::{BATCH, Bins, LargeParts};
use super::camera::Camera;
use super::coverage::{SUBSAMPLES, ScreenCorner, ScreenTriangle, Window};
use super::fill::{TileBuffer, cost_of};
use super::prepare::PreparedScene;
use super::scene::RenderAlpha;

/// Samples on each side of a tile. A multiple of 1, 2, 3 and 4, so that a tile holds whole pixels.
pub(super) const TILE: usize = 96;

/// Maximum of snapped coordinates, so that products of edges fit into 64 bits.
const FARTHEST: f32 = 1e8;
/// Marks a sample without a triangle.
pub(super) const NOTHING: u32 = u32::MAX;

/// Triangles that are projected and sorted at once, unless a part has more. This limits the memory of scenes that draw a
/// mesh many times.
const MOST_AT_ONCE: usize = 2_000_000;
/// Triangles that are sorted into tiles before they are drawn. One takes 56 bytes, and 4 in each of its tiles.
const MOST_SORTED: u32 = 1 << 18;
/// A small map of depths is drawn in the order of the scene, until all of its samples were drawn over this many times and
/// [`SAMPLES_OF_EACH`] for each triangle on top.
const MOST_LAYERS: usize = 512;
const SAMPLES_OF_EACH: usize = 16;
/// Times that all samples of a tile may be covered by blended triangles, each of which is shaded. The farthest are left
/// out.
const MOST_BLENDED: usize = 64;

/// A scene as one camera sees it.
pub(super) struct Projection<'a> {
    pub(super) scene: &'a PreparedScene,
    clip: Mat4,
    /// Samples on each side.
    pub(super) samples: usize,
    /// Samples on each side of a pixel.
    pub(super) samples_in_pixel: usize,
    tiles: Vec<Tile>,
}

/// What is in a tile.
struct Tile {
    solid: TileBuffer,
    /// The triangles to blend over it, in the order of the scene.
    blended: Vec<u32>,
    is_touched: bool,
}

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

    fn undrawn(
        scene: &'a PreparedScene,
        camera: &Camera,
        size: usize,
        samples_in_pixel: usize,
    ) -> Projection<'a> {
        Projection {
            scene,
            clip: camera.clip,
            samples: size * samples_in_pixel,
            samples_in_pixel,
            tiles: Vec::new(),
        }
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
            let some = start..end.min(start.saturating_add(MOST_SORTED));
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

    /// The corners of a triangle on the screen.
    pub(super) fn corners(&self, triangle: u32) -> [ScreenCorner; 3] {
        let (part, at) = self.scene.in_part(triangle);
        let corners = self.scene.parts[part].corners(at);
        corners.map(|corner| self.project(corner))
    }

    /// A triangle, ready to be filled; `None` if no part of it can be visible.
    pub(super) fn screen_triangle(&self, triangle: u32) -> Option<ScreenTriangle> {
        let is_double_sided = self.scene.material_of(triangle).plain.double_sided;
        ScreenTriangle::new(self.corners(triangle), is_double_sided, self.samples)
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
        let mut left = size * size * MOST_LAYERS + scene.triangle_count() * SAMPLES_OF_EACH;
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
                let looked_at = setup.cover(&window, |at, x, y| {
                    let depth = setup.depth(x, y);
                    if depth < depths[at]
                        && (!is_masked || projection.passes_mask(number, &setup, x, y))
                    {
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

    /// Tiles on each side.
    pub(super) fn tiles(&self) -> usize {
        self.samples.div_ceil(TILE)
    }

    /// The samples of a tile; tiles at the right and lower border are smaller.
    pub(super) fn window(&self, tile: usize) -> Window {
        let tiles = self.tiles();
        let (left, top) = (tile % tiles * TILE, tile / tiles * TILE);
        Window {
            left,
            top,
            width: TILE.min(self.samples - left),
            height: TILE.min(self.samples - top),
        }
    }

    /// Whether no triangle touches the tile.
    pub(super) fn is_empty(&self, tile: usize) -> bool {
        !self.tiles[tile].is_touched
    }

    /// The solid triangles of a tile.
    pub(super) fn solid_tile(&self, tile: usize) -> &TileBuffer {
        &self.tiles[tile].solid
    }

    /// The blended triangles of a tile, the farthest first.
    pub(super) fn blended(&self, tile: usize) -> Vec<u32> {
        let distance = |triangle: u32| self.corners(triangle).iter().map(|corner| corner.z).sum();
        let blended = self.tiles[tile].blended.iter();
        let mut distances: Vec<(f32, u32)> = blended
            .map(|&triangle| (distance(triangle), triangle))
            .collect();
        distances.sort_by(|one, other| other.0.total_cmp(&one.0));
        let sorted = distances.into_iter().map(|(_, triangle)| triangle);
        sorted.collect()
    }

    /// The blended triangles of a tile that a picture shows, the farthest first. Those behind so many others hardly show.
    pub(super) fn blended_layers(&self, tile: usize) -> Vec<u32> {
        let mut triangles = self.blended(tile);
        if triangles.len() <= MOST_BLENDED {
            return triangles;
        }
        let window = self.window(tile);
        let mut left = window.width * window.height * MOST_BLENDED;
        let mut is_too_far = |triangle: &u32| {
            let setup = self.screen_triangle(*triangle);
            let samples = setup.map_or(0, |setup| setup.cover(&window, |_, _, _| {}));
            left = left.saturating_sub(samples);
            left == 0
        };
        let too_far = triangles.iter().rposition(&mut is_too_far);
        triangles.drain(..too_far.map_or(0, |last| last + 1));
        triangles
    }

    pub(super) fn passes_mask(
        &self,
        triangle: u32,
        setup: &ScreenTriangle,
        x: usize,
        y: usize,
    ) -> bool {
        let weights = setup.weights(x, y);
        let material = self.scene.material_of(triangle);
        let RenderAlpha::Mask(limit) = material.plain.alpha else {
            return true;
        };
        let hit = super::shade::visible_point(self, triangle, weights);
        hit.base_color(self.scene, material).w >= limit
    }

    pub(super) fn project(&self, point: Vec3) -> ScreenCorner {
        let clip = self.clip * point.extend(1.0);
        if clip.w <= 1e-6 || clip.z < 0.0 || !clip.is_finite() {
            return ScreenCorner::default();
        }
        let inverse_w = 1.0 / clip.w;
        let half = self.samples as f32 * 0.5 * SUBSAMPLES;
        let snap = |value: f32| rounded(value.clamp(-FARTHEST, FARTHEST));
        ScreenCorner {
            x: snap((clip.x * inverse_w + 1.0) * half),
            y: snap((1.0 - clip.y * inverse_w) * half),
            z: clip.z * inverse_w,
            inverse_w,
        }
    }
}

/// As `f32::round`, which is a call of a function on machines that this is built for. Numbers must fit into an integer.
fn rounded(value: f32) -> i32 {
    let whole = value as i32;
    let rest = value - whole as f32;
    whole + i32::from(rest >= 0.5) - i32::from(rest <= -0.5)
}

/// The parts of a scene in groups that are projected at once.
fn batches(scene: &PreparedScene) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut triangles = 0;
    for (number, part) in scene.parts.iter().enumerate() {
        match batches.last_mut() {
            Some(batch) if triangles + part.triangle_count() <= MOST_AT_ONCE => {
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
