//! The textures of the chair: oiled oak and woven wool, each a tile that repeats without a seam.

use bytes::Bytes;
use glam::DVec3;
use rayon::prelude::*;

use super::exact::{floor, hash, mix, noise, smoothstep};

/// Metres that one tile covers.
pub(super) const WOOD_TILE: f64 = 0.5;
pub(super) const FABRIC_TILE: f64 = 0.2;

/// A material at a point of its tile.
pub(super) struct Texel {
    /// sRGB, 0 to 1.
    color: DVec3,
    /// Metres above the surface.
    height: f64,
    roughness: f64,
    occlusion: f64,
}

/// Oak, its grain along v: year rings, fibres and pores.
pub(super) fn wood(u: f64, v: f64) -> Texel {
    let drift = noise(u, v, [5, 2], 1) + 0.35 * noise(u, v, [17, 5], 2);
    let age = u * 46.0 + drift * 2.2;
    let ring = age - floor(age);
    // Early wood darkens slowly into late wood; the next spring starts abruptly.
    let late = smoothstep(0.3, 0.88, ring) * (1.0 - smoothstep(0.94, 1.0, ring));
    let year = hash(floor(age).rem_euclid(46.0) as i64, 0, 3) - 0.5;
    let fibre = noise(u, v, [700, 24], 4);
    let streak = noise(u, v, [120, 4], 5);
    let pore = smoothstep(0.4, 0.75, noise(u, v, [620, 60], 6)) * (1.0 - 0.7 * late);
    let early_wood = DVec3::new(0.715, 0.530, 0.362);
    let late_wood = DVec3::new(0.545, 0.365, 0.225);
    let shade = (late * 0.6 + year * 0.2 + streak * 0.16 + 0.1).clamp(0.0, 1.0);
    let color = early_wood.lerp(late_wood, shade) * (1.0 + 0.05 * fibre + 0.05 * drift);
    Texel {
        color: color.lerp(DVec3::new(0.30, 0.185, 0.11), pore * 0.4),
        height: 2e-5 * late + 1.2e-5 * fibre - 6e-5 * pore,
        roughness: 0.46 - 0.07 * late + 0.04 * streak + 0.26 * pore,
        occlusion: 1.0 - 0.35 * pore,
    }
}

/// A plain weave of mottled wool.
pub(super) fn fabric(u: f64, v: f64) -> Texel {
    const THREADS: f64 = 76.0;
    let x = u * THREADS + 0.2 * noise(u, v, [12, 12], 21);
    let y = v * THREADS + 0.2 * noise(u, v, [12, 12], 22);
    let (column, row) = (floor(x), floor(y));
    let (x, y) = ((x - column) * 2.0 - 1.0, (y - row) * 2.0 - 1.0);
    let [column, row] = [column, row].map(|cell| cell as i64 % THREADS as i64);
    let (across, along, thread) = match (column + row) % 2 {
        0 => (x, y, column),
        _ => (y, x, row + 4096),
    };
    let height = (1.0 - across * across).max(0.0).sqrt() * (1.0 - 0.72 * along * along);
    let mottle = noise(u, v, [42, 42], 26);
    let tone = 0.2 + 0.34 * hash(thread, 1, 24) + 0.26 * hash(column, row, 25) + 0.15 * mottle;
    let deep = DVec3::new(0.085, 0.262, 0.272);
    let light = DVec3::new(0.235, 0.470, 0.455);
    Texel {
        color: deep.lerp(light, tone.clamp(0.0, 1.0)) * (0.52 + 0.48 * height),
        height: 4.2e-4 * height,
        roughness: 0.90 - 0.06 * height,
        occlusion: 0.45 + 0.55 * height,
    }
}

/// The images of a material as PNG: base colour, normals, and occlusion, roughness and metalness.
pub(super) fn images(
    look: impl Fn(f64, f64) -> Texel + Sync,
    tile: f64,
    size: usize,
) -> Result<[Bytes; 3], png::EncodingError> {
    let looks: Vec<Texel> = (0..size * size)
        .into_par_iter()
        .map(|pixel| {
            let center = |at: usize| (at as f64 + 0.5) / size as f64;
            look(center(pixel % size), 1.0 - center(pixel / size))
        })
        .collect();
    let texel = tile / size as f64;
    let height = |column: usize, row: usize| looks[row % size * size + column % size].height;
    let normal = |pixel: usize| {
        let (column, row) = (pixel % size + size, pixel / size + size);
        let along_u = height(column + 1, row) - height(column - 1, row);
        let along_v = height(column, row - 1) - height(column, row + 1);
        let normal = DVec3::new(-along_u, -along_v, 2.0 * texel).normalize();
        normal * 0.5 + 0.5
    };
    let encoded = |color: &(dyn Fn(usize) -> DVec3 + Sync)| {
        let byte = |part: f64| (part.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
        let pixels: Vec<u8> = (0..size * size)
            .into_par_iter()
            .flat_map_iter(|pixel| color(pixel).to_array().map(byte))
            .collect();
        encode(&pixels, size as u32)
    };
    Ok([
        encoded(&|pixel| looks[pixel].color)?,
        encoded(&normal)?,
        encoded(&|pixel| {
            let look = &looks[pixel];
            DVec3::new(look.occlusion, mix(0.05, 1.0, look.roughness), 0.0)
        })?,
    ])
}

fn encode(pixels: &[u8], size: u32) -> Result<Bytes, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size, size);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes.into())
}
