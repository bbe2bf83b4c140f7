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
mod job;
mod low;
mod maps;
mod material;
mod normals;
mod occlusion;
mod on_charts;
mod options;
mod places;
mod remesh;
mod resolution;
mod sharpen;
mod source_model;
mod tangents;

use rayon::prelude::*;

use super::scene::{Geometry, Scene};
use super::simplify::{Limits, Simplified};
use super::unwrap::{UnwrapOptions, unwrap};

use caster::{Caster, SourceSurface};
use classes::{Class, classes};
pub use fitness::NotRebaked;
use job::Job;
pub use low::LowModel;
use material::{MapPlan, add_material};
pub use on_charts::{MaterialOutcome, NotOnCharts, bake_on_charts};
pub use options::{LowSurface, RebakeOptions, WantedMaps};
use source_model::SourceModel;

/// Texels between charts.
const PADDING: u32 = 4;

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
        let Rebaker {
            source,
            classes,
            surfaces,
        } = self;
        Ok(LowModel::new(source, classes, surfaces, limits, options))
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
                add_class(&job, &mut rebaked, class, &caster, mesh)?;
            }
        }
        if rebaked.scene.drawn_triangles() == 0 {
            return Err(NotRebaked::Empty);
        }
        Ok(rebaked)
    }
}

/// Unwraps and bakes a class and adds it to the result.
fn add_class(
    job: &Job<'_>,
    result: &mut Rebaked,
    class: &Class,
    caster: &Caster<'_>,
    low: &Geometry,
) -> Result<(), NotRebaked> {
    let has_normal_map = class.has_normal_map(job.source, job.options);
    let side = resolution::side_of(job.model, class, &job.options.limits);
    let positions: Vec<[f32; 3]> = low.positions().as_chunks::<3>().0.to_vec();
    let unwrapped = unwrap(
        &positions,
        &low.indices,
        &UnwrapOptions {
            stretch: job.options.stretch,
            texture_size: side,
            padding: PADDING,
        },
    );
    let mesh = tangents::with_coordinates(low, &unwrapped, has_normal_map);
    let maps = job.bake(class, caster, &mesh, side);
    let plan = MapPlan {
        replaces: resolution::replaced_kind(job.model, class),
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
