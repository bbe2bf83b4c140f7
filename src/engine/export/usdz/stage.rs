//! The stage: nodes as transforms, primitives as meshes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use bytes::Bytes;
use glam::Mat4;

use super::super::super::scene::{Bounds, Draw, Geometry, Mode, Scene, local_matrix};
use super::identifier;
use super::material::UsdMaterials;

/// A stage and the images that it names.
pub(super) struct Stage {
    pub(super) text: String,
    pub(super) images: Vec<(String, Bytes)>,
}

const SAFE: &str = "writing to a string cannot fail";

pub(super) fn write_stage(scene: &Scene) -> Stage {
    let mut draws: BTreeMap<usize, Vec<Draw>> = BTreeMap::new();
    for draw in scene.draws() {
        draws.entry(draw.node).or_default().push(draw);
    }
    let mut writer = StageWriter {
        scene,
        draws,
        worlds: scene.world_matrices(),
        materials: UsdMaterials::new(scene),
        text: String::new(),
        depth: 1,
    };
    writer.write_roots();
    let (materials, images) = writer.materials.finish();
    let header = "#usda 1.0\n(\n    defaultPrim = \"Root\"\n    metersPerUnit = 1\n    upAxis = \"Y\"\n)\n\n";
    let root = "def Xform \"Root\" (\n    kind = \"component\"\n)\n{\n";
    Stage {
        text: format!("{header}{root}{}{materials}}}\n", writer.text),
        images,
    }
}

struct StageWriter<'s> {
    scene: &'s Scene,
    draws: BTreeMap<usize, Vec<Draw>>,
    worlds: Vec<Mat4>,
    materials: UsdMaterials<'s>,
    text: String,
    depth: usize,
}

impl StageWriter<'_> {
    fn line(&mut self, line: &str) {
        for _ in 0..self.depth {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn write_roots(&mut self) {
        // The name of the material scope is taken among the root prims.
        let mut taken: BTreeSet<String> = ["Materials".to_owned()].into();
        for node in self.scene.roots() {
            self.write_node(node, &mut taken);
        }
    }

    fn write_node(&mut self, node: usize, taken: &mut BTreeSet<String>) {
        let json = &self.scene.list("nodes")[node];
        let name = unique(json["name"].as_str().unwrap_or("node"), taken);
        self.line(&format!("def Xform \"{name}\""));
        self.open();
        self.write_matrix(local_matrix(json));
        let mut inner = BTreeSet::new();
        for draw in self.draws.remove(&node).unwrap_or_default() {
            self.write_draw(&draw, &mut inner);
        }
        let children: Vec<usize> = json["children"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|child| child.as_u64().map(|child| child as usize))
            .collect();
        for child in children {
            self.write_node(child, &mut inner);
        }
        self.close();
    }

    fn open(&mut self) {
        self.line("{");
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    fn write_matrix(&mut self, matrix: Mat4) {
        if matrix == Mat4::IDENTITY {
            return;
        }
        let rows: Vec<String> = [matrix.x_axis, matrix.y_axis, matrix.z_axis, matrix.w_axis]
            .iter()
            .map(|row| format!("({}, {}, {}, {})", row.x, row.y, row.z, row.w))
            .collect();
        self.line(&format!(
            "matrix4d xformOp:transform = ( {} )",
            rows.join(", ")
        ));
        self.line("uniform token[] xformOpOrder = [\"xformOp:transform\"]");
    }

    /// Writes the primitives of a mesh below its node. Skins, morph targets and instancing are applied to the vertices
    /// here, in the node's space.
    fn write_draw(&mut self, draw: &Draw, taken: &mut BTreeSet<String>) {
        let mesh = &self.scene.meshes[draw.mesh];
        let to_node = self.worlds[draw.node].inverse();
        let base = mesh.name().unwrap_or("mesh").to_owned();
        for primitive in &mesh.primitives {
            let geometry = &self.scene.geometries[primitive.geometry];
            if geometry.mode != Mode::Triangles || geometry.indices.is_empty() {
                continue;
            }
            let name = unique(&base, taken);
            self.line(&format!("def Mesh \"{name}\" ("));
            self.line("    prepend apiSchemas = [\"MaterialBindingAPI\"]");
            self.line(")");
            self.open();
            self.write_geometry(draw, geometry, to_node);
            let material = self.materials.path_of(primitive.material);
            let is_double_sided = self.scene.material(primitive.material).double_sided;
            if is_double_sided {
                self.line("uniform bool doubleSided = 1");
            }
            self.line(&format!("rel material:binding = <{material}>"));
            self.line("uniform token subdivisionScheme = \"none\"");
            self.close();
        }
    }

    fn write_geometry(&mut self, draw: &Draw, geometry: &Geometry, to_node: Mat4) {
        let positions: Vec<_> = draw
            .world_positions(geometry)
            .into_iter()
            .map(|position| to_node.transform_point3(position))
            .collect();
        let mut bounds = None;
        for position in &positions {
            Bounds::grow(&mut bounds, *position);
        }
        if let Some(bounds) = bounds {
            let (min, max) = (bounds.min, bounds.max);
            self.line(&format!(
                "float3[] extent = [({}, {}, {}), ({}, {}, {})]",
                min.x, min.y, min.z, max.x, max.y, max.z
            ));
        }
        let faces = geometry.indices.len() / 3;
        self.list(
            "int[] faceVertexCounts = ",
            (0..faces).map(|_| "3".to_owned()),
        );
        let is_mirrored = (to_node * draw.vertex_matrix(geometry, 0)).determinant() < 0.0;
        let corners = geometry.indices.chunks_exact(3).flat_map(|corners| {
            let turned = [corners[0], corners[2], corners[1]];
            if is_mirrored {
                turned
            } else {
                [corners[0], corners[1], corners[2]]
            }
        });
        self.list(
            "int[] faceVertexIndices = ",
            corners.map(|corner| corner.to_string()),
        );
        self.list(
            "point3f[] points = ",
            positions
                .iter()
                .map(|at| format!("({}, {}, {})", at.x, at.y, at.z)),
        );
        self.write_normals(draw, geometry, to_node);
        self.write_coords(geometry);
        if let Some(colors) = geometry.attribute("COLOR_0") {
            self.list(
                "color3f[] primvars:displayColor = ",
                (0..colors.count()).map(|vertex| {
                    let color = colors.at(vertex);
                    format!("({}, {}, {})", color[0], color[1], color[2])
                }),
            );
            self.interpolated();
        }
    }

    fn write_normals(&mut self, draw: &Draw, geometry: &Geometry, to_node: Mat4) {
        let Some(normals) = geometry.attribute("NORMAL") else {
            return;
        };
        let written = (0..normals.count()).map(|vertex| {
            let matrix = glam::Mat3::from_mat4(to_node * draw.vertex_matrix(geometry, vertex));
            let turn = if matrix.determinant() == 0.0 {
                matrix
            } else {
                matrix.inverse().transpose()
            };
            let normal =
                (turn * glam::Vec3::from_slice(normals.at(vertex))).normalize_or(glam::Vec3::Y);
            format!("({}, {}, {})", normal.x, normal.y, normal.z)
        });
        let written: Vec<String> = written.collect();
        self.list("normal3f[] normals = ", written.into_iter());
        self.interpolated();
    }

    fn write_coords(&mut self, geometry: &Geometry) {
        for set in 0..2 {
            let Some(coords) = geometry.attribute(&format!("TEXCOORD_{set}")) else {
                return;
            };
            let name = coord_name(set);
            let written: Vec<String> = coords
                .values
                .chunks_exact(2)
                .map(|uv| format!("({}, {})", uv[0], 1.0 - uv[1]))
                .collect();
            self.list(
                &format!("texCoord2f[] primvars:{name} = "),
                written.into_iter(),
            );
            self.interpolated();
        }
    }

    fn list(&mut self, start: &str, elements: impl Iterator<Item = String>) {
        for _ in 0..self.depth {
            self.text.push_str("    ");
        }
        self.text.push_str(start);
        self.text.push('[');
        for (index, element) in elements.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(self.text, "{comma}{element}").expect(SAFE);
        }
        self.text.push_str("]\n");
    }

    /// Declares that the array just written has one value for each vertex.
    fn interpolated(&mut self) {
        self.text.pop();
        self.text.push_str(" (\n");
        self.line("    interpolation = \"vertex\"");
        self.line(")");
    }
}

/// The primvar of a set of texture coordinates.
pub(super) fn coord_name(set: usize) -> String {
    match set {
        0 => "st".to_owned(),
        set => format!("st{set}"),
    }
}

fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let base = identifier(name);
    let mut name = base.clone();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}
