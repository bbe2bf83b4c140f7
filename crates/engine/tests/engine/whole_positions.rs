//! Positions of packed files that are stored as integers, and the scale of the nodes that draw them.

use std::fs;

use assetfs_engine::document::{ComponentType, ElementType, glb};
use assetfs_engine::export::gltf::write_glb;
use assetfs_engine::import::import;
use assetfs_engine::scene::{Attribute, Geometry, Mesh, Primitive, Scene, Table};
use assetfs_engine::settings::MeshCompression;
use glam::{Mat4, Vec3};
use serde_json::{Value, json};

use crate::made::with_grid;
use crate::square_glb::changed_glb;
use crate::validators::assert_valid;

const FLOAT: u64 = 5126;
const SHORT: u64 = 5122;

/// What was written, and what reads back.
struct Written {
    json: Value,
    read: Scene,
}

fn written(scene: &Scene) -> Written {
    let bytes = write_glb(scene, MeshCompression::Meshopt).unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("m.glb"), &bytes).unwrap();
    assert_valid(dir.path());
    let read = import(dir.path(), &["m.glb".to_owned()]).unwrap().scene;
    let json = glb::split("m.glb", &bytes.into()).unwrap().json;
    Written {
        json: serde_json::from_slice(&json).unwrap(),
        read,
    }
}

impl Written {
    /// How the positions of a mesh are stored.
    fn component(&self, mesh: usize) -> u64 {
        let primitive = &self.json["meshes"][mesh]["primitives"][0];
        let position = primitive["attributes"]["POSITION"].as_u64().unwrap();
        self.json["accessors"][position as usize]["componentType"]
            .as_u64()
            .unwrap()
    }

    /// Every vertex is drawn where it was before, but for rounding to a step.
    fn assert_looks_as(&self, scene: &Scene) {
        let size = scene.bounds().unwrap().size().max_element();
        let (before, after) = (places(scene), places(&self.read));
        assert_eq!(before.len(), after.len());
        for ((mesh, one), (same, other)) in before.iter().zip(&after) {
            assert_eq!((mesh, one.len()), (same, other.len()));
            for (one, other) in one.iter().zip(other) {
                let off = (*one - *other).abs().max_element();
                assert!(off < size / 10_000.0, "mesh {mesh}: {one} {other}");
            }
        }
    }
}

/// The vertices in the world of everything that is drawn, by the mesh.
fn places(scene: &Scene) -> Vec<(usize, Vec<Vec3>)> {
    let mut draws = scene.draws();
    draws.sort_by_key(|draw| draw.mesh);
    let places = draws.iter().map(|draw| {
        let geometry = scene.meshes[draw.mesh].primitives[0].geometry;
        (draw.mesh, draw.world_positions(&scene.geometries[geometry]))
    });
    places.collect()
}

/// A scene of these nodes, with a mesh for each of so many grids, all of them different.
fn scene_of(grids: usize, nodes: Value) -> Scene {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("m.glb"), changed_glb(|_| {})).unwrap();
    let one = with_grid(import(dir.path(), &["m.glb".to_owned()]).unwrap().scene);
    let grid = |number: usize| {
        let mut geometry: Geometry = one.geometries[0].clone();
        let positions = &mut geometry.attributes[0].values;
        for place in positions.as_chunks_mut::<3>().0 {
            let height = (place[0] * 9.0 + number as f32).sin() * (place[1] * 7.0).cos();
            *place = [place[0] - 0.5, place[1] - 0.3, height * 0.2];
        }
        geometry
    };
    let mesh = |geometry| Mesh {
        primitives: vec![Primitive {
            geometry,
            ..Primitive::default()
        }],
        ..Mesh::default()
    };
    let mut scene = Scene {
        geometries: (0..grids).map(grid).collect(),
        meshes: (0..grids).map(mesh).collect(),
        ..one
    };
    scene.json.insert("nodes".to_owned(), nodes);
    scene.json.insert("scene".to_owned(), json!(0));
    scene
        .json
        .insert("scenes".to_owned(), json!([{ "nodes": [0] }]));
    scene
}

#[test]
fn nodes_of_a_hierarchy_are_scaled_and_everything_is_drawn_where_it_was() {
    let turned = [0.0, 0.6, 0.0, 0.8];
    let matrix = Mat4::from_rotation_x(0.7) * Mat4::from_translation(Vec3::new(0.1, 2.0, 3.0));
    let mut scene = scene_of(
        5,
        json!([
            { "name": "root", "scale": [2, 0.5, 1], "children": [1, 2, 3, 5] },
            { "name": "mirrored", "mesh": 0, "scale": [-1, 1, 0.3], "rotation": turned, "extras": { "kept": [1, 1, 1] } },
            { "name": "above", "mesh": 1, "rotation": turned, "children": [4] },
            { "name": "placed", "mesh": 2, "matrix": matrix.to_cols_array() },
            { "name": "below", "mesh": 3, "translation": [0.25, 0, 1] },
            { "name": "looks", "mesh": 4, "camera": 0 },
        ]),
    );
    let camera = json!([{ "type": "perspective", "perspective": { "yfov": 1, "znear": 0.1 } }]);
    scene.json.insert("cameras".to_owned(), camera);
    let written = written(&scene);
    written.assert_looks_as(&scene);
    assert_eq!(
        [0, 1, 2, 3, 4].map(|mesh| written.component(mesh)),
        [SHORT; 5]
    );
    let nodes = written.json["nodes"].as_array().unwrap();
    // Names and extras stay; what others depend on is not scaled, and has a node of its own for its mesh.
    assert_eq!(nodes.len(), 8);
    let names = nodes.iter().filter_map(|node| node["name"].as_str());
    let expected = ["root", "mirrored", "above", "placed", "below", "looks"];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    assert_eq!(nodes[1]["extras"], json!({ "kept": [1, 1, 1] }));
    for place in [2, 5] {
        assert!(nodes[place]["mesh"].is_null() && nodes[place]["scale"].is_null());
    }
    assert_eq!(nodes[2]["children"], json!([4, 6]));
    assert_eq!(
        (&nodes[6]["mesh"], &nodes[7]["mesh"]),
        (&json!(1), &json!(4))
    );
}

#[test]
fn a_geometry_that_several_nodes_and_meshes_draw_has_one_scale() {
    let mut scene = scene_of(
        2,
        json!([
            { "children": [1, 2, 3] },
            { "mesh": 0 },
            { "mesh": 0, "translation": [3, 0, 0], "scale": [4, 4, 4] },
            { "mesh": 1, "translation": [0, 3, 0] },
        ]),
    );
    // The second mesh draws the geometry of the first, and its own, which is smaller.
    for number in &mut scene.geometries[1].attributes[0].values {
        *number *= 0.1;
    }
    let shared = scene.meshes[0].primitives[0].clone();
    scene.meshes[1].primitives.push(shared);
    let written = written(&scene);
    written.assert_looks_as(&scene);
    assert_eq!([0, 1].map(|mesh| written.component(mesh)), [SHORT; 2]);
    let scale = |node: usize| written.json["nodes"][node]["scale"][0].as_f64().unwrap() as f32;
    assert_eq!((scale(2), scale(3)), (scale(1) * 4.0, scale(1)));
}

#[test]
fn displacements_are_whole_numbers_of_the_same_step() {
    for sparse in [false, true] {
        let mut scene = scene_of(1, json!([{ "mesh": 0, "weights": [0.5] }]));
        let geometry = &mut scene.geometries[0];
        let mut moved = vec![0.0; geometry.vertex_count() * 3];
        let few = if sparse { 30 } else { moved.len() };
        for (place, number) in moved.iter_mut().take(few).enumerate() {
            *number = (place as f32 * 1.7).sin() * 0.1;
        }
        geometry.targets = vec![vec![Attribute::new("POSITION", 3, moved)]];
        geometry.sparse_targets = sparse;
        let written = written(&scene);
        written.assert_looks_as(&scene);
        let target = &written.json["meshes"][0]["primitives"][0]["targets"][0]["POSITION"];
        let accessor = &written.json["accessors"][target.as_u64().unwrap() as usize];
        assert_eq!(accessor["componentType"], SHORT);
        assert_eq!(accessor["sparse"].is_object(), sparse, "{accessor}");
    }
}

/// Times and values of one channel.
fn animate(scene: &mut Scene, node: usize, path: &str, element: ElementType, values: Vec<f32>) {
    let first = scene.tables.len();
    for (element, values) in [(ElementType::Scalar, vec![0.0, 1.0]), (element, values)] {
        scene.tables.push(Table {
            element,
            component: ComponentType::F32,
            normalized: false,
            values,
        });
    }
    let animations = json!([{
        "samplers": [{ "input": first, "output": first + 1 }],
        "channels": [{ "sampler": 0, "target": { "node": node, "path": path } }],
    }]);
    scene.json.insert("animations".to_owned(), animations);
}

#[test]
fn a_node_whose_scale_is_animated_keeps_it() {
    let mut scene = scene_of(1, json!([{ "mesh": 0, "scale": [1, 2, 1] }]));
    let sizes = vec![1.0, 2.0, 1.0, 2.0, 2.0, 2.0];
    animate(&mut scene, 0, "scale", ElementType::Vec3, sizes);
    let written = written(&scene);
    written.assert_looks_as(&scene);
    assert_eq!(written.component(0), SHORT);
    let nodes = &written.json["nodes"];
    assert_eq!(nodes[0], json!({ "scale": [1, 2, 1], "children": [1] }));
    assert_eq!(nodes[1]["mesh"], 0);
}

#[test]
fn positions_stay_floats_where_a_scale_could_change_what_is_drawn() {
    let mut skinned = scene_of(
        1,
        json!([{ "children": [1, 2] }, { "mesh": 0, "skin": 0 }, {}]),
    );
    let vertices = skinned.geometries[0].vertex_count();
    let joints = Attribute::new("JOINTS_0", 4, vec![0.0; vertices * 4]);
    let weights = Attribute::new("WEIGHTS_0", 4, [1.0, 0.0, 0.0, 0.0].repeat(vertices));
    skinned.geometries[0].attributes.extend([joints, weights]);
    skinned.geometries[0].attributes[1].storage.component = ComponentType::U8;
    let skins = json!([{ "joints": [2] }]);
    skinned.json.insert("skins".to_owned(), skins);

    // The weights of the mesh's own node are animated, and a child depends on its scale.
    let mut morphed = scene_of(
        1,
        json!([{ "mesh": 0, "weights": [0], "children": [1] }, {}]),
    );
    let moved = Attribute::new("POSITION", 3, vec![0.1; vertices * 3]);
    morphed.geometries[0].targets = vec![vec![moved]];
    animate(
        &mut morphed,
        0,
        "weights",
        ElementType::Scalar,
        vec![0.0, 1.0],
    );

    let mut thick = scene_of(1, json!([{ "mesh": 0 }]));
    let volume = json!({ "KHR_materials_volume": { "thicknessFactor": 0.5 } });
    let used = json!(["KHR_materials_volume"]);
    let materials = json!([{ "extensions": volume }]);
    thick.json.insert("extensionsUsed".to_owned(), used);
    thick.json.insert("materials".to_owned(), materials);
    thick.meshes[0].primitives[0].material = Some(0);

    // Most steps are beyond 16 bits.
    let mut far = scene_of(1, json!([{ "mesh": 0 }]));
    for number in &mut far.geometries[0].attributes[0].values {
        *number += 40.0;
    }

    for (what, scene) in [
        ("skin", skinned),
        ("morphed", morphed),
        ("thick", thick),
        ("far", far),
    ] {
        let written = written(&scene);
        written.assert_looks_as(&scene);
        assert_eq!(written.component(0), FLOAT, "{what}");
        let nodes = scene.list("nodes").len();
        assert_eq!(written.json["nodes"].as_array().unwrap().len(), nodes);
    }
}
