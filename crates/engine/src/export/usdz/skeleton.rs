//! Skins as skeletons (`UsdSkel`): each skin is a `SkelRoot` with its skeleton, its animation and its meshes, in the space
//! of the stage, because joints place skinned vertices in the world.

use std::collections::{BTreeSet, HashMap};

use glam::{DMat4, DVec3, Mat4};

use super::super::super::scene::{Geometry, Scene};
use super::super::motion::{JointTree, Placement, to_parent};
use super::identifiers::unique;
use super::lines::number;

/// Time codes in a second; what many tools expect.
pub(super) const TIME_CODES_PER_SECOND: f32 = 24.0;

/// The skeleton of a skin.
pub(super) struct UsdSkeleton {
    /// The nodes of the joints, parents first, and the place of the parent.
    pub(super) tree: JointTree,
    /// The path of each joint.
    pub(super) paths: Vec<String>,
    /// The matrix of each joint to the world, when the skin was bound.
    bind: Vec<DMat4>,
    /// The matrix of each joint to its parent.
    rest: Vec<DMat4>,
    /// The place of each joint of the skin in the tree.
    places: Vec<usize>,
}

impl UsdSkeleton {
    pub(super) fn of(scene: &Scene, skin: usize) -> UsdSkeleton {
        let (joints, inverse): (Vec<usize>, Vec<Mat4>) =
            scene.joints_of(&scene.list("skins")[skin]).unzip();
        let parents = scene.parents();
        let worlds = scene.world_matrices();
        let is_joint: BTreeSet<usize> = joints.iter().copied().collect();
        let joint_above = |node: usize| {
            let above = std::iter::successors(parents[node], |node| parents[*node]);
            above.into_iter().find(|node| is_joint.contains(node))
        };
        let mut order: Vec<usize> = Vec::new();
        let mut place_of: HashMap<usize, usize> = HashMap::new();
        for joint in &joints {
            // Joints above come first.
            let mut chain: Vec<usize> =
                std::iter::successors(Some(*joint), |node| joint_above(*node)).collect();
            while let Some(node) = chain.pop() {
                place_of.entry(node).or_insert_with(|| {
                    order.push(node);
                    order.len() - 1
                });
            }
        }
        let tree: JointTree = order
            .iter()
            .map(|node| (*node, joint_above(*node).map(|above| place_of[&above])))
            .collect();
        let mut bind: Vec<DMat4> = order.iter().map(|node| worlds[*node]).collect();
        for (joint, matrix) in joints.iter().zip(inverse) {
            if matrix.determinant() != 0.0 {
                bind[place_of[joint]] = matrix.inverse().as_dmat4();
            }
        }
        let rest = tree.iter().map(|(node, parent)| {
            let above = parent.map_or(DMat4::IDENTITY, |parent| worlds[tree[parent].0]);
            to_parent(above, worlds[*node])
        });
        let rest = rest.collect();
        UsdSkeleton {
            paths: paths_of(scene, &tree),
            rest,
            places: joints.iter().map(|joint| place_of[joint]).collect(),
            bind,
            tree,
        }
    }

    /// The lines of the skeleton's prim.
    pub(super) fn lines(&self) -> Vec<String> {
        vec![
            format!("uniform token[] joints = {}", self.names()),
            format!(
                "uniform matrix4d[] bindTransforms = {}",
                matrices(&self.bind)
            ),
            format!(
                "uniform matrix4d[] restTransforms = {}",
                matrices(&self.rest)
            ),
        ]
    }

    fn names(&self) -> String {
        let names: Vec<String> = self
            .paths
            .iter()
            .map(|path| format!("\"{path}\""))
            .collect();
        format!("[{}]", names.join(", "))
    }

    /// The lines of the prim of an animation: the placements of each joint at each time.
    pub(super) fn clip_lines(&self, times: &[f32], tracks: &[Vec<Placement>]) -> Vec<String> {
        let rows = |text: &dyn Fn(&Placement) -> String| -> Vec<String> {
            let row = |at: usize| {
                let row: Vec<String> = tracks.iter().map(|track| text(&track[at])).collect();
                format!("[{}]", row.join(", "))
            };
            (0..times.len()).map(row).collect()
        };
        vec![
            format!("uniform token[] joints = {}", self.names()),
            track(
                "float3[] translations",
                times,
                &rows(&|it| floats(it.translation)),
            ),
            track("quatf[] rotations", times, &rows(&|it| quaternion(it))),
            track("half3[] scales", times, &rows(&|it| floats(it.scale))),
        ]
    }

    /// The joints and weights of a mesh's vertices, and how many each has.
    pub(super) fn influences(&self, geometry: &Geometry) -> (Vec<usize>, Vec<f32>, usize) {
        let sets: Vec<_> = (0..4)
            .map_while(|set| {
                let joints = geometry.attribute(&format!("JOINTS_{set}"))?;
                Some((joints, geometry.attribute(&format!("WEIGHTS_{set}"))?))
            })
            .collect();
        let (mut indices, mut weights) = (Vec::new(), Vec::new());
        let known = self.places.len();
        for vertex in 0..geometry.vertex_count() {
            let pairs = sets
                .iter()
                .flat_map(|(joints, weights)| joints.at(vertex).iter().zip(weights.at(vertex)));
            let pairs: Vec<(usize, f32)> = pairs
                .map(|(joint, weight)| (*joint as usize, *weight))
                .map(|(joint, weight)| match joint < known {
                    true => (joint, weight.max(0.0)),
                    false => (0, 0.0),
                })
                .collect();
            let sum: f32 = pairs.iter().map(|(_, weight)| weight).sum();
            for (joint, weight) in pairs {
                indices.push(self.places.get(joint).copied().unwrap_or(0));
                weights.push(if sum > 0.0 { weight / sum } else { 0.0 });
            }
        }
        (indices, weights, sets.len() * 4)
    }
}

/// The paths of joints: names that are unique among the children of a joint.
fn paths_of(scene: &Scene, tree: &JointTree) -> Vec<String> {
    let nodes = scene.list("nodes");
    let mut taken: HashMap<Option<usize>, BTreeSet<String>> = HashMap::new();
    let mut paths: Vec<String> = Vec::new();
    for (node, parent) in tree {
        let name = nodes[*node]["name"].as_str().unwrap_or("joint");
        let name = unique(name, taken.entry(*parent).or_default());
        paths.push(match parent {
            Some(parent) => format!("{}/{name}", paths[*parent]),
            None => name,
        });
    }
    paths
}

/// An attribute whose value changes; one that does not has its value alone. `values` are texts.
pub(super) fn track(attribute: &str, times: &[f32], values: &[String]) -> String {
    if values.iter().all(|value| *value == values[0]) {
        return format!("{attribute} = {}", values[0]);
    }
    let samples = times.iter().zip(values);
    let samples: Vec<String> = samples
        .map(|(time, value)| format!("{}: {value}", number((time * TIME_CODES_PER_SECOND).into())))
        .collect();
    format!("{attribute}.timeSamples = {{ {} }}", samples.join(", "))
}

pub(super) fn triple([x, y, z]: [f64; 3]) -> String {
    format!("({}, {}, {})", number(x), number(y), number(z))
}

/// Three numbers that are stored as 32-bit floats.
pub(super) fn floats(vector: DVec3) -> String {
    triple(vector.as_vec3().to_array().map(f64::from))
}

pub(super) fn quaternion(placement: &Placement) -> String {
    let [x, y, z, w] = placement
        .rotation
        .as_quat()
        .to_array()
        .map(f64::from)
        .map(number);
    format!("({w}, {x}, {y}, {z})")
}

pub(super) fn matrix(matrix: &DMat4) -> String {
    let rows = matrix.to_cols_array_2d().map(|row| {
        let [x, y, z, w] = row.map(number);
        format!("({x}, {y}, {z}, {w})")
    });
    format!("( {} )", rows.join(", "))
}

fn matrices(list: &[DMat4]) -> String {
    let list: Vec<String> = list.iter().map(matrix).collect();
    format!("[{}]", list.join(", "))
}
