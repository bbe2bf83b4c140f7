//! Rebaking: a new low mesh with one atlas, and textures that are baked from the source.
//!
//! The triangles of a model are sorted into classes by their use of alpha, their sides and light. Each class is simplified
//! without regard to materials, seams of textures and parts, unwrapped, and gets one material whose textures are looked up
//! on the source by rays. The same source and options always give the same bytes.

mod assemble;
mod atlas;
mod bake;
mod caster;
mod classes;
mod emptied_nodes;
mod fill;
mod fit;
mod fitness;
mod low;
mod material;
mod normals;
mod occlusion;
mod on_charts;
mod places;
mod remesh;
mod resolution;
mod sharpen;
mod tangents;

use glam::Vec3;
use rayon::prelude::*;

use super::render::{PreparedScene, RenderScene};
use super::scene::{Geometry, Scene};
use super::settings::{BakingQuality, TextureLimits};
use super::simplify::{Limits, Simplified};
use super::unwrap::{UnwrapOptions, unwrap};

use atlas::Atlas;
use bake::{Baker, Maps};
use caster::{Caster, SourceSurface};
use classes::{Class, classes};
pub use fitness::NotRebaked;
pub use low::LowModel;
use material::{MapPlan, add_material};
use occlusion::{OcclusionMap, Surroundings};
pub use on_charts::{MaterialOutcome, NotOnCharts, WantedMaps, bake_on_charts};

/// Texels between charts.
const PADDING: u32 = 4;

/// What the low mesh is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LowSurface {
    /// The triangles of the source.
    Source,
    /// A new surface by voxels, so many on its longest side (4 to 256); the source's for classes that it does not fit.
    Remeshed(u32),
}

impl LowSurface {
    /// How far it may lie from the source before it is simplified, as a part of the model's size.
    fn distance(self) -> f32 {
        match self {
            LowSurface::Source => 0.0,
            LowSurface::Remeshed(cells) => 2.0 / cells as f32,
        }
    }

    /// How far vertices move towards the positions of the least squares, from 0 to 1. At these positions, the vertices of a
    /// curved surface lie outside of the source, so its outline is too wide. Half of the way is a compromise.
    fn fitted_share(self) -> f32 {
        match self {
            LowSurface::Source => 0.5,
            LowSurface::Remeshed(_) => 1.0,
        }
    }
}

/// How a model is rebaked.
#[derive(Debug, Clone, Copy)]
pub struct RebakeOptions {
    pub surface: LowSurface,
    pub quality: BakingQuality,
    /// Whether normals are baked even where the source has no normal map.
    pub normal_map: bool,
    /// Whether ambient occlusion is computed.
    pub occlusion_map: bool,
    /// How much charts may be stretched: 0 is not at all.
    pub stretch: f32,
    /// The longest side of each texture.
    pub limits: TextureLimits,
}

impl RebakeOptions {
    /// The stretch that makes few charts which are hardly stretched.
    pub const STRETCH: f32 = 1.1;

    /// The fastest way to the maps that the source has, with textures of at most this size.
    pub fn fast(side: u32) -> RebakeOptions {
        RebakeOptions {
            surface: LowSurface::Source,
            quality: BakingQuality::Low,
            normal_map: false,
            occlusion_map: false,
            stretch: Self::STRETCH,
            limits: TextureLimits::all(side),
        }
    }

    /// The same with a map of normals and of occlusion, whatever the source has.
    pub fn with_all_maps(self) -> RebakeOptions {
        RebakeOptions {
            normal_map: true,
            occlusion_map: true,
            ..self
        }
    }
}

/// A rebaked model.
#[derive(Debug)]
pub struct Rebaked {
    pub scene: Scene,
    pub simplified: Simplified,
    /// Charts of all atlases.
    pub charts: u32,
    /// The share of the atlases that charts cover: the least of all.
    pub fill: f32,
    /// How much charts are stretched (L², Sander et al. 2001): the most of all; 1 is not at all.
    pub stretch: f32,
    /// Extensions of materials whose effect is not in the result.
    pub left_out: Vec<String>,
}

/// A model that is ready to be rebaked: once or several times, with different limits and options.
pub struct Rebaker<'m> {
    source: SourceModel<'m>,
    classes: Vec<Class>,
    /// That of each class.
    surfaces: Vec<SourceSurface>,
}

/// A model that is baked from.
struct SourceModel<'m> {
    model: &'m Scene,
    prepared: PreparedScene,
    /// The diagonal of the model.
    size: f32,
}

/// What all classes of a result are baked from.
struct Job<'j> {
    model: &'j Scene,
    source: &'j PreparedScene,
    options: &'j RebakeOptions,
    surroundings: Option<Surroundings>,
}

/// Says soon whether a model can be rebaked.
///
/// # Errors
/// When it cannot; the error says why.
pub fn check(model: &Scene, limits: &Limits, options: &RebakeOptions) -> Result<(), NotRebaked> {
    let bakes_shape = options.normal_map || options.occlusion_map;
    if model.drawn_triangles() <= limits.triangles {
        return Err(NotRebaked::WithinLimit);
    }
    fitness::obstacle(model, bakes_shape).map_or(Ok(()), Err)
}

/// Rebakes a model within the limits.
///
/// # Errors
/// When the model cannot be rebaked; the error says why.
pub fn rebake(
    model: &Scene,
    limits: &Limits,
    options: &RebakeOptions,
) -> Result<Rebaked, NotRebaked> {
    check(model, limits, options)?;
    let rebaker = Rebaker::new(model)?;
    rebaker.bake(&rebaker.low_model(limits, options)?, options)
}

impl<'m> Rebaker<'m> {
    /// Prepares a model.
    ///
    /// # Errors
    /// When its size cannot be measured.
    pub fn new(model: &'m Scene) -> Result<Rebaker<'m>, NotRebaked> {
        let source = SourceModel::new(model)?;
        let classes = classes(&source.prepared);
        let surfaces = classes.par_iter();
        let surfaces = surfaces.map(|class| SourceSurface::new(&source.prepared, &class.triangles));
        Ok(Rebaker {
            surfaces: surfaces.collect(),
            source,
            classes,
        })
    }

    /// Makes the low meshes within the limits. They can be baked several times, with different options.
    ///
    /// # Errors
    /// When the model cannot be rebaked; the error says why.
    pub fn low_model(
        &self,
        limits: &Limits,
        options: &RebakeOptions,
    ) -> Result<LowModel, NotRebaked> {
        check(self.source.model, limits, options)?;
        Ok(LowModel::new(self, limits, options))
    }

    /// Unwraps low meshes of this model and bakes their textures. The surface of the options has no effect.
    ///
    /// # Errors
    /// When a texture cannot be written, or nothing is left of the model.
    pub fn bake(&self, low: &LowModel, options: &RebakeOptions) -> Result<Rebaked, NotRebaked> {
        let model = self.source.model;
        let job = Job::new(&self.source, options);
        let mut rebaked = Rebaked {
            scene: assemble::emptied(model),
            simplified: low.simplified,
            charts: 0,
            fill: 1.0,
            stretch: 1.0,
            left_out: fitness::extensions_left_out(model),
        };
        for ((class, surface), mesh) in self.classes.iter().zip(&self.surfaces).zip(&low.meshes) {
            if !mesh.indices.is_empty() {
                let caster = Caster::new(job.source, surface, low.search);
                job.add_class(&mut rebaked, class, &caster, mesh)?;
            }
        }
        if rebaked.scene.drawn_triangles() == 0 {
            return Err(NotRebaked::Empty);
        }
        Ok(rebaked)
    }
}

impl<'m> SourceModel<'m> {
    fn new(model: &'m Scene) -> Result<SourceModel<'m>, NotRebaked> {
        let adapted = RenderScene::from_model(model).scene;
        let bounds = adapted.bounding_box().ok_or(NotRebaked::NotMeasurable)?;
        let size = (bounds.high - bounds.low).length();
        if !size.is_finite() || size <= 0.0 {
            return Err(NotRebaked::NotMeasurable);
        }
        Ok(SourceModel {
            model,
            prepared: PreparedScene::new(&adapted),
            size,
        })
    }
}

impl<'j> Job<'j> {
    fn new(source: &'j SourceModel<'j>, options: &'j RebakeOptions) -> Job<'j> {
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

    /// Unwraps and bakes a class and adds it to the result.
    fn add_class(
        &self,
        result: &mut Rebaked,
        class: &Class,
        caster: &Caster<'_>,
        low: &Geometry,
    ) -> Result<(), NotRebaked> {
        let has_normal_map = has_normal_map(self.source, class, self.options);
        let side = resolution::side_of(self.model, class, &self.options.limits);
        let positions: Vec<[f32; 3]> = low.positions().as_chunks::<3>().0.to_vec();
        let unwrapped = unwrap(
            &positions,
            &low.indices,
            &UnwrapOptions {
                stretch: self.options.stretch,
                texture_size: side,
                padding: PADDING,
            },
        );
        let mesh = tangents::with_coordinates(low, &unwrapped, has_normal_map);
        let maps = self.bake(class, caster, &mesh, side);
        let plan = MapPlan {
            replaces: resolution::media_type_of(self.model, class),
            has_normal_map,
        };
        let scene = &mut result.scene;
        let material = add_material(scene, class, &maps, &plan).map_err(NotRebaked::NotEncoded)?;
        assemble::add_mesh(scene, &class.name(), mesh, material);
        result.charts += unwrapped.chart_count;
        result.fill = result.fill.min(unwrapped.fill);
        result.stretch = result.stretch.max(unwrapped.stretch);
        Ok(())
    }

    fn bake(&self, class: &Class, caster: &Caster<'_>, mesh: &Geometry, side: u32) -> Maps {
        let samples = match self.options.quality {
            BakingQuality::Low => 1,
            BakingQuality::Medium => 2,
            BakingQuality::High => 4,
        };
        let occlusion = self.surroundings.as_ref().map(|around| {
            let small = Atlas::new(mesh, side.min(occlusion::LONGEST), 1);
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

/// Whether a class gets a normal map: on request, and where the source has one.
fn has_normal_map(source: &PreparedScene, class: &Class, options: &RebakeOptions) -> bool {
    let is_bumpy = |number: &usize| source.material(*number).normal_texture.is_some();
    !class.unlit && (options.normal_map || class.materials.iter().any(is_bumpy))
}
