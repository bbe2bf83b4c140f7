//! A rasterizer on the CPU: scene in, square pictures out, from fixed views.
//!
//! The same scene, box and settings give the same picture, whatever the number of threads. Pictures carry the number
//! of the part seen in each pixel, for messages and for finding what nobody sees. This module reads no files.

mod adapter;
mod camera;
mod prepare;
mod raster;
mod scene;
mod shade;
mod texture;

use glam::{Vec3, Vec4};
use rayon::prelude::*;

pub use adapter::Adapted;
pub use camera::View;
pub use prepare::PreparedScene;
pub use scene::{
    Alpha, BoundingBox, RenderInstance, RenderMaterial, RenderMesh, RenderScene, RenderTexture,
    TextureUse, Wrap,
};

use camera::Camera;
use raster::{NOTHING, Projection, Setup, TileBuffer};
use shade::{Exposure, Hit, Lights};
use texture::{linear_to_srgb, srgb_to_linear};

/// The part number of a pixel that shows the background.
pub const NO_PART: u32 = u32::MAX;

/// How pictures are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderSettings {
    /// Pixels on each side.
    pub size: usize,
    /// Samples on each side of a pixel.
    pub samples: usize,
    /// The sRGB colour behind the model; `None` leaves it transparent.
    pub background: Option<[u8; 3]>,
}

impl Default for RenderSettings {
    fn default() -> RenderSettings {
        RenderSettings {
            size: 512,
            samples: 2,
            background: Some([236, 237, 239]),
        }
    }
}

/// A square picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels on each side.
    pub size: usize,
    /// sRGB with straight alpha, four bytes a pixel, the top row first.
    pub rgba: Vec<u8>,
    /// The part seen in each pixel, or [`NO_PART`].
    pub parts: Vec<u32>,
}

impl PreparedScene {
    /// Draws one view of what lies in `bounds`.
    pub fn render(&self, view: View, bounds: &BoundingBox, settings: &RenderSettings) -> Picture {
        let camera = Camera::new(view, bounds);
        let projection = Projection::new(self, &camera, settings.size * settings.samples);
        let painter = Painter {
            projection: &projection,
            camera: &camera,
            lights: Lights::new(&camera),
            settings,
        };
        let tiles = projection.tiles();
        let painted: Vec<PaintedTile> = (0..tiles * tiles)
            .into_par_iter()
            .map(|tile| painter.paint(tile))
            .collect();
        assemble(&painted, settings)
    }

    /// Draws the six views, in the order of [`View::SIX`].
    pub fn render_six(
        &self,
        bounds: &BoundingBox,
        settings: &RenderSettings,
    ) -> Vec<(View, Picture)> {
        View::SIX
            .into_par_iter()
            .map(|view| (view, self.render(view, bounds, settings)))
            .collect()
    }
}

/// Paints the tiles of one picture.
struct Painter<'a> {
    projection: &'a Projection<'a>,
    camera: &'a Camera,
    lights: Lights,
    settings: &'a RenderSettings,
}

/// A finished tile, in pixels.
struct PaintedTile {
    left: usize,
    top: usize,
    width: usize,
    rgba: Vec<[u8; 4]>,
    parts: Vec<u32>,
}

impl Painter<'_> {
    fn paint(&self, tile: usize) -> PaintedTile {
        let mut buffer = self.projection.solid_tile(tile);
        let mut light = self.solid_light(&buffer);
        self.blend_over(tile, &mut buffer, &mut light);
        self.resolve(&buffer, &light)
    }

    /// Light and coverage of each sample of the solid triangles.
    fn solid_light(&self, buffer: &TileBuffer) -> Vec<Vec4> {
        let window = &buffer.window;
        let mut last: Option<(u32, Setup)> = None;
        let mut light = vec![Vec4::ZERO; buffer.triangles.len()];
        for (at, &number) in buffer.triangles.iter().enumerate() {
            if number == NOTHING {
                continue;
            }
            if last.as_ref().is_none_or(|(before, _)| *before != number) {
                let triangle = &self.projection.scene.triangles[number as usize];
                last = Setup::new(self.projection, triangle).map(|setup| (number, setup));
            }
            if let Some((_, setup)) = &last {
                let place = (
                    window.left + at % window.width,
                    window.top + at / window.width,
                );
                light[at] = self.sample(number, setup, place);
            }
        }
        light
    }

    fn sample(&self, number: u32, setup: &Setup, (x, y): (usize, usize)) -> Vec4 {
        let hit = Hit::new(self.projection, number, setup.weights(x, y));
        self.lights.shade(
            self.projection,
            self.camera,
            &hit,
            number,
            setup,
            Exposure::FULL,
        )
    }

    /// Lays the blended triangles over what is there, the farthest first.
    fn blend_over(&self, tile: usize, buffer: &mut TileBuffer, light: &mut [Vec4]) {
        for number in self.projection.blended(tile) {
            let triangle = &self.projection.scene.triangles[number as usize];
            let Some(setup) = Setup::new(self.projection, triangle) else {
                continue;
            };
            let TileBuffer {
                window,
                depths,
                triangles,
            } = &mut *buffer;
            setup.cover(window, |at, x, y| {
                if setup.depth(x, y) >= depths[at] {
                    return;
                }
                let over = self.sample(number, &setup, (x, y));
                let below = light[at];
                let alpha = over.w + below.w * (1.0 - over.w);
                if alpha > 0.0 {
                    let colour =
                        over.truncate() * over.w + below.truncate() * below.w * (1.0 - over.w);
                    light[at] = (colour / alpha).extend(alpha);
                }
                // Glass that is hardly there does not hide the part behind it.
                if triangles[at] == NOTHING || over.w > 0.5 {
                    triangles[at] = number;
                }
            });
        }
    }

    /// Averages the samples of each pixel and puts the background behind them.
    fn resolve(&self, buffer: &TileBuffer, light: &[Vec4]) -> PaintedTile {
        let step = self.settings.samples;
        let window = &buffer.window;
        let (width, height) = (window.width / step, window.height / step);
        let background = self
            .settings
            .background
            .map(|bytes| Vec3::from_array(bytes.map(|byte| srgb_to_linear()[byte as usize])));
        let mut painted = PaintedTile {
            left: window.left / step,
            top: window.top / step,
            width,
            rgba: Vec::with_capacity(width * height),
            parts: Vec::with_capacity(width * height),
        };
        for y in 0..height {
            for x in 0..width {
                let samples = (0..step * step)
                    .map(|k| (y * step + k / step) * window.width + x * step + k % step);
                let mut sum = Vec4::ZERO;
                let mut part = NO_PART;
                for at in samples {
                    sum += (light[at].truncate() * light[at].w).extend(light[at].w);
                    if part == NO_PART && buffer.triangles[at] != NOTHING {
                        part = self.projection.scene.triangles[buffer.triangles[at] as usize].part;
                    }
                }
                painted
                    .rgba
                    .push(pixel(sum / (step * step) as f32, background));
                painted.parts.push(part);
            }
        }
        painted
    }
}

/// The bytes of premultiplied light over a background.
fn pixel(light: Vec4, background: Option<Vec3>) -> [u8; 4] {
    let (colour, alpha) = match background {
        Some(background) => (light.truncate() + background * (1.0 - light.w), 1.0),
        None if light.w > 0.0 => (light.truncate() / light.w, light.w),
        None => (Vec3::ZERO, 0.0),
    };
    let [r, g, b] = colour.to_array().map(linear_to_srgb);
    [r, g, b, (alpha * 255.0 + 0.5) as u8]
}

fn assemble(tiles: &[PaintedTile], settings: &RenderSettings) -> Picture {
    let size = settings.size;
    let mut picture = Picture {
        size,
        rgba: vec![0; size * size * 4],
        parts: vec![NO_PART; size * size],
    };
    for tile in tiles {
        for (row, (pixels, parts)) in tile
            .rgba
            .chunks(tile.width)
            .zip(tile.parts.chunks(tile.width))
            .enumerate()
        {
            let at = (tile.top + row) * size + tile.left;
            picture.rgba[at * 4..(at + tile.width) * 4].copy_from_slice(pixels.as_flattened());
            picture.parts[at..at + tile.width].copy_from_slice(parts);
        }
    }
    picture
}
