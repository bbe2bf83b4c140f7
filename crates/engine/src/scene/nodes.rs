//! The node tree: matrices, the draws of the default scene, and its bounding box. Nodes are placed in 64 bits; positions in
//! the world are measured from the scene's origin, in 32 bits.

use glam::{DMat4, DQuat, DVec3, Mat3, Mat4, Quat, Vec3};
use serde_json::Value;

use super::bounds::Bounds;
use super::content::{Scene, index_in, indices_in};
use super::geometry::Geometry;

/// The attributes of skins; further sets are ignored.
const SKIN_SETS: [(&str, &str); 4] = [
    ("JOINTS_0", "WEIGHTS_0"),
    ("JOINTS_1", "WEIGHTS_1"),
    ("JOINTS_2", "WEIGHTS_2"),
    ("JOINTS_3", "WEIGHTS_3"),
];

/// A mesh that one node draws.
#[derive(Debug, Clone)]
pub struct Draw {
    /// The node that draws.
    pub node: usize,
    pub mesh: usize,
    /// The matrix from the mesh's space to that of the node: the place of an instance, else the identity.
    pub placed: Mat4,
    /// The matrix from the mesh's space to the world. Skinned vertices do not use it.
    pub world: Mat4,
    /// For a skinned mesh, the matrix from the mesh's space to the world of each joint.
    pub joints: Option<Vec<Mat4>>,
    /// The weights of the mesh's morph targets in the rest pose.
    pub weights: Vec<f32>,
}

/// A mesh, and the bits of the weights of its morph targets.
pub type MeshAtRest = (usize, Vec<u32>);

impl Draw {
    /// The mesh as it is before it is placed: draws with the same one can share it in a file.
    pub fn mesh_at_rest(&self) -> MeshAtRest {
        let weights = self.weights.iter().map(|weight| weight.to_bits());
        (self.mesh, weights.collect())
    }

    /// The positions of a geometry in the world, in the rest pose, measured from the scene's origin.
    pub fn world_positions(&self, geometry: &Geometry) -> Vec<Vec3> {
        let mut positions: Vec<Vec3> = geometry
            .positions()
            .chunks_exact(3)
            .map(Vec3::from_slice)
            .collect();
        for (target, weight) in geometry.targets.iter().zip(&self.weights) {
            let deltas = target.iter().find(|deltas| deltas.name == "POSITION");
            if let Some(deltas) = deltas.filter(|_| *weight != 0.0) {
                for (position, delta) in positions.iter_mut().zip(deltas.values.chunks_exact(3)) {
                    *position += Vec3::from_slice(delta) * *weight;
                }
            }
        }
        for (vertex, position) in positions.iter_mut().enumerate() {
            *position = self
                .vertex_matrix(geometry, vertex)
                .transform_point3(*position);
        }
        positions
    }

    /// The factor by which an edge of the mesh may grow in the world; for a skin, measured at one vertex.
    pub fn scale_of(&self, geometry: &Geometry) -> f32 {
        let matrix = match geometry.vertex_count() {
            0 => self.world,
            _ => self.vertex_matrix(geometry, 0),
        };
        [matrix.x_axis, matrix.y_axis, matrix.z_axis]
            .iter()
            .map(|axis| axis.truncate().length())
            .fold(0.0, f32::max)
    }

    /// The matrix that takes the normal of a vertex to its direction in the world.
    pub fn normal_matrix(&self, geometry: &Geometry, vertex: usize) -> Mat3 {
        let linear = Mat3::from_mat4(self.vertex_matrix(geometry, vertex));
        match linear.determinant() == 0.0 {
            true => linear,
            false => linear.inverse().transpose(),
        }
    }

    /// The matrix that takes one vertex to the world: the node's, or its joints' blended by weight.
    pub fn vertex_matrix(&self, geometry: &Geometry, vertex: usize) -> Mat4 {
        let Some(joints) = &self.joints else {
            return self.world;
        };
        let mut blended = Mat4::ZERO;
        let mut total = 0.0;
        for (joints_name, weights_name) in SKIN_SETS {
            let (Some(indices), Some(weights)) = (
                geometry.attribute(joints_name),
                geometry.attribute(weights_name),
            ) else {
                break;
            };
            for (joint, weight) in indices.at(vertex).iter().zip(weights.at(vertex)) {
                if let Some(matrix) = joints.get(*joint as usize)
                    && *weight > 0.0
                {
                    blended += *matrix * *weight;
                    total += weight;
                }
            }
        }
        if total > 0.0 {
            blended * total.recip()
        } else {
            self.world
        }
    }
}

impl Scene {
    /// Everything that the default scene draws, in the rest pose. Each instance of `EXT_mesh_gpu_instancing` is a draw.
    pub fn draws(&self) -> Vec<Draw> {
        self.draws_at(&self.world_matrices())
    }

    /// The draws for measuring: as at rest, but nodes that are hidden there by a scale of 0 are as large as an animation
    /// shows them.
    pub(super) fn measured_draws(&self) -> Vec<Draw> {
        match self.shown_pose() {
            Some(pose) => self.draws_at(&self.worlds_in(&pose)),
            None => self.draws(),
        }
    }

    fn draws_at(&self, worlds: &[DMat4]) -> Vec<Draw> {
        let shown = self.shown_nodes();
        let mut draws = Vec::new();
        for (node, json) in self.list("nodes").iter().enumerate() {
            let Some(mesh) = index_in(json, "mesh").filter(|_| shown[node]) else {
                continue;
            };
            let joints = index_in(json, "skin").map(|skin| self.joint_matrices(skin, worlds));
            for placed in self.instance_matrices(json) {
                draws.push(Draw {
                    node,
                    mesh,
                    placed,
                    world: (worlds[node] * placed.as_dmat4()).as_mat4(),
                    joints: joints.clone(),
                    weights: self.rest_weights(json, mesh),
                });
            }
        }
        draws
    }

    /// For each geometry the draw that shows it largest; `None` if nothing draws it. Nodes that are hidden at rest count
    /// as large as an animation shows them.
    pub fn largest_draws(&self) -> Vec<Option<Draw>> {
        let draws = self.measured_draws();
        let mut largest: Vec<Option<(f32, usize)>> = vec![None; self.geometries.len()];
        for (index, draw) in draws.iter().enumerate() {
            for primitive in &self.meshes[draw.mesh].primitives {
                let scale = draw.scale_of(&self.geometries[primitive.geometry]);
                let known = &mut largest[primitive.geometry];
                if known.is_none_or(|(largest, _)| scale > largest) {
                    *known = Some((scale, index));
                }
            }
        }
        let draw = |(_, index): (f32, usize)| draws[index].clone();
        largest.into_iter().map(|found| found.map(draw)).collect()
    }

    /// The smallest box around everything that is drawn; `None` if that is nothing. What is hidden at rest and shown by
    /// an animation is in the box. It is measured from the scene's origin.
    pub fn bounds(&self) -> Option<Bounds> {
        let mut bounds = None;
        for draw in self.measured_draws() {
            for primitive in &self.meshes[draw.mesh].primitives {
                for position in draw.world_positions(&self.geometries[primitive.geometry]) {
                    Bounds::grow(&mut bounds, position);
                }
            }
        }
        bounds
    }

    /// The matrices of all nodes to the world, measured from the scene's origin.
    pub fn world_matrices(&self) -> Vec<DMat4> {
        self.worlds_of(self.list("nodes"))
    }

    pub fn parents(&self) -> Vec<Option<usize>> {
        let nodes = self.list("nodes");
        let mut parents = vec![None; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            for child in indices_in(node, "children") {
                parents[child] = Some(index);
            }
        }
        parents
    }

    /// The root nodes of the default scene; all roots when the file has no scenes.
    pub fn roots(&self) -> Vec<usize> {
        let default = self.json.get("scene").and_then(Value::as_u64).unwrap_or(0);
        let scenes = self.list("scenes");
        match scenes.get(default as usize) {
            Some(scene) => indices_in(scene, "nodes").collect(),
            None => {
                let parents = self.parents();
                (0..parents.len())
                    .filter(|node| parents[*node].is_none())
                    .collect()
            }
        }
    }

    fn shown_nodes(&self) -> Vec<bool> {
        let nodes = self.list("nodes");
        let mut shown = vec![false; nodes.len()];
        let mut waiting = self.roots();
        while let Some(node) = waiting.pop() {
            let visible = &nodes[node]["extensions"]["KHR_node_visibility"]["visible"];
            if visible.as_bool() == Some(false) || shown[node] {
                continue;
            }
            shown[node] = true;
            waiting.extend(indices_in(&nodes[node], "children"));
        }
        shown
    }

    fn joint_matrices(&self, skin: usize, worlds: &[DMat4]) -> Vec<Mat4> {
        let skin = &self.list("skins")[skin];
        self.joints_of(skin)
            .map(|(joint, bind)| (worlds[joint] * bind.as_dmat4()).as_mat4())
            .collect()
    }

    /// The joints of a skin with their inverse bind matrices.
    pub fn joints_of<'s>(&'s self, skin: &'s Value) -> impl Iterator<Item = (usize, Mat4)> + 's {
        let inverse = index_in(skin, "inverseBindMatrices").map(|table| &self.tables[table]);
        let joints = indices_in(skin, "joints").enumerate();
        joints.map(move |(place, joint)| {
            let bind = inverse
                .and_then(|table| table.values.get(place * 16..place * 16 + 16))
                .map_or(Mat4::IDENTITY, Mat4::from_cols_slice);
            (joint, bind)
        })
    }

    fn instance_matrices(&self, node: &Value) -> Vec<Mat4> {
        let attributes = &node["extensions"]["EXT_mesh_gpu_instancing"]["attributes"];
        let table = |name| index_in(attributes, name).map(|table| &self.tables[table]);
        let Some(count) = ["TRANSLATION", "ROTATION", "SCALE"]
            .into_iter()
            .find_map(|name| Some(table(name)?.count()))
        else {
            return vec![Mat4::IDENTITY];
        };
        let row = |name, width: usize, index: usize| {
            table(name).and_then(|table| table.values.get(index * width..(index + 1) * width))
        };
        (0..count)
            .map(|index| {
                let translation = row("TRANSLATION", 3, index).map_or(Vec3::ZERO, Vec3::from_slice);
                let rotation = row("ROTATION", 4, index)
                    .map_or(Quat::IDENTITY, |quat| Quat::from_slice(quat).normalize());
                let scale = row("SCALE", 3, index).map_or(Vec3::ONE, Vec3::from_slice);
                Mat4::from_scale_rotation_translation(scale, rotation, translation)
            })
            .collect()
    }

    /// The matrices of these nodes, which have the tree of the scene's, to the world, measured from the scene's origin.
    pub(super) fn worlds_of(&self, nodes: &[Value]) -> Vec<DMat4> {
        let mut worlds = vec![DMat4::IDENTITY; nodes.len()];
        let above_all = DMat4::from_translation(-self.origin);
        let parents = self.parents();
        let roots = (0..nodes.len()).filter(|node| parents[*node].is_none());
        let mut waiting: Vec<(usize, DMat4)> = roots.map(|root| (root, above_all)).collect();
        while let Some((node, above)) = waiting.pop() {
            worlds[node] = above * local_matrix(&nodes[node]);
            for child in indices_in(&nodes[node], "children") {
                waiting.push((child, worlds[node]));
            }
        }
        worlds
    }

    fn rest_weights(&self, node: &Value, mesh: usize) -> Vec<f32> {
        let own = node["weights"].as_array();
        let meshes = self.meshes[mesh].json.get("weights");
        own.or_else(|| meshes?.as_array())
            .map(|weights| {
                weights
                    .iter()
                    .map(|weight| weight.as_f64().unwrap_or(0.0) as f32)
                    .collect()
            })
            .unwrap_or_default()
    }
}

/// The node's own transform.
pub fn local_matrix(node: &Value) -> DMat4 {
    let list = |key: &str| -> Option<Vec<f64>> {
        let numbers = node.get(key)?.as_array()?;
        Some(
            numbers
                .iter()
                .map(|number| number.as_f64().unwrap_or(0.0))
                .collect(),
        )
    };
    if let Some(matrix) = list("matrix").filter(|matrix| matrix.len() == 16) {
        return DMat4::from_cols_slice(&matrix);
    }
    let translation = list("translation").filter(|list| list.len() == 3);
    let rotation = list("rotation").filter(|list| list.len() == 4);
    let scale = list("scale").filter(|list| list.len() == 3);
    DMat4::from_scale_rotation_translation(
        scale.map_or(DVec3::ONE, |scale| DVec3::from_slice(&scale)),
        rotation
            .map(|rotation| DQuat::from_slice(&rotation))
            .filter(|rotation| rotation.length_squared() > 0.0)
            .map_or(DQuat::IDENTITY, DQuat::normalize),
        translation.map_or(DVec3::ZERO, |translation| DVec3::from_slice(&translation)),
    )
}
