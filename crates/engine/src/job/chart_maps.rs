//! Bakes maps into the texture coordinates of a model that was simplified in the usual way, and reports for which materials.

use super::super::rebake::{MaterialOutcome, NotRebaked, bake_on_charts};
use super::super::scene::Scene;
use super::super::settings::Settings;
use super::context::JobContext;
use super::rebaked::options_of;
use assetfs_formats::warnings::WarningKind;

/// What became of each material, or why none has maps.
pub(super) type ChartMaps = Result<Vec<MaterialOutcome>, NotRebaked>;

/// Bakes the maps that the settings ask for; `None` if they ask for none, or for a new mesh. `error` is the most that the
/// simplification moved the surface of the source.
pub(super) fn baked_on_charts(
    source: &Scene,
    result: &mut Scene,
    error: f32,
    settings: &Settings,
) -> Option<ChartMaps> {
    is_wanted(settings).then(|| bake_on_charts(source, result, error, &options_of(settings)))
}

/// Whether the settings ask for maps without a new mesh.
pub(super) fn is_wanted(settings: &Settings) -> bool {
    !settings.rebakes && (settings.baking.normal_map || settings.baking.occlusion_map)
}

/// Writes the outcome into the logs.
pub(super) fn report(outcome: ChartMaps, job: &mut JobContext<'_>) {
    let materials = match outcome {
        Ok(materials) => materials,
        Err(why) => {
            job.warn(WarningKind::NotBaked, format!("no maps were baked: {why}"));
            return;
        }
    };
    for MaterialOutcome { name, maps } in materials {
        match maps {
            Ok(maps) if maps.normal || maps.occlusion => {
                let what = match (maps.normal, maps.occlusion) {
                    (true, true) => "normals and occlusion",
                    (true, false) => "normals",
                    _ => "occlusion",
                };
                job.info(format!("baked {what} for the material {name}"));
            }
            Ok(_) => job.warn(WarningKind::NotBaked, format!(
                "no maps were baked for the material {name}, because the result would be flat: the source has no more shape and no occlusion there"
            )),
            Err(why) => job.warn(WarningKind::NotBaked, format!("no maps were baked for the material {name}: {why}")),
        }
    }
}
