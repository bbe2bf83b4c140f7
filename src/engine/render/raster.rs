//! Finds the visible triangle of each sample: projection, tiles, depth test.
//!
//! Tiles are independent and their triangles stay in scene order; the picture does not depend on the number of threads.

use std::ops::Range;

use glam::{Mat4, Vec3};
use rayon::prelude::*;

use super::camera::Camera;
use super::coverage::{SUBSAMPLES, ScreenCorner, ScreenTriangle, Window};
use super::prepare::PreparedScene;
use super::scene::RenderAlpha;

/// Samples on each side of a tile. A multiple of 1, 2, 3 and 4, so that a tile holds whole pixels.
pub(super) const TILE: usize = 96;

/// Maximum of snapped coordinates, so that products of edges fit into 64 bits.
const FARTHEST: f32 = 1e8;
/// Number of triangles that one task sorts into tiles.
const BATCH: usize = 16_384;
/// Marks a sample without a triangle.
pub(super) const NOTHING: u32 = u32::MAX;

/// Triangles that are projected and sorted at once, unless a part has more. This limits the memory of scenes that draw a
/// mesh many times.
const MOST_AT_ONCE: usize = 2_000_000;

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

/// Triangles of each tile: opaque and masked ones, then blended ones.
struct Bins {
    solid: Vec<Vec<u32>>,
    blended: Vec<Vec<u32>>,
}

/// The corners of some parts on the screen.
struct ScreenParts {
    first_part: usize,
    corners: Vec<Vec<ScreenCorner>>,
}

impl ScreenParts {
    fn corners(&self, scene: &PreparedScene, part: usize, triangle: usize) -> [ScreenCorner; 3] {
        let corners = &self.corners[part - self.first_part];
        let indices = scene.parts[part].indices(triangle);
        indices.map(|index| corners[index as usize])
    }
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
        let screen = ScreenParts {
            first_part: parts.start,
            corners: parts
                .into_par_iter()
                .map(|part| self.screen_corners(part))
                .collect(),
        };
        let bins: Vec<Bins> = (first..end)
            .into_par_iter()
            .step_by(BATCH)
            .map(|start| self.bin(&screen, start..end.min(start.saturating_add(BATCH as u32))))
            .collect();
        tiles.par_iter_mut().enumerate().for_each(|(tile, drawn)| {
            for bins in &bins {
                let (solid, blended) = (&bins.solid[tile], &bins.blended[tile]);
                self.draw_solid(&screen, solid, &mut drawn.solid);
                drawn.is_touched |= !solid.is_empty() || !blended.is_empty();
                drawn.blended.extend_from_slice(blended);
            }
        });
    }

    /// The positions of a part on the screen.
    fn screen_corners(&self, part: usize) -> Vec<ScreenCorner> {
        let part = &self.scene.parts[part];
        (0..part.mesh.positions.len() as u32)
            .into_par_iter()
            .with_min_len(BATCH)
            .map(|index| self.project(part.position(index)))
            .collect()
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
        for (number, part) in scene.parts.iter().enumerate() {
            let material = &scene.materials[part.mesh.material as usize];
            if material.blends() {
                continue;
            }
            let corners = projection.screen_corners(number);
            let is_masked = matches!(material.plain.alpha, RenderAlpha::Mask(_));
            for triangle in 0..part.triangle_count() {
                let corners = part.indices(triangle).map(|index| corners[index as usize]);
                let is_double_sided = material.plain.double_sided;
                let Some(setup) = ScreenTriangle::new(corners, is_double_sided, size) else {
                    continue;
                };
                let number = part.first_triangle + triangle as u32;
                setup.cover(&window, |at, x, y| {
                    let depth = setup.depth(x, y);
                    if depth < depths[at]
                        && (!is_masked || projection.passes_mask(number, &setup, x, y))
                    {
                        depths[at] = depth;
                    }
                });
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

    fn bin(&self, screen: &ScreenParts, triangles: Range<u32>) -> Bins {
        let tiles = self.tiles();
        let empty = vec![Vec::new(); tiles * tiles];
        let mut bins = Bins {
            solid: empty.clone(),
            blended: empty,
        };
        for (number, range) in self.scene.parts_in(triangles) {
            let part = &self.scene.parts[number];
            let material = &self.scene.materials[part.mesh.material as usize];
            let target = if material.blends() {
                &mut bins.blended
            } else {
                &mut bins.solid
            };
            for triangle in range {
                let corners = screen.corners(self.scene, number, triangle);
                let is_double_sided = material.plain.double_sided;
                let Some(setup) = ScreenTriangle::new(corners, is_double_sided, self.samples)
                else {
                    continue;
                };
                for row in setup.low.1 / TILE..=setup.high.1 / TILE {
                    for column in setup.low.0 / TILE..=setup.high.0 / TILE {
                        target[row * tiles + column].push(part.first_triangle + triangle as u32);
                    }
                }
            }
        }
        bins
    }

    /// Draws solid triangles of a tile, which are in the order of the scene.
    fn draw_solid(&self, screen: &ScreenParts, triangles: &[u32], buffer: &mut TileBuffer) {
        let Some(first) = triangles.first() else {
            return;
        };
        let (mut number, _) = self.scene.in_part(*first);
        for &triangle in triangles {
            let mut part = &self.scene.parts[number];
            while (triangle - part.first_triangle) as usize >= part.triangle_count() {
                number += 1;
                part = &self.scene.parts[number];
            }
            let at = (triangle - part.first_triangle) as usize;
            let material = &self.scene.materials[part.mesh.material as usize].plain;
            let corners = screen.corners(self.scene, number, at);
            let Some(setup) = ScreenTriangle::new(corners, material.double_sided, self.samples)
            else {
                continue;
            };
            let is_masked = matches!(material.alpha, RenderAlpha::Mask(_));
            setup.cover(&buffer.window, |at, x, y| {
                let depth = setup.depth(x, y);
                if depth < buffer.depths[at]
                    && (!is_masked || self.passes_mask(triangle, &setup, x, y))
                {
                    buffer.depths[at] = depth;
                    buffer.triangles[at] = triangle;
                }
            });
        }
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
        distances
            .into_iter()
            .map(|(_, triangle)| triangle)
            .collect()
    }

    fn passes_mask(&self, triangle: u32, setup: &ScreenTriangle, x: usize, y: usize) -> bool {
        let weights = setup.weights(x, y);
        let material = self.scene.material_of(triangle);
        let RenderAlpha::Mask(limit) = material.plain.alpha else {
            return true;
        };
        let hit = super::shade::visible_point(self, triangle, weights);
        hit.base_color(self.scene, material).w >= limit
    }

    fn project(&self, point: Vec3) -> ScreenCorner {
        let clip = self.clip * point.extend(1.0);
        if clip.w <= 1e-6 || clip.z < 0.0 || !clip.is_finite() {
            return ScreenCorner::default();
        }
        let inverse_w = 1.0 / clip.w;
        let half = self.samples as f32 * 0.5 * SUBSAMPLES;
        let snap = |value: f32| value.round().clamp(-FARTHEST, FARTHEST) as i32;
        ScreenCorner {
            x: snap((clip.x * inverse_w + 1.0) * half),
            y: snap((1.0 - clip.y * inverse_w) * half),
            z: clip.z * inverse_w,
            inverse_w,
        }
    }
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

/// The samples of one tile.
#[derive(Debug, Clone)]
pub(super) struct TileBuffer {
    pub(super) window: Window,
    pub(super) depths: Vec<f32>,
    /// Numbers of triangles, or [`NOTHING`].
    pub(super) triangles: Vec<u32>,
}

impl TileBuffer {
    fn new(projection: &Projection<'_>, tile: usize) -> TileBuffer {
        let window = projection.window(tile);
        let (width, height) = (window.width, window.height);
        TileBuffer {
            window,
            depths: vec![f32::INFINITY; width * height],
            triangles: vec![NOTHING; width * height],
        }
    }
}
