//! Skeletons (`UsdSkel`): joints as nodes, influences of joints on points, skins.

use std::collections::HashMap;

use glam::DMat4;
use openusd::sdf::{Path, Value};
use openusd::usd::{Prim, Stage};
use serde_json::json;

use super::super::super::scene::{Attribute, Scene};
use super::super::animated::{add_skin, joints_and_weights};
use super::super::scene_builder::SceneBuilder;
use super::moved::{Moving, hiding_node};
use super::placement::placed;
use super::transform::Visibility;
use super::values::{inherited_target, integers, of, texts, vectors};
use super::warnings::Warnings;
use assetfs_formats::warnings::WarningKind;

/// The joints that move each point, the strongest four first.
pub(super) struct Influences {
    joints: Vec<[f32; 4]>,
    weights: Vec<[f32; 4]>,
}

impl Influences {
    /// The influences that a mesh names; joints are those of its skin.
    fn of(
        prim: &Prim,
        points: usize,
        joints: usize,
        warnings: &mut Warnings,
    ) -> Option<Influences> {
        let indices = of(prim, "primvars:skel:jointIndices").and_then(integers)?;
        let weights: Vec<[f32; 1]> = of(prim, "primvars:skel:jointWeights").and_then(vectors)?;
        let attribute = prim.attribute("primvars:skel:jointIndices");
        let width = attribute
            .get_metadata::<Value>("elementSize")
            .ok()
            .flatten();
        let width = width
            .and_then(|width| super::values::number(&width))
            .unwrap_or(1.0);
        let width = (width as usize).max(1);
        // A rigid mesh has the joints of one point for all.
        let is_rigid = indices.len() == width;
        if indices.len() != weights.len()
            || (!is_rigid && indices.len() != points.checked_mul(width)?)
        {
            warnings.add(WarningKind::Damaged, format!(
                "mesh \"{}\": its joints and weights do not fit its points; it is read without a skin",
                prim.path().name().unwrap_or_default()
            ));
            return None;
        }
        let mut found = Influences {
            joints: Vec::with_capacity(points),
            weights: Vec::with_capacity(points),
        };
        let mut is_crowded = false;
        for point in 0..points {
            let start = if is_rigid { 0 } else { point * width };
            let pairs = indices[start..start + width]
                .iter()
                .zip(&weights[start..start + width]);
            let mut pairs: Vec<(f32, f32)> = pairs
                .filter(|(joint, _)| (0..joints as i64).contains(*joint))
                .map(|(joint, [weight])| (*joint as f32, *weight))
                .filter(|(_, weight)| weight.is_finite() && *weight > 0.0)
                .collect();
            pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
            is_crowded |= pairs.len() > 4;
            pairs.resize(4, (0.0, 0.0));
            let sum: f32 = pairs.iter().map(|(_, weight)| weight).sum();
            let share = |at: usize| match sum > 0.0 {
                true => pairs[at].1 / sum,
                // A point without joints follows the first.
                false => f32::from(u8::from(at == 0)),
            };
            found.joints.push(std::array::from_fn(|at| pairs[at].0));
            found.weights.push(std::array::from_fn(share));
        }
        if is_crowded {
            warnings.add(
                WarningKind::NotRead,
                format!(
                    "mesh \"{}\" has points with more than 4 joints; the strongest 4 are read",
                    prim.path().name().unwrap_or_default()
                ),
            );
        }
        Some(found)
    }

    /// The attributes of vertices at these points.
    pub(super) fn attributes(&self, points: impl Iterator<Item = usize> + Clone) -> Vec<Attribute> {
        let joints = points
            .clone()
            .flat_map(|point| self.joints[point])
            .collect();
        let weights = points.flat_map(|point| self.weights[point]).collect();
        joints_and_weights(joints, weights)
    }
}

/// A skeleton whose joints are nodes of the scene.
#[derive(Clone)]
pub(super) struct Skeleton {
    pub(super) path: Path,
    pub(super) joints: Vec<String>,
    /// The node of each joint.
    pub(super) nodes: Vec<usize>,
    /// The matrix of each joint to its parent.
    pub(super) rest: Vec<DMat4>,
    /// The matrix of each joint to the skeleton, when the skin was bound.
    bind: Vec<DMat4>,
    roots: Vec<usize>,
}

/// The path of a skeleton, and those of the prims that hide a mesh of it at times, but not its joints.
type SkeletonKey = (String, Vec<String>);

/// The skeletons that are in the scene already, and the skins of their meshes.
///
/// Nodes above a skinned mesh do not hide it, only those above its joints. A mesh that is hidden at other times than the
/// skeleton has joints of its own, which move in the same way.
#[derive(Default)]
pub(super) struct Skeletons {
    known: HashMap<SkeletonKey, Option<Skeleton>>,
    /// Skeletons whose joints hang below no node yet.
    loose: Vec<SkeletonKey>,
    skins: Vec<(Vec<usize>, Vec<DMat4>)>,
    /// The nodes of the prims of skeletons.
    places: HashMap<String, usize>,
    /// Nodes that hide joints, with the prims whose visibility they have.
    pub(super) blinking: Vec<Moving>,
}

impl Skeletons {
    /// The influences and the skin of a mesh; `None` if no skeleton moves it.
    pub(super) fn bind(
        &mut self,
        stage: &Stage,
        mesh: &Prim,
        points: usize,
        builder: &mut SceneBuilder,
        warnings: &mut Warnings,
    ) -> Option<(Influences, usize)> {
        let path = inherited_target(mesh, "skel:skeleton")?;
        let hiding = hiding_prims(stage, mesh, &path).unwrap_or_else(|| {
            warnings.add(WarningKind::NotRead, format!(
                "mesh \"{}\": its visibility over time is not read, because its skeleton has another one",
                mesh.path().name().unwrap_or_default()
            ));
            Vec::new()
        });
        let skeleton = self.get(stage, &path, &hiding, builder)?;
        let names = of(mesh, "skel:joints")
            .map(texts)
            .filter(|names| !names.is_empty());
        let places: Vec<usize> = match names {
            None => (0..skeleton.joints.len()).collect(),
            Some(names) => {
                let place = |name: &String| skeleton.joints.iter().position(|known| known == name);
                if names.iter().any(|name| place(name).is_none()) {
                    warnings.add(WarningKind::Damaged, format!(
                        "mesh \"{}\" names joints that its skeleton does not have; those vertices follow the first joint",
                        mesh.path().name().unwrap_or_default()
                    ));
                }
                names.iter().map(|name| place(name).unwrap_or(0)).collect()
            }
        };
        let influences = Influences::of(mesh, points, places.len(), warnings)?;
        let bound = match of(mesh, "primvars:skel:geomBindTransform") {
            Some(Value::Matrix4d(matrix)) => DMat4::from_cols_array(&matrix.0),
            _ => DMat4::IDENTITY,
        };
        let joints = places.iter().map(|place| skeleton.nodes[*place]).collect();
        let inverse = |place: &usize| {
            let bind = skeleton.bind[*place];
            let back = match bind.determinant() != 0.0 {
                true => bind.inverse(),
                false => DMat4::IDENTITY,
            };
            back * bound
        };
        self.skins
            .push((joints, places.iter().map(inverse).collect()));
        Some((influences, builder.next_skin()))
    }

    /// The skeleton at a path, whose joints become nodes, below nodes that hide them as these prims are hidden.
    fn get(
        &mut self,
        stage: &Stage,
        path: &Path,
        hiding: &[Prim],
        builder: &mut SceneBuilder,
    ) -> Option<Skeleton> {
        let paths = hiding.iter().map(|prim| prim.path().as_str().to_owned());
        let key = (path.as_str().to_owned(), paths.collect());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let mut made = add_joints(&stage.prim(path.clone()), builder);
        if let Some(skeleton) = &mut made {
            for prim in hiding.iter().rev() {
                let (node, hiding) = hiding_node(prim, &skeleton.roots, builder);
                skeleton.roots = vec![node];
                self.blinking.push(hiding);
            }
            self.loose.push(key.clone());
        }
        self.known.insert(key, made.clone());
        made
    }

    /// The nodes of the root joints, for the node of the skeleton's prim.
    pub(super) fn hang(
        &mut self,
        stage: &Stage,
        path: &Path,
        builder: &mut SceneBuilder,
    ) -> Vec<usize> {
        let Some(skeleton) = self.get(stage, path, &[], builder) else {
            return Vec::new();
        };
        self.loose
            .retain(|(known, hiding)| known != path.as_str() || !hiding.is_empty());
        skeleton.roots
    }

    /// Keeps the node of a prim, if it is a skeleton, for joints that are added later.
    pub(super) fn set_place(&mut self, path: &Path, node: usize) {
        if self.known.is_empty() {
            return;
        }
        let key = (path.as_str().to_owned(), Vec::new());
        if self.known.contains_key(&key) {
            self.places.insert(key.0, node);
        }
    }

    /// Skeletons whose joints hang below no node, with the node of their prim, if it is drawn.
    pub(super) fn take_loose(&mut self) -> Vec<(Skeleton, Option<usize>)> {
        let loose = std::mem::take(&mut self.loose);
        let skeletons = loose.iter().filter_map(|key| {
            let skeleton = self.known.get(key)?.clone()?;
            Some((skeleton, self.places.get(&key.0).copied()))
        });
        skeletons.collect()
    }

    /// All skeletons, in the order of their paths.
    pub(super) fn all(&self) -> Vec<&Skeleton> {
        let mut all: Vec<&Skeleton> = self.known.values().flatten().collect();
        all.sort_by(|a, b| (&a.path, &a.nodes).cmp(&(&b.path, &b.nodes)));
        all
    }

    /// Adds the skins in the order of their indices.
    pub(super) fn add_skins(&self, scene: &mut Scene) {
        for (joints, binds) in &self.skins {
            let binds = binds
                .iter()
                .flat_map(|matrix| matrix.as_mat4().to_cols_array());
            add_skin(scene, joints, binds.collect());
        }
    }
}

impl Skeleton {
    pub(super) fn roots(&self) -> &[usize] {
        &self.roots
    }
}

/// The prims that hide a mesh at times but not its skeleton, from the root on; `None` if the skeleton is hidden at times
/// at which the mesh is not.
fn hiding_prims(stage: &Stage, mesh: &Prim, skeleton: &Path) -> Option<Vec<Prim>> {
    let changing = |path: &Path| -> Vec<Prim> {
        let prims = path.ancestors_below_root().map(|path| stage.prim(path));
        prims
            .filter(|prim| Visibility::of(prim).changes())
            .collect()
    };
    let mut hiding = changing(mesh.path());
    for prim in changing(skeleton) {
        let place = hiding.iter().position(|it| it.path() == prim.path())?;
        hiding.remove(place);
    }
    hiding.reverse();
    Some(hiding)
}

fn add_joints(prim: &Prim, builder: &mut SceneBuilder) -> Option<Skeleton> {
    let joints = of(prim, "joints")
        .map(texts)
        .filter(|joints| !joints.is_empty())?;
    let matrices = |name: &str| match of(prim, name) {
        Some(Value::Matrix4dVec(list)) if list.len() == joints.len() => {
            let list = list.iter().map(|matrix| DMat4::from_cols_array(&matrix.0));
            Some(list.collect::<Vec<_>>())
        }
        _ => None,
    };
    let place_of: HashMap<&str, usize> = joints
        .iter()
        .enumerate()
        .map(|(at, name)| (name.as_str(), at))
        .collect();
    // The parent of a joint is the nearest of its path that is a joint, and comes before it.
    let parent = |at: usize| {
        let mut path = joints[at].as_str();
        while let Some((above, _)) = path.rsplit_once('/') {
            if let Some(place) = place_of.get(above).filter(|place| **place < at) {
                return Some(*place);
            }
            path = above;
        }
        None
    };
    let parents: Vec<Option<usize>> = (0..joints.len()).map(parent).collect();
    let bind = matrices("bindTransforms");
    let rest = matrices("restTransforms").unwrap_or_else(|| local_of(bind.as_deref(), &parents));
    let bind = bind.unwrap_or_else(|| vec![DMat4::IDENTITY; joints.len()]);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); joints.len()];
    let mut nodes = vec![0; joints.len()];
    let mut roots = Vec::new();
    // Children come after their parents, so they are added first.
    for at in (0..joints.len()).rev() {
        let name = joints[at].rsplit('/').next().unwrap_or_default();
        let mut node = placed(rest[at]);
        node["name"] = name.into();
        if !children[at].is_empty() {
            children[at].reverse();
            node["children"] = json!(children[at]);
        }
        nodes[at] = builder.add_node(node);
        match parents[at] {
            Some(parent) => children[parent].push(nodes[at]),
            None => roots.push(nodes[at]),
        }
    }
    roots.reverse();
    Some(Skeleton {
        path: prim.path().clone(),
        joints,
        nodes,
        rest,
        bind,
        roots,
    })
}

/// Matrices to the parent joints, from matrices to the skeleton.
fn local_of(bind: Option<&[DMat4]>, parents: &[Option<usize>]) -> Vec<DMat4> {
    let Some(bind) = bind else {
        return vec![DMat4::IDENTITY; parents.len()];
    };
    let local = |(at, parent): (usize, &Option<usize>)| match parent {
        Some(parent) if bind[*parent].determinant() != 0.0 => bind[*parent].inverse() * bind[at],
        _ => bind[at],
    };
    parents.iter().enumerate().map(local).collect()
}
