//! Merges neighbouring charts while the result lies in the plane without overlaps and within the tolerated stretch.
//!
//! Each round takes the pairs with the longest common border for their size, each chart at most once, and tries them in
//! parallel: one chart is moved to the other, both are glued along the border, and the whole is relaxed. Two charts that
//! touch in several places are glued in all of them, or else along the longest one: so a tube opens along one line. A
//! small chart may also hang on another one by a single edge, as a side of an unfolded box does.
//! What is tried depends on the mesh alone, and the work has a limit.

use std::collections::{BTreeMap, HashSet};

use glam::DVec2;
use rayon::prelude::*;

use super::super::alike::Sets;
use super::chart::Chart;
use super::flatten::Equations;
use super::patch::Patch;
use super::topology::{NONE, WeldedMesh};

/// Local and global steps for a trial, and further ones if it is not yet within the tolerance.
const STEPS: [usize; 3] = [3, 6, 12];

/// The number of triangles in all trials, for each triangle of the mesh.
const WORK: usize = 150;

/// A chart of no more triangles than this may hang on another one by a single edge.
const HINGED: usize = 12;

pub(super) struct MergeLimits {
    /// The stretch of a chart, 1 for none.
    pub(super) tolerance: f64,
    /// The longest side of a chart.
    pub(super) longest: f64,
}

/// Two neighbouring charts, with half-edges of the first whose twins are in the second.
struct Pair {
    charts: [usize; 2],
    border: Vec<u32>,
    score: f64,
}

/// Whether each half-edge is glued to its twin.
type Glued = Vec<bool>;

pub(super) fn merge(mesh: &WeldedMesh, charts: Vec<Chart>, limits: &MergeLimits) -> Vec<Chart> {
    let mut glued = glued_inside(mesh, &charts);
    let mut charts: Vec<Option<Chart>> = charts.into_iter().map(Some).collect();
    let mut refused = HashSet::new();
    let mut work = WORK * mesh.corners.len() + 1000;
    loop {
        let pairs = best_pairs(mesh, &charts, &refused, &mut work);
        if pairs.is_empty() {
            break;
        }
        let merged: Vec<Option<(Chart, Vec<u32>)>> = pairs
            .par_iter()
            .map(|pair| try_pair(mesh, &charts, &glued, pair, limits))
            .collect();
        for (pair, merged) in pairs.iter().zip(merged) {
            let Some((chart, border)) = merged else {
                refused.insert(pair.charts);
                continue;
            };
            for half_edge in border {
                glued[half_edge as usize] = true;
                glued[mesh.twins[half_edge as usize] as usize] = true;
            }
            charts[pair.charts[0]] = None;
            charts[pair.charts[1]] = None;
            charts.push(Some(chart));
        }
    }
    charts.into_iter().flatten().collect()
}

fn glued_inside(mesh: &WeldedMesh, charts: &[Chart]) -> Glued {
    let of_triangle = chart_of_triangle(mesh, charts.iter().enumerate());
    (mesh.twins.iter().enumerate())
        .map(|(half_edge, twin)| {
            *twin != NONE && of_triangle[half_edge / 3] == of_triangle[*twin as usize / 3]
        })
        .collect()
}

fn chart_of_triangle<'a>(
    mesh: &WeldedMesh,
    charts: impl Iterator<Item = (usize, &'a Chart)>,
) -> Vec<usize> {
    let mut of_triangle = vec![usize::MAX; mesh.corners.len()];
    for (at, chart) in charts {
        for triangle in &chart.patch.triangles {
            of_triangle[*triangle as usize] = at;
        }
    }
    of_triangle
}

/// The pairs of the next round, no chart in two of them.
fn best_pairs(
    mesh: &WeldedMesh,
    charts: &[Option<Chart>],
    refused: &HashSet<[usize; 2]>,
    work: &mut usize,
) -> Vec<Pair> {
    let present = (charts.iter().enumerate()).filter_map(|(at, chart)| Some((at, chart.as_ref()?)));
    let of_triangle = chart_of_triangle(mesh, present);
    let mut borders: BTreeMap<[usize; 2], Vec<u32>> = BTreeMap::new();
    for (half_edge, twin) in mesh
        .twins
        .iter()
        .enumerate()
        .filter(|(_, twin)| **twin != NONE)
    {
        let pair = [of_triangle[half_edge / 3], of_triangle[*twin as usize / 3]];
        if pair[0] < pair[1] && !refused.contains(&pair) {
            borders.entry(pair).or_default().push(half_edge as u32);
        }
    }
    let mut pairs: Vec<Pair> = (borders.into_iter())
        .filter_map(|(pair, border)| {
            let outlines = [
                charts[pair[0]].as_ref()?.outline,
                charts[pair[1]].as_ref()?.outline,
            ];
            let common: f64 = border.iter().map(|half_edge| mesh.length(*half_edge)).sum();
            Some(Pair {
                charts: pair,
                border,
                score: common / outlines[0].min(outlines[1]),
            })
        })
        .collect();
    pairs.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.charts.cmp(&b.charts)));
    let mut taken = vec![false; charts.len()];
    pairs.retain(|pair| {
        let size: usize = (pair.charts.iter())
            .map(|at| {
                charts[*at]
                    .as_ref()
                    .map_or(0, |chart| chart.patch.triangles.len())
            })
            .sum();
        if pair.charts.iter().any(|at| taken[*at]) || size > *work {
            return false;
        }
        *work -= size;
        for at in pair.charts {
            taken[at] = true;
        }
        true
    });
    pairs
}

/// The merged chart and the border along which it is glued, if one of the ways to glue it is valid.
fn try_pair(
    mesh: &WeldedMesh,
    charts: &[Option<Chart>],
    glued: &Glued,
    pair: &Pair,
    limits: &MergeLimits,
) -> Option<(Chart, Vec<u32>)> {
    let (one, other) = (
        charts[pair.charts[0]].as_ref()?,
        charts[pair.charts[1]].as_ref()?,
    );
    let smaller = (one.patch.triangles.len()).min(other.patch.triangles.len());
    let mut ways = vec![pair.border.clone()];
    let piece = longest_piece(mesh, &pair.border);
    if piece.len() < pair.border.len() {
        ways.push(piece);
    }
    if smaller <= HINGED && pair.border.len() > 1 {
        let edge = (pair.border.iter())
            .max_by(|a, b| mesh.length(**a).total_cmp(&mesh.length(**b)).then(b.cmp(a)))?;
        ways.push(vec![*edge]);
    }
    ways.into_iter().find_map(|border| {
        let chart = glue(mesh, [one, other], glued, &border, limits)?;
        Some((chart, border))
    })
}

/// The longest connected piece of a border.
fn longest_piece(mesh: &WeldedMesh, border: &[u32]) -> Vec<u32> {
    let mut sets = Sets::new(border.len());
    let mut first_at = BTreeMap::new();
    for (at, half_edge) in border.iter().enumerate() {
        for vertex in mesh.ends(*half_edge) {
            sets.join(at as u32, *first_at.entry(vertex).or_insert(at as u32));
        }
    }
    let mut pieces: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (at, half_edge) in border.iter().enumerate() {
        pieces
            .entry(sets.root(at as u32))
            .or_default()
            .push(*half_edge);
    }
    let mut longest = (0.0, Vec::new());
    for piece in pieces.into_values() {
        let length: f64 = piece.iter().map(|at| mesh.length(*at)).sum();
        if length > longest.0 {
            longest = (length, piece);
        }
    }
    longest.1
}

fn glue(
    mesh: &WeldedMesh,
    charts: [&Chart; 2],
    glued: &Glued,
    border: &[u32],
    limits: &MergeLimits,
) -> Option<Chart> {
    let mut triangles: Vec<u32> = (charts.iter().flat_map(|chart| &chart.patch.triangles))
        .copied()
        .collect();
    triangles.sort_unstable();
    let new: HashSet<u32> = border.iter().copied().collect();
    let patch = Patch::new(mesh, triangles, |half_edge| {
        glued[half_edge as usize]
            || new.contains(&half_edge)
            || new.contains(&mesh.twins[half_edge as usize])
    });
    let mut uvs = side_by_side(mesh, charts, border, &patch)?;
    if longest_side(&uvs) > limits.longest {
        return None;
    }
    let equations = Equations::new(mesh, &patch);
    for steps in STEPS {
        equations.relax(mesh, &patch, &mut uvs, steps);
        let chart = Chart::measured(mesh, patch.clone(), uvs.clone(), limits.tolerance);
        if chart.is_some() {
            return chart;
        }
    }
    None
}

/// The vertices of the merged patch, with the second chart moved and turned so that the border fits best.
fn side_by_side(
    mesh: &WeldedMesh,
    charts: [&Chart; 2],
    border: &[u32],
    patch: &Patch,
) -> Option<Vec<DVec2>> {
    let place = |chart: &Chart, half_edge: u32| -> Option<[DVec2; 2]> {
        let at = chart.patch.triangles.binary_search(&(half_edge / 3)).ok()?;
        let corners = chart.patch.corners[at];
        let side = half_edge as usize % 3;
        let end = |corner: usize| chart.uvs[corners[corner % 3] as usize];
        Some([end(side), end(side + 1)])
    };
    let mut fixed = Vec::with_capacity(border.len() * 2);
    let mut moving = Vec::with_capacity(border.len() * 2);
    for half_edge in border {
        let [to, from] = place(charts[1], mesh.twins[*half_edge as usize])?;
        fixed.extend(place(charts[0], *half_edge)?);
        moving.extend([from, to]);
    }
    let middle = |points: &[DVec2]| points.iter().sum::<DVec2>() / points.len() as f64;
    let (here, there) = (middle(&fixed), middle(&moving));
    let turn: DVec2 = (fixed.iter().zip(&moving))
        .map(|(to, from)| {
            let (to, from) = (to - here, from - there);
            DVec2::new(from.dot(to), from.perp_dot(to))
        })
        .sum();
    let turn = turn.try_normalize().unwrap_or(DVec2::X);
    let mut sums = vec![(DVec2::ZERO, 0.0); patch.vertex_count];
    for (side, chart) in charts.iter().enumerate() {
        for (triangle, corners) in chart.patch.triangles.iter().zip(&chart.patch.corners) {
            let at = patch.triangles.binary_search(triangle).ok()?;
            for (corner, vertex) in corners.iter().zip(patch.corners[at]) {
                let uv = chart.uvs[*corner as usize];
                let placed = if side == 0 {
                    uv
                } else {
                    turn.rotate(uv - there) + here
                };
                sums[vertex as usize].0 += placed;
                sums[vertex as usize].1 += 1.0;
            }
        }
    }
    Some(sums.into_iter().map(|(sum, count)| sum / count).collect())
}

fn longest_side(uvs: &[DVec2]) -> f64 {
    // The span in two directions and between them: close to the longest side of the box however it is turned.
    [
        DVec2::X,
        DVec2::Y,
        DVec2::ONE.normalize(),
        DVec2::new(1.0, -1.0).normalize(),
    ]
    .iter()
    .map(|direction| {
        let along = || uvs.iter().map(|uv| uv.dot(*direction));
        along().fold(f64::NEG_INFINITY, f64::max) - along().fold(f64::INFINITY, f64::min)
    })
    .fold(0.0, f64::max)
}
