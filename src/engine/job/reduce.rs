//! Removes triangles to the face limit: simplifies the meshes, or rebakes the model where that looks better.

use super::super::clean;
use super::super::number_text::{counted, grouped};
use super::super::rebake::NotRebaked;
use super::super::scene::Scene;
use super::super::settings::Settings;
use super::super::simplify::{Limits, Method, Simplified, simplify};
use super::context::JobContext;
use super::rebaked::{self, DrawnSource, RebakeNotes, rebaked_if_better};

/// What was done to meet a face limit.
pub(super) struct Reduction {
    simplified: Simplified,
    /// What rebaking did or why it was not done; `None` if it was not asked for.
    rebaked: Option<Result<RebakeNotes, NotRebaked>>,
}

/// Reduces the scene to the limit that the settings have for it; `None` if there is none.
pub(super) fn reduced(
    scene: &mut Scene,
    settings: &Settings,
    drawn: DrawnSource<'_>,
) -> Option<Reduction> {
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
        let (baked, done, notes) =
            rebaked_if_better(&source, scene, simplified.after, &limits, settings, drawn)?;
        simplified = done;
        *scene = baked;
        Ok(notes)
    });
    Some(Reduction {
        simplified,
        rebaked,
    })
}

/// Reduces the scene of a job and reports how.
pub(super) fn reduce(
    scene: &mut Scene,
    settings: &Settings,
    drawn: DrawnSource<'_>,
    job: &mut JobContext<'_>,
) {
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
            "simplifying {} to {}",
            grouped(faces),
            counted(limit.min(faces), "triangle")
        ),
    );
    let Some(reduction) = reduced(scene, settings, drawn) else {
        return;
    };
    job.metrics.lap("simplify");
    report_simplified(&reduction.simplified, limit, settings, job);
    if let Some(outcome) = reduction.rebaked {
        rebaked::report(outcome, job);
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
            "the limit of {} is not met: {} are left, because {why}",
            counted(limit, "triangle"),
            grouped(done.after)
        ));
    }
}
