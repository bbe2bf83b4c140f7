//! Imports glTF and GLB.
//!
//! Geometry, images and keyframes are decoded; the rest of the JSON is not changed. Primitives that name the same
//! accessors share one geometry, and an accessor is decoded once even if many primitives use it. A file with a missing
//! buffer is refused; a missing or empty image is left out.

mod attributes;
mod draco;
mod extensions;
mod geometry;
mod packed;
mod passthrough;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use serde_json::Value;

use super::super::document::{Cursor, Document, DocumentError, uri};
use super::super::scene::{
    Image, Mesh, Primitive, Scene, drop_extension, index_in, remove_textures,
};
use super::super::settings::MeshCompression;
use super::error::ImportError;
use super::imported::Imported;
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::{Warning, WarningKind};
use assetfs_formats::{ImageKind, gltf_image_extensions};

/// Maximum bytes of decoded numbers: a small file can refer to the same bytes many times.
const MAX_DECODED_BYTES: u64 = 6 << 30;

/// Lists of the JSON that the scene holds in decoded form.
const DECODED_LISTS: &[&str] = &["meshes", "images", "accessors", "bufferViews", "buffers"];

/// Compression extensions, which are removed after decoding.
const PACKING: &[&str] = &[
    "KHR_draco_mesh_compression",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
    "KHR_mesh_quantization",
];

/// Reads the file `model` in `dir`.
pub(super) fn import(
    dir: &Path,
    model: &Path,
    format: &'static str,
) -> Result<Imported, ImportError> {
    let mut document = Document::open(dir, model)?;
    packed::unpack_views(&mut document)?;
    let mut reader = GltfReader {
        document: &document,
        scene: Scene::default(),
        warnings: extensions::name_unknown(document.json()),
        decoded: HashMap::new(),
        interned: HashMap::new(),
        decoded_bytes: 0,
        file_bytes: document.len_bytes(),
    };
    let packing = reader.packing();
    reader.read_json()?;
    reader.read_meshes()?;
    reader.read_images()?;
    reader.read_passing()?;
    Ok(Imported {
        packing,
        size_bytes: reader.file_bytes,
        scene: reader.scene,
        warnings: reader.warnings,
        model: model.to_owned(),
        format,
    })
}

/// Identifies a geometry by its accessors.
#[derive(Debug, PartialEq, Eq, Hash)]
struct GeometryKey(String);

struct GltfReader<'d> {
    document: &'d Document,
    scene: Scene,
    warnings: Vec<Warning>,
    /// Numbers by accessor.
    decoded: HashMap<usize, Rc<Vec<f32>>>,
    interned: HashMap<GeometryKey, usize>,
    decoded_bytes: u64,
    file_bytes: u64,
}

impl GltfReader<'_> {
    fn packing(&self) -> MeshCompression {
        let used = &self.document.json()["extensionsUsed"];
        let is_used = |name: &str| {
            let mut names = used.as_array().into_iter().flatten();
            names.any(|used| used == name)
        };
        if is_used("KHR_draco_mesh_compression") {
            MeshCompression::Draco
        } else if is_used("EXT_meshopt_compression") || is_used("KHR_meshopt_compression") {
            MeshCompression::Meshopt
        } else {
            MeshCompression::None
        }
    }

    fn read_json(&mut self) -> Result<(), ImportError> {
        let mut json = self.document.top().members()?.clone();
        for list in DECODED_LISTS {
            json.shift_remove(*list);
        }
        for list in ["extensionsUsed", "extensionsRequired"] {
            let Some(names) = json.get_mut(list).and_then(Value::as_array_mut) else {
                continue;
            };
            names.retain(|name| !name.as_str().is_some_and(|name| PACKING.contains(&name)));
            if names.is_empty() {
                json.shift_remove(list);
            }
        }
        self.scene.json = json;
        Ok(())
    }

    fn read_meshes(&mut self) -> Result<(), ImportError> {
        for mesh in self.document.top().list("meshes")? {
            let mut json = mesh.members()?.clone();
            json.shift_remove("primitives");
            let mut primitives = Vec::new();
            for primitive in mesh.list("primitives")? {
                primitives.extend(self.read_primitive(&primitive)?);
            }
            self.scene.meshes.push(Mesh { json, primitives });
        }
        Ok(())
    }

    fn read_primitive(&mut self, at: &Cursor<'_>) -> Result<Option<Primitive>, ImportError> {
        if at.require("attributes")?.get("POSITION").is_none() {
            self.warnings.push(Warning::new(
                WarningKind::Damaged,
                format!(
                    "{}: {} has no POSITION and is left out, as viewers do",
                    self.document.file(),
                    at.path()
                ),
            ));
            return Ok(None);
        }
        let mut json = at.members()?.clone();
        let key = GeometryKey(
            ["mode", "indices", "attributes", "targets"]
                .map(|part| json.shift_remove(part).unwrap_or_default().to_string())
                .join("|")
                + &draco_of(&json),
        );
        json.shift_remove("material");
        drop_extension(&mut json, "KHR_draco_mesh_compression");
        let geometry = match self.interned.get(&key) {
            Some(known) => *known,
            None => {
                let geometry = self.read_geometry(at)?;
                self.scene.geometries.push(geometry);
                let index = self.scene.geometries.len() - 1;
                self.interned.insert(key, index);
                index
            }
        };
        Ok(Some(Primitive {
            geometry,
            material: index_in(at.value(), "material"),
            json,
        }))
    }

    /// Reads the images that are used. An image whose file was not uploaded (or is on the network), or that has no bytes, is left out with a
    /// warning, as in the other formats, unless the scene has image-based lights, which need their images.
    fn read_images(&mut self) -> Result<(), ImportError> {
        let lights = self.scene.uses_extension("EXT_lights_image_based");
        let mut left_out = BTreeSet::new();
        for (index, at) in self.document.top().list("images")?.iter().enumerate() {
            let read = match self.is_image_used(index) {
                true => self.read_image(at),
                false => Ok(Image::default()),
            };
            let image = match read {
                Err(ImportError::Document(
                    error @ (DocumentError::MissingFile { .. }
                    | DocumentError::AmbiguousFile { .. }
                    | DocumentError::OutsideFile { .. }
                    | DocumentError::EmptyImage { .. }),
                )) if !lights => {
                    let kind = match error {
                        DocumentError::EmptyImage { .. } => WarningKind::BadTexture,
                        _ => WarningKind::MissingFile,
                    };
                    let text = format!("{error}. The model is read without this image");
                    self.warnings.push(Warning::new(kind, text));
                    left_out.insert(index);
                    Image::default()
                }
                other => other?,
            };
            self.scene.images.push(image);
        }
        if !left_out.is_empty() {
            remove_images(&mut self.scene, &left_out);
        }
        Ok(())
    }

    /// Whether a texture or a light uses the image. Other images are not read, because exporting drops them.
    fn is_image_used(&self, image: usize) -> bool {
        let textures = self.scene.list("textures").len();
        let is_shown =
            (0..textures).any(|texture| self.scene.images_of_texture(texture).contains(&image));
        is_shown || self.scene.uses_extension("EXT_lights_image_based")
    }

    fn read_image(&mut self, at: &Cursor<'_>) -> Result<Image, ImportError> {
        let mut json = at.members()?.clone();
        let declared = at.get("mimeType").and_then(|kind| kind.value().as_str());
        let (bytes, of_uri, file_name) = match (at.get("uri"), at.get("bufferView")) {
            (Some(uri), _) => {
                let text = uri.text()?;
                let (bytes, kind) = self.document.read_uri(&uri, text)?;
                let is_file = kind.is_none();
                if is_file {
                    self.file_bytes += bytes.len() as u64;
                }
                (bytes, kind, is_file.then(|| file_name_of(text)))
            }
            (None, Some(view)) => (self.document.view_bytes(view.number()?)?, None, None),
            (None, None) => {
                return Err(at
                    .invalid("has neither a \"uri\" nor a \"bufferView\"")
                    .into());
            }
        };
        // A glTF buffer view must not be empty: no file with such an image could be written.
        if bytes.is_empty() {
            return Err(DocumentError::EmptyImage {
                file: self.document.file().to_owned(),
                path: at.path().to_owned(),
                name: file_name,
            }
            .into());
        }
        for part in ["uri", "bufferView", "mimeType"] {
            json.shift_remove(part);
        }
        let media_type = ImageKind::of_bytes(&bytes)
            .map(|kind| kind.media_type().to_owned())
            .or(of_uri)
            .or(declared.map(str::to_owned))
            .unwrap_or_else(|| "application/octet-stream".to_owned());
        Ok(Image {
            json,
            file_name,
            media_type,
            bytes,
            replaces: None,
        })
    }

    /// Counts decoded bytes; fails if the file exceeds the limit.
    fn charge(&mut self, bytes: u64) -> Result<(), ImportError> {
        self.decoded_bytes = self.decoded_bytes.saturating_add(bytes);
        if self.decoded_bytes <= MAX_DECODED_BYTES {
            return Ok(());
        }
        Err(ImportError::TooLarge {
            file: self.document.file().to_owned(),
            what: format!(
                "its geometry unpacks to more than {} bytes",
                grouped(MAX_DECODED_BYTES)
            ),
        })
    }
}

/// Removes images from their textures, and textures without any image from the materials.
fn remove_images(scene: &mut Scene, gone: &BTreeSet<usize>) {
    let is_gone =
        |json: &Value| index_in(json, "source").is_some_and(|image| gone.contains(&image));
    let mut emptied = BTreeSet::new();
    for texture in 0..scene.list("textures").len() {
        let had_images = !scene.images_of_texture(texture).is_empty();
        let textures = scene.list_mut("textures");
        if let Some(json) = textures.and_then(|list| list[texture].as_object_mut()) {
            for name in gltf_image_extensions() {
                let extension = json.get("extensions").map(|all| &all[name]);
                if extension.is_some_and(is_gone) {
                    drop_extension(json, name);
                }
            }
        }
        let textures = scene.list_mut("textures");
        if let Some(json) = textures.map(|list| &mut list[texture])
            && is_gone(json)
            && let Some(members) = json.as_object_mut()
        {
            members.shift_remove("source");
        }
        if had_images && scene.images_of_texture(texture).is_empty() {
            emptied.insert(texture);
        }
    }
    for material in scene.list_mut("materials").into_iter().flatten() {
        remove_textures(material, |texture| {
            index_in(texture, "index").is_some_and(|index| emptied.contains(&index))
        });
    }
}

fn file_name_of(uri: &str) -> String {
    let decoded = uri::decoded(uri);
    let name = decoded.rsplit(['/', '\\']).next().unwrap_or_default();
    name.to_owned()
}

/// The Draco extension of a primitive as text.
fn draco_of(json: &serde_json::Map<String, Value>) -> String {
    json.get("extensions")
        .and_then(|extensions| extensions.get("KHR_draco_mesh_compression"))
        .map(Value::to_string)
        .unwrap_or_default()
}
