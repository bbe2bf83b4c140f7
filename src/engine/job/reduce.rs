//! Removes triangles to the face limit: simplifies the meshes, or rebakes the model where that looks better.

use super::super::clean;
use super::super::number_text::grouped;
use super::super::pictures::ModelPictures;
use super::super::rebake::{NotRebaked, RebakeOptions, Rebaked, rebake};
use super::super::scene::{Scene, TextureSlot};
use super::super::settings::{Settings, TextureFormat, TextureFormats};
use super::super::simplify::{Limits, Method, Simplified, simplify};
use super::context::JobContext;

/// What was done to meet a face limit.
pub(super) struct Reduction {
    simplified: Simplified,
    /// What rebaking did or why it was not done; `None` if it was not asked for.
    rebaked: Option<Result<RebakeNotes, NotRebaked>>,
}

/// The outcome of rebaking, for the logs.
pub(super) struct RebakeNotes {
    meshes: usize,
    charts: u32,
    left_out: Vec<String>,
    /// The mean difference of the pictures from the source's: of the plain simplification and of the result.
    plain: f64,
    baked: f64,
}

/// Reduces the scene to the limit that the settings have for it; `None` if there is none.
pub(super) fn reduced(scene: &mut Scene, settings: &Settings) -> Option<Reduction> {
    let limits = Limits {
        triangles: settings.face_limit(scene.drawn_triangles())?,
        keep_topology: settings.preserve_topology,
        evenness: settings.density_equalization as f32,
        border_lock: settings.border_lock as f32,
    };
    let source = settings.rebakes.then(|| scene.clone());
    let mut simplified = simplify(scene, &limits);
    if simplified.before != simplified.after {
        clean::pack_keyframes(scene);
    }
    let rebaked = source.map(|source| {
        let rebaked = rebake(&source, &limits, &options_of(settings))?;
        if rebaked.simplified.after > simplified.after.max(limits.triangles) {
            return Err(NotRebaked::OverLimit);
        }
        let notes = compared(&source, scene, &rebaked)?;
        simplified = rebaked.simplified;
        *scene = rebaked.scene;
        Ok(notes)
    });
    Some(Reduction {
        simplified,
        rebaked,
    })
}

/// Draws the source and both results; an error if the plain result looks better.
fn compared(source: &Scene, plain: &Scene, rebaked: &Rebaked) -> Result<RebakeNotes, NotRebaked> {
    let before = ModelPictures::draw(source);
    let difference = |result: &Scene| {
        let drawn = before.draw_where_it_is(result);
        before.compare(&drawn).mean_difference()
    };
    let (plain, baked) = (difference(plain), difference(&rebaked.scene));
    if plain < baked {
        return Err(NotRebaked::PlainIsBetter { plain, baked });
    }
    Ok(RebakeNotes {
        meshes: rebaked.scene.meshes.len(),
        charts: rebaked.charts,
        left_out: rebaked.left_out.clone(),
        plain,
        baked,
    })
}

fn options_of(settings: &Settings) -> RebakeOptions {
    /// Finds few charts that are hardly stretched.
    const STRETCH: f64 = 0.1;
    let baking = &settings.baking;
    let format = |slot: TextureSlot| {
        let mut formats = settings
            .exports
            .iter()
            .map(|export| export.textures.of(slot));
        let first = formats.next().unwrap_or_default();
        // Where the exports disagree, nothing is lost before each of them is written.
        if formats.all(|format| format == first) {
            first
        } else {
            TextureFormat::Png
        }
    };
    RebakeOptions {
        quality: baking.quality.unwrap_or_default(),
        normal_map: baking.normal_map,
        occlusion_map: baking.occlusion_map,
        stretch: 1.0 + baking.stretch.unwrap_or(STRETCH).min(10.0) as f32,
        limits: settings.texture_limits,
        formats: TextureFormats {
            base_color: format(TextureSlot::BaseColor),
            emissive: format(TextureSlot::Emissive),
            normal: format(TextureSlot::Normal),
            orm: format(TextureSlot::Orm),
        },
    }
}

/// Reduces the scene of a job and reports how.
pub(super) fn reduce(scene: &mut Scene, settings: &Settings, job: &mut JobContext<'_>) {
    let faces = scene.drawn_triangles();
    if !settings.rebakes && settings.baking != Default::default() {
        job.warn("settings of baking have no effect without the method \"rebake\"");
    }
    let Some(limit) = settings.face_limit(faces) else {
        if settings.rebakes {
            job.warn(format!("not rebaked: {}", NotRebaked::WithinLimit));
        }
        return;
    };
    job.step(
        25,
        format!(
            "simplifying {} to {} triangles",
            grouped(faces),
            grouped(limit.min(faces))
        ),
    );
    let Some(reduction) = reduced(scene, settings) else {
        return;
    };
    job.metrics.lap("simplify");
    report_simplified(&reduction.simplified, limit, settings, job);
    match reduction.rebaked {
        None => {}
        Some(Ok(notes)) => report_rebaked(&notes, job),
        Some(Err(why)) => job.warn(format!("not rebaked: {why}; the meshes were simplified")),
    }
}

fn report_rebaked(notes: &RebakeNotes, job: &mut JobContext<'_>) {
    job.info(format!(
        "rebaked: {} meshes, {} charts; difference from the source {:.4}, of plain simplification {:.4}",
        notes.meshes, notes.charts, notes.baked, notes.plain
    ));
    if !notes.left_out.is_empty() {
        job.warn(format!(
            "rebaking leaves out these extensions of materials: {}",
            notes.left_out.join(", ")
        ));
    }
}

fn report_simplified(done: &Simplified, limit: u64, settings: &Settings, job: &mut JobContext<'_>) {
    if done.before == done.after {
        job.info(format!(
            "{} triangles are within the limit of {}",
            grouped(done.before),
            grouped(limit)
        ));
    } else {
        job.info(format!(
            "simplified from {} to {} triangles (limit {}), error {:.3} % of the size",
            grouped(done.before),
            grouped(done.after),
            grouped(limit),
            done.relative_error * 100.0
        ));
    }
    match done.method {
        Method::Strict | Method::Careful => {}
        Method::Pruning => job.warn(
            "the limit could be met only by removing small loose pieces; check the result",
        ),
        Method::Sloppy => job.warn(
            "the limit could be met only by merging vertices regardless of the shape; check the result closely",
        ),
    }
    if done.after > limit {
        let why = if settings.preserve_topology {
            "preserveTopology is set"
        } else {
            "fewer would make parts of the model vanish"
        };
        job.warn(format!(
            "the limit of {} triangles is not met: {} are left, because {why}",
            grouped(limit),
            grouped(done.after)
        ));
    }
}
