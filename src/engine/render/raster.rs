//! Which triangle is seen where: projection, tiles, coverage, depth.
//!
//! Corners are snapped to 1/256 of a sample and edges are integers with the top-left rule, so that two triangles with a
//! common edge leave neither a hole nor a doubled sample. Tiles are independent and their triangles stay in scene
//! order; the picture does not depend on the number of threads.

use glam::Vec3;
use rayon::prelude::*;

use super::camera::Camera;
use super::prepare::{PreparedScene, Triangle};
use super::scene::Alpha;

/// Samples a tile has on each side; whole pixels for one to four samples a side.
pub(super) const TILE: usize = 96;
const SUBSAMPLES: f32 = 256.0;
/// Snapped coordinates stay within this, so that edge products fit 64 bits with room to spare.
const FARTHEST: f32 = 1e8;
/// Triangles that are put into tiles together.
const BATCH: usize = 16_384;
/// In an id buffer: no triangle here.
pub(super) const NOTHING: u32 = u32::MAX;

/// A corner on the screen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Corner {
    /// In 1/256 of a sample, y down.
    pub(super) x: i32,
    pub(super) y: i32,
    /// 0 near to 1 far.
    pub(super) z: f32,
    /// One over the clip space w; 0 marks a corner behind the eye.
    pub(super) inverse_w: f32,
}

/// A scene as one camera sees it, before any triangle is drawn.
pub(super) struct Projection<'a> {
    pub(super) scene: &'a PreparedScene,
    /// Samples on each side.
    pub(super) samples: usize,
    /// Samples on each side of a pixel.
    pub(super) samples_in_pixel: usize,
    pub(super) corners: Vec<Corner>,
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

    /// Only the depth of the nearest solid surface, without tiles; for small maps that are drawn side by side.
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
            let Some(setup) = Setup::new(&projection, triangle).filter(|_| !material.blends())
            else {
                continue;
            };
            let masked = matches!(material.plain.alpha, Alpha::Mask(_));
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
            let Some(setup) = Setup::new(self, triangle) else {
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
                let Some(setup) = Setup::new(self, triangle) else {
                    continue;
                };
                let masked = matches!(
                    self.scene.materials[triangle.material as usize].plain.alpha,
                    Alpha::Mask(_)
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

    fn passes_mask(&self, number: u32, setup: &Setup, x: usize, y: usize) -> bool {
        let weights = setup.weights(x, y);
        let material =
            &self.scene.materials[self.scene.triangles[number as usize].material as usize];
        let Alpha::Mask(limit) = material.plain.alpha else {
            return true;
        };
        let hit = super::shade::Hit::new(self, number, weights);
        hit.base_color(self, material).w >= limit
    }
}

fn project(camera: &Camera, point: Vec3, samples: usize) -> Corner {
    let clip = camera.clip * point.extend(1.0);
    if clip.w <= 1e-6 || clip.z < 0.0 || !clip.is_finite() {
        return Corner::default();
    }
    let inverse_w = 1.0 / clip.w;
    let half = samples as f32 * 0.5 * SUBSAMPLES;
    let snap = |value: f32| value.round().clamp(-FARTHEST, FARTHEST) as i32;
    Corner {
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

/// The part of the picture that a tile covers, in samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) left: usize,
    pub(super) top: usize,
    pub(super) width: usize,
    pub(super) height: usize,
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

/// A triangle on the screen, ready to be filled.
pub(super) struct Setup {
    /// First and last sample it may cover, within the picture.
    low: (usize, usize),
    high: (usize, usize),
    edges: [Edge; 3],
    /// The order in which the corners were taken; the second and third are swapped for one winding.
    order: [usize; 3],
    corners: [Corner; 3],
    inverse_area: f32,
    /// The back is seen.
    pub(super) backside: bool,
}

/// `a·x + b·y + c`, not negative inside.
#[derive(Clone, Copy)]
struct Edge {
    a: i64,
    b: i64,
    c: i64,
    /// 1 on edges that do not own the samples on them.
    bias: i64,
}

impl Edge {
    fn new(from: Corner, to: Corner) -> Edge {
        let (x, y) = (
            i64::from(to.x) - i64::from(from.x),
            i64::from(to.y) - i64::from(from.y),
        );
        let (a, b) = (-y, x);
        let c = -(a * i64::from(from.x) + b * i64::from(from.y));
        let owns = y < 0 || (y == 0 && x > 0);
        Edge {
            a,
            b,
            c,
            bias: i64::from(!owns),
        }
    }

    fn at(&self, x: i64, y: i64) -> i64 {
        self.a * x + self.b * y + self.c
    }
}

const STEP: i64 = SUBSAMPLES as i64;
const HALF: i64 = STEP / 2;

impl Setup {
    /// `None` when nothing of the triangle can be seen.
    pub(super) fn new(projection: &Projection<'_>, triangle: &Triangle) -> Option<Setup> {
        let [a, b, c] = triangle
            .corners
            .map(|corner| projection.corners[corner as usize]);
        if a.inverse_w == 0.0 || b.inverse_w == 0.0 || c.inverse_w == 0.0 {
            return None;
        }
        let area = Edge::new(a, b).at(i64::from(c.x), i64::from(c.y));
        let plain = &projection.scene.materials[triangle.material as usize].plain;
        // y goes down on the screen, which turns counter-clockwise fronts into negative areas.
        let backside = area > 0;
        if area == 0 || (backside && !plain.double_sided) {
            return None;
        }
        let (order, corners) = if backside {
            ([0, 1, 2], [a, b, c])
        } else {
            ([0, 2, 1], [a, c, b])
        };
        let (low, high) = extent(&corners, projection.samples)?;
        let [a, b, c] = corners;
        Some(Setup {
            low,
            high,
            edges: [Edge::new(b, c), Edge::new(c, a), Edge::new(a, b)],
            order,
            corners,
            inverse_area: 1.0 / area.abs() as f32,
            backside,
        })
    }

    /// Whether the triangle shows the viewer a side that is drawn, however small it is.
    pub(super) fn faces_viewer(projection: &Projection<'_>, triangle: &Triangle) -> bool {
        let [a, b, c] = triangle
            .corners
            .map(|corner| projection.corners[corner as usize]);
        let area = Edge::new(a, b).at(i64::from(c.x), i64::from(c.y));
        let plain = &projection.scene.materials[triangle.material as usize].plain;
        let behind = a.inverse_w == 0.0 || b.inverse_w == 0.0 || c.inverse_w == 0.0;
        !behind && (area <= 0 || plain.double_sided)
    }

    /// Calls `visit(index in the window, x, y)` for each covered sample of the window.
    pub(super) fn cover(&self, window: &Window, mut visit: impl FnMut(usize, usize, usize)) {
        let left = self.low.0.max(window.left);
        let right = self.high.0.min(window.left + window.width - 1);
        let top = self.low.1.max(window.top);
        let bottom = self.high.1.min(window.top + window.height - 1);
        if left > right || top > bottom {
            return;
        }
        let first = (left as i64 * STEP + HALF, top as i64 * STEP + HALF);
        let mut row = self.edges.map(|edge| edge.at(first.0, first.1) - edge.bias);
        for y in top..=bottom {
            let mut values = row;
            for x in left..=right {
                if (values[0] | values[1] | values[2]) >= 0 {
                    visit((y - window.top) * window.width + x - window.left, x, y);
                }
                for (value, edge) in values.iter_mut().zip(&self.edges) {
                    *value += edge.a * STEP;
                }
            }
            for (value, edge) in row.iter_mut().zip(&self.edges) {
                *value += edge.b * STEP;
            }
        }
    }

    /// Depth at the centre of a sample.
    pub(super) fn depth(&self, x: usize, y: usize) -> f32 {
        let weights = self.flat_weights(x, y);
        (0..3)
            .map(|corner| weights[corner] * self.corners[corner].z)
            .sum()
    }

    /// How much each corner of the triangle counts at a sample, in perspective.
    pub(super) fn weights(&self, x: usize, y: usize) -> [f32; 3] {
        let flat = self.flat_weights(x, y);
        let scaled: [f32; 3] =
            std::array::from_fn(|corner| flat[corner] * self.corners[corner].inverse_w);
        let total = scaled[0] + scaled[1] + scaled[2];
        let mut weights = [0.0; 3];
        for (place, weight) in self.order.into_iter().zip(scaled) {
            weights[place] = weight / total;
        }
        weights
    }

    fn flat_weights(&self, x: usize, y: usize) -> [f32; 3] {
        let at = (x as i64 * STEP + HALF, y as i64 * STEP + HALF);
        self.edges
            .map(|edge| edge.at(at.0, at.1) as f32 * self.inverse_area)
    }
}

/// The samples whose centres lie within the box of the corners.
fn extent(corners: &[Corner; 3], samples: usize) -> Option<((usize, usize), (usize, usize))> {
    let range = |values: [i32; 3]| {
        let low = values.iter().copied().map(i64::from).min()?;
        let high = values.iter().copied().map(i64::from).max()?;
        let first = ((low - HALF + STEP - 1).div_euclid(STEP)).max(0);
        let last = ((high - HALF).div_euclid(STEP)).min(samples as i64 - 1);
        (first <= last).then_some((first as usize, last as usize))
    };
    let (left, right) = range(corners.map(|corner| corner.x))?;
    let (top, bottom) = range(corners.map(|corner| corner.y))?;
    Some(((left, top), (right, bottom)))
}
