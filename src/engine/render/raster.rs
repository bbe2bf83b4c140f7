//! Finds the visible triangle of each sample: projection, tiles, depth test.
//!
//! Tiles are independent and their triangles stay in scene order; the picture does not depend on the number of threads.

use glam::Vec3;
use rayon::prelude::*;

use super::camera::Camera;
use super::coverage::{SUBSAMPLES, ScreenCorner, ScreenTriangle, Window};
use super::prepare::{PreparedScene, Triangle};
use super::scene::RenderAlpha;

/// Samples on each side of a tile. A multiple of 1, 2, 3 and 4, so that a tile holds whole pixels.
pub(super) const TILE: usize = 96;

/// Maximum of snapped coordinates, so that products of edges fit into 64 bits.
const FARTHEST: f32 = 1e8;
/// Number of triangles that one task sorts into tiles.
const BATCH: usize = 16_384;
/// Marks a sample without a triangle.
pub(super) const NOTHING: u32 = u32::MAX;

/// A scene as one camera sees it, before any triangle is drawn.
pub(super) struct Projection<'a> {
    pub(super) scene: &'a PreparedScene,
    /// Samples on each side.
    pub(super) samples: usize,
    /// Samples on each side of a pixel.
    pub(super) samples_in_pixel: usize,
    pub(super) corners: Vec<ScreenCorner>,
    /// Triangles of each tile and batch: opaque and masked ones, then blended ones.
    bins: Vec<Bins>,
}

struct Bins {
    solid: Vec<Vec<u32>>,
    blended: Vec<Vec<u32>>,
}

impl<'a> Projection<'a> {
    /// Projects the scene onto a picture of `size` pixels a side and sorts its triangles into tiles.
    pub(super) fn new(
        scene: &'a PreparedScene,
        camera: &Camera,
        size: usize,
        samples_in_pixel: usize,
    ) -> Projection<'a> {
        let mut projection = Projection::unsorted(scene, camera, size, samples_in_pixel);
        projection.bins = scene
            .triangles
            .par_chunks(BATCH)
            .enumerate()
            .map(|(batch, triangles)| projection.bin(batch * BATCH, triangles))
            .collect();
        projection
    }

    fn unsorted(
        scene: &'a PreparedScene,
        camera: &Camera,
        size: usize,
        samples_in_pixel: usize,
    ) -> Projection<'a> {
        let samples = size * samples_in_pixel;
        let corners = scene
            .positions
            .par_iter()
            .map(|&point| project(camera, point, samples))
            .collect();
        Projection {
            scene,
            samples,
            samples_in_pixel,
            corners,
            bins: Vec::new(),
        }
    }

    /// Draws only the depth of the nearest solid surface, without tiles; for small maps, several of which are drawn in
    /// parallel.
    pub(super) fn depths(scene: &'a PreparedScene, camera: &Camera, size: usize) -> Vec<f32> {
        let projection = Projection::unsorted(scene, camera, size, 1);
        let window = Window {
            left: 0,
            top: 0,
            width: size,
            height: size,
        };
        let mut depths = vec![f32::INFINITY; size * size];
        for (number, triangle) in scene.triangles.iter().enumerate() {
            let material = &scene.materials[triangle.material as usize];
            let Some(setup) =
                ScreenTriangle::new(&projection, triangle).filter(|_| !material.blends())
            else {
                continue;
            };
            let masked = matches!(material.plain.alpha, RenderAlpha::Mask(_));
            setup.cover(&window, |at, x, y| {
                let depth = setup.depth(x, y);
                if depth < depths[at]
                    && (!masked || projection.passes_mask(number as u32, &setup, x, y))
                {
                    depths[at] = depth;
                }
            });
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
        self.bins
            .iter()
            .all(|bins| bins.solid[tile].is_empty() && bins.blended[tile].is_empty())
    }

    fn bin(&self, first: usize, triangles: &[Triangle]) -> Bins {
        let tiles = self.tiles();
        let empty = vec![Vec::new(); tiles * tiles];
        let mut bins = Bins {
            solid: empty.clone(),
            blended: empty,
        };
        for (offset, triangle) in triangles.iter().enumerate() {
            let Some(setup) = ScreenTriangle::new(self, triangle) else {
                continue;
            };
            let material = &self.scene.materials[triangle.material as usize];
            let target = if material.blends() {
                &mut bins.blended
            } else {
                &mut bins.solid
            };
            for row in setup.low.1 / TILE..=setup.high.1 / TILE {
                for column in setup.low.0 / TILE..=setup.high.0 / TILE {
                    target[row * tiles + column].push((first + offset) as u32);
                }
            }
        }
        bins
    }

    /// Draws the solid triangles of a tile.
    pub(super) fn solid_tile(&self, tile: usize) -> TileBuffer {
        let mut buffer = TileBuffer::new(self, tile);
        for bins in &self.bins {
            for &number in &bins.solid[tile] {
                let triangle = &self.scene.triangles[number as usize];
                let Some(setup) = ScreenTriangle::new(self, triangle) else {
                    continue;
                };
                let masked = matches!(
                    self.scene.materials[triangle.material as usize].plain.alpha,
                    RenderAlpha::Mask(_)
                );
                setup.cover(&buffer.window, |at, x, y| {
                    let depth = setup.depth(x, y);
                    if depth < buffer.depths[at]
                        && (!masked || self.passes_mask(number, &setup, x, y))
                    {
                        buffer.depths[at] = depth;
                        buffer.triangles[at] = number;
                    }
                });
            }
        }
        buffer
    }

    /// The blended triangles of a tile, the farthest first.
    pub(super) fn blended(&self, tile: usize) -> Vec<u32> {
        let mut numbers: Vec<u32> = self
            .bins
            .iter()
            .flat_map(|bins| &bins.blended[tile])
            .copied()
            .collect();
        let distance = |number: &u32| -> f32 {
            let corners = self.scene.triangles[*number as usize].corners;
            corners
                .iter()
                .map(|&corner| self.corners[corner as usize].z)
                .sum()
        };
        numbers.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        numbers
    }

    fn passes_mask(&self, number: u32, setup: &ScreenTriangle, x: usize, y: usize) -> bool {
        let weights = setup.weights(x, y);
        let material =
            &self.scene.materials[self.scene.triangles[number as usize].material as usize];
        let RenderAlpha::Mask(limit) = material.plain.alpha else {
            return true;
        };
        let hit = super::shade::visible_point(self, number, weights);
        hit.base_color(self.scene, material).w >= limit
    }
}

fn project(camera: &Camera, point: Vec3, samples: usize) -> ScreenCorner {
    let clip = camera.clip * point.extend(1.0);
    if clip.w <= 1e-6 || clip.z < 0.0 || !clip.is_finite() {
        return ScreenCorner::default();
    }
    let inverse_w = 1.0 / clip.w;
    let half = samples as f32 * 0.5 * SUBSAMPLES;
    let snap = |value: f32| value.round().clamp(-FARTHEST, FARTHEST) as i32;
    ScreenCorner {
        x: snap((clip.x * inverse_w + 1.0) * half),
        y: snap((1.0 - clip.y * inverse_w) * half),
        z: clip.z * inverse_w,
        inverse_w,
    }
}

/// The samples of one tile.
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
