//! Draws one picture, tile by tile.

use glam::{Mat4, Vec3, Vec4};
use rayon::prelude::*;

use super::alpha::TriangleAlpha;
use super::camera::{Camera, View};
use super::coverage::Window;
use super::picture::{NO_PART, Picture, RenderSettings};
use super::prepare::PreparedScene;
use super::projection::{NOTHING, Projection, ShownTriangle, TileBuffer};
use super::scene::BoundingBox;
use super::shade::{Exposure, Lights, outward};
use super::studio::Studio;
use super::texture::{linear_to_srgb, srgb_to_linear};

impl PreparedScene {
    /// Draws one view of what lies in `bounds`.
    pub fn render(&self, view: View, bounds: &BoundingBox, settings: &RenderSettings) -> Picture {
        let camera = Camera::new(view, bounds);
        let projection = Projection::new(self, &camera, settings.size, settings.samples);
        let lights = Lights::new(&camera);
        let studio = (settings.sky_lights > 0)
            .then(|| Studio::new(self, bounds, &lights, settings.sky_lights));
        let from_clip = camera.clip.inverse();
        let painter = Painter {
            projection: &projection,
            camera: &camera,
            lights,
            studio,
            from_clip,
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

/// Blended layers hide what is behind them if they let less of its light through.
const LEAST_LIGHT: f32 = 1.0 / 4096.0;

/// Paints the tiles of one picture.
struct Painter<'a> {
    projection: &'a Projection<'a>,
    camera: &'a Camera,
    lights: Lights,
    studio: Option<Studio>,
    from_clip: Mat4,
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
        if self.studio.is_none() && self.projection.is_empty(tile) {
            return self.empty(self.projection.window(tile));
        }
        let mut buffer = self.projection.solid_tile(tile).clone();
        let mut light = self.solid_light(&buffer);
        self.blend_over(tile, &mut buffer, &mut light);
        self.resolve(&buffer, &light)
    }

    /// Light and coverage of each sample of the solid triangles. A triangle is shaded once for each pixel, in the
    /// middle of the samples that it covers there, and textures are filtered for the size of a pixel. Only outlines
    /// have the resolution of the samples.
    fn solid_light(&self, buffer: &TileBuffer) -> Vec<Vec4> {
        let window = &buffer.window;
        let step = self.settings.samples;
        let mut light = vec![Vec4::ZERO; buffer.triangles.len()];
        let inside = samples_of_pixel(step);
        let mut group = Vec::with_capacity(inside.len());
        let mut rest = Vec::with_capacity(inside.len());
        // Neighbours mostly show the same triangle.
        let mut last = (NOTHING, None);
        for top in (0..window.height).step_by(step) {
            for left in (0..window.width).step_by(step) {
                rest.clear();
                rest.extend(inside.iter().map(|(x, y)| Sample {
                    at: (top + y) * window.width + left + x,
                    x: window.left + left + x,
                    y: window.top + top + y,
                }));
                let shows = |number: u32| move |it: &Sample| buffer.triangles[it.at] == number;
                if self.studio.is_none() && rest.iter().all(shows(NOTHING)) {
                    continue;
                }
                while let Some(first) = rest.first() {
                    let number = buffer.triangles[first.at];
                    group.clear();
                    group.extend(rest.extract_if(.., |it| shows(number)(it)));
                    if number != last.0 {
                        let is_triangle = number != NOTHING;
                        let shown =
                            is_triangle.then(|| ShownTriangle::new(self.projection, number));
                        last = (number, shown.flatten());
                    }
                    let shaded = self.shaded_group(last.1.as_ref(), &group);
                    group.iter().for_each(|it| light[it.at] = shaded);
                }
            }
        }
        light
    }

    /// The light of a triangle's samples within one pixel; without a triangle that of the floor.
    fn shaded_group(&self, shown: Option<&ShownTriangle<'_>>, group: &[Sample]) -> Vec4 {
        let Some(shown) = shown else {
            return self.floor((group[0].x, group[0].y));
        };
        let mut mean = [0.0; 3];
        for sample in group {
            let weights = shown.setup.weights(sample.x, sample.y);
            for (sum, weight) in mean.iter_mut().zip(weights) {
                *sum += weight / group.len() as f32;
            }
        }
        self.sample(shown, mean)
    }

    fn sample(&self, shown: &ShownTriangle<'_>, weights: [f32; 3]) -> Vec4 {
        let hit = shown.point(weights);
        let exposure = match &self.studio {
            Some(studio) => studio.exposure(hit.position, outward(&hit, &shown.setup)),
            None => Exposure::FULL,
        };
        let scene = self.projection.scene;
        self.lights.shade(scene, self.camera, &hit, shown, exposure)
    }

    /// The shadow on the floor, as black that covers a part of the background.
    fn floor(&self, (x, y): (usize, usize)) -> Vec4 {
        let Some(studio) = &self.studio else {
            return Vec4::ZERO;
        };
        let half = self.projection.samples as f32 / 2.0;
        let (x, y) = ((x as f32 + 0.5) / half - 1.0, 1.0 - (y as f32 + 0.5) / half);
        let shadow = studio.floor_shadow(self.camera, &self.from_clip, x, y);
        Vec4::new(0.012, 0.011, 0.010, shadow)
    }

    /// For each sample, the index of the farthest layer that can be seen; the layers in front of it hide the others. `layers`
    /// begin with the farthest.
    fn farthest_shown(&self, layers: &[u32], buffer: &TileBuffer) -> Vec<usize> {
        let mut through = vec![1.0_f32; buffer.depths.len()];
        let mut farthest = vec![0; buffer.depths.len()];
        for (place, &number) in layers.iter().enumerate().rev() {
            let Some(setup) = self.projection.screen_triangle(number) else {
                continue;
            };
            let corners = self.projection.corners(number);
            let alpha = TriangleAlpha::new(self.projection, number, &corners);
            setup.cover(&buffer.window, |at, x, y| {
                if through[at] < LEAST_LIGHT || setup.depth(x, y) >= buffer.depths[at] {
                    return;
                }
                through[at] *= 1.0 - alpha.at(setup.weights(x, y)).clamp(0.0, 1.0);
                if through[at] < LEAST_LIGHT {
                    farthest[at] = place;
                }
            });
        }
        farthest
    }

    /// Blends transparent triangles over the solid ones, the farthest first.
    fn blend_over(&self, tile: usize, buffer: &mut TileBuffer, light: &mut [Vec4]) {
        let layers = self.projection.blended_layers(tile);
        let farthest = self.farthest_shown(&layers, buffer);
        for (place, number) in layers.into_iter().enumerate() {
            let Some(shown) = ShownTriangle::new(self.projection, number) else {
                continue;
            };
            let setup = &shown.setup;
            let TileBuffer {
                window,
                depths,
                triangles,
                ..
            } = &mut *buffer;
            setup.cover(window, |at, x, y| {
                if place < farthest[at] || setup.depth(x, y) >= depths[at] {
                    return;
                }
                let over = self.sample(&shown, setup.weights(x, y));
                let below = light[at];
                let alpha = over.w + below.w * (1.0 - over.w);
                if alpha > 0.0 {
                    let colour =
                        over.truncate() * over.w + below.truncate() * below.w * (1.0 - over.w);
                    light[at] = (colour / alpha).extend(alpha);
                }
                // Almost transparent glass does not replace the part number of the surface behind it.
                if triangles[at] == NOTHING || over.w > 0.5 {
                    triangles[at] = number;
                }
            });
        }
    }

    /// A tile of background.
    fn empty(&self, window: Window) -> PaintedTile {
        let step = self.settings.samples;
        let (width, height) = (window.width / step, window.height / step);
        PaintedTile {
            left: window.left / step,
            top: window.top / step,
            width,
            rgba: vec![pixel(Vec4::ZERO, self.background()); width * height],
            parts: vec![NO_PART; width * height],
        }
    }

    /// The linear colour behind the model.
    fn background(&self) -> Option<Vec3> {
        let bytes = self.settings.background?;
        Some(Vec3::from_array(
            bytes.map(|byte| srgb_to_linear()[byte as usize]),
        ))
    }

    /// Averages the samples of each pixel and puts the background behind them.
    fn resolve(&self, buffer: &TileBuffer, light: &[Vec4]) -> PaintedTile {
        let step = self.settings.samples;
        let window = &buffer.window;
        let (width, height) = (window.width / step, window.height / step);
        let background = self.background();
        let inside = samples_of_pixel(step);
        let mut painted = PaintedTile {
            left: window.left / step,
            top: window.top / step,
            width,
            rgba: Vec::with_capacity(width * height),
            parts: Vec::with_capacity(width * height),
        };
        for y in 0..height {
            for x in 0..width {
                let corner = y * step * window.width + x * step;
                let samples = inside.iter().map(|(x, y)| corner + y * window.width + x);
                let mut sum = Vec4::ZERO;
                let mut part = NO_PART;
                for at in samples {
                    sum += (light[at].truncate() * light[at].w).extend(light[at].w);
                    if part == NO_PART && buffer.triangles[at] != NOTHING {
                        part = self.projection.scene.part_of(buffer.triangles[at]);
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

/// A sample of a tile: its place there, and in the picture.
struct Sample {
    at: usize,
    x: usize,
    y: usize,
}

/// The offsets (x, y) of the samples from the corner of their pixel, row by row. They are the same for all pixels and are
/// computed once, because dividing for each sample is slow.
fn samples_of_pixel(step: usize) -> Vec<(usize, usize)> {
    let rows = (0..step).flat_map(|y| (0..step).map(move |x| (x, y)));
    rows.collect()
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
        depths: Vec::new(),
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
