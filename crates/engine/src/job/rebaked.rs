//! Rebakes a model for a job, and decides whether the result is kept or the one of plain simplification.

use rayon::prelude::*;

use super::super::clean;
use super::super::rebake::{self, LowModel, LowSurface, NotRebaked, RebakeOptions, Rebaker};
use super::super::scene::Scene;
use super::super::settings::Settings;
use super::super::simplify::{Limits, Simplified};
use super::super::textures::fit;
use super::context::JobContext;
use super::export::plan_of;
use super::judge::{DrawnSource, Judge, Verdict};
use assetfs_formats::number_text::counted;
use assetfs_formats::warnings::WarningKind;

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
/// How much bytes count beside looks: twice the bytes must give a mean difference that is a sixth smaller.
const BYTES_COUNT: f64 = 0.5;

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
        || judge.verdict(plain),
    );
    let (surface, rebaked) = made?;
    if rebaked.simplified.after > plain_triangles.max(limits.triangles) {
        return Err(NotRebaked::OverLimit);
    }
    let baked = judge.verdict(&rebaked.scene);
    let weights = [&rebaked.scene, plain].map(|scene| Weight::of(scene, settings));
    if !is_better((&baked, weights[0]), (&of_plain, weights[1])) {
        return Err(NotRebaked::PlainIsBetter {
            plain: of_plain.mean,
            baked: baked.mean,
            bytes: weights[0].bytes as f64 / weights[1].bytes.max(1) as f64,
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
            plain: of_plain.mean,
            baked: baked.mean,
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
        Some((judge.verdict(&made.scene).loss(), low))
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

/// What a viewer has to load and draw.
#[derive(Debug, Clone, Copy)]
struct Weight {
    draws: usize,
    bytes: usize,
}

impl Weight {
    fn of(scene: &Scene, settings: &Settings) -> Weight {
        Weight {
            draws: draw_calls(scene),
            bytes: bytes_of(scene, settings),
        }
    }

    /// Whether it has fewer draw calls for about as many bytes, or as many draw calls and no more bytes.
    fn is_less_than(&self, other: &Weight) -> bool {
        let most = other.bytes as f64 * BYTES_FOR_DRAWS;
        self.draws < other.draws && self.bytes as f64 <= most
            || self.draws == other.draws && self.bytes <= other.bytes
    }
}

/// Whether the rebaked result is better than the plain one. Of two that look equally good the lighter one is; otherwise
/// looks and bytes count together.
fn is_better(baked: (&Verdict, Weight), plain: (&Verdict, Weight)) -> bool {
    let looks_alike = (baked.0.mean - plain.0.mean).abs() <= NEAR && baked.0.lost <= plain.0.lost;
    if looks_alike && baked.1.is_less_than(&plain.1) {
        return true;
    }
    let bytes = baked.1.bytes.max(1) as f64 / plain.1.bytes.max(1) as f64;
    baked.0.loss() + BYTES_COUNT * bytes.ln() < plain.0.loss()
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
        job.warn(WarningKind::NotBaked, format!(
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
            job.warn(
                WarningKind::NotBaked,
                format!("not rebaked: {why}; the meshes were simplified"),
            );
            warn_of_missing_maps(settings, job);
            return;
        }
    };
    let surface = match notes.surface {
        LowSurface::Source => String::new(),
        LowSurface::Remeshed(cells) => format!(", a new surface of {cells} voxels"),
    };
    job.info(format!(
        "rebaked: {}, {}, atlas fill {:.2}, stretch {:.3}{surface}; mean difference from the source {:.4} (without rebaking {:.4})",
        counted(notes.meshes as u64, "mesh"),
        counted(notes.charts as u64, "chart"),
        notes.fill,
        notes.stretch,
        notes.differences.baked,
        notes.differences.plain
    ));
    if !notes.left_out.is_empty() {
        job.warn(
            WarningKind::NotBaked,
            format!(
                "rebaking leaves out these extensions of materials: {}",
                notes.left_out.join(", ")
            ),
        );
    }
}

/// Why a model was not rebaked. Two scores are shown with enough digits to tell them apart.
fn reason(why: &NotRebaked) -> String {
    let NotRebaked::PlainIsBetter {
        plain,
        baked,
        bytes,
    } = *why
    else {
        return why.to_string();
    };
    if baked < plain {
        return format!(
            "the plain simplification keeps places that the rebaked mesh loses, or has far fewer bytes (difference {plain:.4} against {baked:.4}, {bytes:.2} times the bytes)"
        );
    }
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

    /// The plain result is 0.05 away, and its worst place half; it has 1,000 bytes in 3 draw calls.
    fn wins(mean: f64, worst: f64, lost: f64, bytes: usize, draws: usize) -> bool {
        let plain = Verdict {
            mean: 0.05,
            worst: 0.5,
            lost: 0.0,
        };
        let baked = Verdict { mean, worst, lost };
        let weight = |bytes, draws| Weight { draws, bytes };
        is_better((&baked, weight(bytes, draws)), (&plain, weight(1000, 3)))
    }

    #[test]
    fn a_better_mean_does_not_pay_for_a_part_that_is_gone() {
        assert!(wins(0.04, 0.5, 0.0, 1000, 3));
        assert!(!wins(0.04, 0.9, 1.0, 1000, 3), "a trunk is gone");
        assert!(
            !wins(0.049, 0.9, 1.0, 900, 1),
            "looks alike in the mean alone"
        );
    }

    #[test]
    fn bytes_count_whatever_the_looks() {
        assert!(wins(0.048, 0.5, 0.0, 1000, 3));
        assert!(!wins(0.047, 0.5, 0.0, 1560, 3));
        assert!(wins(0.03, 0.5, 0.0, 1560, 3));
        // Fewer draw calls may cost a fifth of the bytes.
        assert!(wins(0.051, 0.5, 0.0, 1190, 1));
        assert!(!wins(0.051, 0.5, 0.0, 1210, 1));
    }

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
            let text = reason(&NotRebaked::PlainIsBetter {
                plain,
                baked,
                bytes: 1.0,
            });
            assert!(text.ends_with(end), "{text}");
        }
    }
}
