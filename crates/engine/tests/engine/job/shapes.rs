//! The models that jobs are tried with: spheres, a square with textures, a bent bar, boxes.

use serde_json::{Value, json};

use super::gltf::{Maker, Model};

/// Positions, normals, texture coordinates and indices of a sphere.
pub fn sphere(
    rings: u32,
    center: [f32; 3],
    radius: f32,
) -> (Vec<f32>, Vec<f32>, Vec<f32>, Vec<u32>) {
    let (mut positions, mut normals, mut coords, mut indices) = (vec![], vec![], vec![], vec![]);
    let segments = rings * 2;
    for ring in 0..=rings {
        for segment in 0..=segments {
            let (v, u) = (ring as f32 / rings as f32, segment as f32 / segments as f32);
            let (polar, around) = (v * std::f32::consts::PI, u * std::f32::consts::TAU);
            let normal = [
                polar.sin() * around.cos(),
                polar.cos(),
                polar.sin() * around.sin(),
            ];
            positions.extend((0..3).map(|axis| center[axis] + normal[axis] * radius));
            normals.extend(normal);
            coords.extend([u, v]);
        }
    }
    let at = |ring: u32, segment: u32| ring * (segments + 1) + segment;
    for ring in 0..rings {
        for segment in 0..segments {
            let (a, b) = (at(ring, segment), at(ring, segment + 1));
            let (c, d) = (at(ring + 1, segment), at(ring + 1, segment + 1));
            if ring > 0 {
                indices.extend([a, b, c]);
            }
            if ring + 1 < rings {
                indices.extend([b, d, c]);
            }
        }
    }
    (positions, normals, coords, indices)
}

pub fn sphere_primitive(maker: &mut Maker, rings: u32, center: [f32; 3], radius: f32) -> Value {
    let (positions, normals, coords, indices) = sphere(rings, center, radius);
    json!({
        "attributes": {
            "POSITION": maker.floats("VEC3", &positions),
            "NORMAL": maker.floats("VEC3", &normals),
            "TEXCOORD_0": maker.floats("VEC2", &coords),
        },
        "indices": maker.indices(&indices),
    })
}

/// A large sphere and nine small ones, each a mesh of its own.
pub fn spheres() -> Model {
    let mut maker = Maker::default();
    let mut meshes =
        vec![json!({ "primitives": [sphere_primitive(&mut maker, 48, [0.0; 3], 1.0)] })];
    for index in 0..9 {
        let center = [2.0 + index as f32 * 0.2, 0.0, 0.0];
        let primitive = sphere_primitive(&mut maker, 12, center, 0.05);
        meshes.push(json!({ "primitives": [primitive] }));
    }
    let nodes: Vec<Value> = (0..meshes.len())
        .map(|mesh| json!({ "mesh": mesh }))
        .collect();
    let roots: Vec<usize> = (0..nodes.len()).collect();
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": roots }], "nodes": nodes, "meshes": meshes,
    }));
    Model::new(&json, &bin, &[])
}

/// A square with a base colour texture of the given files.
pub fn textured(material: Value, files: &[(&str, Vec<u8>)]) -> Model {
    let mut maker = Maker::default();
    let primitive = json!({
        "attributes": {
            "POSITION": maker.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0.]),
            "TEXCOORD_0": maker.floats("VEC2", &[0., 0., 1., 0., 0., 1., 1., 1.]),
        },
        "indices": maker.indices(&[0, 1, 2, 2, 1, 3]),
        "material": 0,
    });
    let images: Vec<Value> = files
        .iter()
        .map(|(name, _)| json!({ "uri": name }))
        .collect();
    let textures: Vec<Value> = (0..files.len())
        .map(|image| json!({ "source": image }))
        .collect();
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [primitive] }],
        "materials": [material], "textures": textures, "images": images,
    }));
    Model::new(&json, &bin, files)
}

/// A PNG whose pixels `color` gives.
pub fn png(size: u32, color: impl Fn(u32, u32) -> [u8; 4]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size, size);
    encoder.set_color(png::ColorType::Rgba);
    let data: Vec<u8> = (0..size * size)
        .flat_map(|at| color(at % size, at / size))
        .collect();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&data).unwrap();
    writer.finish().unwrap();
    bytes
}

pub fn decode(bytes: &[u8]) -> image::RgbaImage {
    image::load_from_memory(bytes).unwrap().into_rgba8()
}

/// A bar of rings that a skin of two joints bends, with an animation, a morph target and extras.
pub fn bar() -> Model {
    let mut maker = Maker::default();
    let (mut positions, mut joints, mut weights, mut deltas, mut indices) =
        (vec![], vec![], vec![], vec![], vec![]);
    for ring in 0..=20u32 {
        for corner in 0..16u32 {
            let angle = corner as f32 / 16.0 * std::f32::consts::TAU;
            positions.extend([angle.cos(), ring as f32 * 0.5, angle.sin()]);
            let upper = ring as f32 / 20.0;
            joints.extend([0u8, 1, 0, 0]);
            weights.extend([1.0 - upper, upper, 0.0, 0.0]);
            deltas.extend([0.0, 0.0, upper]);
            if ring < 20 {
                let (a, b) = (ring * 16 + corner, ring * 16 + (corner + 1) % 16);
                indices.extend([a, a + 16, b, b, a + 16, b + 16]);
            }
        }
    }
    let primitive = json!({
        "attributes": {
            "POSITION": maker.floats("VEC3", &positions),
            "JOINTS_0": maker.bytes(joints, "VEC4"),
            "WEIGHTS_0": maker.floats("VEC4", &weights),
        },
        "targets": [{ "POSITION": maker.floats("VEC3", &deltas) }],
        "indices": maker.indices(&indices),
    });
    let identity = [
        1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.,
    ];
    let binds = maker.floats("MAT4", &[identity, identity].concat());
    let times = maker.floats("SCALAR", &[0.0, 1.5]);
    let turns = maker.floats("VEC4", &[0., 0., 0., 1., 0., 0., 0.6, 0.8]);
    let swells = maker.floats("SCALAR", &[0.0, 1.0]);
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1] }],
        "nodes": [{ "mesh": 0, "skin": 0, "extras": { "mark": 42 } }, { "children": [2] }, {}],
        "meshes": [{ "primitives": [primitive], "weights": [0.0], "extras": { "targetNames": ["swell"] } }],
        "skins": [{ "joints": [1, 2], "inverseBindMatrices": binds }],
        "animations": [{
            "name": "wave",
            "samplers": [{ "input": times, "output": turns }, { "input": times, "output": swells }],
            "channels": [
                { "sampler": 0, "target": { "node": 2, "path": "rotation" } },
                { "sampler": 1, "target": { "node": 0, "path": "weights" } },
            ],
        }],
        "extensionsUsed": ["VENDOR_secret"],
        "extensions": { "VENDOR_secret": { "depth": [1, { "deeper": true }] } },
    }));
    Model::new(&json, &bin, &[])
}

/// A box with half the size `half` around a point, one vertex for each corner.
fn cuboid(maker: &mut Maker, center: [f32; 3], half: f32) -> Value {
    let corner = |bits: usize| {
        (0..3).map(move |axis| center[axis] + if bits >> axis & 1 == 1 { half } else { -half })
    };
    let positions: Vec<f32> = (0..8).flat_map(corner).collect();
    let indices = [
        0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2,
        1, 3, 7, 1, 7, 5,
    ];
    json!({
        "attributes": { "POSITION": maker.floats("VEC3", &positions) },
        "indices": maker.indices(&indices),
    })
}

/// A box, one inside of it and one next to it, with the material and changes of a test.
pub fn boxes(material: Value, mut rest: impl FnMut(&mut Maker, &mut Value)) -> Model {
    let mut maker = Maker::default();
    let meshes: Vec<Value> = [
        ([0.0; 3], 1.0),
        ([0.1, 0.0, 0.0], 0.4),
        ([3.0, 0.0, 0.0], 0.4),
    ]
    .into_iter()
    .map(|(center, half)| {
        let mut primitive = cuboid(&mut maker, center, half);
        primitive["material"] = json!(0);
        json!({ "primitives": [primitive] })
    })
    .collect();
    let nodes: Vec<Value> = ["outer", "inner", "beside"]
        .iter()
        .enumerate()
        .map(|(mesh, name)| json!({ "mesh": mesh, "name": name }))
        .collect();
    let mut json = json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1, 2] }], "nodes": nodes, "meshes": meshes,
        "materials": [material],
    });
    rest(&mut maker, &mut json);
    let (json, bin) = maker.finish(json);
    Model::new(&json, &bin, &[])
}
