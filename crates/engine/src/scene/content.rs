//! The content of a scene: meshes, geometries, images, tables of numbers, and the rest as glTF JSON.

use assetfs_formats::ImageKind;
use bytes::Bytes;
use glam::DVec3;
use serde_json::{Map, Value};

use super::super::document::{ComponentType, ElementType};
use super::geometry::Geometry;

/// A model in memory.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// The top-level glTF object without `meshes`, `images`, `accessors`, `bufferViews` and `buffers`.
    ///
    /// References to accessors in skins, animations and instancing are indices into `tables`; `bufferView` in unknown
    /// extensions is an index into `blobs`.
    pub json: Map<String, Value>,
    /// The meshes that nodes draw.
    pub meshes: Vec<Mesh>,
    /// The geometry of primitives; primitives that share their data share an entry.
    pub geometries: Vec<Geometry>,
    /// The images that textures refer to.
    pub images: Vec<Image>,
    /// The numbers of skins, animations and instancing.
    pub tables: Vec<Table>,
    /// Binary data of extensions that pass through.
    pub blobs: Vec<Bytes>,
    /// The point of the world that matrices to the world, and what is computed with them, are measured from: zero, unless
    /// the model is far away ([`Scene::choose_origin`]).
    pub origin: DVec3,
}

/// A mesh: primitives drawn together.
#[derive(Debug, Clone, Default)]
pub struct Mesh {
    /// The glTF object without its primitives: name, weights, extras, extensions.
    pub json: Map<String, Value>,
    pub primitives: Vec<Primitive>,
}

/// A geometry with a material.
#[derive(Debug, Clone, Default)]
pub struct Primitive {
    /// Index into [`Scene::geometries`].
    pub geometry: usize,
    /// Index into the JSON's materials.
    pub material: Option<usize>,
    /// The rest of the glTF object: extras and extensions.
    pub json: Map<String, Value>,
}

/// An image as it is stored.
#[derive(Debug, Clone, Default)]
pub struct Image {
    /// The rest of the glTF object: name, extras, extensions.
    pub json: Map<String, Value>,
    /// The name of the source file, if the image was a file.
    pub file_name: Option<String>,
    /// The media type, such as `image/png`; detected from the bytes if possible.
    pub media_type: String,
    /// The encoded bytes.
    pub bytes: Bytes,
    /// For an image that was baked, the kind of the images that it replaces. It is lossless, and each export encodes it
    /// anew in its own format.
    pub replaces: Option<ImageKind>,
}

impl Image {
    /// The kind that its media type names, if it is a known one.
    pub fn kind(&self) -> Option<ImageKind> {
        ImageKind::of_media_type(&self.media_type)
    }

    /// The usual extension of files of its kind.
    pub fn extension(&self) -> &'static str {
        self.kind().map_or("bin", ImageKind::name)
    }

    /// The name of its source file without the extension.
    pub fn file_stem(&self) -> Option<&str> {
        self.file_name.as_deref().map(without_extension)
    }
}

/// A name without what follows its last dot.
pub fn without_extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// Numbers that pass through: keyframes, matrices, instance transforms.
#[derive(Debug, Clone)]
pub struct Table {
    /// The shape of an element.
    pub element: ElementType,
    /// How a component is stored in the file.
    pub component: ComponentType,
    /// Whether stored integers are normalized.
    pub normalized: bool,
    /// The components after normalization.
    pub values: Vec<f32>,
}

impl Table {
    /// Elements.
    pub fn count(&self) -> usize {
        self.values.len() / self.element.components()
    }
}

impl Primitive {
    /// The materials that `KHR_materials_variants` may put in place of the primitive's own, as indices in its JSON.
    pub fn variant_materials_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.json
            .get_mut("extensions")
            .and_then(|extensions| extensions.get_mut("KHR_materials_variants"))
            .and_then(|variants| variants.get_mut("mappings"))
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .filter_map(|mapping| mapping.get_mut("material"))
    }
}

impl Mesh {
    pub fn name(&self) -> Option<&str> {
        self.json.get("name")?.as_str()
    }
}

impl Scene {
    /// The array `list` of the JSON; empty when it is not there.
    pub fn list(&self, list: &str) -> &[Value] {
        self.json
            .get(list)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// The array `list` of the JSON, to change it; `None` when it is not there.
    pub fn list_mut(&mut self, list: &str) -> Option<&mut Vec<Value>> {
        self.json.get_mut(list)?.as_array_mut()
    }

    /// Adds an entry to a list of the JSON; returns its number.
    pub fn push(&mut self, list: &str, entry: Value) -> usize {
        let entries = self
            .json
            .entry(list)
            .or_insert_with(|| Value::Array(Vec::new()));
        let Some(entries) = entries.as_array_mut() else {
            return 0;
        };
        entries.push(entry);
        entries.len() - 1
    }

    /// Whether the JSON says that it uses the extension.
    pub fn uses_extension(&self, name: &str) -> bool {
        self.list("extensionsUsed")
            .iter()
            .any(|used| used.as_str() == Some(name))
    }

    /// Whether there is anything to draw: triangles, lines or points.
    pub fn has_geometry(&self) -> bool {
        let mut geometries = self.geometries.iter();
        geometries.any(|geometry| !geometry.indices.is_empty())
    }

    /// Triangles as a viewer counts them: those of each mesh times the nodes that draw it.
    ///
    /// A mesh that no node draws counts once, since it is in the file.
    pub fn drawn_triangles(&self) -> u64 {
        let uses = self.geometry_uses();
        self.geometries
            .iter()
            .zip(&uses)
            .map(|(geometry, uses)| geometry.triangle_count() as u64 * uses)
            .sum()
    }

    /// How often each geometry is drawn, at least 1.
    pub fn geometry_uses(&self) -> Vec<u64> {
        let mut mesh_uses = vec![0u64; self.meshes.len()];
        for node in self.list("nodes") {
            if let Some(mesh) = index_in(node, "mesh") {
                mesh_uses[mesh] += self.instances_of(node);
            }
        }
        let mut uses = vec![0; self.geometries.len()];
        for (mesh, count) in self.meshes.iter().zip(mesh_uses) {
            for primitive in &mesh.primitives {
                uses[primitive.geometry] += count.max(1);
            }
        }
        uses.iter_mut().for_each(|count| *count = (*count).max(1));
        uses
    }

    /// How often a node draws its mesh: once, or as often as its instancing extension says.
    fn instances_of(&self, node: &Value) -> u64 {
        let attributes = &node["extensions"]["EXT_mesh_gpu_instancing"]["attributes"];
        attributes
            .as_object()
            .and_then(|attributes| attributes.values().next()?.as_u64())
            .and_then(|table| self.tables.get(table as usize))
            .map_or(1, |table| table.count() as u64)
    }
}

/// The indices in the list that `json[key]` holds.
pub fn indices_in<'j>(json: &'j Value, key: &str) -> impl Iterator<Item = usize> + use<'j> {
    let list = json.get(key).and_then(Value::as_array);
    let indices = list.into_iter().flatten().filter_map(Value::as_u64);
    indices.map(|index| index as usize)
}

/// Removes an extension from a glTF object, and `extensions` with it when it was the last.
pub fn drop_extension(json: &mut Map<String, Value>, name: &str) {
    if let Some(extensions) = json.get_mut("extensions").and_then(Value::as_object_mut) {
        extensions.shift_remove(name);
        if extensions.is_empty() {
            json.shift_remove("extensions");
        }
    }
}

/// The index that `json[key]` holds.
pub fn index_in(json: &Value, key: &str) -> Option<usize> {
    json.get(key)?.as_u64().map(|index| index as usize)
}
