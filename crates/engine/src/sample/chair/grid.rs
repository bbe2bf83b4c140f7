//! A part of the chair as a grid of rows and columns: its vertices, triangles, normals and texture coordinates.

use std::collections::HashMap;

use glam::{DVec2, DVec3};

use super::super::super::scene::{Attribute, Geometry};
use super::super::paint::{FABRIC_TILE, WOOD_TILE};
use super::part::{ChairMaterial, ChairPart};

/// The mapping of texture coordinates on a grid.
#[derive(Clone, Copy)]
pub(super) enum Unrolled {
    /// u around, one texture per this many metres; v along the rows.
    Around(f64),
    /// From the middle outwards, as a disc whose grain runs along x.
    Disc,
}

/// The rows and columns of a part. Columns are closed: the last is the first.
pub(super) struct Grid {
    pub(super) name: String,
    pub(super) material: ChairMaterial,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) unrolled: Unrolled,
    /// Whether the last row equals the first, as in a ring.
    pub(super) is_ring: bool,
}

/// The number of rows or columns at a density, of those at density 1.
pub(super) fn steps(full: usize, density: f64) -> usize {
    ((full as f64 * density) as usize).max(8)
}

impl Grid {
    pub(super) fn new(
        density: f64,
        name: &str,
        material: ChairMaterial,
        [rows, columns]: [usize; 2],
        unrolled: Unrolled,
    ) -> Grid {
        Grid {
            name: name.to_owned(),
            material,
            rows: steps(rows, density),
            columns: steps(columns, density),
            unrolled,
            is_ring: false,
        }
    }

    /// Builds the part. `point` takes how far along the rows and how far around a point is, both from 0 to 1, and returns
    /// its position.
    pub(super) fn part(&self, point: impl Fn(f64, f64) -> DVec3) -> ChairPart {
        let width = self.columns + 1;
        let mut points = Vec::with_capacity((self.rows + 1) * width);
        for row in 0..=self.rows {
            let row = if self.is_ring { row % self.rows } else { row };
            for column in 0..=self.columns {
                let around = (column % self.columns) as f64 / self.columns as f64;
                points.push(point(row as f64 / self.rows as f64, around));
            }
        }
        let mut indices: Vec<u32> = Vec::new();
        for cell in 0..self.rows * self.columns {
            let a = cell / self.columns * width + cell % self.columns;
            for corners in [[a, a + 1, a + width], [a + 1, a + width + 1, a + width]] {
                let [p, q, r] = corners.map(|corner| points[corner]);
                // Where a row is a single point, one triangle of each cell has no area.
                if p != q && q != r && r != p {
                    indices.extend(corners.map(|corner| corner as u32));
                }
            }
        }
        let mut attributes = vec![
            Attribute::new("POSITION", 3, floats(points.iter().map(|at| at.to_array()))),
            Attribute::new(
                "NORMAL",
                3,
                floats(normals(&points, &indices).iter().map(|at| at.to_array())),
            ),
        ];
        let tile = match self.material {
            ChairMaterial::Oak => Some(WOOD_TILE),
            ChairMaterial::Wool => Some(FABRIC_TILE),
            ChairMaterial::Brass => None,
        };
        if let Some(tile) = tile {
            let coords = self.coords(&points).into_iter();
            let coords = floats(coords.map(|at| (at / tile).to_array()));
            attributes.push(Attribute::new("TEXCOORD_0", 2, coords));
        }
        let mut geometry = Geometry {
            indices,
            attributes,
            ..Geometry::default()
        };
        geometry.compact();
        ChairPart {
            name: self.name.clone(),
            material: self.material,
            geometry,
        }
    }

    /// Texture coordinates in metres.
    fn coords(&self, points: &[DVec3]) -> Vec<DVec2> {
        let width = self.columns + 1;
        let mut lengths = vec![0.0; width];
        let mut coords = Vec::with_capacity(points.len());
        for (index, point) in points.iter().enumerate() {
            let column = index % width;
            if index >= width {
                lengths[column] += point.distance(points[index - width]);
            }
            let around = column as f64 / self.columns as f64;
            coords.push(match self.unrolled {
                Unrolled::Around(length) => DVec2::new(around * length, lengths[0]),
                Unrolled::Disc => {
                    let from_middle =
                        DVec2::new(points[width + column].z, points[width + column].x);
                    from_middle.normalize() * lengths[column]
                }
            });
        }
        coords
    }
}

/// Smooth normals: the area-weighted mean of the faces around each position.
fn normals(points: &[DVec3], indices: &[u32]) -> Vec<DVec3> {
    let key = |point: &DVec3| point.to_array().map(|part| (part + 0.0).to_bits());
    let mut sums: HashMap<[u64; 3], DVec3> = HashMap::new();
    for corners in indices.chunks_exact(3) {
        let [a, b, c] = [0, 1, 2].map(|corner| points[corners[corner] as usize]);
        for corner in [a, b, c] {
            *sums.entry(key(&corner)).or_default() += (b - a).cross(c - a);
        }
    }
    let sum = |point| sums.get(&key(point)).copied().unwrap_or_default();
    points
        .iter()
        .map(|point| sum(point).normalize_or(DVec3::Y))
        .collect()
}

fn floats<const N: usize>(rows: impl Iterator<Item = [f64; N]>) -> Vec<f32> {
    rows.flatten().map(|number| number as f32).collect()
}
