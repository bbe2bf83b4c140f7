//! Finds parts that a simplification lost: those without triangles, and solids that became flat.

use glam::DVec3;

use super::JoinedMesh;

/// A part is not a solid if the sum of its area vectors is longer than this fraction of its area.
const OPEN: f64 = 0.01;
/// The volume of a sphere is 0.094 of its area to the power of 3/2; a part with less than this is a sheet.
const THIN: f64 = 0.001;
/// A solid of few triangles that keeps less than this fraction of its volume has collapsed.
const COLLAPSED: f64 = 0.05;
const FEW: u64 = 8;

/// Sums over the triangles of a part.
#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    triangles: u64,
    area: f64,
    /// Zero for a closed surface.
    area_vector: DVec3,
    volume: f64,
}

impl Shape {
    fn is_solid(&self) -> bool {
        let is_closed = self.area_vector.length() <= self.area * OPEN;
        is_closed && self.volume.abs() > self.area.powf(1.5) * THIN
    }

    /// Whether the other shape is no longer recognizable as this one.
    fn is_lost_in(&self, after: &Shape) -> bool {
        let is_flat = || after.volume.abs() < self.volume.abs() * COLLAPSED;
        let collapses = || after.triangles <= FEW && self.is_solid() && is_flat();
        self.triangles > 0 && (after.triangles == 0 || collapses())
    }
}

impl JoinedMesh {
    /// Parts of `source` that have no triangles here, or were solid and are flat.
    pub(in super::super) fn lost_parts(&self, source: &JoinedMesh) -> Vec<usize> {
        let (before, after) = (source.shapes_of_parts(), self.shapes_of_parts());
        (0..self.parts.len())
            .filter(|part| before[*part].is_lost_in(&after[*part]))
            .collect()
    }

    fn shapes_of_parts(&self) -> Vec<Shape> {
        let mut shapes = vec![Shape::default(); self.parts.len()];
        for corners in self.indices.chunks_exact(3) {
            let part = self.part_of(corners[0]);
            let at = |vertex: usize| DVec3::from(self.positions[vertex].map(f64::from));
            // The volume of a closed surface is the same from any place; one nearby is exact.
            let from = at(self.parts[part].first_vertex);
            let [a, b, c] = [0, 1, 2].map(|corner| at(corners[corner] as usize) - from);
            let vector = (b - a).cross(c - a) / 2.0;
            let shape = &mut shapes[part];
            shape.triangles += 1;
            shape.area += vector.length();
            shape.area_vector += vector;
            shape.volume += a.dot(b.cross(c)) / 6.0;
        }
        shapes
    }
}
