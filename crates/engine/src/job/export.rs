//! Writes the exports of an optimization: fits the textures for each, writes its files, lists its images.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;

use glam::{DMat4, DVec3};

use super::super::clean;
use super::super::error::EngineError;
use super::super::export::{ExportError, Names, safe, usdz, write};
use super::super::manipulate::{discard, scale};
use super::super::scene::{Image, Scene};
use super::super::settings::{Discard, ExportSettings, MeshCompression, Settings, UsdProfile};
use super::super::textures::{TexturePlan, channels, dimensions, fit, usages};
use super::context::JobContext;
use super::report::{ExportedFile, ExportedImage};
use super::task::OptimizeTask;
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::WarningKind;
use assetfs_formats::{FileFormat, HeldMaterials, ImageNames};

/// A written export, and how it differs from the scene.
pub(super) struct Exported {
    pub(super) file: ExportedFile,
    /// Transforms positions of the scene to positions of the export.
    pub(super) moved: DMat4,
    /// Exports with equal appearance are compared only once.
    pub(super) appearance: Appearance,
}

/// All properties that affect the look of an export.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Appearance {
    plan: TexturePlan,
    scale: f64,
    compression: MeshCompression,
    pub(super) format: FileFormat,
}

impl Appearance {
    /// Whether both exports look the same: in formats that lose nothing.
    pub(super) fn is_same(&self, other: &Appearance) -> bool {
        let in_format_of = Appearance {
            format: other.format,
            ..*self
        };
        let formats = [self.format, other.format];
        formats.into_iter().all(FileFormat::holds_whole_scene) && in_format_of == *other
    }
}

/// Writes every export that the settings ask for.
pub(super) fn export_all(
    scene: &mut Scene,
    settings: &Settings,
    task: &OptimizeTask,
    job: &mut JobContext<'_>,
) -> Result<Vec<Exported>, EngineError> {
    if !scene.has_geometry() {
        return Err(ExportError::Empty.into());
    }
    let source_images = scene.images.clone();
    let source_json = scene.json.clone();
    let mut fitted: HashMap<TexturePlan, Vec<Image>> = HashMap::new();
    let mut names = Names::default();
    let in_one_word =
        |export: &ExportSettings| export.format.row().image_names == ImageNames::OneWord;
    if settings.exports.iter().any(in_one_word) {
        names.name_images_in_one_word();
    }
    let mut exports = Vec::new();
    let writes_usdz = settings
        .exports
        .iter()
        .any(|export| export.format == FileFormat::Usdz);
    if settings.usd_profile.is_some() && !writes_usdz {
        job.warn(
            WarningKind::SettingIgnored,
            "profile arkit: the job writes no usdz, so nothing is checked",
        );
    }
    let count = settings.exports.len();
    for (index, export) in settings.exports.iter().enumerate() {
        let start = 55 + (25 * index / count) as u8;
        scene.json.clone_from(&source_json);
        scene.images.clone_from(&source_images);
        fit_textures(scene, settings, export, &mut fitted, start, job);
        let mut moved = DMat4::IDENTITY;
        if export.scale != 1.0 {
            moved = DMat4::from_scale(DVec3::splat(export.scale));
            scale(scene, export.scale);
            job.info(format!(
                "{}: scaled by {}",
                export.format.name(),
                export.scale
            ));
        }
        job.step(start + 5, format!("writing {}", export.format.name()));
        names.set_texture_prefix(&export.texture_prefix);
        let stem = stem_of(export, task.export_name.as_deref(), &task.base_name);
        let shown = narrowed(scene, export);
        let written = write_export(&shown, export, &stem, &mut names, job)?;
        check_profile(settings, export.format, &written, job);
        exports.push(Exported {
            file: written,
            moved,
            appearance: Appearance {
                plan: plan_of(settings, export),
                scale: export.scale,
                compression: export.compression,
                format: export.format,
            },
        });
        job.metrics.lap("export");
    }
    Ok(exports)
}

/// Warns where a usdz breaks the rules of the profile that the settings name.
fn check_profile(
    settings: &Settings,
    format: FileFormat,
    file: &ExportedFile,
    job: &mut JobContext<'_>,
) {
    if settings.usd_profile != Some(UsdProfile::ArKit) || format != FileFormat::Usdz {
        return;
    }
    let path = job.output_dir.join("exports").join(&file.name);
    let issues = match fs::read(&path) {
        Ok(bytes) => usdz::arkit_issues(&path, &bytes),
        Err(error) => vec![format!("it cannot be read: {error}")],
    };
    if issues.is_empty() {
        job.info(format!(
            "{}: keeps the rules of the profile arkit (its layer is text, usda; usdchecker --arkit of older USD versions asks for usdc)",
            file.name
        ));
    }
    for issue in issues {
        job.warn(
            WarningKind::Profile,
            format!("{}: profile arkit: {issue}", file.name),
        );
    }
}

/// The scene without the objects that only this export leaves out.
pub(super) fn narrowed<'s>(scene: &'s Scene, export: &ExportSettings) -> Cow<'s, Scene> {
    if export.discard == Discard::default() {
        return Cow::Borrowed(scene);
    }
    let mut narrowed = scene.clone();
    discard(&mut narrowed, &export.discard);
    clean::prune(&mut narrowed);
    Cow::Owned(narrowed)
}

/// The main file of each export.
pub(super) fn planned_names(
    settings: &Settings,
    export_name: Option<&str>,
    base_name: &str,
) -> Vec<String> {
    let mut names = Names::default();
    let exports = settings.exports.iter();
    exports
        .map(|export| {
            names.take(
                &stem_of(export, export_name, base_name),
                export.format.name(),
            )
        })
        .collect()
}

fn stem_of(export: &ExportSettings, export_name: Option<&str>, base_name: &str) -> String {
    let asked = export_name.or(export.file_name.as_deref());
    let name = asked.map_or(base_name, |name| {
        // Some users write the extension as well; it must not appear twice.
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
    job: &mut JobContext<'_>,
) {
    let plan = plan_of(settings, export);
    if !export.format.holds_materials() {
        return;
    }
    if let Some(images) = fitted.get(&plan) {
        scene.images.clone_from(images);
        super::super::textures::settle_sources(scene);
        return;
    }
    job.step(percent, "fitting textures");
    let done = fit(scene, &plan);
    for changed in &done.changed {
        job.info(format!(
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
    job.logs.warnings.extend(done.warnings);
    fitted.insert(plan, scene.images.clone());
    job.metrics.lap("textures");
}

pub(super) fn plan_of(settings: &Settings, export: &ExportSettings) -> TexturePlan {
    TexturePlan {
        limits: settings.texture_limits,
        formats: export.textures,
        flip_normals: settings.flip_normal_maps,
        plain_only: export.format.row().materials == HeldMaterials::PlainImages,
    }
}

fn write_export(
    scene: &Scene,
    export: &ExportSettings,
    stem: &str,
    names: &mut Names,
    job: &mut JobContext<'_>,
) -> Result<ExportedFile, EngineError> {
    job.warn_of_losses(scene, export.format);
    let files = write(scene, export, stem, names)?;
    let is_draco = export.compression == MeshCompression::Draco;
    if is_draco
        && scene
            .geometries
            .iter()
            .any(|geometry| !geometry.targets.is_empty())
    {
        job.warn(
            WarningKind::SettingIgnored,
            "meshes with morph targets are not packed with Draco, because it reorders vertices",
        );
    }
    for file in &files {
        job.write(&format!("exports/{}", file.name), &file.bytes)?;
        job.written.pop();
    }
    let size_bytes = files.iter().map(|file| file.bytes.len() as u64).sum();
    job.info(format!(
        "wrote {} ({} bytes)",
        files[0].name,
        grouped(size_bytes)
    ));
    Ok(ExportedFile {
        format: export.format.name().to_owned(),
        name: files[0].name.clone(),
        parts: files.into_iter().map(|file| file.name).collect(),
        size_bytes,
        images: export.format.holds_whole_scene().then(|| images_of(scene)),
        triangles: None,
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
