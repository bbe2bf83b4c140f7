//! The conversions that an upload gets without a request: a CAD file as glb and usdz, which every viewer shows; a scene of
//! an authoring program as glb, gltf, fbx and usdz, and its materials as they were translated.

use std::path::Path;

use glam::DMat4;
use serde_json::{Map, Value, json};

use super::super::error::EngineError;
use super::super::export::{Names, OutFile, safe, write};
use super::super::import::{Imported, import};
use super::super::pictures::ModelPictures;
use super::super::scene::{Scene, index_in};
use super::super::settings::ExportSettings;
use super::super::textures::{TexturePlan, fit};
use super::context::JobContext;
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::WarningKind;
use assetfs_formats::{self as formats, FileFormat, HeldMaterials, Kind};

/// The formats that an upload of this format is converted to.
fn wanted(format: &str) -> Vec<FileFormat> {
    let Some(known) = formats::of_extension(format) else {
        return Vec::new();
    };
    if known.kind == Kind::Cad {
        return vec![FileFormat::Glb, FileFormat::Usdz];
    }
    let all = [
        FileFormat::Glb,
        FileFormat::Gltf,
        FileFormat::Fbx,
        FileFormat::Usdz,
    ];
    let others = all.into_iter().filter(|other| other.name() != format);
    others.filter(|_| known.is_scene()).collect()
}

/// Writes `converted/<file>` for each automatic conversion of a model, and `materials/<file>` for one with materials of an
/// authoring program. A conversion that is impossible is a warning. Returns the glb.
pub(super) fn convert(
    imported: &Imported,
    job: &mut JobContext<'_>,
) -> Result<Option<String>, EngineError> {
    let formats = wanted(imported.format);
    if formats.is_empty() {
        return Ok(None);
    }
    let stem = imported.model.file_stem().unwrap_or_default();
    let stem = safe(&stem.to_string_lossy());
    let mut names = Names::default();
    let mut plain = None;
    let mut glb = None;
    for format in formats {
        job.step(55, format!("converting to {}", format.name()));
        let scene = match format.row().materials {
            HeldMaterials::AllImages => &imported.scene,
            _ => plain.get_or_insert_with(|| with_plain_images(&imported.scene)),
        };
        match write(scene, &ExportSettings::new(format), &stem, &mut names) {
            Ok(files) => {
                job.warn_of_losses(scene, format);
                for file in files {
                    job.write(&format!("converted/{}", file.name), &file.bytes)?;
                    let bytes = grouped(file.bytes.len() as u64);
                    job.info(format!("converted to {} ({bytes} bytes)", file.name));
                    if format == FileFormat::Glb {
                        glb = Some(file.name);
                    }
                }
            }
            Err(error) => job.warn(
                WarningKind::NotHeld,
                format!("there is no automatic {}: {error}", format.name()),
            ),
        }
    }
    let is_scene = formats::of_extension(imported.format).is_some_and(|format| format.is_scene());
    if is_scene {
        write_materials(&imported.scene, &stem, job)?;
    }
    job.metrics.lap("convert");
    Ok(glb.filter(|_| is_scene))
}

/// The scene in a format, and nothing changed but that; `name` becomes the name of its files.
pub(crate) fn converted(
    scene: &Scene,
    format: FileFormat,
    name: &str,
) -> Result<Vec<OutFile>, EngineError> {
    let plain;
    let mut names = Names::default();
    let scene = match format.row().materials {
        HeldMaterials::AllImages => scene,
        _ => {
            names.name_images_in_one_word();
            plain = with_plain_images(scene);
            &plain
        }
    };
    let settings = ExportSettings::new(format);
    Ok(write(scene, &settings, &safe(name), &mut names)?)
}

/// The scene with images that every format holds.
fn with_plain_images(scene: &Scene) -> Scene {
    let mut plain = scene.clone();
    let plan = TexturePlan {
        plain_only: true,
        ..TexturePlan::default()
    };
    fit(&mut plain, &plan);
    plain
}

/// Writes the materials as `materials/<stem>.json`, as glTF has them but with names of files, and their images.
fn write_materials(scene: &Scene, stem: &str, job: &mut JobContext<'_>) -> Result<(), EngineError> {
    if scene.list("materials").is_empty() {
        return Ok(());
    }
    let mut names = Names::default();
    let list = names.take(stem, "json");
    let mut files = Vec::new();
    for (index, image) in scene.images.iter().enumerate() {
        let name = names.take_image(image, stem, index, image.extension());
        job.write(&format!("materials/{name}"), &image.bytes)?;
        files.push(name);
    }
    let materials: Vec<Value> = scene
        .list("materials")
        .iter()
        .map(|material| with_files(material, scene, &files))
        .collect();
    let text = serde_json::to_string_pretty(&json!({ "materials": materials }));
    let text = text.expect("a JSON value can be written to memory");
    job.write(&format!("materials/{list}"), text.as_bytes())
}

/// The value with names of files in place of the numbers of textures.
fn with_files(value: &Value, scene: &Scene, files: &[String]) -> Value {
    let Some(members) = value.as_object() else {
        return value.clone();
    };
    let mut named = Map::new();
    for (key, member) in members {
        let image = index_in(member, "index").and_then(|texture| scene.image_of_texture(texture));
        let mut member = with_files(member, scene, files);
        if key.ends_with("Texture")
            && let (Some(file), Some(texture)) = (
                image.and_then(|image| files.get(image)),
                member.as_object_mut(),
            )
        {
            texture.shift_remove("index");
            texture.shift_insert(0, "file".to_owned(), file.as_str().into());
        }
        named.insert(key.clone(), member);
    }
    Value::Object(named)
}

/// Writes pictures of the converted model, and how they differ from the source.
pub(super) fn compare(
    source: &ModelPictures,
    glb: &str,
    job: &mut JobContext<'_>,
) -> Result<(), EngineError> {
    let folder = job.output_dir.join("converted");
    let converted = match import(Path::new(&folder), &[glb.to_owned()]) {
        Ok(imported) => imported.scene,
        Err(error) => {
            job.warn(
                WarningKind::NotChecked,
                format!("{glb} cannot be read again: {error}"),
            );
            return Ok(());
        }
    };
    let result = source.draw_result(&converted, DMat4::IDENTITY);
    let comparison = source.compare(&result);
    job.info(format!(
        "{glb}: similarity {:.1} of 100",
        comparison.average_score()
    ));
    let written = result.write_numbered(&comparison, &job.output_dir, "pbr_qc")?;
    job.written.extend(written);
    Ok(())
}
