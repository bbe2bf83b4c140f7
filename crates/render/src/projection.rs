//! A scene as one camera sees it: its triangles on the screen, and the tiles of the picture.

use glam::{Mat4, Vec3};

use super::camera::Camera;
use super::coverage::{SUBSAMPLES, ScreenCorner, ScreenTriangle, Window};
use super::interpolate::{InterpolatedPoint, spread_of};
use super::prepare::PreparedScene;
use super::prepared_material::PreparedMaterial;
use super::prepared_part::PreparedPart;

/// Samples on each side of a tile. A multiple of 1, 2, 3 and 4, so that a tile holds whole pixels.
pub(super) const TILE: usize = 96;

/// Maximum of snapped coordinates, so that products of edges fit into 64 bits.
const FARTHEST: f32 = 1e8;

/// Marks a sample without a triangle.
pub(super) const NOTHING: u32 = u32::MAX;

/// Times that all samples of a tile may be covered by blended triangles, each of which is shaded. The farthest are left
/// out.
const MAX_BLENDED: usize = 64;

/// A scene as one camera sees it.
pub(super) struct Projection<'a> {
    pub(super) scene: &'a PreparedScene,
    clip: Mat4,
    /// Samples on each side.
    pub(super) samples: usize,
    /// Samples on each side of a pixel.
    pub(super) samples_in_pixel: usize,
    pub(super) tiles: Vec<Tile>,
}

/// What is in a tile.
pub(super) struct Tile {
    pub(super) solid: TileBuffer,
    /// The triangles to blend over it, in the order of the scene.
    pub(super) blended: Vec<u32>,
    pub(super) is_touched: bool,
}

/// The samples of one tile.
#[derive(Debug, Clone)]
pub(super) struct TileBuffer {
    pub(super) window: Window,
    pub(super) depths: Vec<f32>,
    /// Numbers of triangles, or [`NOTHING`].
    pub(super) triangles: Vec<u32>,
    /// Whether it was drawn over so often that its triangles are sorted.
    pub(super) is_crowded: bool,
    /// Samples that sorted triangles may still look at.
    pub(super) left: usize,
}

impl<'a> Projection<'a> {
    /// Without tiles.
    pub(super) fn undrawn(
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
        if triangles.len() <= MAX_BLENDED {
            return triangles;
        }
        let window = self.window(tile);
        let mut left = window.width * window.height * MAX_BLENDED;
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

    /// The area of a triangle on the screen, in pixels.
    pub(super) fn pixels(&self, [a, b, c]: &[ScreenCorner; 3]) -> f32 {
        let (x1, y1) = ((b.x - a.x) as f32, (b.y - a.y) as f32);
        let (x2, y2) = ((c.x - a.x) as f32, (c.y - a.y) as f32);
        let pixel = 256.0 * self.samples_in_pixel as f32;
        ((x1 * y2 - x2 * y1).abs() / (pixel * pixel)).max(1e-9)
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

/// A triangle of a picture, with what is equal for all of its samples.
pub(super) struct ShownTriangle<'a> {
    pub(super) setup: ScreenTriangle,
    pub(super) material: &'a PreparedMaterial,
    part: &'a PreparedPart,
    /// Its place in the part.
    at: usize,
    spread: [f32; 2],
}

impl<'a> ShownTriangle<'a> {
    /// `None` if no part of it can be visible.
    pub(super) fn new(projection: &Projection<'a>, number: u32) -> Option<ShownTriangle<'a>> {
        let scene = projection.scene;
        let (part, at) = scene.in_part(number);
        let part = &scene.parts[part];
        let material = &scene.materials[part.mesh.material as usize];
        let corners = part.corners(at).map(|corner| projection.project(corner));
        let is_double_sided = material.plain.double_sided;
        let setup = ScreenTriangle::new(corners, is_double_sided, projection.samples)?;
        let pixels = projection.pixels(&corners);
        Some(ShownTriangle {
            setup,
            material,
            part,
            at,
            spread: [0, 1].map(|set| spread_of(part, at, set, pixels)),
        })
    }

    /// The point at `weights` of the corners, whose textures are filtered for the area of a pixel.
    pub(super) fn point(&self, weights: [f32; 3]) -> InterpolatedPoint {
        InterpolatedPoint::new(self.part, self.at, weights, self.spread)
    }
}

/// As `f32::round`, which is a call of a function on machines that this is built for. Numbers must fit into an integer.
fn rounded(value: f32) -> i32 {
    let whole = value as i32;
    let rest = value - whole as f32;
    whole + i32::from(rest >= 0.5) - i32::from(rest <= -0.5)
}
