//! Grows the first charts: clusters of triangles that look in nearly one direction.
//!
//! Neighbouring clusters merge in the order of the error that a plane through both would make (hierarchical face clustering,
//! Garland et al. 2001, with the normals as the error as in Cohen-Steiner et al. 2004), as long as all their normals fit
//! into one cone. So a projection along the axis of a cluster turns none of its triangles over.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use glam::DVec3;

use super::topology::{NONE, WeldedMesh};

/// The largest angle between the axis of a cluster and its normals, in radians.
const WIDEST: f64 = 0.75;

/// The share of a cluster's outline in its cost: what makes clusters compact where the surface is flat.
const OUTLINE: f64 = 0.002;

struct Cluster {
    triangles: Vec<u32>,
    /// The sum of the normals, each as long as the area of its triangle.
    normal: DVec3,
    area: f64,
    perimeter: f64,
    /// A cone with all normals.
    axis: DVec3,
    angle: f64,
    low: DVec3,
    high: DVec3,
    /// The length of the border with each neighbour.
    neighbours: BTreeMap<u32, f64>,
    /// Grows with each merge, so that older costs in the queue are known as outdated.
    version: u32,
}

/// A merge that was possible when it was put into the queue. The cheapest comes first.
#[derive(PartialEq)]
struct Merge {
    cost: f64,
    pair: [u32; 2],
    versions: [u32; 2],
}

impl Eq for Merge {}

impl PartialOrd for Merge {
    fn partial_cmp(&self, other: &Merge) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Merge {
    fn cmp(&self, other: &Merge) -> std::cmp::Ordering {
        (self.cost.total_cmp(&other.cost)).then(self.pair.cmp(&other.pair))
    }
}

/// The triangles of each cluster, ascending. No cluster is longer than `longest` along an axis, unless one triangle is.
pub(super) fn clusters(mesh: &WeldedMesh, longest: f64) -> Vec<Vec<u32>> {
    let mut clusters: Vec<Option<Cluster>> = (0..mesh.corners.len())
        .map(|triangle| mesh.usable[triangle].then(|| Cluster::of(mesh, triangle as u32)))
        .collect();
    let mut queue = BinaryHeap::new();
    for at in 0..clusters.len() as u32 {
        offer_merges(&clusters, at, longest, &mut queue, |other| other > at);
    }
    while let Some(Reverse(merge)) = queue.pop() {
        let is_current = (0..2).all(|side| {
            clusters[merge.pair[side] as usize]
                .as_ref()
                .is_some_and(|cluster| cluster.version == merge.versions[side])
        });
        if !is_current {
            continue;
        }
        let joined = merge_pair(&mut clusters, merge.pair);
        offer_merges(&clusters, joined, longest, &mut queue, |_| true);
    }
    let mut found: Vec<Vec<u32>> = (clusters.into_iter().flatten())
        .map(|mut cluster| {
            cluster.triangles.sort_unstable();
            cluster.triangles
        })
        .collect();
    found.sort_unstable_by_key(|triangles| triangles[0]);
    found
}

fn offer_merges(
    clusters: &[Option<Cluster>],
    at: u32,
    longest: f64,
    queue: &mut BinaryHeap<Reverse<Merge>>,
    wanted: impl Fn(u32) -> bool,
) {
    let Some(one) = &clusters[at as usize] else {
        return;
    };
    for (&neighbour, &length) in &one.neighbours {
        let Some(other) = clusters[neighbour as usize].as_ref() else {
            continue;
        };
        if wanted(neighbour)
            && let Some(cost) = one.cost_of_merge(other, length, longest)
        {
            queue.push(Reverse(Merge {
                cost,
                pair: [at, neighbour],
                versions: [one.version, other.version],
            }));
        }
    }
}

/// Merges the cluster with fewer neighbours into the other one, whose number it returns.
fn merge_pair(clusters: &mut [Option<Cluster>], pair: [u32; 2]) -> u32 {
    let neighbours = |at: u32| {
        clusters[at as usize]
            .as_ref()
            .map_or(0, |cluster| cluster.neighbours.len())
    };
    let [into, from] = match neighbours(pair[0]) >= neighbours(pair[1]) {
        true => pair,
        false => [pair[1], pair[0]],
    };
    let Some(gone) = clusters[from as usize].take() else {
        return into;
    };
    for (&neighbour, &length) in gone.neighbours.iter().filter(|(at, _)| **at != into) {
        if let Some(cluster) = &mut clusters[neighbour as usize] {
            cluster.neighbours.remove(&from);
            *cluster.neighbours.entry(into).or_insert(0.0) += length;
        }
    }
    if let Some(cluster) = &mut clusters[into as usize] {
        cluster.absorb(gone, [into, from]);
    }
    into
}

impl Cluster {
    fn of(mesh: &WeldedMesh, triangle: u32) -> Cluster {
        let at = triangle as usize;
        let points = mesh.corners[at].map(|corner| mesh.points[corner as usize]);
        let mut neighbours = BTreeMap::new();
        let mut perimeter = 0.0;
        for half_edge in triangle * 3..triangle * 3 + 3 {
            let length = mesh.length(half_edge);
            perimeter += length;
            let twin = mesh.twins[half_edge as usize];
            if twin != NONE && twin / 3 != triangle {
                *neighbours.entry(twin / 3).or_insert(0.0) += length;
            }
        }
        Cluster {
            triangles: vec![triangle],
            normal: mesh.normals[at] * mesh.areas[at],
            area: mesh.areas[at],
            perimeter,
            axis: mesh.normals[at],
            angle: 0.0,
            low: points[0].min(points[1]).min(points[2]),
            high: points[0].max(points[1]).max(points[2]),
            neighbours,
            version: 0,
        }
    }

    fn cost_of_merge(&self, other: &Cluster, shared: f64, longest: f64) -> Option<f64> {
        let extent = self.high.max(other.high) - self.low.min(other.low);
        let (_, angle) = self.cone_with(other);
        if angle > WIDEST || extent.max_element() > longest {
            return None;
        }
        let bend = self.area + other.area - (self.normal + other.normal).length();
        let perimeter = self.perimeter + other.perimeter - 2.0 * shared;
        Some(bend + OUTLINE * perimeter * perimeter)
    }

    /// The smallest cone around both cones, if it is narrower than a half-space.
    fn cone_with(&self, other: &Cluster) -> (DVec3, f64) {
        let between = self.axis.dot(other.axis).clamp(-1.0, 1.0).acos();
        if between + other.angle <= self.angle {
            return (self.axis, self.angle);
        }
        if between + self.angle <= other.angle {
            return (other.axis, other.angle);
        }
        let angle = (between + self.angle + other.angle) / 2.0;
        let across = (other.axis - self.axis * between.cos()).try_normalize();
        let turn = angle - self.angle;
        let axis = across.map_or(self.axis, |across| {
            (self.axis * turn.cos() + across * turn.sin()).normalize()
        });
        (axis, angle)
    }

    fn absorb(&mut self, gone: Cluster, [here, there]: [u32; 2]) {
        (self.axis, self.angle) = self.cone_with(&gone);
        let shared = self.neighbours.remove(&there).unwrap_or(0.0);
        for (neighbour, length) in gone.neighbours {
            if neighbour != here {
                *self.neighbours.entry(neighbour).or_insert(0.0) += length;
            }
        }
        self.triangles.extend(gone.triangles);
        self.normal += gone.normal;
        self.area += gone.area;
        self.perimeter += gone.perimeter - 2.0 * shared;
        self.low = self.low.min(gone.low);
        self.high = self.high.max(gone.high);
        self.version += 1;
    }
}
