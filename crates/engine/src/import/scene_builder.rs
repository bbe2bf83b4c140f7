//! Builds scenes for importers of formats other than glTF.

use std::collections::HashMap;
use std::path::Path;

use assetfs_formats::ImageKind;
use bytes::Bytes;
use glam::DVec3;
use serde_json::{Map, Value, json};

use super::super::scene::{Geometry, Image, Mesh, Primitive, Scene, UvTransform, Wrap, indices_in};
use super::super::settings::MeshCompression;
use super::imported::Imported;
use assetfs_formats::warnings::{Warning, WarningKind};

pub(super) struct SceneBuilder {
    scene: Scene,
    roots: Vec<usize>,
    skins: usize,
    /// The translation of roots that draw a mesh.
    offset: DVec3,
    /// Parts of the model that were left out or changed.
    pub(super) warnings: Vec<Warning>,
}

impl SceneBuilder {
    pub(super) fn new() -> SceneBuilder {
        let mut scene = Scene::default();
        scene
            .json
            .insert("asset".to_owned(), json!({ "version": "2.0" }));
        SceneBuilder {
            scene,
            roots: Vec::new(),
            skins: 0,
            offset: DVec3::ZERO,
            warnings: Vec::new(),
        }
    }

    pub(super) fn add_image(&mut self, file_name: &str, kind: ImageKind, bytes: Bytes) -> usize {
        self.scene.images.push(Image {
            json: Map::new(),
            file_name: Some(file_name.to_owned()),
            media_type: kind.media_type().to_owned(),
            bytes,
            replaces: None,
        });
        self.scene.images.len() - 1
    }

    pub(super) fn add_texture(&mut self, image: usize) -> usize {
        self.scene.push("textures", json!({ "source": image }))
    }

    /// Adds a texture with a way to repeat it in each direction, if there is no such texture yet.
    fn add_wrapped_texture(&mut self, image: usize, wraps: [Wrap; 2]) -> usize {
        let mut texture = json!({ "source": image });
        if wraps != [Wrap::Repeat; 2] {
            let [s, t] = wraps.map(Wrap::code);
            let sampler = json!({ "wrapS": s, "wrapT": t });
            texture["sampler"] = self.add_once("samplers", sampler).into();
        }
        self.add_once("textures", texture)
    }

    /// Names a part of the model that is left out or changed.
    pub(super) fn warn(&mut self, kind: WarningKind, text: impl Into<String>) {
        self.warnings.push(Warning::new(kind, text));
    }

    /// Adds an image of this name as PNG; or, if it could not be made, the warning.
    pub(super) fn add_png(&mut self, name: &str, png: Result<Bytes, Warning>) -> Option<usize> {
        match png {
            Ok(bytes) => {
                let name = Path::new(name).with_extension("png");
                Some(self.add_image(&name.to_string_lossy(), ImageKind::Png, bytes))
            }
            Err(warning) => {
                self.warnings.push(warning);
                None
            }
        }
    }

    /// The JSON of a material's use of an image.
    pub(super) fn texture_use(
        &mut self,
        image: usize,
        set: usize,
        wraps: [Wrap; 2],
        transform: UvTransform,
    ) -> Value {
        let mut json = json!({ "index": self.add_wrapped_texture(image, wraps) });
        if set > 0 {
            json["texCoord"] = set.into();
        }
        if transform != UvTransform::default() {
            json["extensions"] = json!({ "KHR_texture_transform": transform.to_json() });
            self.use_extension("KHR_texture_transform");
        }
        json
    }

    /// Says that the scene uses an extension.
    pub(super) fn use_extension(&mut self, name: &str) {
        self.add_once("extensionsUsed", name.into());
    }

    pub(super) fn add_material(&mut self, material: Value) -> usize {
        self.scene.push("materials", material)
    }

    /// Adds a mesh of geometries with their materials; returns its index.
    pub(super) fn add_mesh(
        &mut self,
        name: Option<&str>,
        parts: Vec<(Geometry, Option<usize>)>,
    ) -> usize {
        let mut json = Map::new();
        if let Some(name) = name {
            json.insert("name".to_owned(), name.into());
        }
        let mut primitives = Vec::new();
        for (geometry, material) in parts {
            self.scene.geometries.push(geometry);
            primitives.push(Primitive {
                geometry: self.scene.geometries.len() - 1,
                material,
                json: Map::new(),
            });
        }
        self.scene.meshes.push(Mesh { json, primitives });
        self.scene.meshes.len() - 1
    }

    /// Adds members to a mesh's JSON.
    pub(super) fn extend_mesh(&mut self, mesh: usize, members: Value) {
        if let Value::Object(members) = members {
            self.scene.meshes[mesh].json.extend(members);
        }
    }

    /// The index that the next skin will have.
    pub(super) fn next_skin(&mut self) -> usize {
        self.skins += 1;
        self.skins - 1
    }

    pub(super) fn add_node(&mut self, node: Value) -> usize {
        self.scene.push("nodes", node)
    }

    pub(super) fn add_children(&mut self, node: usize, children: &[usize]) {
        if let Some(Value::Object(node)) =
            self.scene.list_mut("nodes").and_then(|it| it.get_mut(node))
        {
            let known = node.entry("children").or_insert_with(|| json!([]));
            if let Value::Array(known) = known {
                known.extend(children.iter().map(|child| json!(child)));
            }
        }
    }

    /// A node and all below it, children first.
    pub(super) fn tree_of(&self, node: usize) -> Vec<usize> {
        let nodes = self.scene.list("nodes");
        let mut tree = vec![node];
        let mut at = 0;
        while let Some(node) = tree.get(at) {
            tree.extend(indices_in(&nodes[*node], "children"));
            at += 1;
        }
        tree.reverse();
        tree
    }

    /// Whether a node of these has a skin.
    pub(super) fn has_skin(&self, tree: &[usize]) -> bool {
        let nodes = self.scene.list("nodes");
        tree.iter().any(|node| nodes[*node].get("skin").is_some())
    }

    /// Adds copies of the nodes of a tree, which draw the same meshes; returns the copy of each node.
    pub(super) fn copy_tree(&mut self, tree: &[usize]) -> HashMap<usize, usize> {
        let mut copies = HashMap::new();
        for node in tree {
            let mut copy = self.scene.list("nodes")[*node].clone();
            let children: Vec<usize> = indices_in(&copy, "children")
                .filter_map(|child| copies.get(&child).copied())
                .collect();
            if !children.is_empty() {
                copy["children"] = json!(children);
            }
            copies.insert(*node, self.add_node(copy));
        }
        copies
    }

    /// Puts the roots that are added later at the offset that was subtracted from their positions.
    pub(super) fn set_offset(&mut self, offset: DVec3) {
        self.offset = offset;
    }

    /// Adds a root node that draws a mesh.
    pub(super) fn add_root(&mut self, name: Option<&str>, mesh: usize) {
        let mut node = drawing(mesh, self.offset);
        if let Some(name) = name {
            node["name"] = name.into();
        }
        let node = self.add_node(node);
        self.roots.push(node);
    }

    pub(super) fn set_root(&mut self, node: usize) {
        self.roots = vec![node];
    }

    pub(super) fn set_roots(&mut self, nodes: Vec<usize>) {
        self.roots = nodes;
    }

    /// The scene with its roots.
    pub(super) fn finish(mut self) -> Scene {
        if !self.roots.is_empty() {
            self.scene.json.insert("scene".to_owned(), 0.into());
            self.scene
                .json
                .insert("scenes".to_owned(), json!([{ "nodes": self.roots }]));
        }
        self.scene
    }

    /// The scene as the model of a file.
    pub(super) fn finish_model(
        mut self,
        model: &Path,
        format: &'static str,
        size_bytes: u64,
    ) -> Imported {
        Imported {
            packing: MeshCompression::None,
            warnings: std::mem::take(&mut self.warnings),
            scene: self.finish(),
            model: model.to_owned(),
            format,
            size_bytes,
        }
    }

    /// The index of an equal entry, which is added if there is none.
    fn add_once(&mut self, list: &str, value: Value) -> usize {
        let known = self
            .scene
            .list(list)
            .iter()
            .position(|entry| *entry == value);
        known.unwrap_or_else(|| self.scene.push(list, value))
    }
}

/// A node that draws a mesh from whose positions an offset was subtracted.
pub(super) fn drawing(mesh: usize, offset: DVec3) -> Value {
    let mut node = json!({ "mesh": mesh });
    if offset != DVec3::ZERO {
        node["translation"] = json!(offset.to_array());
    }
    node
}
