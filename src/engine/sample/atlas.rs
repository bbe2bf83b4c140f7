//! Lays the charts of one stuff side by side in a square texture and paints them.
//!
//! Every texel of a chart knows its place on the chair; the stuff says how it looks there. Charts keep a margin and
//! bleed into it, so that smaller mip levels do not mix in the background.

use glam::{DVec2, Vec2, Vec3};
use rayon::prelude::*;

use super::parts::Chart;

/// How a stuff looks at one place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    /// sRGB, 0..1.
    pub(super) colour: Vec3,
    /// Relief in metres; the normal map is its slope.
    pub(super) relief: f32,
    pub(super) roughness: f32,
    /// 1 where light reaches everything.
    pub(super) occlusion: f32,
}

/// What a stuff is asked: where is this texel?
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// In the coordinates of the chart's grain: across, across, along; metres.
    pub(super) in_grain: Vec3,
    /// On the unrolled chart, in metres.
    pub(super) flat: Vec2,
}

/// Where a chart lies in the texture.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Upper left texel, margin included.
    corner: (usize, usize),
    /// Width and height in texels, margins included.
    size: (usize, usize),
    /// Texels a metre.
    scale: f64,
    /// The chart stands on its side.
    turned: bool,
    /// Lower left corner of the chart, in metres.
    low: DVec2,
    /// Width and height of the chart, in metres.
    extent: DVec2,
}

impl Slot {
    fn new(chart: &Chart, texels_per_metre: f64, margin: usize) -> Slot {
        let flat = &chart.surface.flat;
        let low = flat.iter().copied().reduce(DVec2::min).unwrap_or_default();
        let extent = flat.iter().copied().reduce(DVec2::max).unwrap_or_default() - low;
        let turned = extent.x > extent.y;
        let scale = texels_per_metre * chart.share;
        let texels = |metres: f64| (metres * scale) as usize + 2 + 2 * margin;
        let (width, height) = if turned {
            (extent.y, extent.x)
        } else {
            (extent.x, extent.y)
        };
        Slot {
            corner: (0, 0),
            size: (texels(width), texels(height)),
            scale,
            turned,
            low,
            extent,
        }
    }

    /// The place of a flat point in the texture, in texels. v goes down in images and up on charts, so that a chart
    /// is not mirrored; a chart on its side is turned, not flipped.
    fn texel(&self, flat: DVec2, margin: usize) -> DVec2 {
        let from = flat - self.low;
        let metres = if self.turned {
            DVec2::new(from.y, from.x)
        } else {
            DVec2::new(from.x, self.extent.y - from.y)
        };
        let corner = DVec2::new(self.corner.0 as f64, self.corner.1 as f64);
        corner + metres * self.scale + DVec2::splat(margin as f64 + 0.75)
    }
}

/// The charts of one stuff, laid out.
#[derive(Debug)]
pub(super) struct Atlas<'a> {
    charts: Vec<&'a Chart>,
    slots: Vec<Slot>,
    size: usize,
    margin: usize,
}

/// The images of one stuff, three bytes a texel.
#[derive(Debug, Clone)]
pub(super) struct Images {
    pub(super) base_colour: Vec<u8>,
    pub(super) normal: Vec<u8>,
    /// Occlusion, roughness, metal.
    pub(super) orm: Vec<u8>,
}

impl<'a> Atlas<'a> {
    /// Lays the charts out with as many texels a metre as fit into `size`².
    pub(super) fn pack(charts: Vec<&'a Chart>, size: usize) -> Atlas<'a> {
        let margin = (size / 512).max(1);
        let mut density = 8000.0 * size as f64 / 2048.0;
        let slots = loop {
            if let Some(slots) = shelves(&charts, density, size, margin) {
                break slots;
            }
            density *= 0.985;
        };
        Atlas {
            charts,
            slots,
            size,
            margin,
        }
    }

    /// The texture coordinate of a flat point of a chart.
    pub(super) fn coordinate(&self, chart: usize, flat: DVec2) -> Vec2 {
        (self.slots[chart].texel(flat, self.margin) / self.size as f64).as_vec2()
    }

    /// Paints all charts.
    pub(super) fn paint(&self, look: impl Fn(&Place) -> Look + Sync) -> Images {
        let tiles: Vec<Tile> = (0..self.charts.len())
            .into_par_iter()
            .map(|chart| self.tile(chart, &look))
            .collect();
        let texels = self.size * self.size;
        let mut images = Images {
            base_colour: background(texels, mean_colour(&tiles)),
            normal: background(texels, [128, 128, 255]),
            orm: background(texels, [255, 160, 0]),
        };
        for (slot, tile) in self.slots.iter().zip(&tiles) {
            self.write_tile(slot, tile, &mut images);
        }
        images
    }

    /// The looks of one chart's rectangle, bled into its margin.
    fn tile(&self, chart: usize, look: &(impl Fn(&Place) -> Look + Sync)) -> Tile {
        let slot = &self.slots[chart];
        let (width, height) = slot.size;
        let mut places: Vec<Option<Place>> = vec![None; width * height];
        let surface = &self.charts[chart].surface;
        let corner = DVec2::new(slot.corner.0 as f64, slot.corner.1 as f64);
        for triangle in &surface.triangles {
            let corners = triangle.map(|index| {
                let index = index as usize;
                let in_grain = self.charts[chart]
                    .grain
                    .coordinates(surface.positions[index])
                    .as_vec3();
                let place = Place {
                    in_grain,
                    flat: surface.flat[index].as_vec2(),
                };
                (
                    (slot.texel(surface.flat[index], self.margin) - corner).as_vec2(),
                    place,
                )
            });
            cover(&corners, width, height, &mut places);
        }
        let mut looks: Vec<Option<Look>> = places
            .par_iter()
            .map(|place| place.as_ref().map(look))
            .collect();
        for _ in 0..self.margin + 2 {
            bleed(&mut looks, width, height);
        }
        Tile {
            looks,
            width,
            height,
            texel: (1.0 / slot.scale) as f32,
        }
    }

    fn write_tile(&self, slot: &Slot, tile: &Tile, images: &mut Images) {
        for y in 0..tile.height {
            for x in 0..tile.width {
                let Some(look) = &tile.looks[y * tile.width + x] else {
                    continue;
                };
                let at = ((slot.corner.1 + y) * self.size + slot.corner.0 + x) * 3;
                write(&mut images.base_colour[at..at + 3], look.colour);
                write(
                    &mut images.normal[at..at + 3],
                    tile.normal(x, y) * 0.5 + 0.5,
                );
                write(
                    &mut images.orm[at..at + 3],
                    Vec3::new(look.occlusion, look.roughness, 0.0),
                );
            }
        }
    }
}

/// The painted rectangle of one chart.
struct Tile {
    looks: Vec<Option<Look>>,
    width: usize,
    height: usize,
    /// The side of a texel, in metres.
    texel: f32,
}

impl Tile {
    /// The normal of the relief: x to the right, y up, as glTF has it.
    fn normal(&self, x: usize, y: usize) -> Vec3 {
        let here = self.relief(x, y).unwrap_or(0.0);
        let slope = |before: Option<f32>, after: Option<f32>| {
            (after.unwrap_or(here) - before.unwrap_or(here)) / (2.0 * self.texel)
        };
        let right = slope(self.relief(x.wrapping_sub(1), y), self.relief(x + 1, y));
        let down = slope(self.relief(x, y.wrapping_sub(1)), self.relief(x, y + 1));
        Vec3::new(-right, down, 1.0).normalize()
    }

    fn relief(&self, x: usize, y: usize) -> Option<f32> {
        if x >= self.width || y >= self.height {
            return None;
        }
        self.looks[y * self.width + x].map(|look| look.relief)
    }
}

/// Rows of charts, the tallest first; `None` when they do not fit.
fn shelves(
    charts: &[&Chart],
    texels_per_metre: f64,
    size: usize,
    margin: usize,
) -> Option<Vec<Slot>> {
    let mut slots: Vec<Slot> = charts
        .iter()
        .map(|chart| Slot::new(chart, texels_per_metre, margin))
        .collect();
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_by_key(|&chart| (std::cmp::Reverse(slots[chart].size.1), chart));
    // Each shelf: its top, its height, the width used, and for narrow lids the height used in its last column.
    let mut open: Vec<(usize, usize, usize)> = Vec::new();
    let mut bottom = 0;
    for chart in order {
        let (width, height) = slots[chart].size;
        let shelf = open
            .iter_mut()
            .find(|(_, room, used)| *room >= height && used + width <= size);
        let (top, left) = match shelf {
            Some((top, _, used)) => {
                *used += width;
                (*top, *used - width)
            }
            None => {
                if width > size || bottom + height > size {
                    return None;
                }
                open.push((bottom, height, width));
                bottom += height;
                (bottom - height, 0)
            }
        };
        slots[chart].corner = (left, top);
    }
    Some(slots)
}

/// Fills the texels whose centre lies in the triangle.
fn cover(corners: &[(Vec2, Place); 3], width: usize, height: usize, places: &mut [Option<Place>]) {
    let [a, b, c] = corners.map(|(texel, _)| texel);
    let area = (b - a).perp_dot(c - a);
    if area == 0.0 {
        return;
    }
    let low = a.min(b).min(c).max(Vec2::ZERO);
    let high = a.max(b).max(c);
    for y in low.y as usize..=(high.y as usize).min(height - 1) {
        for x in low.x as usize..=(high.x as usize).min(width - 1) {
            let centre = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
            let weights = [
                (c - b).perp_dot(centre - b) / area,
                (a - c).perp_dot(centre - c) / area,
                (b - a).perp_dot(centre - a) / area,
            ];
            if weights.iter().all(|weight| *weight >= -1e-4) {
                let mut place = Place {
                    in_grain: Vec3::ZERO,
                    flat: Vec2::ZERO,
                };
                for ((_, corner), weight) in corners.iter().zip(weights) {
                    place.in_grain += corner.in_grain * weight;
                    place.flat += corner.flat * weight;
                }
                places[y * width + x] = Some(place);
            }
        }
    }
}

/// Gives empty texels the look of a filled neighbour.
fn bleed(looks: &mut [Option<Look>], width: usize, height: usize) {
    let before = looks.to_vec();
    for y in 0..height {
        for x in 0..width {
            if before[y * width + x].is_some() {
                continue;
            }
            let near = [
                (x.wrapping_sub(1), y),
                (x + 1, y),
                (x, y.wrapping_sub(1)),
                (x, y + 1),
            ];
            looks[y * width + x] = near
                .into_iter()
                .filter(|&(x, y)| x < width && y < height)
                .find_map(|(x, y)| before[y * width + x]);
        }
    }
}

fn mean_colour(tiles: &[Tile]) -> [u8; 3] {
    let mut sum = glam::DVec3::ZERO;
    let mut count = 0.0;
    for look in tiles.iter().flat_map(|tile| tile.looks.iter().flatten()) {
        sum += look.colour.as_dvec3();
        count += 1.0;
    }
    let mut bytes = [0; 3];
    write(&mut bytes, (sum / f64::max(count, 1.0)).as_vec3());
    bytes
}

fn background(texels: usize, colour: [u8; 3]) -> Vec<u8> {
    colour.repeat(texels)
}

fn write(bytes: &mut [u8], value: Vec3) {
    for (byte, value) in bytes.iter_mut().zip(value.to_array()) {
        *byte = (value * 255.0 + 0.5) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::super::parts::{Density, Stuff, chair};
    use super::*;

    #[test]
    fn charts_do_not_overlap_and_stay_inside() {
        let parts = chair(Density(0.15));
        let charts: Vec<&Chart> = parts
            .iter()
            .filter(|part| part.stuff == Stuff::Wood)
            .flat_map(|part| &part.charts)
            .collect();
        let atlas = Atlas::pack(charts, 256);
        let mut used = vec![false; 256 * 256];
        for slot in &atlas.slots {
            for y in slot.corner.1..slot.corner.1 + slot.size.1 {
                for x in slot.corner.0..slot.corner.0 + slot.size.0 {
                    assert!(
                        !std::mem::replace(&mut used[y * 256 + x], true),
                        "two charts at {x} {y}"
                    );
                }
            }
        }
        for (chart, piece) in atlas.charts.iter().enumerate() {
            for &flat in &piece.surface.flat {
                let at = atlas.coordinate(chart, flat);
                assert!(at.min_element() >= 0.0 && at.max_element() <= 1.0, "{at}");
            }
        }
    }
}
