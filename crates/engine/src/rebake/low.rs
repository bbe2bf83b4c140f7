//! The low mesh: the triangles of each class without materials and seams, simplified together.

use std::collections::HashMap;

use glam::Vec3;
use serde_json::json;

use super::super::clean;
use super::super::manipulate::merge_near;
use super::super::render::PreparedScene;
use super::super::scene::{Attribute, Geometry, Mesh, Primitive, Scene};
use super::super::simplify::{Limits, Simplified, simplify};
use super::caster::{Caster, SearchRange, SourceSurface};
use super::classes::Class;
use super::fit;
use super::normals;
use super::options::{LowSurface, RebakeOptions};
use super::remesh::remeshed;
use super::source_model::SourceModel;

/// How long normals are stored for the simplifier, which measures their differences. A baked normal map replaces them, so
/// they count far less than the shape, whose outline no map can mend.
const NORMAL_LENGTH: f32 = 0.02;

/// Vertices nearer than this part of the model's size are one, so that no crack opens where the source has a seam.
const SAME_PLACE: f32 = 1e-5;
/// Normals are rounded to this, so that equal ones are equal.
const NORMAL_STEPS: f32 = 1024.0;

/// The low meshes of a model, before they are unwrapped.
#[derive(Debug)]
pub struct LowModel {
    /// One for each class, in the world, with positions and normals.
    pub(super) meshes: Vec<Geometry>,
    pub(super) simplified: Simplified,
    surface: LowSurface,
    pub(super) search: SearchRange,
}

impl LowModel {
    /// Simplifies the surface that the options name, and fits it to the source.
    pub(super) fn new(
        source: &SourceModel<'_>,
        classes: &[Class],
        surfaces: &[SourceSurface],
        limits: &Limits,
        options: &RebakeOptions,
    ) -> LowModel {
        let prepared = &source.prepared;
        let (size, surface) = (source.size, options.surface);
        let (mut meshes, simplified) =
            low_meshes(prepared, classes, limits, (size, surface), |class| {
                class.has_normal_map(prepared, options)
            });
        let search = SearchRange::new(size, surface, simplified.error);
        for (below, mesh) in surfaces.iter().zip(&mut meshes) {
            let caster = Caster::new(prepared, below, search);
            fit::fit(mesh, &caster, surface.fitted_share());
        }
        LowModel {
            meshes,
            simplified,
            surface,
            search,
        }
    }

    /// The number of its triangles.
    pub fn triangles(&self) -> u64 {
        self.simplified.after
    }

    pub fn surface(&self) -> LowSurface {
        self.surface
    }
}

/// One geometry for each class, in the world, with positions and normals. Together they are within the limits. `size` is
/// that of the model, and `surface` what is simplified.
fn low_meshes(
    source: &PreparedScene,
    classes: &[Class],
    limits: &Limits,
    (size, surface): (f32, LowSurface),
    has_normal_map: impl Fn(&Class) -> bool,
) -> (Vec<Geometry>, Simplified) {
    let count = classes.len();
    let mapped: Vec<bool> = classes.iter().map(has_normal_map).collect();
    let lengths: Vec<f32> = mapped
        .iter()
        .map(|is_mapped| match is_mapped {
            true => NORMAL_LENGTH,
            false => 1.0,
        })
        .collect();
    let mut scene = Scene {
        geometries: classes
            .iter()
            .zip(&lengths)
            .map(|(class, length)| joined(source, class, *length))
            .collect(),
        ..Scene::default()
    };
    scene.meshes = (0..count)
        .map(|geometry| Mesh {
            primitives: vec![Primitive {
                geometry,
                ..Primitive::default()
            }],
            ..Mesh::default()
        })
        .collect();
    let nodes: Vec<_> = (0..count).map(|mesh| json!({ "mesh": mesh })).collect();
    scene.json.insert("nodes".to_owned(), nodes.into());
    merge_near(&mut scene, size * SAME_PLACE);
    clean::clean(&mut scene);
    let before = scene.drawn_triangles();
    if let LowSurface::Remeshed(cells) = surface {
        for (mesh, length) in scene.geometries.iter_mut().zip(&lengths) {
            if let Some(made) = remeshed(mesh, cells, *length) {
                *mesh = made;
            }
        }
        clean::clean(&mut scene);
    }
    let done = Simplified {
        before,
        ..simplify(&mut scene, limits)
    };
    clean::clean(&mut scene);
    for (mesh, is_mapped) in scene.geometries.iter_mut().zip(mapped) {
        lengthen_normals(mesh);
        normals::mend(mesh, is_mapped);
    }
    (scene.geometries, done)
}

/// The triangles of a class as one geometry. Vertices of several parts that are equal become one in the clean-up.
fn joined(source: &PreparedScene, class: &Class, normal_length: f32) -> Geometry {
    let mut places: HashMap<u32, u32> = HashMap::with_capacity(class.triangles.len());
    let (mut positions, mut normals) = (Vec::new(), Vec::new());
    let mut indices = Vec::with_capacity(class.triangles.len() * 3);
    for triangle in &class.triangles {
        let [a, b, c] = source.corners(*triangle);
        let face = (b - a).cross(c - a).normalize_or(Vec3::Y);
        for vertex in source.vertices(*triangle) {
            let place = *places.entry(vertex).or_insert_with(|| {
                let (position, normal) = source.vertex(vertex);
                positions.extend(position.to_array());
                let rounded = (normal.normalize_or(face) * NORMAL_STEPS).round() / NORMAL_STEPS;
                normals.extend((rounded * normal_length).to_array());
                positions.len() as u32 / 3 - 1
            });
            indices.push(place);
        }
    }
    Geometry {
        indices,
        attributes: vec![
            Attribute::new("POSITION", 3, positions),
            Attribute::new("NORMAL", 3, normals),
        ],
        ..Geometry::default()
    }
}

fn lengthen_normals(mesh: &mut Geometry) {
    let normals = mesh.attribute_mut("NORMAL");
    for normal in normals
        .into_iter()
        .flat_map(|found| found.values.chunks_exact_mut(3))
    {
        let unit = Vec3::from_slice(normal).normalize_or(Vec3::Y);
        normal.copy_from_slice(&unit.to_array());
    }
}
