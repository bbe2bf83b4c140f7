//! Rebakes a model for a job, and decides whether the result is kept or the one of plain simplification.

use glam::Mat4;
use rayon::prelude::*;

use super::super::clean;
use super::super::number_text::counted;
use super::super::pictures::ModelPictures;
use super::super::rebake::{self, LowModel, LowSurface, NotRebaked, RebakeOptions, Rebaker};
use super::super::scene::Scene;
use super::super::settings::Settings;
use super::super::simplify::{Limits, Simplified};
use super::super::textures::fit;
use super::context::JobContext;
use super::export::plan_of;

/// Two results whose differences from the source are this close look equally good.
const NEAR: f64 = 0.002;
/// Where at most one of so many triangles is kept, new surfaces are tried as well. With more triangles decimation is better.
const REMESHED_FROM: u64 = 20;
/// What is tried.
const SURFACES: [LowSurface; 3] = [
    LowSurface::Source,
    LowSurface::Remeshed(128),
    LowSurface::Remeshed(256),
];
/// Texels on each side of the textures by which surfaces are compared.
const DRAFT_TEXELS: u32 = 256;
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
    surface: LowSurface,
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
    let options = options_of(settings);
    rebake::check(source, limits, &options)?;
    let judge = || Judge::new(source, settings, drawn);
    let (rebaker, judge) = rayon::join(|| Rebaker::new(source), judge);
    let rebaker = rebaker?;
    // Simplifying and unwrapping run on one core; pictures are drawn on the others.
    let (made, of_plain) = rayon::join(
        || {
            let low = low_model(&rebaker, source.drawn_triangles(), limits, options, &judge)?;
            let rebaked = rebaker.bake(&low, &options)?;
            Ok((low.surface(), rebaked))
        },
        || judge.difference(plain),
    );
    let (surface, rebaked) = made?;
    if rebaked.simplified.after > plain_triangles.max(limits.triangles) {
        return Err(NotRebaked::OverLimit);
    }
    let baked = judge.difference(&rebaked.scene);
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
        surface,
        meshes: rebaked.scene.meshes.len(),
        charts: rebaked.charts,
        fill: rebaked.fill,
        stretch: rebaked.stretch,
        left_out: rebaked.left_out,
        differences: Differences {
            plain: of_plain,
            baked,
        },
    };
    Ok((rebaked.scene, rebaked.simplified, notes))
}

/// The low meshes that differ least from the source of so many triangles, by results with small textures in small pictures.
fn low_model(
    rebaker: &Rebaker<'_>,
    triangles: u64,
    limits: &Limits,
    options: RebakeOptions,
    judge: &Judge<'_>,
) -> Result<LowModel, NotRebaked> {
    if limits.keep_topology || limits.triangles.saturating_mul(REMESHED_FROM) > triangles {
        return rebaker.low_model(limits, &options);
    }
    let judge = judge.quick();
    let draft = RebakeOptions {
        normal_map: options.normal_map,
        stretch: options.stretch,
        ..RebakeOptions::fast(DRAFT_TEXELS)
    };
    let attempt = |surface: &LowSurface| {
        let options = RebakeOptions {
            surface: *surface,
            ..draft
        };
        let low = rebaker.low_model(limits, &options).ok()?;
        if low.triangles() > limits.triangles {
            return None;
        }
        let made = rebaker.bake(&low, &options).ok()?;
        Some((judge.difference(&made.scene), low))
    };
    // The slowest attempts start first, so that all cores finish at about the same time.
    let attempts: Vec<_> = SURFACES.par_iter().rev().map(attempt).collect();
    let best = attempts
        .into_iter()
        .rev()
        .flatten()
        .min_by(|one, other| one.0.total_cmp(&other.0));
    match best {
        Some((_, low)) => Ok(low),
        None => rebaker.low_model(limits, &options),
    }
}

/// Pictures of the source that results are compared with. Computed occlusion is meant to differ from the source, so then
/// all are drawn without occlusion.
struct Judge<'p> {
    before: DrawnBefore<'p>,
    /// How the model was moved as a whole since.
    moved: Mat4,
    ignores_occlusion: bool,
}

/// The pictures of the source.
enum DrawnBefore<'p> {
    /// Those of the job.
    ByJob(&'p ModelPictures),
    /// Drawn for rebaking alone.
    Own(Box<ModelPictures>),
}

impl<'p> Judge<'p> {
    fn new(source: &Scene, settings: &Settings, drawn: DrawnSource<'p>) -> Judge<'p> {
        let ignores_occlusion = settings.baking.occlusion_map;
        let own = |scene: &Scene| {
            let pictures = Box::new(ModelPictures::draw(scene));
            (DrawnBefore::Own(pictures), Mat4::IDENTITY)
        };
        let (before, moved) = match (ignores_occlusion, drawn.pictures) {
            (true, _) => own(&without_occlusion(source)),
            (false, None) => own(source),
            (false, Some(pictures)) => (DrawnBefore::ByJob(pictures), drawn.moved),
        };
        Judge {
            before,
            moved,
            ignores_occlusion,
        }
    }

    /// The same source in smaller pictures.
    fn quick(&self) -> Judge<'static> {
        Judge {
            before: DrawnBefore::Own(Box::new(self.pictures().smaller())),
            moved: self.moved,
            ignores_occlusion: self.ignores_occlusion,
        }
    }

    fn pictures(&self) -> &ModelPictures {
        match &self.before {
            DrawnBefore::ByJob(pictures) => pictures,
            DrawnBefore::Own(pictures) => pictures,
        }
    }

    /// The mean difference of the pictures of a result.
    fn difference(&self, result: &Scene) -> f64 {
        let before = self.pictures();
        let after = match self.ignores_occlusion {
            true => before.draw_result(&without_occlusion(result), self.moved),
            false => before.draw_result(result, self.moved),
        };
        before.compare(&after).mean_difference()
    }
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
        surface: LowSurface::Source,
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
            let why = reason(&why);
            job.warn(format!("not rebaked: {why}; the meshes were simplified"));
            warn_of_missing_maps(settings, job);
            return;
        }
    };
    let surface = match notes.surface {
        LowSurface::Source => String::new(),
        LowSurface::Remeshed(cells) => format!(", a new surface of {cells} voxels"),
    };
    job.info(format!(
        "rebaked: {}, {}, fill {:.2}, stretch {:.3}{surface}; difference from the source {:.4}, of plain simplification {:.4}",
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

/// Why a model was not rebaked. Two scores are shown with enough digits to tell them apart.
fn reason(why: &NotRebaked) -> String {
    let NotRebaked::PlainIsBetter { plain, baked } = *why else {
        return why.to_string();
    };
    let shown = |digits: usize| (format!("{plain:.digits$}"), format!("{baked:.digits$}"));
    match (4..=9).map(shown).find(|(plain, baked)| plain != baked) {
        Some((plain, baked)) => format!(
            "the plain simplification looks more like the source (difference {plain} against {baked})"
        ),
        None => "it looks no more like the source than the plain simplification".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_shown_with_the_digits_that_tell_them_apart() {
        for (plain, baked, end) in [
            (0.0123, 0.05, "(difference 0.0123 against 0.0500)"),
            (
                0.000_001_2,
                0.000_003,
                "(difference 0.000001 against 0.000003)",
            ),
            (0.0, 0.0, "than the plain simplification"),
        ] {
            let text = reason(&NotRebaked::PlainIsBetter { plain, baked });
            assert!(text.ends_with(end), "{text}");
        }
    }
}
