//! Meshes: the primitives of a mesh as one geometry with a material for each polygon.

use std::collections::HashMap;

use super::super::super::scene::{Attribute, Geometry, Scene};
use super::binary::{FbxValue, Record};
use super::document::{FbxDocument, ObjectId};
use assetfs_render::srgb_of_linear;

/// A geometry of the file.
pub(super) struct FbxMesh {
    pub(super) id: ObjectId,
    /// The materials of its polygons, in the order of their numbers.
    pub(super) materials: Vec<Option<usize>>,
    /// The vertices of the scene's geometries at each point: the geometry and its vertex.
    pub(super) points: Vec<(usize, u32)>,
}

/// Adds the mesh of a scene; `None` if it has no triangles.
pub(super) fn add(scene: &Scene, mesh: usize, document: &mut FbxDocument) -> Option<FbxMesh> {
    let mesh = &scene.meshes[mesh];
    let primitives = mesh.primitives.iter();
    let drawn = primitives.filter(|it| scene.geometries[it.geometry].triangle_count() > 0);
    let mut builder = Builder::default();
    for primitive in drawn {
        builder.add(scene, primitive.geometry, primitive.material);
    }
    if builder.corners.is_empty() {
        return None;
    }
    let name = mesh.name().unwrap_or("mesh");
    let geometries: Vec<&Geometry> = builder
        .corners
        .iter()
        .map(|(at, _)| &scene.geometries[*at])
        .collect();
    let records = builder.records(&geometries, scene);
    Some(FbxMesh {
        id: document.add("Geometry", (name, "Geometry"), "Mesh", records),
        materials: builder.materials,
        points: builder.points,
    })
}

#[derive(Default)]
struct Builder {
    materials: Vec<Option<usize>>,
    /// The material of each triangle.
    of_triangles: Vec<i32>,
    points: Vec<(usize, u32)>,
    /// Positions, joints and weights as bits.
    known: HashMap<Vec<u32>, u32>,
    /// The geometry and vertex of each corner.
    corners: Vec<(usize, u32)>,
    /// The point of each corner.
    indices: Vec<u32>,
}

impl Builder {
    fn add(&mut self, scene: &Scene, at: usize, material: Option<usize>) {
        let geometry = &scene.geometries[at];
        let known = self.materials.iter().position(|known| *known == material);
        let number = known.unwrap_or_else(|| {
            self.materials.push(material);
            self.materials.len() - 1
        });
        let count = geometry.indices.len() / 3;
        self.of_triangles
            .extend(std::iter::repeat_n(number as i32, count));
        let points: Vec<u32> = (0..geometry.vertex_count() as u32)
            .map(|vertex| self.point_of(geometry, at, vertex))
            .collect();
        for vertex in &geometry.indices[..count * 3] {
            self.corners.push((at, *vertex));
            self.indices.push(points[*vertex as usize]);
        }
    }

    /// The point of a vertex: vertices at one place that the same joints move share it, so that the mesh holds together.
    fn point_of(&mut self, geometry: &Geometry, at: usize, vertex: u32) -> u32 {
        let next = self.points.len() as u32;
        let is_moved = |name: &str| {
            name == "POSITION" || name.starts_with("JOINTS_") || name.starts_with("WEIGHTS_")
        };
        let attributes = geometry.attributes.iter().filter(|it| is_moved(&it.name));
        let morphs = geometry.targets.iter().flatten();
        let values = attributes
            .chain(morphs)
            .flat_map(|it| it.at(vertex as usize));
        let key: Vec<u32> = values.map(|value| (value + 0.0).to_bits()).collect();
        let point = *self.known.entry(key).or_insert(next);
        if point == next {
            self.points.push((at, vertex));
        }
        point
    }

    fn records(&self, geometries: &[&Geometry], scene: &Scene) -> Vec<Record> {
        let positions = self.points.iter().flat_map(|(at, vertex)| {
            let position = scene.geometries[*at].position(*vertex);
            position.to_array().map(f64::from)
        });
        // The last corner of a polygon is written as its complement.
        let corners = self
            .indices
            .iter()
            .enumerate()
            .map(|(place, point)| match place % 3 {
                2 => !(*point as i32),
                _ => *point as i32,
            });
        let mut records = vec![
            Record::of("GeometryVersion", 124),
            Record::of("Vertices", FbxValue::F64s(positions.collect())),
            Record::of("PolygonVertexIndex", FbxValue::I32s(corners.collect())),
        ];
        let (elements, layers) = self.layer_elements(geometries);
        records.extend(elements);
        for (number, uses) in layers.into_iter().enumerate() {
            let layer = Record::of("Layer", number as i32).holding([Record::of("Version", 100)]);
            records.push(layer.holding(uses));
        }
        records
    }

    /// Normals, colours, texture coordinates and materials of the corners; and for each layer, which of them it uses.
    fn layer_elements(&self, geometries: &[&Geometry]) -> (Vec<Record>, Vec<Vec<Record>>) {
        let mut records = Vec::new();
        let mut layers: Vec<Vec<Record>> = vec![Vec::new()];
        let use_of = |kind: &str, number: i32| {
            Record::new("LayerElement")
                .holding([Record::of("Type", kind), Record::of("TypedIndex", number)])
        };
        let has = |name: &str| {
            geometries
                .iter()
                .any(|geometry| geometry.attribute(name).is_some())
        };
        let corners = self.corners.len() as i32;
        let indexed = |name: &'static str| Some((name, (0..corners).collect()));
        if has("NORMAL") {
            let normals = self.values(geometries, "NORMAL", [0.0, 1.0, 0.0], |value| value);
            records.push(element(
                "LayerElementNormal",
                0,
                "",
                "Normals",
                normals,
                None,
            ));
            layers[0].push(use_of("LayerElementNormal", 0));
        }
        if has("COLOR_0") {
            // Blender and three.js read and write colours of vertices in sRGB.
            let colors = self.values(
                geometries,
                "COLOR_0",
                [1.0; 4],
                |[red, green, blue, alpha]| {
                    let [red, green, blue] = [red, green, blue].map(srgb_of_linear);
                    [red, green, blue, alpha]
                },
            );
            records.push(element(
                "LayerElementColor",
                0,
                "Color",
                "Colors",
                colors,
                indexed("ColorIndex"),
            ));
            layers[0].push(use_of("LayerElementColor", 0));
        }
        for set in 0.. {
            let name = format!("TEXCOORD_{set}");
            if !has(&name) {
                break;
            }
            let coords = self.values(geometries, &name, [0.0; 2], |[u, v]| [u, 1.0 - v]);
            records.push(element(
                "LayerElementUV",
                set,
                &uv_name(set as usize),
                "UV",
                coords,
                indexed("UVIndex"),
            ));
            if layers.len() <= set as usize {
                layers.push(Vec::new());
            }
            layers[set as usize].push(use_of("LayerElementUV", set));
        }
        records.push(self.material_element());
        layers[0].push(use_of("LayerElementMaterial", 0));
        (records, layers)
    }

    fn material_element(&self) -> Record {
        let (mapping, numbers) = match self.materials.len() {
            1 => ("AllSame", vec![0]),
            _ => ("ByPolygon", self.of_triangles.clone()),
        };
        Record::of("LayerElementMaterial", 0).holding([
            Record::of("Version", 101),
            Record::of("Name", ""),
            Record::of("MappingInformationType", mapping),
            Record::of("ReferenceInformationType", "IndexToDirect"),
            Record::of("Materials", FbxValue::I32s(numbers)),
        ])
    }

    /// An attribute of all corners, in `N` numbers.
    fn values<const N: usize>(
        &self,
        geometries: &[&Geometry],
        name: &str,
        usual: [f32; N],
        convert: impl Fn([f32; N]) -> [f32; N],
    ) -> Vec<f64> {
        let of = |geometry: &Geometry, vertex: u32| {
            let values = geometry
                .attribute(name)
                .map(|it: &Attribute| it.at(vertex as usize));
            let mut found = usual;
            for (place, value) in values.into_iter().flatten().take(N).enumerate() {
                found[place] = *value;
            }
            found
        };
        let corners = geometries.iter().zip(&self.corners);
        corners
            .flat_map(|(geometry, (_, vertex))| convert(of(geometry, *vertex)).map(f64::from))
            .collect()
    }
}

/// The name of a set of texture coordinates, which textures refer to.
pub(super) fn uv_name(set: usize) -> String {
    match set {
        0 => "UVMap".to_owned(),
        set => format!("UVMap_{set}"),
    }
}

/// An element of a layer: values of corners, direct or with indices.
fn element(
    kind: &'static str,
    number: i32,
    name: &str,
    values_name: &'static str,
    values: Vec<f64>,
    indexed: Option<(&'static str, Vec<i32>)>,
) -> Record {
    let reference = if indexed.is_some() {
        "IndexToDirect"
    } else {
        "Direct"
    };
    let record = Record::of(kind, number).holding([
        Record::of("Version", 101),
        Record::of("Name", name),
        Record::of("MappingInformationType", "ByPolygonVertex"),
        Record::of("ReferenceInformationType", reference),
        Record::of(values_name, FbxValue::F64s(values)),
    ]);
    let indices = indexed.map(|(name, indices)| Record::of(name, FbxValue::I32s(indices)));
    record.holding(indices)
}
