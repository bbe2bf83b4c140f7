//! A scene as glTF or GLB.
//!
//! Writes what the scene uses and nothing else: primitives without triangles, meshes without
//! primitives and images that no texture shows are left out, and every reference is fitted.

use serde_json::{Map, Value, json};

use super::super::document::glb;
use super::super::import::images::extension_of;
use super::super::scene::{Geometry, Mode, Primitive, Scene, Storage, index_in};
use super::super::settings::MeshCompression;
use super::draco;
use super::names::Names;
use super::views::{Use, Views};
use super::{ExportError, OutFile};

/// A GLB file can say no greater length than this.
const MAX_GLB_LEN_BYTES: u64 = u32::MAX as u64;

/// The scene as one GLB file.
pub fn write_glb(scene: &Scene, compression: MeshCompression) -> Result<Vec<u8>, ExportError> {
    let mut writer = Writer::new(scene, compression);
    let images = writer.embed_images();
    let (json, bin) = writer.finish(images, None);
    let text = to_text(&json);
    let total = text.len() as u64 + bin.len() as u64 + 64;
    if total > MAX_GLB_LEN_BYTES {
        return Err(ExportError::TooLarge {
            format: "GLB",
            bytes: total,
        });
    }
    Ok(glb::join(&text, &bin))
}

/// The scene as `<stem>.gltf`, `<stem>.bin` and image files, in this order.
pub fn write_gltf(
    scene: &Scene,
    stem: &str,
    names: &mut Names,
    compression: MeshCompression,
) -> Result<Vec<OutFile>, ExportError> {
    let mut writer = Writer::new(scene, compression);
    let (images, image_files) = writer.name_images(stem, names);
    let bin_name = names.take(stem, "bin");
    let (json, bin) = writer.finish(images, Some(&percent_encode(&bin_name)));
    let mut files = Vec::new();
    if !bin.is_empty() {
        files.push(OutFile {
            name: bin_name,
            bytes: bin.into(),
        });
    }
    let main = OutFile {
        name: names.take(stem, "gltf"),
        bytes: to_text(&json).into(),
    };
    files.insert(0, main);
    files.extend(image_files);
    Ok(files)
}

fn to_text(json: &Map<String, Value>) -> Vec<u8> {
    serde_json::to_vec(json).expect("a JSON value can be written to memory")
}

/// A file name as a URI: everything is encoded that is not plainly allowed in a path.
pub(super) fn percent_encode(name: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~')
        .remove(b'/');
    utf8_percent_encode(name, KEPT).to_string()
}

struct Writer<'s> {
    scene: &'s Scene,
    json: Map<String, Value>,
    views: Views,
    /// The accessors of each geometry, once written.
    written: Vec<Option<Map<String, Value>>>,
    /// The new index of each image that some texture shows.
    image_places: Vec<Option<usize>>,
    compression: MeshCompression,
    /// Whether any geometry is packed with Draco.
    has_draco: bool,
}

impl<'s> Writer<'s> {
    fn new(scene: &'s Scene, compression: MeshCompression) -> Writer<'s> {
        let mut writer = Writer {
            scene,
            json: scene.json.clone(),
            compression,
            has_draco: false,
            views: match compression {
                MeshCompression::Meshopt => Views::packing(),
                _ => Views::default(),
            },
            written: vec![None; scene.geometries.len()],
            image_places: image_places(scene),
        };
        writer.set_generator();
        writer.write_meshes();
        writer.write_tables();
        writer.write_blobs();
        writer.fit_textures();
        writer
    }

    /// The JSON and the buffer; `bin_uri` names the buffer's file, where it is one.
    fn finish(
        mut self,
        images: Vec<Value>,
        bin_uri: Option<&str>,
    ) -> (Map<String, Value>, Vec<u8>) {
        if !images.is_empty() {
            self.json.insert("images".to_owned(), Value::Array(images));
        }
        let finished = self.views.finish();
        let mut buffers = Vec::new();
        if !finished.buffer.is_empty() {
            let mut buffer = json!({ "byteLength": finished.buffer.len() });
            if let Some(uri) = bin_uri {
                buffer["uri"] = uri.into();
            }
            buffers.push(buffer);
        }
        if let Some(length) = finished.fallback_len_bytes {
            buffers.push(json!({
                "byteLength": length,
                "extensions": { "EXT_meshopt_compression": { "fallback": true } },
            }));
            require_extension(&mut self.json, "EXT_meshopt_compression");
        }
        if self.has_draco {
            require_extension(&mut self.json, "KHR_draco_mesh_compression");
        }
        for (name, list) in [
            ("accessors", finished.accessors),
            ("bufferViews", finished.views),
            ("buffers", buffers),
        ] {
            if !list.is_empty() {
                self.json.insert(name.to_owned(), Value::Array(list));
            }
        }
        // An empty array is an error in glTF wherever a list may be left out.
        self.json
            .retain(|_, member| member.as_array().is_none_or(|list| !list.is_empty()));
        (self.json, finished.buffer)
    }

    fn set_generator(&mut self) {
        let asset = self.json.entry("asset").or_insert_with(|| json!({}));
        if let Some(asset) = asset.as_object_mut() {
            asset.insert("version".to_owned(), "2.0".into());
            let generator = concat!("assetfs ", env!("CARGO_PKG_VERSION"));
            asset.insert("generator".to_owned(), generator.into());
        }
    }

    fn write_meshes(&mut self) {
        let mut meshes = Vec::new();
        let mut places = Vec::new();
        for mesh in &self.scene.meshes {
            let primitives: Vec<Value> = mesh
                .primitives
                .iter()
                .filter(|primitive| is_drawable(&self.scene.geometries[primitive.geometry]))
                .map(|primitive| self.write_primitive(primitive))
                .collect();
            if primitives.is_empty() {
                places.push(None);
                continue;
            }
            let mut json = mesh.json.clone();
            json.insert("primitives".to_owned(), Value::Array(primitives));
            places.push(Some(meshes.len()));
            meshes.push(Value::Object(json));
        }
        self.json.insert("meshes".to_owned(), Value::Array(meshes));
        self.fit_nodes(&places);
    }

    /// Nodes point to the meshes that are left; a node whose mesh is gone draws nothing.
    fn fit_nodes(&mut self, places: &[Option<usize>]) {
        let Some(nodes) = self.json.get_mut("nodes").and_then(Value::as_array_mut) else {
            return;
        };
        for node in nodes {
            let Some(mesh) = index_in(node, "mesh") else {
                continue;
            };
            match places[mesh] {
                Some(place) => node["mesh"] = place.into(),
                None => {
                    let node = node.as_object_mut().expect("a node with a mesh");
                    for key in ["mesh", "skin", "weights"] {
                        node.shift_remove(key);
                    }
                }
            }
        }
    }

    fn write_primitive(&mut self, primitive: &Primitive) -> Value {
        let mut json = match &self.written[primitive.geometry] {
            Some(written) => written.clone(),
            None => {
                let written = self.write_geometry(&self.scene.geometries[primitive.geometry]);
                self.written[primitive.geometry] = Some(written.clone());
                written
            }
        };
        if let Some(material) = primitive.material {
            json.insert("material".to_owned(), material.into());
        }
        for (key, member) in &primitive.json {
            match (json.get_mut(key), member) {
                // The geometry may have brought an extension of its own.
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
                _ => {
                    json.insert(key.clone(), member.clone());
                }
            }
        }
        Value::Object(json)
    }

    fn write_geometry(&mut self, geometry: &Geometry) -> Map<String, Value> {
        if self.compression == MeshCompression::Draco
            && let Some(packed) = draco::pack(geometry)
        {
            return self.write_draco(geometry, packed);
        }
        let mut json = Map::new();
        let mut attributes = Map::new();
        for attribute in &geometry.attributes {
            let accessor = self.views.add_attribute(attribute);
            attributes.insert(attribute.name.clone(), accessor.into());
        }
        json.insert("attributes".to_owned(), Value::Object(attributes));
        let vertex_count = geometry.vertex_count();
        let in_order = geometry.indices.len() == vertex_count
            && geometry.indices.iter().copied().eq(0..vertex_count as u32);
        if !in_order {
            let are_triangles = geometry.mode == Mode::Triangles;
            let accessor = self
                .views
                .add_indices(&geometry.indices, vertex_count, are_triangles);
            json.insert("indices".to_owned(), accessor.into());
        }
        if geometry.mode != Mode::Triangles {
            json.insert("mode".to_owned(), geometry.mode.code().into());
        }
        if !geometry.targets.is_empty() {
            let targets = geometry.targets.iter().map(|target| {
                let members = target.iter().map(|attribute| {
                    let accessor = match geometry.sparse_targets {
                        true => self.views.add_sparse_attribute(attribute),
                        false => self.views.add_attribute(attribute),
                    };
                    (attribute.name.clone(), accessor.into())
                });
                Value::Object(members.collect())
            });
            let targets = targets.collect();
            json.insert("targets".to_owned(), Value::Array(targets));
        }
        json
    }

    /// Accessors without data of their own tell what the packed data holds.
    fn write_draco(&mut self, geometry: &Geometry, packed: draco::Packed) -> Map<String, Value> {
        self.has_draco = true;
        let (mut attributes, mut ids) = (Map::new(), Map::new());
        for (id, attribute) in geometry.attributes.iter().enumerate() {
            let mut accessor = Map::new();
            let component = match draco::stored_as(attribute) {
                draco_core::DataType::Uint8 => 5121,
                draco_core::DataType::Uint16 => 5123,
                _ => 5126,
            };
            let element = super::views::element_of(attribute.components);
            accessor.insert("componentType".to_owned(), component.into());
            accessor.insert("count".to_owned(), packed.points.into());
            accessor.insert("type".to_owned(), element.name().into());
            if attribute.name == "POSITION" {
                accessor.insert("min".to_owned(), json!(packed.bounds.0));
                accessor.insert("max".to_owned(), json!(packed.bounds.1));
            }
            let accessor = self.views.add_accessor(accessor);
            attributes.insert(attribute.name.clone(), accessor.into());
            ids.insert(attribute.name.clone(), id.into());
        }
        let mut indices = Map::new();
        let component = if packed.points <= usize::from(u16::MAX) {
            5123
        } else {
            5125
        };
        indices.insert("componentType".to_owned(), component.into());
        indices.insert("count".to_owned(), (packed.triangles * 3).into());
        indices.insert("type".to_owned(), "SCALAR".into());
        let indices = self.views.add_accessor(indices);
        let view = self.views.add_bytes(&packed.bytes);
        let mut json = Map::new();
        json.insert("attributes".to_owned(), Value::Object(attributes));
        json.insert("indices".to_owned(), indices.into());
        json.insert(
            "extensions".to_owned(),
            json!({ "KHR_draco_mesh_compression": { "bufferView": view, "attributes": ids } }),
        );
        json
    }

    /// Skins, animations and instancing point to accessors again.
    fn write_tables(&mut self) {
        let mut accessors = vec![None; self.scene.tables.len()];
        let mut json = std::mem::take(&mut self.json);
        for_each_table(&mut json, |usage, reference| {
            let Some(table) = reference.as_u64() else {
                return;
            };
            let table = table as usize;
            let accessor = *accessors[table].get_or_insert_with(|| {
                let numbers = &self.scene.tables[table];
                let storage = Storage {
                    component: numbers.component,
                    normalized: numbers.normalized,
                };
                let with_limits = usage == Use::KeyTimes;
                self.views.add_numbers(
                    usage,
                    numbers.element,
                    storage,
                    &numbers.values,
                    with_limits,
                )
            });
            *reference = accessor.into();
        });
        self.json = json;
    }

    fn write_blobs(&mut self) {
        let mut json = Value::Object(std::mem::take(&mut self.json));
        self.fit_blobs(&mut json, false);
        if let Value::Object(json) = json {
            self.json = json;
        }
    }

    fn fit_blobs(&mut self, at: &mut Value, in_extension: bool) {
        match at {
            Value::Array(elements) => {
                elements
                    .iter_mut()
                    .for_each(|element| self.fit_blobs(element, in_extension));
            }
            Value::Object(members) => {
                let is_property = in_extension && members.get("values").is_some_and(Value::is_u64);
                for (key, member) in members.iter_mut().filter(|(key, _)| {
                    !["extras", "KHR_draco_mesh_compression"].contains(&key.as_str())
                }) {
                    let is_metadata = ["values", "arrayOffsets", "stringOffsets"];
                    let names_view = in_extension && key == "bufferView"
                        || is_property && is_metadata.contains(&key.as_str());
                    match member.as_u64().filter(|_| names_view) {
                        Some(blob) => {
                            let view = self.views.add_bytes(&self.scene.blobs[blob as usize]);
                            *member = view.into();
                        }
                        None => self.fit_blobs(member, in_extension || key == "extensions"),
                    }
                }
            }
            _ => {}
        }
    }

    fn fit_textures(&mut self) {
        let Some(textures) = self.json.get_mut("textures").and_then(Value::as_array_mut) else {
            return;
        };
        for texture in textures {
            fit_source(texture, &self.image_places);
            if let Some(extensions) = texture.get_mut("extensions").and_then(Value::as_object_mut) {
                for extension in extensions.values_mut() {
                    fit_source(extension, &self.image_places);
                }
            }
        }
    }

    fn embed_images(&mut self) -> Vec<Value> {
        let scene = self.scene;
        let shown = scene.images.iter().zip(&self.image_places);
        let mut images = Vec::new();
        for (image, _) in shown.filter(|(_, place)| place.is_some()) {
            let mut json = image.json.clone();
            json.insert("mimeType".to_owned(), image.media_type.clone().into());
            let view = self.views.add_bytes(&image.bytes);
            json.insert("bufferView".to_owned(), view.into());
            images.push(Value::Object(json));
        }
        images
    }

    fn name_images(&mut self, stem: &str, names: &mut Names) -> (Vec<Value>, Vec<OutFile>) {
        let mut images = Vec::new();
        let mut files = Vec::new();
        let shown = self.scene.images.iter().zip(&self.image_places);
        for (index, (image, _)) in shown.filter(|(_, place)| place.is_some()).enumerate() {
            let name = names.take_image(image, stem, index, extension_of(&image.media_type));
            let mut json = image.json.clone();
            json.insert("uri".to_owned(), percent_encode(&name).into());
            images.push(Value::Object(json));
            files.push(OutFile {
                name,
                bytes: image.bytes.clone(),
            });
        }
        (images, files)
    }
}

/// Adds a name to the extensions that a reader has to know.
fn require_extension(json: &mut Map<String, Value>, name: &str) {
    for list in ["extensionsUsed", "extensionsRequired"] {
        let names = json.entry(list).or_insert_with(|| json!([]));
        if let Some(names) = names.as_array_mut() {
            names.push(name.into());
        }
    }
}

fn is_drawable(geometry: &Geometry) -> bool {
    !geometry.indices.is_empty() && geometry.vertex_count() > 0
}

fn fit_source(json: &mut Value, places: &[Option<usize>]) {
    if let Some(place) = index_in(json, "source").and_then(|image| places[image]) {
        json["source"] = place.into();
    }
}

/// The new index of each image that has bytes.
fn image_places(scene: &Scene) -> Vec<Option<usize>> {
    let mut next = 0;
    let is_shown = |image: &usize| !scene.images[*image].bytes.is_empty();
    (0..scene.images.len())
        .map(|image| {
            is_shown(&image).then(|| {
                next += 1;
                next - 1
            })
        })
        .collect()
}

/// Calls `change` with every reference from skins, animations and nodes to a table.
fn for_each_table(json: &mut Map<String, Value>, mut change: impl FnMut(Use, &mut Value)) {
    let list = |json: &mut Map<String, Value>, name: &str| -> Vec<Value> {
        match json.get_mut(name) {
            Some(Value::Array(list)) => std::mem::take(list),
            _ => Vec::new(),
        }
    };
    let mut skins = list(json, "skins");
    for skin in &mut skins {
        if let Some(reference) = skin.get_mut("inverseBindMatrices") {
            change(Use::Bind, reference);
        }
    }
    let mut animations = list(json, "animations");
    for animation in &mut animations {
        let samplers = animation.get_mut("samplers").and_then(Value::as_array_mut);
        for sampler in samplers.into_iter().flatten() {
            for (key, usage) in [("input", Use::KeyTimes), ("output", Use::KeyValues)] {
                if let Some(reference) = sampler.get_mut(key) {
                    change(usage, reference);
                }
            }
        }
    }
    let mut nodes = list(json, "nodes");
    for node in &mut nodes {
        let attributes = node.pointer_mut("/extensions/EXT_mesh_gpu_instancing/attributes");
        for reference in attributes
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(Map::values_mut)
        {
            change(Use::Instance, reference);
        }
    }
    for (name, values) in [
        ("skins", skins),
        ("animations", animations),
        ("nodes", nodes),
    ] {
        if json.contains_key(name) {
            json.insert(name.to_owned(), Value::Array(values));
        }
    }
}
