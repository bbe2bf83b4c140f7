//! What all classes of a result share while their textures are baked.

use glam::Vec3;

use super::super::render::PreparedScene;
use super::super::scene::{Geometry, Scene};
use super::super::settings::BakingQuality;
use super::atlas::Atlas;
use super::bake::Baker;
use super::caster::Caster;
use super::classes::Class;
use super::maps::Maps;
use super::occlusion::{self, OcclusionMap, Surroundings};
use super::options::RebakeOptions;
use super::source_model::SourceModel;

/// What all classes of a result are baked from.
pub(super) struct Job<'j> {
    pub(super) model: &'j Scene,
    pub(super) source: &'j PreparedScene,
    pub(super) options: &'j RebakeOptions,
    surroundings: Option<Surroundings>,
}

impl<'j> Job<'j> {
    pub(super) fn new(source: &'j SourceModel<'j>, options: &'j RebakeOptions) -> Job<'j> {
        let rays = match options.quality {
            BakingQuality::Low => 16,
            BakingQuality::Medium => 32,
            BakingQuality::High => 64,
        };
        let SourceModel {
            model,
            prepared,
            size,
        } = source;
        Job {
            surroundings: options
                .occlusion_map
                .then(|| Surroundings::new(prepared, *size, rays)),
            model,
            source: prepared,
            options,
        }
    }

    /// Bakes the textures of a class into the coordinates of a mesh.
    pub(super) fn bake(
        &self,
        class: &Class,
        caster: &Caster<'_>,
        mesh: &Geometry,
        side: u32,
    ) -> Maps {
        let samples = match self.options.quality {
            BakingQuality::Low => 1,
            BakingQuality::Medium => 2,
            BakingQuality::High => 4,
        };
        let occlusion = self.surroundings.as_ref().map(|around| {
            let small = Atlas::new(mesh, side.min(occlusion::MAX_SIDE), 1);
            OcclusionMap::new(self.source, caster, &small, around)
        });
        let emitted = class.materials.iter().map(|material| {
            let emissive: Vec3 = self.source.material(*material).emissive;
            emissive.max_element()
        });
        let baker = Baker {
            source: self.source,
            caster,
            atlas: &Atlas::new(mesh, side, samples),
            occlusion: occlusion.as_ref(),
            emissive_scale: emitted.fold(0.0, f32::max),
        };
        baker.bake()
    }
}
