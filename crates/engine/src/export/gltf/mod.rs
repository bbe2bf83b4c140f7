//! Writes a scene as glTF or GLB.
//!
//! Only what the scene uses is written: primitives without triangles, meshes without primitives and images that no
//! texture shows are left out, and every reference is updated.

mod compact;
mod geometry;
mod references;
mod scaled_nodes;
mod whole_positions;

use serde_json::{Map, Value, json};

use super::super::document::glb;
use super::super::scene::{Geometry, Scene, index_in};
use super::super::settings::MeshCompression;
use super::error::ExportError;
use super::names::Names;
use super::out_file::OutFile;
use super::rounding::Steps;
use super::views::Views;
use assetfs_formats::file_names::uri_of_name;
use compact::compact;
use references::{fit_textures, image_places, write_blobs, write_tables};
use whole_positions::WholePositions;

/// The greatest length that the header of a GLB file can hold.
const MAX_GLB_LEN_BYTES: u64 = u32::MAX as u64;

pub fn write_glb(scene: &Scene, compression: MeshCompression) -> Result<Vec<u8>, ExportError> {
    let mut writer = GltfWriter::new(scene, compression);
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
    let mut writer = GltfWriter::new(scene, compression);
    let (images, image_files) = writer.name_images(stem, names);
    let bin_name = names.take(stem, "bin");
    let (json, bin) = writer.finish(images, Some(&uri_of_name(&bin_name)));
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

struct GltfWriter<'s> {
    scene: &'s Scene,
    json: Map<String, Value>,
    views: Views,
    whole: WholePositions,
    /// The accessors of each geometry that is already written.
    written: Vec<Option<Map<String, Value>>>,
    /// The new index of each image that some texture shows.
    image_places: Vec<Option<usize>>,
    compression: MeshCompression,
    /// Whether any geometry is packed with Draco.
    has_draco: bool,
}

impl<'s> GltfWriter<'s> {
    fn new(scene: &'s Scene, compression: MeshCompression) -> GltfWriter<'s> {
        let mut json = scene.json.clone();
        let (whole, views) = match compression {
            MeshCompression::Meshopt => {
                let steps = Steps::of(scene);
                let whole = WholePositions::choose(scene, &steps, &mut json);
                (whole, Views::packing(steps))
            }
            _ => (WholePositions::none(scene), Views::default()),
        };
        let mut writer = GltfWriter {
            scene,
            json,
            compression,
            has_draco: false,
            views,
            whole,
            written: vec![None; scene.geometries.len()],
            image_places: image_places(scene),
        };
        writer.set_generator();
        writer.write_meshes();
        write_tables(&mut writer.json, scene, &mut writer.views);
        write_blobs(&mut writer.json, scene, &mut writer.views);
        fit_textures(&mut writer.json, &writer.image_places);
        writer
    }

    /// The JSON and the buffer. `bin_uri` is the name of the buffer's file, if it has one.
    fn finish(
        mut self,
        images: Vec<Value>,
        bin_uri: Option<&str>,
    ) -> (Map<String, Value>, Vec<u8>) {
        if !images.is_empty() {
            self.json.insert("images".to_owned(), Value::Array(images));
        }
        let finished = self.views.finish();
        let layout = finished.layout;
        let mut buffers = Vec::new();
        if !layout.buffer.is_empty() {
            let mut buffer = json!({ "byteLength": layout.buffer.len() });
            if let Some(uri) = bin_uri {
                buffer["uri"] = uri.into();
            }
            buffers.push(buffer);
        }
        if let Some(length) = layout.fallback_len_bytes {
            buffers.push(json!({
                "byteLength": length,
                "extensions": { "EXT_meshopt_compression": { "fallback": true } },
            }));
            require_extension(&mut self.json, "EXT_meshopt_compression");
        }
        if finished.is_quantized {
            require_extension(&mut self.json, "KHR_mesh_quantization");
        }
        if self.has_draco {
            require_extension(&mut self.json, "KHR_draco_mesh_compression");
        }
        for (name, list) in [
            ("accessors", finished.accessors),
            ("bufferViews", layout.views),
            ("buffers", buffers),
        ] {
            if !list.is_empty() {
                self.json.insert(name.to_owned(), Value::Array(list));
            }
        }
        // glTF forbids empty arrays where a list is optional.
        self.json
            .retain(|_, member| member.as_array().is_none_or(|list| !list.is_empty()));
        compact(&mut self.json);
        (self.json, layout.buffer)
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

    /// Updates the meshes of nodes. A node whose mesh was left out draws nothing.
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

    fn embed_images(&mut self) -> Vec<Value> {
        let scene = self.scene;
        let shown = scene.images.iter().zip(&self.image_places);
        let mut images = Vec::new();
        for (image, _) in shown.filter(|(_, place)| place.is_some()) {
            let mut json = image.json.clone();
            let has_name = json.get("name").is_some_and(Value::is_string);
            if let Some(stem) = image.file_stem().filter(|_| !has_name) {
                json.insert("name".to_owned(), stem.into());
            }
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
            let name = names.take_image(image, stem, index, image.extension());
            let mut json = image.json.clone();
            json.insert("uri".to_owned(), uri_of_name(&name).into());
            images.push(Value::Object(json));
            if files.iter().all(|file: &OutFile| file.name != name) {
                files.push(OutFile {
                    name,
                    bytes: image.bytes.clone(),
                });
            }
        }
        (images, files)
    }
}

/// Adds a name to the extensions that a reader must support.
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
