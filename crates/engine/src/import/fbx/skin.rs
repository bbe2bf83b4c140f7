//! Skins of an FBX file.
//!
//! Vertices without weights stay on the node of their mesh. glTF has no such vertices, so these skins get one joint more:
//! a child of that node that never moves against it.

use serde_json::json;

use super::super::super::scene::{Attribute, Scene};
use super::super::animated::{add_skin, joints_and_weights};
use super::super::scene_builder::SceneBuilder;

/// The skin of a mesh.
#[derive(Debug, Clone, Copy)]
pub(super) struct SkinUse {
    /// Index in the scene.
    pub(super) index: usize,
    /// Index of the deformer in the file.
    deformer: usize,
    /// The node that draws the mesh, if some of its vertices have no weights.
    resting_on: Option<u32>,
}

impl SkinUse {
    pub(super) fn of(found: &ufbx::Mesh, builder: &mut SceneBuilder) -> Option<SkinUse> {
        let skin = deformer_of(found)?;
        let mut vertices = 0..found.vertices.len() as u32;
        let rests = vertices.any(|vertex| strongest(skin, vertex).is_none());
        let node = found.element.instances.first();
        Some(SkinUse {
            index: builder.next_skin(),
            deformer: skin.element.typed_id as usize,
            resting_on: node.filter(|_| rests).map(|node| node.element.typed_id),
        })
    }
}

fn deformer_of(found: &ufbx::Mesh) -> Option<&ufbx::SkinDeformer> {
    let first = found.skin_deformers.first().map(|skin| &**skin);
    first.filter(|skin| !skin.clusters.is_empty())
}

/// The four strongest joints of a vertex with their weights, which sum to one; `None` if it has no weights.
fn strongest(skin: &ufbx::SkinDeformer, vertex: u32) -> Option<[(f32, f32); 4]> {
    let vertex = skin.vertices.get(vertex as usize)?;
    let weights = skin.weights.iter().skip(vertex.weight_begin as usize);
    let mut strongest = [(0.0, 0.0); 4];
    let count = vertex.num_weights.min(4) as usize;
    for (place, weight) in strongest.iter_mut().zip(weights.take(count)) {
        *place = (weight.cluster_index as f32, weight.weight as f32);
    }
    let sum: f32 = strongest.iter().map(|(_, weight)| weight).sum();
    (sum > 0.0).then(|| strongest.map(|(joint, weight)| (joint, weight / sum)))
}

/// Joints and weights of vertices at these places of the mesh.
pub(super) fn weights(found: &ufbx::Mesh, places: &[u32]) -> Vec<Attribute> {
    let Some(skin) = deformer_of(found) else {
        return Vec::new();
    };
    let resting = skin.clusters.len() as f32;
    let (mut joints, mut weights) = (Vec::new(), Vec::new());
    for place in places {
        let own = strongest(skin, *place);
        let own = own.unwrap_or([(resting, 1.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]);
        joints.extend(own.map(|(joint, _)| joint));
        weights.extend(own.map(|(_, weight)| weight));
    }
    joints_and_weights(joints, weights)
}

/// Adds the joints for vertices without weights below the nodes of their meshes; the joint for each skin.
pub(super) fn add_resting_joints(
    skins: &[SkinUse],
    builder: &mut SceneBuilder,
) -> Vec<Option<usize>> {
    let mut add = |skin: &SkinUse| {
        let node = skin.resting_on? as usize;
        let joint = builder.add_node(json!({ "name": "vertices without joints" }));
        builder.add_children(node, &[joint]);
        Some(joint)
    };
    skins.iter().map(&mut add).collect()
}

/// Adds the skins in the order of the indices that the meshes got.
pub(super) fn add_skins(
    loaded: &ufbx::Scene,
    used: &[SkinUse],
    resting: &[Option<usize>],
    scene: &mut Scene,
) {
    for (used, resting) in used.iter().zip(resting) {
        let skin = &loaded.skin_deformers[used.deformer];
        let mut joints = Vec::new();
        let mut binds = Vec::new();
        for cluster in skin.clusters.iter() {
            let bone = cluster.bone_node.as_ref().unwrap_or(&loaded.root_node);
            joints.push(bone.element.typed_id as usize);
            binds.extend(columns(&cluster.geometry_to_bone));
        }
        if let (Some(joint), Some(node)) = (resting, used.resting_on) {
            joints.push(*joint);
            binds.extend(columns(&loaded.nodes[node as usize].geometry_to_node));
        }
        add_skin(scene, &joints, binds);
    }
}

fn columns(m: &ufbx::Matrix) -> [f32; 16] {
    [
        m.m00, m.m10, m.m20, 0.0, m.m01, m.m11, m.m21, 0.0, m.m02, m.m12, m.m22, 0.0, m.m03, m.m13,
        m.m23, 1.0,
    ]
    .map(|number| number as f32)
}
