//! Bakes the textures of a low mesh: looks up the source for every texel that a triangle covers.

use glam::{Vec3, Vec4};
use rayon::prelude::*;

use super::super::render::{PreparedScene, RenderAlpha, SurfacePoint, linear_to_srgb};
use super::atlas::{Atlas, LowTriangle};
use super::caster::{Caster, LowPoint, low_point, parts_below};
use super::fill::fill;
use super::maps::{Maps, Pixel};
use super::occlusion::OcclusionMap;
use super::sharpen::{TransferCurve, sharpen};
use assetfs_render::LeafPlace;

/// What a class is baked from and into.
pub(super) struct Baker<'b> {
    pub(super) source: &'b PreparedScene,
    pub(super) caster: &'b Caster<'b>,
    pub(super) atlas: &'b Atlas,
    pub(super) occlusion: Option<&'b OcclusionMap>,
    /// The brightest channel that a material of the class emits.
    pub(super) emissive_scale: f32,
}

/// The baked texels of some rows.
#[derive(Default)]
struct Rows {
    base_color: Vec<Pixel>,
    orm: Vec<Pixel>,
    emissive: Vec<Pixel>,
    normal: Vec<Pixel>,
    is_covered: Vec<bool>,
}

/// The sum over the samples of a texel.
#[derive(Default)]
struct TexelSum {
    count: f32,
    /// Colour times alpha, and alpha.
    weighted: Vec4,
    color: Vec3,
    /// Occlusion, roughness, metallic.
    orm: Vec3,
    emissive: Vec3,
    normal: Vec3,
}

/// The source at one sample. Light is linear.
#[derive(Clone, Copy)]
struct BakedSample {
    color: Vec3,
    alpha: f32,
    /// Occlusion, roughness, metallic.
    orm: Vec3,
    emissive: Vec3,
    /// In the frame of the low triangle.
    normal: Vec3,
}

impl BakedSample {
    /// Whether two samples of a texel are so similar that further samples would hardly change the mean.
    fn is_like(&self, other: &BakedSample) -> bool {
        /// Differences of light, and of other values.
        const LIGHT: f32 = 0.03;
        const VALUE: f32 = 0.06;
        /// The cosine of the angle between normals.
        const ALONG: f32 = 0.98;
        let is_near = |one: Vec3, other: Vec3, most: f32| (one - other).abs().max_element() <= most;
        is_near(self.color, other.color, LIGHT)
            && is_near(self.emissive, other.emissive, LIGHT)
            && is_near(self.orm, other.orm, VALUE)
            && (self.alpha - other.alpha).abs() <= VALUE
            && self.normal.dot(other.normal) >= ALONG
    }
}

impl TexelSum {
    fn add(&mut self, sample: &BakedSample) {
        self.count += 1.0;
        self.color += sample.color;
        self.weighted += (sample.color * sample.alpha).extend(sample.alpha);
        self.orm += sample.orm;
        self.emissive += sample.emissive;
        self.normal += sample.normal;
    }
}

/// Samples lie on a grid in the texel, `samples` by `samples`. The first pass takes one in each row: this is its column.
fn first_column(row: u32, samples: u32) -> u32 {
    // The order spreads four samples as a rotated square does.
    match samples {
        4 => [1, 3, 0, 2][row as usize % 4],
        _ => row,
    }
}

impl Baker<'_> {
    /// Bakes all textures.
    pub(super) fn bake(&self) -> Maps {
        let parts = parts_below(self.atlas, self.caster);
        // Bands differ much in the time they take.
        let bands: Vec<Rows> = (0..self.atlas.band_count())
            .into_par_iter()
            .with_max_len(1)
            .map(|band| self.bake_band(band, &parts))
            .collect();
        let mut maps = Maps {
            side: self.atlas.side,
            base_color: Vec::new(),
            orm: Vec::new(),
            emissive: Vec::new(),
            emissive_scale: self.emissive_scale,
            normal: Vec::new(),
            is_covered: Vec::new(),
        };
        for rows in bands {
            maps.base_color.extend(rows.base_color);
            maps.orm.extend(rows.orm);
            maps.emissive.extend(rows.emissive);
            maps.normal.extend(rows.normal);
            maps.is_covered.extend(rows.is_covered);
        }
        let (side, covered) = (maps.side, &maps.is_covered);
        sharpen(side, covered, &mut maps.base_color, TransferCurve::Srgb);
        sharpen(side, covered, &mut maps.orm, TransferCurve::Linear);
        sharpen(side, covered, &mut maps.emissive, TransferCurve::Srgb);
        sharpen(side, covered, &mut maps.normal, TransferCurve::Linear);
        // A normal never points into the surface.
        maps.normal
            .iter_mut()
            .for_each(|[_, _, z, _]| *z = (*z).max(128));
        let all = [
            &mut maps.base_color,
            &mut maps.orm,
            &mut maps.emissive,
            &mut maps.normal,
        ];
        fill(maps.side, &maps.is_covered, all);
        maps
    }

    fn bake_band(&self, band: usize, parts: &[Vec<u32>]) -> Rows {
        let owners = self.atlas.covered(band);
        let range = self.atlas.rows(band);
        let samples = self.atlas.samples;
        let width = self.atlas.side * samples;
        let owner_at = |x: u32, y: u32| {
            let owner = owners[((y - range.start * samples) * width + x) as usize] as usize;
            let triangle = self.atlas.triangles.get(owner)?;
            Some((triangle, parts[owner].as_slice()))
        };
        let mut rows = Rows::default();
        let mut guess = None;
        for y in range.clone() {
            for x in 0..self.atlas.side {
                let sum = self.texel(x, y, &owner_at, &mut guess);
                self.finish(sum, (x, y), &mut rows);
            }
        }
        rows
    }

    /// The samples of a texel. The first ones decide: if they look alike, the others are not taken. `owner_at` names the
    /// triangle that covers a sample and the parts below it; `guess` is what the sample before met.
    fn texel<'a>(
        &'a self,
        x: u32,
        y: u32,
        owner_at: &impl Fn(u32, u32) -> Option<(&'a LowTriangle, &'a [u32])>,
        guess: &mut Option<LeafPlace>,
    ) -> TexelSum {
        let samples = self.atlas.samples;
        let mut sum = TexelSum::default();
        let mut take = |column: u32, row: u32, count: u32, sum: &mut TexelSum| {
            let (x, y) = (x * samples + column, y * samples + row);
            let owner = owner_at(x, y)?;
            let (seen, leaf) = self.sample(owner, (x, y), count, *guess)?;
            *guess = Some(leaf);
            sum.add(&seen);
            Some(seen)
        };
        // One in each row and each column.
        let mut first: Option<BakedSample> = None;
        let mut are_alike = true;
        for row in 0..samples {
            match take(first_column(row, samples), row, samples, &mut sum) {
                None => are_alike = false,
                Some(seen) => are_alike &= first.get_or_insert(seen).is_like(&seen),
            }
        }
        if are_alike {
            return sum;
        }
        for row in 0..samples {
            let others = (0..samples).filter(|column| *column != first_column(row, samples));
            for column in others {
                take(column, row, samples * samples, &mut sum);
            }
        }
        sum
    }

    /// What the source shows at one of `count` samples of a texel, and where the tree stores its triangle.
    fn sample(
        &self,
        (triangle, parts): (&LowTriangle, &[u32]),
        (x, y): (u32, u32),
        count: u32,
        guess: Option<LeafPlace>,
    ) -> Option<(BakedSample, LeafPlace)> {
        let weights = self.atlas.weights(triangle, x, y);
        let point = LowPoint {
            guess,
            ..low_point(triangle, weights, parts)
        };
        let found = self.caster.find(&point)?;
        let area = triangle.texel_area / count as f32;
        let seen = self
            .source
            .surface_point(found.triangle, found.weights, area);
        let material = self
            .source
            .material(self.source.material_number(found.triangle));
        let sample = BakedSample {
            color: seen.base_color.truncate(),
            alpha: baked_alpha(&seen, material.alpha),
            orm: Vec3::new(seen.occlusion, seen.roughness, seen.metallic),
            emissive: seen.emissive,
            normal: triangle.frame(weights).inside(seen.normal),
        };
        Some((sample, found.leaf))
    }

    /// Writes the mean of a texel's samples.
    fn finish(&self, sum: TexelSum, (x, y): (u32, u32), rows: &mut Rows) {
        rows.is_covered.push(sum.count > 0.0);
        let count = sum.count.max(1.0);
        let alpha = sum.weighted.w / count;
        // Transparent samples have no say in the colour unless all are transparent.
        let color = match sum.weighted.w > 1e-4 {
            true => sum.weighted.truncate() / sum.weighted.w,
            false => sum.color / count,
        };
        let mut orm = sum.orm / count;
        if let Some(map) = self.occlusion {
            orm.x *= map.at(x, y, self.atlas.side);
        }
        let emissive = sum.emissive / count / self.emissive_scale.max(1e-6);
        let normal = sum.normal.normalize_or(Vec3::Z);
        let normal = normal.with_z(normal.z.max(0.0)).normalize_or(Vec3::Z);
        let byte = |value: f32| (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
        let [r, g, b] = color.to_array().map(linear_to_srgb);
        rows.base_color.push([r, g, b, byte(alpha)]);
        let [r, g, b] = orm.to_array().map(byte);
        rows.orm.push([r, g, b, 255]);
        let [r, g, b] = emissive.to_array().map(linear_to_srgb);
        rows.emissive.push([r, g, b, 255]);
        let [r, g, b] = (normal * 0.5 + 0.5).to_array().map(byte);
        rows.normal.push([r, g, b, 255]);
    }
}

/// The alpha to store. Masks with different cutoffs are scaled to the cutoff 0.5.
fn baked_alpha(seen: &SurfacePoint, alpha: RenderAlpha) -> f32 {
    let value = seen.base_color.w.clamp(0.0, 1.0);
    match alpha {
        RenderAlpha::Opaque => 1.0,
        RenderAlpha::Blend => value,
        RenderAlpha::Mask(cutoff) if value < cutoff => 0.5 * value / cutoff.max(1e-3),
        RenderAlpha::Mask(cutoff) => 0.5 + 0.5 * (value - cutoff) / (1.0 - cutoff).max(1e-3),
    }
}
