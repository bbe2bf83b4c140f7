//! Rebakes a model for a job, and decides whether the result is kept or the one of plain simplification.

use glam::Mat4;

use super::super::clean;
use super::super::number_text::counted;
use super::super::pictures::ModelPictures;
use super::super::rebake::{NotRebaked, RebakeOptions, Rebaked, rebake};
use super::super::scene::Scene;
use super::super::settings::Settings;
use super::super::simplify::{Limits, Simplified};
use super::super::textures::fit;
use super::context::JobContext;
use super::export::plan_of;

/// Two results whose differences from the source are this close look equally good.
const NEAR: f64 = 0.002;
/// A result with fewer draw calls may have so many times the bytes.
const BYTES_FOR_DRAWS: f64 = 1.2;

/// The source as the job has drawn it.
#[derive(Clone, Copy)]
pub(super) struct DrawnSource<'p> {
    /// `None` if the job draws no pictures.
    pub(super) pictures: Option<&'p ModelPictures>,
    /// How the model was moved since.
    pub(super) moved: Mat4,
}

/// The outcome of rebaking, for the logs.
pub(super) struct RebakeNotes {
    meshes: usize,
    charts: u32,
    fill: f32,
    stretch: f32,
    left_out: Vec<String>,
    differences: Differences,
}

/// The mean differences of the pictures from the source's.
#[derive(Clone, Copy)]
struct Differences {
    plain: f64,
    baked: f64,
}

/// The rebaked source, unless the plain result is better.
pub(super) fn rebaked_if_better(
    source: &Scene,
    plain: &Scene,
    plain_triangles: u64,
    limits: &Limits,
    settings: &Settings,
    drawn: DrawnSource<'_>,
) -> Result<(Scene, Simplified, RebakeNotes), NotRebaked> {
    let rebaked = rebake(source, limits, &options_of(settings))?;
    if rebaked.simplified.after > plain_triangles.max(limits.triangles) {
        return Err(NotRebaked::OverLimit);
    }
    let found = differences(source, plain, &rebaked, settings, drawn);
    let Differences {
        plain: of_plain,
        baked,
    } = found;
    let is_near = (of_plain - baked).abs() <= NEAR;
    let is_better = match is_near && is_lighter(&rebaked.scene, plain, settings) {
        true => true,
        false => baked < of_plain,
    };
    if !is_better {
        return Err(NotRebaked::PlainIsBetter {
            plain: of_plain,
            baked,
        });
    }
    let notes = RebakeNotes {
        meshes: rebaked.scene.meshes.len(),
        charts: rebaked.charts,
        fill: rebaked.fill,
        stretch: rebaked.stretch,
        left_out: rebaked.left_out,
        differences: found,
    };
    Ok((rebaked.scene, rebaked.simplified, notes))
}

/// Draws both results with the cameras of the source. Computed occlusion is meant to differ from the source, so then all
/// are drawn without occlusion.
fn differences(
    source: &Scene,
    plain: &Scene,
    rebaked: &Rebaked,
    settings: &Settings,
    drawn: DrawnSource<'_>,
) -> Differences {
    let own;
    let ignores_occlusion = settings.baking.occlusion_map;
    let (before, moved) = match drawn.pictures.filter(|_| !ignores_occlusion) {
        Some(pictures) => (pictures, drawn.moved),
        None => {
            own = if ignores_occlusion {
                ModelPictures::draw(&without_occlusion(source))
            } else {
                ModelPictures::draw(source)
            };
            (&own, Mat4::IDENTITY)
        }
    };
    let [plain, baked] = [plain, &rebaked.scene].map(|result| {
        let after = match ignores_occlusion {
            true => before.draw_result(&without_occlusion(result), moved),
            false => before.draw_result(result, moved),
        };
        before.compare(&after).mean_difference()
    });
    Differences { plain, baked }
}

fn without_occlusion(scene: &Scene) -> Scene {
    let mut scene = scene.clone();
    for material in scene.list_mut("materials").into_iter().flatten() {
        if let Some(material) = material.as_object_mut() {
            material.shift_remove("occlusionTexture");
        }
    }
    scene
}

/// Whether a result has fewer draw calls for about as many bytes, or as many draw calls and fewer bytes.
fn is_lighter(result: &Scene, than: &Scene, settings: &Settings) -> bool {
    let [draws, most_draws] = [result, than].map(draw_calls);
    let [bytes, most_bytes] = [result, than].map(|scene| bytes_of(scene, settings) as f64);
    draws < most_draws && bytes <= most_bytes * BYTES_FOR_DRAWS
        || draws == most_draws && bytes <= most_bytes
}

/// Draw calls of a viewer: each primitive of each mesh that a node draws. Instances of a node are drawn at once.
fn draw_calls(scene: &Scene) -> usize {
    let draws = scene.draws();
    let by_node = draws.chunk_by(|one, other| one.node == other.node);
    by_node
        .map(|draws| scene.meshes[draws[0].mesh].primitives.len())
        .sum()
}

/// About the bytes of the first export: those of its images and of its geometry without compression.
fn bytes_of(scene: &Scene, settings: &Settings) -> usize {
    let mut scene = scene.clone();
    clean::prune(&mut scene);
    if let Some(export) = settings.exports.first() {
        fit(&mut scene, &plan_of(settings, export));
    }
    let images = scene.images.iter().map(|image| image.bytes.len());
    let geometry = scene.geometries.iter().map(|geometry| {
        let values = geometry.attributes.iter().map(|known| known.values.len());
        (values.sum::<usize>() + geometry.indices.len()) * size_of::<f32>()
    });
    images.sum::<usize>() + geometry.sum::<usize>()
}

/// How the settings ask for textures to be baked.
pub(super) fn options_of(settings: &Settings) -> RebakeOptions {
    let baking = &settings.baking;
    RebakeOptions {
        quality: baking.quality.unwrap_or_default(),
        normal_map: baking.normal_map,
        occlusion_map: baking.occlusion_map,
        stretch: baking.stretch.map_or(RebakeOptions::STRETCH, |stretch| {
            1.0 + stretch.min(10.0) as f32
        }),
        limits: settings.texture_limits,
    }
}

/// Names the maps that are asked for and not in a result that was not rebaked.
pub(super) fn warn_of_missing_maps(settings: &Settings, job: &mut JobContext<'_>) {
    let baking = &settings.baking;
    let keys = [
        ("bakeNormalMap", baking.normal_map),
        ("bakeAOMap", baking.occlusion_map),
    ];
    for (key, _) in keys.into_iter().filter(|(_, is_set)| *is_set) {
        job.warn(format!(
            "{key} has no effect, because the model was not rebaked; without rebake it bakes into the texture coordinates of the model"
        ));
    }
}

/// Writes the outcome into the logs.
pub(super) fn report(
    outcome: Result<RebakeNotes, NotRebaked>,
    settings: &Settings,
    job: &mut JobContext<'_>,
) {
    let notes = match outcome {
        Ok(notes) => notes,
        Err(why) => {
            job.warn(format!("not rebaked: {why}; the meshes were simplified"));
            warn_of_missing_maps(settings, job);
            return;
        }
    };
    job.info(format!(
        "rebaked: {}, {}, fill {:.2}, stretch {:.3}; difference from the source {:.4}, of plain simplification {:.4}",
        counted(notes.meshes as u64, "mesh"),
        counted(notes.charts as u64, "chart"),
        notes.fill,
        notes.stretch,
        notes.differences.baked,
        notes.differences.plain
    ));
    if !notes.left_out.is_empty() {
        job.warn(format!(
            "rebaking leaves out these extensions of materials: {}",
            notes.left_out.join(", ")
        ));
    }
}
