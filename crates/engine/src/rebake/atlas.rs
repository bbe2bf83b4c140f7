//! The low mesh on its atlas: which triangle covers each sample of each texel.

use std::collections::HashMap;
use std::ops::Range;

use glam::{Vec2, Vec3, Vec3A};
use rayon::prelude::*;

use super::super::scene::Geometry;

/// No triangle covers the sample.
pub(super) const NOTHING: u32 = u32::MAX;

/// A triangle of the low mesh.
#[derive(Debug, Clone, Copy)]
pub(super) struct LowTriangle {
    pub(super) corners: [Vec3A; 3],
    normals: [Vec3; 3],
    tangents: [Vec3; 3],
    /// The direction of the bitangent.
    sign: f32,
    /// In texels, y down.
    texels: [Vec2; 3],
    /// The unit normal of the triangle.
    pub(super) face: Vec3A,
    /// The area of a texel on it in the world.
    pub(super) texel_area: f32,
}

/// The directions of a normal map at a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    tangent: Vec3,
    bitangent: Vec3,
    pub(super) normal: Vec3,
}

impl Frame {
    /// A direction in the world as a normal map stores it.
    pub(super) fn inside(&self, direction: Vec3) -> Vec3 {
        Vec3::new(
            direction.dot(self.tangent),
            direction.dot(self.bitangent),
            direction.dot(self.normal),
        )
    }
}

impl LowTriangle {
    /// The weights of its corners at a place of the atlas, in texels; `None` outside of it.
    fn weights(&self, place: Vec2) -> Option<[f32; 3]> {
        let [a, b, c] = self.texels;
        let area = (b - a).perp_dot(c - a);
        let second = (place - a).perp_dot(c - a) / area;
        let third = (b - a).perp_dot(place - a) / area;
        let weights = [1.0 - second - third, second, third];
        // Without an area the weights are not finite, and nothing is covered.
        weights
            .iter()
            .all(|weight| *weight >= -1e-5)
            .then_some(weights)
    }

    pub(super) fn frame(&self, weights: [f32; 3]) -> Frame {
        let mix = |[a, b, c]: [Vec3; 3]| a * weights[0] + b * weights[1] + c * weights[2];
        let normal = mix(self.normals).normalize_or(self.face.into());
        let tangent = mix(self.tangents);
        let tangent = (tangent - normal * normal.dot(tangent))
            .try_normalize()
            .unwrap_or_else(|| normal.any_orthonormal_vector());
        Frame {
            tangent,
            bitangent: normal.cross(tangent) * self.sign,
            normal,
        }
    }
}

/// A low mesh on a square atlas.
#[derive(Debug)]
pub(super) struct Atlas {
    pub(super) triangles: Vec<LowTriangle>,
    /// Texels on each side.
    pub(super) side: u32,
    /// Samples on each side of a texel.
    pub(super) samples: u32,
    /// The triangles that touch each band of rows, in order.
    bands: Vec<Vec<u32>>,
}

/// Rows of texels in a band.
pub(super) const BAND: u32 = 16;

impl Atlas {
    pub(super) fn new(mesh: &Geometry, side: u32, samples: u32) -> Atlas {
        let triangles: Vec<LowTriangle> = mesh
            .indices
            .chunks_exact(3)
            .map(|corners| low_triangle(mesh, [corners[0], corners[1], corners[2]], side as f32))
            .collect();
        let mut bands = vec![Vec::new(); side.div_ceil(BAND) as usize];
        for (number, triangle) in triangles.iter().enumerate() {
            let (low, high) = span(triangle.texels.map(|corner| corner.y), side);
            for band in low / BAND..=high.saturating_sub(1).max(low) / BAND {
                if let Some(band) = bands.get_mut(band as usize) {
                    band.push(number as u32);
                }
            }
        }
        Atlas {
            triangles,
            side,
            samples,
            bands,
        }
    }

    pub(super) fn band_count(&self) -> usize {
        self.bands.len()
    }

    /// The rows of texels of a band.
    pub(super) fn rows(&self, band: usize) -> Range<u32> {
        let first = band as u32 * BAND;
        first..(first + BAND).min(self.side)
    }

    /// The triangle that covers each sample of a band, row by row. Where several do, the first one counts.
    pub(super) fn covered(&self, band: usize) -> Vec<u32> {
        let rows = self.rows(band);
        let width = self.side * self.samples;
        let first = rows.start * self.samples;
        let height = (rows.end - rows.start) * self.samples;
        let mut owners = vec![NOTHING; (width * height) as usize];
        for number in &self.bands[band] {
            let triangle = &self.triangles[*number as usize];
            self.visit(triangle, band, |x, y| {
                let owner = &mut owners[((y - first) * width + x) as usize];
                if *owner == NOTHING && triangle.weights(self.place(x, y)).is_some() {
                    *owner = *number;
                }
            });
        }
        owners
    }

    /// The share of the covered samples that several triangles cover. Returns 1 early, from the triangles' areas, if they
    /// cover the atlas many times: visiting all samples could take very long.
    pub(super) fn overlap(&self) -> f32 {
        /// Neighbours share the samples on their common edge.
        const INSIDE: f32 = 1e-3;
        const MAX_TOTAL_AREA: f32 = 4.0;
        const MAX_TOTAL_BOX_AREA: f32 = 256.0;
        let atlas = (self.side * self.side) as f32;
        let (area, boxes) = self
            .triangles
            .iter()
            .fold((0.0, 0.0), |(area, boxes), triangle| {
                let [a, b, c] = triangle.texels;
                let size = a.max(b).max(c) - a.min(b).min(c);
                let twice = (b - a).perp_dot(c - a).abs();
                (area + twice / 2.0 / atlas, boxes + size.x * size.y / atlas)
            });
        if area > MAX_TOTAL_AREA || boxes > MAX_TOTAL_BOX_AREA {
            return 1.0;
        }
        let bands = (0..self.band_count()).into_par_iter();
        let (covered, shared) = bands
            .map(|band| {
                let mut counts: HashMap<(u32, u32), u32> = HashMap::new();
                for number in &self.bands[band] {
                    let triangle = &self.triangles[*number as usize];
                    self.visit(triangle, band, |x, y| {
                        let weights = triangle.weights(self.place(x, y));
                        if weights.is_some_and(|known| known.iter().all(|part| *part > INSIDE)) {
                            *counts.entry((x, y)).or_insert(0) += 1;
                        }
                    });
                }
                let shared = counts.values().filter(|count| **count > 1).count();
                (counts.len(), shared)
            })
            .reduce(|| (0, 0), |one, other| (one.0 + other.0, one.1 + other.1));
        shared as f32 / covered.max(1) as f32
    }

    /// Calls `visit` with each sample of a band that the box of a triangle touches.
    fn visit(&self, triangle: &LowTriangle, band: usize, mut visit: impl FnMut(u32, u32)) {
        let rows = self.rows(band);
        let [first, end] = [rows.start, rows.end].map(|row| row * self.samples);
        let scaled = |value: f32| value * self.samples as f32;
        let width = self.side * self.samples;
        let (left, right) = span(triangle.texels.map(|corner| scaled(corner.x)), width);
        let (top, bottom) = span(triangle.texels.map(|corner| scaled(corner.y)), end);
        for y in top.max(first)..bottom {
            for x in left..right {
                visit(x, y);
            }
        }
    }

    /// The weights of a triangle's corners at a sample.
    pub(super) fn weights(&self, triangle: &LowTriangle, x: u32, y: u32) -> [f32; 3] {
        let weights = triangle.weights(self.place(x, y));
        weights.unwrap_or([1.0 / 3.0; 3])
    }

    /// The middle of a sample, in texels.
    fn place(&self, x: u32, y: u32) -> Vec2 {
        (Vec2::new(x as f32, y as f32) + 0.5) / self.samples as f32
    }
}

/// The whole numbers from the least to after the greatest value, within `0..end`.
fn span(values: [f32; 3], end: u32) -> (u32, u32) {
    let least = values.into_iter().fold(f32::INFINITY, f32::min);
    let most = values.into_iter().fold(f32::NEG_INFINITY, f32::max);
    // The casts saturate.
    let low = (least.floor().max(0.0) as u32).min(end);
    (
        low,
        ((most.ceil().max(0.0) as u32).saturating_add(1)).min(end),
    )
}

fn low_triangle(mesh: &Geometry, corners: [u32; 3], side: f32) -> LowTriangle {
    let read = |name: &str, corner: u32| {
        let found = mesh.attribute(name).map(|found| found.at(corner as usize));
        let mut values = [0.0; 4];
        if let Some(found) = found {
            values[..found.len()].copy_from_slice(found);
        }
        values
    };
    let vector = |name: &str| {
        corners.map(|corner| {
            let [x, y, z, _] = read(name, corner);
            Vec3::new(x, y, z)
        })
    };
    let positions = vector("POSITION");
    let texels = corners.map(|corner| {
        let [u, v, ..] = read("TEXCOORD_0", corner);
        Vec2::new(u, v) * side
    });
    let across = (positions[1] - positions[0]).cross(positions[2] - positions[0]);
    let in_texels = (texels[1] - texels[0])
        .perp_dot(texels[2] - texels[0])
        .abs();
    LowTriangle {
        corners: positions.map(Vec3A::from),
        normals: vector("NORMAL"),
        tangents: vector("TANGENT"),
        sign: if read("TANGENT", corners[0])[3] < 0.0 {
            -1.0
        } else {
            1.0
        },
        texels,
        face: Vec3A::from(across.normalize_or(Vec3::Y)),
        texel_area: across.length() / in_texels.max(1e-6),
    }
}
