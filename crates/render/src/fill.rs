//! Fills the samples of one tile with the nearest solid triangles.
//!
//! Where a tile is drawn over many times, its triangles are filled with the nearest first, and those behind what is there
//! are skipped. Of equally near triangles the first one of the scene counts, so the order changes nothing in a picture.

use super::alpha::AlphaMask;
use super::bins::{BinnedTriangle, Bins};
use super::coverage::{ScreenTriangle, Window};
use super::projection::{NOTHING, Projection, TileBuffer};

/// Times that a tile is drawn over before its triangles are sorted.
const LAYERS_IN_ORDER: usize = 16;
/// Maximum overdraw of a tile by sorted triangles, without hidden ones, and minimum overdraw by each group of them.
/// Beyond it the farthest triangles of a group are not drawn. This bounds the cost of hostile scenes and changes no
/// others.
const MAX_LAYERS: usize = 512;
const LAYERS_OF_GROUP: usize = 16;
/// The cost of a sample of a masked triangle, in samples of opaque triangles: its texture is looked up.
const MASKED_COST: usize = 8;
/// Samples on each side of a block. A triangle that is behind everything in its blocks is hidden.
const BLOCK: usize = 12;
/// Depths of triangles are rounded, at most by this.
const DEPTH_ERROR: f32 = 1e-5;

impl TileBuffer {
    pub(super) fn new(projection: &Projection<'_>, tile: usize) -> TileBuffer {
        let window = projection.window(tile);
        let samples = window.width * window.height;
        TileBuffer {
            window,
            depths: vec![f32::INFINITY; samples],
            triangles: vec![NOTHING; samples],
            is_crowded: false,
            left: samples * MAX_LAYERS,
        }
    }

    /// Fills in one group of the triangles of a tile; `bins` are in the order of the scene.
    pub(super) fn draw(&mut self, bins: &[Bins], tile: usize, projection: &Projection<'_>) {
        let mut waiting = bins.iter().flat_map(|bins| bins.solid_of(tile));
        let mut left = self.depths.len() * LAYERS_IN_ORDER;
        while !self.is_crowded {
            let Some(triangle) = waiting.next() else {
                return;
            };
            let Some(setup) = triangle.on_screen(projection) else {
                continue;
            };
            left = left.saturating_sub(self.fill(triangle, &setup, projection));
            self.is_crowded = left == 0;
        }
        self.draw_nearest_first(waiting.collect(), projection);
    }

    fn draw_nearest_first(
        &mut self,
        mut triangles: Vec<&BinnedTriangle>,
        projection: &Projection<'_>,
    ) {
        if triangles.is_empty() {
            return;
        }
        triangles.sort_by(|one, other| one.nearest().total_cmp(&other.nearest()));
        let samples = self.depths.len();
        self.left = self.left.max(samples * LAYERS_OF_GROUP);
        let mut farthest = FarthestDepths::of(self);
        let mut since = 0;
        for triangle in triangles {
            if farthest.hide_all(triangle.nearest()) {
                return;
            }
            let Some(setup) = triangle.on_screen(projection) else {
                continue;
            };
            if farthest.hide(&setup, triangle.nearest(), &self.window) {
                continue;
            }
            let looked_at = self.fill(triangle, &setup, projection);
            since += looked_at;
            if since >= samples {
                farthest = FarthestDepths::of(self);
                since = 0;
            }
            self.left = self.left.saturating_sub(looked_at);
            if self.left == 0 {
                return;
            }
        }
    }

    /// Returns the [cost](cost_of).
    fn fill(
        &mut self,
        triangle: &BinnedTriangle,
        setup: &ScreenTriangle,
        projection: &Projection<'_>,
    ) -> usize {
        let number = triangle.number;
        let TileBuffer {
            window,
            depths,
            triangles,
            ..
        } = self;
        let mut mask = None;
        let mut passes = |x, y| {
            let mask =
                mask.get_or_insert_with(|| AlphaMask::new(projection, number, &triangle.corners));
            mask.passes(setup, x, y)
        };
        let looked_at = setup.cover(window, |at, x, y| {
            let depth = setup.depth(x, y);
            let is_nearer = depth < depths[at] || (depth == depths[at] && number < triangles[at]);
            if is_nearer && (!triangle.is_masked || passes(x, y)) {
                depths[at] = depth;
                triangles[at] = number;
            }
        });
        cost_of(looked_at, triangle.is_masked)
    }
}

/// What samples of a triangle cost that were looked at, in samples of opaque ones.
pub(super) fn cost_of(looked_at: usize, is_masked: bool) -> usize {
    match is_masked {
        true => looked_at * MASKED_COST,
        false => looked_at,
    }
}

/// The farthest depth in each block of a tile, and in all. They may be out of date: depths only come nearer.
struct FarthestDepths {
    /// Blocks in a row.
    columns: usize,
    of_block: Vec<f32>,
    of_all: f32,
}

impl FarthestDepths {
    fn of(buffer: &TileBuffer) -> FarthestDepths {
        let Window { width, height, .. } = buffer.window;
        let columns = width.div_ceil(BLOCK);
        let mut of_block = vec![0.0_f32; columns * height.div_ceil(BLOCK)];
        for (y, row) in buffer.depths.chunks(width).enumerate() {
            let blocks = &mut of_block[y / BLOCK * columns..][..columns];
            for (farthest, depths) in blocks.iter_mut().zip(row.chunks(BLOCK)) {
                *farthest = depths.iter().copied().fold(*farthest, f32::max);
            }
        }
        FarthestDepths {
            of_all: of_block.iter().copied().fold(0.0, f32::max),
            columns,
            of_block,
        }
    }

    /// Whether the tile hides every triangle whose nearest corner has this depth or a greater one.
    fn hide_all(&self, nearest: f32) -> bool {
        nearest > self.of_all + DEPTH_ERROR
    }

    /// Whether the blocks that a triangle may touch hide it. `nearest` is the depth of its nearest corner.
    fn hide(&self, triangle: &ScreenTriangle, nearest: f32, window: &Window) -> bool {
        let Some((low, high)) = triangle.within(window) else {
            return true;
        };
        let block = |value: usize, first: usize| (value - first) / BLOCK;
        let (left, right) = (block(low.0, window.left), block(high.0, window.left));
        (block(low.1, window.top)..=block(high.1, window.top)).all(|row| {
            let row = &self.of_block[row * self.columns..][left..=right];
            row.iter().all(|farthest| nearest > farthest + DEPTH_ERROR)
        })
    }
}
