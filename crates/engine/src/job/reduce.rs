//! Removes triangles to the face limit: simplifies the meshes, or rebakes the model where that looks better. Then bakes maps
//! into the texture coordinates that are left, where they are asked for.

use super::super::clean;
use super::super::rebake::NotRebaked;
use super::super::scene::Scene;
use super::super::settings::Settings;
use super::super::simplify::{Limits, Method, Simplified, simplify};
use super::chart_maps::{self, ChartMaps, baked_on_charts};
use super::context::JobContext;
use super::judge::DrawnSource;
use super::rebaked::{self, RebakeNotes, rebaked_if_better};
use assetfs_formats::number_text::{counted, grouped};
use assetfs_formats::warnings::WarningKind;

/// What was done to meet a face limit.
pub(super) struct Reduction {
    /// `None` if there is no limit.
    simplified: Option<Simplified>,
    /// What rebaking did or why it was not done; `None` if it was not asked for.
    rebaked: Option<Result<RebakeNotes, NotRebaked>>,
    /// What was baked into its own texture coordinates; `None` if nothing was asked for.
    maps: Option<ChartMaps>,
}

/// A scene after its reduction.
pub(super) struct ReducedScene {
    pub(super) scene: Scene,
    reduction: Reduction,
}

impl ReducedScene {
    /// Reduces a scene to the limit that the settings have for it.
    pub(super) fn new(
        mut scene: Scene,
        settings: &Settings,
        drawn: DrawnSource<'_>,
    ) -> ReducedScene {
        let reduction = reduced(&mut scene, settings, drawn);
        ReducedScene { scene, reduction }
    }
}

/// Whether the settings ask for textures to be baked.
pub(super) fn bakes(settings: &Settings) -> bool {
    settings.rebakes || chart_maps::is_wanted(settings)
}

fn reduced(scene: &mut Scene, settings: &Settings, drawn: DrawnSource<'_>) -> Reduction {
    let source = bakes(settings).then(|| scene.clone());
    let Some(triangles) = settings.face_limit(scene.drawn_triangles()) else {
        return Reduction {
            simplified: None,
            rebaked: None,
            maps: source.and_then(|source| baked_on_charts(&source, scene, 0.0, settings)),
        };
    };
    let limits = Limits {
        triangles,
        keep_topology: settings.preserve_topology,
        evenness: settings.density_equalization as f32,
        border_lock: settings.border_lock as f32,
    };
    let mut simplified = simplify(scene, &limits);
    if simplified.before != simplified.after {
        clean::pack_keyframes(scene);
    }
    let maps = source
        .as_ref()
        .and_then(|source| baked_on_charts(source, scene, simplified.error, settings));
    let rebaked = source.filter(|_| settings.rebakes).map(|source| {
        let (baked, done, notes) =
            rebaked_if_better(&source, scene, simplified.after, &limits, settings, drawn)?;
        simplified = done;
        *scene = baked;
        Ok(notes)
    });
    Reduction {
        simplified: Some(simplified),
        rebaked,
        maps,
    }
}

/// Reduces the scene of a job and reports how. `known` is the result, if it was made already.
pub(super) fn reduce(
    scene: &mut Scene,
    settings: &Settings,
    drawn: DrawnSource<'_>,
    known: Option<ReducedScene>,
    job: &mut JobContext<'_>,
) {
    let faces = scene.drawn_triangles();
    let limit = settings.face_limit(faces);
    warn_of_idle_settings(settings, limit, faces, job);
    match limit {
        Some(limit) => job.step(
            25,
            format!(
                "simplifying {} to {}",
                grouped(faces),
                counted(limit.min(faces), "triangle")
            ),
        ),
        None if chart_maps::is_wanted(settings) => job.step(25, "baking"),
        None => return,
    }
    let result = match known {
        Some(known) => known,
        None => ReducedScene::new(std::mem::take(scene), settings, drawn),
    };
    *scene = result.scene;
    let reduction = result.reduction;
    job.metrics.lap("simplify");
    if let (Some(simplified), Some(limit)) = (&reduction.simplified, limit) {
        report_simplified(simplified, limit, settings, job);
    }
    if let Some(outcome) = reduction.rebaked {
        rebaked::report(outcome, settings, job);
    }
    if let Some(outcome) = reduction.maps {
        chart_maps::report(outcome, job);
    }
}

/// Names settings of baking that have no effect.
fn warn_of_idle_settings(
    settings: &Settings,
    limit: Option<u64>,
    faces: u64,
    job: &mut JobContext<'_>,
) {
    if settings.rebakes {
        if limit.is_none() {
            job.warn(
                WarningKind::NotBaked,
                format!("not rebaked: {}", NotRebaked::WithinLimit),
            );
            rebaked::warn_of_missing_maps(settings, job);
        }
        return;
    }
    if settings.baking != Default::default() && !chart_maps::is_wanted(settings) {
        job.warn(
            WarningKind::SettingIgnored,
            "bakingQuality and uvStretchTolerance have no effect where nothing is baked",
        );
    }
    if settings.baking.normal_map && limit.is_none_or(|limit| limit >= faces) {
        job.warn(
            WarningKind::NotBaked,
            "bakeNormalMap has no effect, because no face limit removes triangles",
        );
    }
}

fn report_simplified(done: &Simplified, limit: u64, settings: &Settings, job: &mut JobContext<'_>) {
    if done.before == done.after {
        job.info(format!(
            "{}, within the limit of {}",
            counted(done.before, "triangle"),
            grouped(limit)
        ));
    } else {
        job.info(format!(
            "simplified from {} to {} (limit {}), error {:.3} % of the size",
            grouped(done.before),
            counted(done.after, "triangle"),
            grouped(limit),
            done.relative_error * 100.0
        ));
    }
    match done.method {
        Method::Strict | Method::Careful => {}
        Method::Pruning => job.warn(
            WarningKind::LimitMissed,
            "small loose pieces were left out to meet the limit; check the result",
        ),
        Method::Sloppy => job.warn(
            WarningKind::LimitMissed,
            "the limit could be met only by merging vertices regardless of the shape; check the result closely",
        ),
    }
    if done.after > limit {
        let why = if settings.preserve_topology {
            "preserveTopology is set"
        } else if !done.is_measured {
            "coordinates of the model are too large or too small to be measured"
        } else {
            "fewer would make parts of the model vanish"
        };
        job.warn(
            WarningKind::LimitMissed,
            format!(
                "the limit of {} is not met: {} are left, because {why}",
                counted(limit, "triangle"),
                grouped(done.after)
            ),
        );
    }
}
