//! Skins and blend shapes: the deformers of a geometry.

use glam::Mat4;

use super::super::super::scene::{Draw, Scene};
use super::binary::{FbxValue, Record};
use super::document::{FbxDocument, ObjectId, number, properties};
use super::mesh::FbxMesh;

/// Adds the deformers that move the points of a mesh by the joints of a skin. `models` are the objects of nodes.
pub(super) fn add_skin(
    scene: &Scene,
    skin: usize,
    (mesh, name): (&FbxMesh, &str),
    models: &[Option<ObjectId>],
    document: &mut FbxDocument,
) {
    let joints: Vec<(usize, Mat4)> = scene.joints_of(&scene.list("skins")[skin]).collect();
    let deformer = vec![
        Record::of("Version", 101),
        Record::of("Link_DeformAcuracy", 50.0),
    ];
    let deformer = document.add("Deformer", (name, "Deformer"), "Skin", deformer);
    document.connect(deformer, mesh.id);
    let weights = weights_of(scene, mesh, joints.len());
    for ((joint, matrix), weights) in joints.into_iter().zip(weights) {
        let Some(model) = models.get(joint).copied().flatten() else {
            continue;
        };
        let bound = match matrix.determinant() != 0.0 {
            true => matrix.inverse(),
            false => Mat4::IDENTITY,
        };
        let (points, shares): (Vec<i32>, Vec<f64>) = weights.into_iter().unzip();
        let mut records = vec![Record::of("Version", 100)];
        if !points.is_empty() {
            records.push(Record::of("Indexes", FbxValue::I32s(points)));
            records.push(Record::of("Weights", FbxValue::F64s(shares)));
        }
        records.push(Record::of("Transform", numbers(matrix)));
        records.push(Record::of("TransformLink", numbers(bound)));
        let name = scene.list("nodes")[joint]["name"]
            .as_str()
            .unwrap_or("joint");
        let cluster = document.add("Deformer", (name, "SubDeformer"), "Cluster", records);
        document.connect(cluster, deformer);
        document.connect(model, cluster);
    }
}

/// For each joint of a skin the points that it moves, with their weights.
fn weights_of(scene: &Scene, mesh: &FbxMesh, joints: usize) -> Vec<Vec<(i32, f64)>> {
    let mut of_joints = vec![Vec::new(); joints];
    for (point, (at, vertex)) in mesh.points.iter().enumerate() {
        let geometry = &scene.geometries[*at];
        for set in 0.. {
            let (Some(indices), Some(weights)) = (
                geometry.attribute(&format!("JOINTS_{set}")),
                geometry.attribute(&format!("WEIGHTS_{set}")),
            ) else {
                break;
            };
            let pairs = indices
                .at(*vertex as usize)
                .iter()
                .zip(weights.at(*vertex as usize));
            for (joint, weight) in pairs.filter(|(_, weight)| **weight > 0.0) {
                if let Some(list) = of_joints.get_mut(*joint as usize) {
                    list.push((point as i32, f64::from(*weight)));
                }
            }
        }
    }
    of_joints
}

/// Adds the morph targets of a mesh as blend shapes, with the weights of a draw.
pub(super) fn add_shapes(
    scene: &Scene,
    draw: &Draw,
    (mesh, name): (&FbxMesh, &str),
    document: &mut FbxDocument,
) {
    let count = mesh
        .points
        .iter()
        .map(|(at, _)| scene.geometries[*at].targets.len())
        .max();
    let count = count.unwrap_or(0);
    if count == 0 {
        return;
    }
    let json = &scene.meshes[draw.mesh].json;
    let names = json.get("extras").map(|extras| &extras["targetNames"]);
    let deformer = document.add(
        "Deformer",
        (name, "Deformer"),
        "BlendShape",
        vec![Record::of("Version", 100)],
    );
    document.connect(deformer, mesh.id);
    for target in 0..count {
        let named = names
            .and_then(|names| names[target].as_str())
            .map(str::to_owned);
        let name = named.unwrap_or_else(|| format!("shape_{target}"));
        let weight = draw.weights.get(target).copied().unwrap_or(0.0);
        let percent = f64::from(weight) * 100.0;
        let channel = vec![
            Record::of("Version", 100),
            Record::of("DeformPercent", percent),
            Record::of("FullWeights", FbxValue::F64s(vec![100.0])),
            properties([number("DeformPercent", percent)]),
        ];
        let channel = document.add(
            "Deformer",
            (&name, "SubDeformer"),
            "BlendShapeChannel",
            channel,
        );
        document.connect(channel, deformer);
        let shape = document.add(
            "Geometry",
            (&name, "Geometry"),
            "Shape",
            shape_of(scene, mesh, target),
        );
        document.connect(shape, channel);
    }
}

fn shape_of(scene: &Scene, mesh: &FbxMesh, target: usize) -> Vec<Record> {
    let (mut points, mut moves) = (Vec::new(), Vec::new());
    for (point, (at, vertex)) in mesh.points.iter().enumerate() {
        let deltas = scene.geometries[*at].targets.get(target);
        let deltas =
            deltas.and_then(|target| target.iter().find(|deltas| deltas.name == "POSITION"));
        let Some(delta) = deltas.map(|deltas| deltas.at(*vertex as usize)) else {
            continue;
        };
        if delta.iter().any(|part| *part != 0.0) {
            points.push(point as i32);
            moves.extend(delta.iter().map(|part| f64::from(*part)));
        }
    }
    let still = vec![0.0; moves.len()];
    vec![
        Record::of("Version", 100),
        Record::of("Indexes", FbxValue::I32s(points)),
        Record::of("Vertices", FbxValue::F64s(moves)),
        Record::of("Normals", FbxValue::F64s(still)),
    ]
}

pub(super) fn numbers(matrix: Mat4) -> FbxValue {
    FbxValue::F64s(matrix.to_cols_array().map(f64::from).to_vec())
}
