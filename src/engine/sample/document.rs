//! Writes the parts as glTF: one mesh and node for each part, one buffer, three images for each painted stuff.
//!
//! Vertices hold position, normal and, where the stuff is painted, tangent and texture coordinate.

use glam::{DVec3, Vec2, Vec3, Vec4};
use serde_json::{Value, json};

use super::atlas::Atlas;
use super::parts::{Group, Part, Stuff};

/// The mesh of one part, ready to be written.
#[derive(Debug)]
struct Skin {
    positions: Vec<Vec3>,
    normals: Vec<Vec3>,
    tangents: Vec<Vec4>,
    coordinates: Vec<Vec2>,
    indices: Vec<u32>,
}

impl Skin {
    /// Joins the charts of a part. `coordinate` gives the texture coordinates, or `None` for unpainted stuff.
    fn new(part: &Part, coordinates: Option<&dyn Fn(usize, usize) -> Vec2>) -> Skin {
        let mut skin = Skin {
            positions: vec![],
            normals: vec![],
            tangents: vec![],
            coordinates: vec![],
            indices: vec![],
        };
        for (number, chart) in part.charts.iter().enumerate() {
            let base = skin.positions.len() as u32;
            let surface = &chart.surface;
            skin.positions.extend(
                surface
                    .positions
                    .iter()
                    .map(|&point| (point - part.origin).as_vec3()),
            );
            skin.normals.extend(
                surface
                    .normals
                    .iter()
                    .map(|normal| normal.as_vec3().normalize()),
            );
            skin.indices
                .extend(surface.triangles.iter().flatten().map(|index| index + base));
            if let Some(coordinate) = coordinates {
                skin.coordinates
                    .extend((0..surface.positions.len()).map(|vertex| coordinate(number, vertex)));
            }
        }
        if coordinates.is_some() {
            skin.tangents = skin.tangents();
        }
        skin
    }

    /// Tangents along u, with the sign that makes the normal map's green point up in the image.
    fn tangents(&self) -> Vec<Vec4> {
        let mut along_u = vec![DVec3::ZERO; self.positions.len()];
        let mut along_v = along_u.clone();
        for triangle in self.indices.chunks_exact(3) {
            let [a, b, c] = [triangle[0], triangle[1], triangle[2]].map(|index| index as usize);
            let (p, q) = (
                self.positions[b] - self.positions[a],
                self.positions[c] - self.positions[a],
            );
            let (s, t) = (
                self.coordinates[b] - self.coordinates[a],
                self.coordinates[c] - self.coordinates[a],
            );
            let (p, q, s, t) = (p.as_dvec3(), q.as_dvec3(), s.as_dvec2(), t.as_dvec2());
            let area = s.perp_dot(t);
            if area == 0.0 {
                continue;
            }
            // Weighted by the angle-free area, which grids make even enough.
            let (u, v) = (
                (p * t.y - q * s.y) * area.signum(),
                (q * s.x - p * t.x) * area.signum(),
            );
            for vertex in [a, b, c] {
                along_u[vertex] += u;
                along_v[vertex] += v;
            }
        }
        (0..self.positions.len())
            .map(|vertex| {
                tangent(
                    self.normals[vertex].as_dvec3(),
                    along_u[vertex],
                    along_v[vertex],
                )
            })
            .collect()
    }
}

fn tangent(normal: DVec3, along_u: DVec3, along_v: DVec3) -> Vec4 {
    let flat = along_u - normal * normal.dot(along_u);
    let direction = if flat.length_squared() > 1e-30 {
        flat.normalize()
    } else {
        normal.any_orthonormal_vector()
    };
    // v goes down in the image, the bitangent up.
    let sign = if normal.cross(direction).dot(along_v) > 0.0 {
        -1.0
    } else {
        1.0
    };
    direction.as_vec3().normalize().extend(sign)
}

/// The document and the buffer it points into.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) gltf: String,
    pub(super) bin: Vec<u8>,
    pub(super) triangles: u64,
}

/// One painted stuff: its charts laid out, in the order of the parts, and the name its files start with.
#[derive(Debug)]
pub(super) struct Painted<'a> {
    pub(super) stuff: Stuff,
    pub(super) file_stem: &'static str,
    pub(super) atlas: &'a Atlas<'a>,
}

/// Writes all parts.
pub(super) fn write(parts: &[Part], painted: &[Painted<'_>]) -> Written {
    let mut next_chart = vec![0; painted.len()];
    let skins: Vec<Skin> = parts
        .iter()
        .map(|part| {
            match painted
                .iter()
                .position(|painted| painted.stuff == part.stuff)
            {
                Some(number) => {
                    let first = next_chart[number];
                    next_chart[number] += part.charts.len();
                    let atlas = painted[number].atlas;
                    Skin::new(
                        part,
                        Some(&|chart, vertex| {
                            atlas.coordinate(first + chart, part.charts[chart].surface.flat[vertex])
                        }),
                    )
                }
                None => Skin::new(part, None),
            }
        })
        .collect();
    let mut buffer = Buffer::default();
    let meshes: Vec<Value> = parts
        .iter()
        .zip(&skins)
        .map(|(part, skin)| mesh(part, skin, &mut buffer))
        .collect();
    let triangles = skins.iter().map(|skin| skin.indices.len() as u64 / 3).sum();
    let (views, bin) = buffer.finish();
    let document = json!({
        "asset": { "version": "2.0", "generator": "assetfs sample chair" },
        "scene": 0,
        "scenes": [{ "name": "Scene", "nodes": [0] }],
        "nodes": nodes(parts),
        "meshes": meshes,
        "materials": materials(),
        "textures": textures(painted.len()),
        "images": images(painted),
        "samplers": [{ "magFilter": 9729, "minFilter": 9987, "wrapS": 33071, "wrapT": 33071 }],
        "accessors": views.1,
        "bufferViews": views.0,
        "buffers": [{ "uri": super::BIN_NAME, "byteLength": bin.len() }],
    });
    let gltf =
        serde_json::to_string_pretty(&document).expect("a document of numbers and names") + "\n";
    Written {
        gltf,
        bin,
        triangles,
    }
}

/// The root, its groups, then one node for each part.
fn nodes(parts: &[Part]) -> Value {
    let groups: Vec<usize> = (1..=Group::ALL.len()).collect();
    let mut nodes = vec![json!({ "name": "Chair", "children": groups })];
    let first = 1 + Group::ALL.len();
    for group in Group::ALL {
        let children: Vec<usize> = (0..parts.len())
            .filter(|&part| parts[part].group == group)
            .map(|part| first + part)
            .collect();
        nodes.push(json!({ "name": group.name(), "children": children }));
    }
    for (mesh, part) in parts.iter().enumerate() {
        let origin = part.origin.as_vec3();
        nodes.push(json!({ "name": part.name, "mesh": mesh, "translation": [origin.x, origin.y, origin.z] }));
    }
    json!(nodes)
}

/// In the order of [`Stuff`].
fn materials() -> Value {
    let painted = |name: &str, first: usize| {
        json!({
            "name": name,
            "pbrMetallicRoughness": {
                "baseColorTexture": { "index": first },
                "metallicRoughnessTexture": { "index": first + 2 }
            },
            "normalTexture": { "index": first + 1 },
            "occlusionTexture": { "index": first + 2 }
        })
    };
    json!([
        painted("Oak", 0),
        painted("Wool", 3),
        {
            "name": "Brass",
            "pbrMetallicRoughness": {
                "baseColorFactor": [0.887, 0.626, 0.253, 1.0],
                "metallicFactor": 1.0,
                "roughnessFactor": 0.28
            }
        }
    ])
}

fn textures(stuffs: usize) -> Value {
    (0..stuffs * 3)
        .map(|image| json!({ "sampler": 0, "source": image }))
        .collect()
}

fn images(painted: &[Painted<'_>]) -> Value {
    painted
        .iter()
        .flat_map(|painted| super::image_names(painted.file_stem))
        .map(|uri| json!({ "name": uri.trim_end_matches(".png"), "mimeType": "image/png", "uri": uri }))
        .collect()
}

fn mesh(part: &Part, skin: &Skin, buffer: &mut Buffer) -> Value {
    let (low, high) = skin
        .positions
        .iter()
        .fold((Vec3::MAX, Vec3::MIN), |(low, high), &point| {
            (low.min(point), high.max(point))
        });
    let mut attributes = serde_json::Map::new();
    let position = buffer.floats(View::Vector3, skin.positions.iter().map(|v| v.to_array()));
    buffer.accessors[position]["min"] = json!(low.to_array());
    buffer.accessors[position]["max"] = json!(high.to_array());
    attributes.insert("POSITION".into(), json!(position));
    attributes.insert(
        "NORMAL".into(),
        json!(buffer.floats(View::Vector3, skin.normals.iter().map(|v| v.to_array()))),
    );
    if !skin.tangents.is_empty() {
        let tangents = buffer.floats(View::Vector4, skin.tangents.iter().map(|v| v.to_array()));
        attributes.insert("TANGENT".into(), json!(tangents));
        let coordinates =
            buffer.floats(View::Vector2, skin.coordinates.iter().map(|v| v.to_array()));
        attributes.insert("TEXCOORD_0".into(), json!(coordinates));
    }
    let indices = buffer.indices(&skin.indices, skin.positions.len());
    json!({
        "name": part.name,
        "primitives": [{ "attributes": attributes, "indices": indices, "material": part.stuff as usize, "mode": 4 }]
    })
}

/// The kinds of data, each in a view of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Indices,
    Vector3,
    Vector4,
    Vector2,
}

#[derive(Debug, Default)]
struct Buffer {
    views: [Vec<u8>; 4],
    accessors: Vec<Value>,
}

impl Buffer {
    fn floats<const N: usize>(
        &mut self,
        view: View,
        values: impl ExactSizeIterator<Item = [f32; N]>,
    ) -> usize {
        let bytes = &mut self.views[view as usize];
        self.accessors.push(json!({
            "bufferView": view as usize,
            "byteOffset": bytes.len(),
            "componentType": 5126,
            "count": values.len(),
            "type": format!("VEC{N}"),
        }));
        bytes.extend(values.flatten().flat_map(f32::to_le_bytes));
        self.accessors.len() - 1
    }

    /// Two bytes an index where that is enough.
    fn indices(&mut self, indices: &[u32], vertices: usize) -> usize {
        let short = vertices <= usize::from(u16::MAX);
        let bytes = &mut self.views[View::Indices as usize];
        self.accessors.push(json!({
            "bufferView": View::Indices as usize,
            "byteOffset": bytes.len(),
            "componentType": if short { 5123 } else { 5125 },
            "count": indices.len(),
            "type": "SCALAR",
        }));
        if short {
            bytes.extend(
                indices
                    .iter()
                    .flat_map(|&index| (index as u16).to_le_bytes()),
            );
        } else {
            bytes.extend(indices.iter().flat_map(|index| index.to_le_bytes()));
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        self.accessors.len() - 1
    }

    /// The views and accessors as JSON, and the bytes.
    fn finish(self) -> ((Vec<Value>, Vec<Value>), Vec<u8>) {
        let mut bin = Vec::new();
        let mut views = Vec::new();
        for (number, bytes) in self.views.iter().enumerate() {
            let mut view =
                json!({ "buffer": 0, "byteOffset": bin.len(), "byteLength": bytes.len() });
            let stride = [None, Some(12), Some(16), Some(8)][number];
            if let Some(stride) = stride {
                view["byteStride"] = json!(stride);
            }
            view["target"] = json!(if stride.is_some() { 34962 } else { 34963 });
            views.push(view);
            bin.extend_from_slice(bytes);
        }
        ((views, self.accessors), bin)
    }
}
