//! The exports of an optimization: textures fitted for each, files written, images listed.

use std::collections::HashMap;

use bytes::Bytes;
use glam::{Mat4, Vec3};

use super::super::error::EngineError;
use super::super::export::{ExportError, Names, OutFile, gltf, safe};
use super::super::manipulate::scale;
use super::super::scene::{Image, Scene};
use super::super::settings::{ExportSettings, FileFormat, MeshCompression, Settings};
use super::super::textures::{TexturePlan, channels, dimensions, fit, usages};
use super::super::words::grouped;
use super::run::Bench;
use super::{ExportedFile, ExportedImage, OptimizeTask};

/// Writes every export that the settings ask for; with each comes how it is moved against the scene.
pub(super) fn export_all(
    scene: &mut Scene,
    settings: &Settings,
    task: &OptimizeTask,
    bench: &mut Bench<'_>,
) -> Result<Vec<(ExportedFile, Mat4)>, EngineError> {
    if scene.drawn_triangles() == 0 && scene.geometries.is_empty() {
        return Err(ExportError::Empty.into());
    }
    let source_images = scene.images.clone();
    let source_json = scene.json.clone();
    let mut fitted: HashMap<TexturePlan, Vec<Image>> = HashMap::new();
    let mut names = Names::default();
    let mut exports = Vec::new();
    let count = settings.exports.len() as u8;
    for (index, export) in settings.exports.iter().enumerate() {
        let start = 55 + 25 * index as u8 / count.max(1);
        scene.json.clone_from(&source_json);
        scene.images.clone_from(&source_images);
        fit_textures(scene, settings, export, &mut fitted, start, bench);
        let mut moved = Mat4::IDENTITY;
        if export.scale != 1.0 {
            moved = Mat4::from_scale(Vec3::splat(export.scale as f32));
            scale(scene, export.scale);
            bench.info(format!(
                "{}: {} times the size",
                export.format.name(),
                export.scale
            ));
        }
        bench.step(start + 5, format!("writing {}", export.format.name()));
        names.set_texture_prefix(&export.texture_prefix);
        let stem = stem_of(export, task);
        let written = write_export(scene, export, &stem, &mut names, bench)?;
        exports.push((written, moved));
        bench.metrics.lap("export");
    }
    Ok(exports)
}

fn stem_of(export: &ExportSettings, task: &OptimizeTask) -> String {
    let asked = task.export_name.as_ref().or(export.file_name.as_ref());
    let name = asked.map_or(task.base_name.as_str(), |name| {
        // People write the extension as well; it would stand there twice.
        FileFormat::ALL
            .iter()
            .find_map(|format| {
                let ending = name.len().checked_sub(format.name().len() + 1)?;
                let (stem, extension) = name.split_at_checked(ending)?;
                extension
                    .strip_prefix('.')?
                    .eq_ignore_ascii_case(format.name())
                    .then_some(stem)
            })
            .unwrap_or(name)
    });
    safe(name)
}

fn fit_textures(
    scene: &mut Scene,
    settings: &Settings,
    export: &ExportSettings,
    fitted: &mut HashMap<TexturePlan, Vec<Image>>,
    percent: u8,
    bench: &mut Bench<'_>,
) {
    let plan = TexturePlan {
        limits: settings.texture_limits,
        formats: export.textures,
        flip_normals: settings.flip_normal_maps,
    };
    if !matches!(
        export.format,
        FileFormat::Glb | FileFormat::Gltf | FileFormat::Obj | FileFormat::Usdz
    ) {
        return;
    }
    if let Some(images) = fitted.get(&plan) {
        scene.images.clone_from(images);
        super::super::textures::settle_sources(scene);
        return;
    }
    bench.step(percent, "fitting textures");
    let done = fit(scene, &plan);
    for changed in &done.changed {
        bench.info(format!(
            "texture {}: {}×{} to {}×{}, {} to {} bytes",
            changed.name,
            changed.before.0,
            changed.before.1,
            changed.after.0,
            changed.after.1,
            grouped(changed.bytes_before as u64),
            grouped(changed.bytes_after as u64),
        ));
    }
    bench.logs.warnings.extend(done.warnings);
    fitted.insert(plan, scene.images.clone());
    bench.metrics.lap("textures");
}

fn write_export(
    scene: &Scene,
    export: &ExportSettings,
    stem: &str,
    names: &mut Names,
    bench: &mut Bench<'_>,
) -> Result<ExportedFile, EngineError> {
    if export.compression != MeshCompression::None {
        bench.warn("setting not done: meshCompressionMethod; the geometry is written plainly");
    }
    let files = match export.format {
        FileFormat::Glb => vec![OutFile {
            name: names.take(stem, "glb"),
            bytes: Bytes::from(gltf::write_glb(scene)?),
        }],
        FileFormat::Gltf => gltf::write_gltf(scene, stem, names)?,
        other => {
            return Err(ExportError::NotYet {
                format: other.name(),
            }
            .into());
        }
    };
    for file in &files {
        bench.write(&format!("exports/{}", file.name), &file.bytes)?;
        bench.written.pop();
    }
    let has_images = matches!(export.format, FileFormat::Glb | FileFormat::Gltf);
    let size_bytes = files.iter().map(|file| file.bytes.len() as u64).sum();
    bench.info(format!(
        "wrote {} ({} bytes)",
        files[0].name,
        grouped(size_bytes)
    ));
    Ok(ExportedFile {
        format: export.format.name().to_owned(),
        name: files[0].name.clone(),
        parts: files.into_iter().map(|file| file.name).collect(),
        size_bytes,
        images: has_images.then(|| images_of(scene)),
        quality: None,
    })
}

fn images_of(scene: &Scene) -> Vec<ExportedImage> {
    let usages = usages(scene);
    scene
        .images
        .iter()
        .zip(&usages)
        .filter(|(image, _)| !image.bytes.is_empty())
        .map(|(image, usage)| {
            let (width, height) = dimensions(&image.bytes).unwrap_or((0, 0));
            ExportedImage {
                channels: channels(&image.bytes).unwrap_or(0),
                compressed_byte_size: image.bytes.len() as u64,
                width,
                height,
                mimetype: image.media_type.clone(),
                slot: usage.slot_name().to_owned(),
            }
        })
        .collect()
}
