//! A chart: a patch that lies in the plane without overlaps, at the scale of the mesh.
//!
//! A cluster that cannot be laid into the plane within the tolerance is halved until its pieces can; a single triangle always
//! can. So every triangle ends in a valid chart.

use glam::{DVec2, DVec3};

use super::super::alike::Sets;
use super::flatten::Equations;
use super::patch::Patch;
use super::topology::{NONE, WeldedMesh};
use super::validity::{normalize, overlaps_itself};

/// Local and global steps for a new chart.
const STEPS: usize = 6;

#[derive(Debug, Clone)]
pub(super) struct Chart {
    pub(super) patch: Patch,
    /// One for each vertex of the patch. The area in the plane is the area in space.
    pub(super) uvs: Vec<DVec2>,
    pub(super) area: f64,
    /// The length of the border in the plane.
    pub(super) outline: f64,
}

impl Chart {
    /// The charts of a cluster of triangles: one, or its pieces if one would stretch too much.
    pub(super) fn of_cluster(mesh: &WeldedMesh, cluster: Vec<u32>, tolerance: f64) -> Vec<Chart> {
        let mut charts = Vec::new();
        let mut waiting = vec![cluster];
        while let Some(triangles) = waiting.pop() {
            match Chart::project(mesh, &triangles, tolerance) {
                Some(chart) => charts.push(chart),
                None => waiting.extend(halves(mesh, &triangles)),
            }
        }
        charts
    }

    fn project(mesh: &WeldedMesh, triangles: &[u32], tolerance: f64) -> Option<Chart> {
        let patch = Patch::new(mesh, triangles.to_vec(), |_| true);
        let mut uvs = vec![DVec2::ZERO; patch.vertex_count];
        if let [triangle] = triangles {
            for (at, corner) in patch.corners[0].iter().enumerate() {
                uvs[*corner as usize] = mesh.shapes[*triangle as usize][at];
            }
            return Chart::measured(mesh, patch, uvs, f64::INFINITY);
        }
        let normal: DVec3 = (triangles.iter())
            .map(|at| mesh.normals[*at as usize] * mesh.areas[*at as usize])
            .sum();
        let (across, up) = normal.try_normalize()?.any_orthonormal_pair();
        for (triangle, corners) in triangles.iter().zip(&patch.corners) {
            for at in 0..3 {
                let point = mesh.points[mesh.corners[*triangle as usize][at] as usize];
                uvs[corners[at] as usize] = DVec2::new(point.dot(across), point.dot(up));
            }
        }
        let projected = uvs.clone();
        Equations::new(mesh, &patch).relax(mesh, &patch, &mut uvs, STEPS);
        Chart::measured(mesh, patch.clone(), uvs, tolerance)
            .or_else(|| Chart::measured(mesh, patch, projected, tolerance))
    }

    /// The chart, if it is valid and within the tolerance.
    pub(super) fn measured(
        mesh: &WeldedMesh,
        patch: Patch,
        mut uvs: Vec<DVec2>,
        tolerance: f64,
    ) -> Option<Chart> {
        let stretch = normalize(mesh, &patch, &mut uvs)?;
        if !stretch.is_within(tolerance) || overlaps_itself(&patch, &uvs) {
            return None;
        }
        let area = (patch.triangles.iter())
            .map(|triangle| mesh.areas[*triangle as usize])
            .sum();
        let outline = (patch.border.iter())
            .map(|[from, to]| uvs[*from as usize].distance(uvs[*to as usize]))
            .sum();
        Some(Chart {
            patch,
            uvs,
            area,
            outline,
        })
    }
}

/// Cuts a set of triangles across its longest side, into connected pieces.
fn halves(mesh: &WeldedMesh, triangles: &[u32]) -> Vec<Vec<u32>> {
    let center = |triangle: u32| -> DVec3 {
        let corners = mesh.corners[triangle as usize];
        corners.iter().map(|at| mesh.points[*at as usize]).sum()
    };
    let centers = || triangles.iter().map(|at| center(*at));
    let low = centers().fold(DVec3::INFINITY, DVec3::min);
    let high = centers().fold(DVec3::NEG_INFINITY, DVec3::max);
    let axis = (high - low).max_position();
    let mut sorted = triangles.to_vec();
    sorted.sort_by(|a, b| center(*a)[axis].total_cmp(&center(*b)[axis]));
    let (left, right) = sorted.split_at(sorted.len() / 2);
    let mut pieces = connected(mesh, left.to_vec());
    pieces.extend(connected(mesh, right.to_vec()));
    pieces
}

/// The connected pieces of a set of triangles, each ascending.
fn connected(mesh: &WeldedMesh, mut triangles: Vec<u32>) -> Vec<Vec<u32>> {
    triangles.sort_unstable();
    let mut sets = Sets::new(triangles.len());
    for (at, triangle) in triangles.iter().enumerate() {
        for twin in &mesh.twins[*triangle as usize * 3..*triangle as usize * 3 + 3] {
            if *twin != NONE
                && let Ok(other) = triangles.binary_search(&(twin / 3))
            {
                sets.join(at as u32, other as u32);
            }
        }
    }
    let mut pieces: Vec<Vec<u32>> = vec![Vec::new(); triangles.len()];
    for (at, triangle) in triangles.iter().enumerate() {
        pieces[sets.root(at as u32) as usize].push(*triangle);
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}
