//! Bakes maps of the source into the texture coordinates that a simplified model has, without a new mesh: normals, and
//! ambient occlusion. Each material gets maps of its own; materials whose texels do not belong to one place are left out.

use std::collections::BTreeMap;

use glam::{Mat3, Mat4, Vec3};

use super::super::render::PreparedScene;
use super::super::scene::{Attribute, Geometry, Scene};
use super::atlas::Atlas;
use super::caster::{Caster, SearchRange, SourceSurface};
use super::classes::Class;
use super::fitness::{self, NotRebaked};
use super::job::Job;
use super::material::{MapPlan, set_maps};
use super::options::{LowSurface, RebakeOptions, WantedMaps};
use super::resolution;
use super::source_model::SourceModel;
use super::tangents;

/// The side of the grid in which overlaps are looked for.
const GRID: u32 = 1024;
/// The share of covered texels that two triangles may cover: neighbours that the simplification moved a little.
const OVERLAP: f32 = 0.02;
/// How far texture coordinates may leave the square.
const OUTSIDE: f32 = 1e-3;

/// What became of a material.
#[derive(Debug)]
pub struct MaterialOutcome {
    pub name: String,
    /// Which maps it has now, or why it has none.
    pub maps: Result<WantedMaps, NotOnCharts>,
}

/// Why a material gets no maps.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotOnCharts {
    #[error("it is unlit, so normals and occlusion would not be visible")]
    Unlit,
    #[error("meshes without a material cannot have textures")]
    NoMaterial,
    #[error("a mesh of it has no texture coordinates")]
    NoCoordinates,
    #[error("a mesh of it is drawn {0} times, and each place needs texels of its own")]
    DrawnAgain(usize),
    #[error("its texture coordinates leave the texture, which repeats there")]
    Repeating,
    #[error("{0:.0} % of its texels belong to several places of the surface")]
    Overlapping(f32),
    #[error("the textures could not be written: {0}")]
    NotEncoded(String),
}

/// Bakes maps of `source` for each material of `result`, which is the source after its simplification. `error` is the most
/// that this moved the surface.
///
/// # Errors
/// When maps of the model cannot be baked at all; the error says why.
pub fn bake_on_charts(
    source: &Scene,
    result: &mut Scene,
    error: f32,
    options: &RebakeOptions,
) -> Result<Vec<MaterialOutcome>, NotRebaked> {
    if let Some(obstacle) = fitness::obstacle(source, true) {
        return Err(obstacle);
    }
    let wanted = WantedMaps {
        // The source's own shape shows nothing that the result lacks.
        normal: options.normal_map && source.drawn_triangles() != result.drawn_triangles(),
        occlusion: options.occlusion_map,
    };
    if wanted == WantedMaps::default() {
        return Ok(Vec::new());
    }
    let measured = SourceModel::new(source)?;
    let job = Job::new(&measured, options);
    let search = SearchRange::new(measured.size, LowSurface::Source, error);
    let mut outcomes = Vec::new();
    for (material, triangles) in triangles_by_material(job.source) {
        let name = name_of(result, material);
        let maps = match obstacle(source, job.source.material(material).unlit, material) {
            Some(obstacle) => Err(obstacle),
            None => job.bake_material(result, material, triangles, search, wanted),
        };
        outcomes.push(MaterialOutcome { name, maps });
    }
    Ok(outcomes)
}

fn triangles_by_material(source: &PreparedScene) -> BTreeMap<usize, Vec<u32>> {
    let mut found: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for triangle in 0..source.triangle_count() as u32 {
        let material = source.material_number(triangle);
        found.entry(material).or_default().push(triangle);
    }
    found
}

fn name_of(scene: &Scene, material: usize) -> String {
    let name = scene
        .list("materials")
        .get(material)
        .and_then(|known| known["name"].as_str());
    name.map_or_else(|| format!("material {material}"), str::to_owned)
}

/// Why no maps can be baked for a material, as far as its meshes alone say.
fn obstacle(source: &Scene, is_unlit: bool, material: usize) -> Option<NotOnCharts> {
    if is_unlit {
        return Some(NotOnCharts::Unlit);
    }
    if material >= source.list("materials").len() {
        return Some(NotOnCharts::NoMaterial);
    }
    let geometries = geometries_of(source, material);
    let coordinates = |geometry: usize| source.geometries[geometry].attribute("TEXCOORD_0");
    if geometries.keys().any(|known| coordinates(*known).is_none()) {
        return Some(NotOnCharts::NoCoordinates);
    }
    if let Some(times) = geometries.values().find(|times| **times > 1) {
        return Some(NotOnCharts::DrawnAgain(*times));
    }
    // The simplification may move coordinates a little out of the texture, but the source's are exact.
    let inside = -OUTSIDE..=1.0 + OUTSIDE;
    let leaves = |geometry: &usize| {
        let values = coordinates(*geometry).map_or(&[][..], |found| &found.values);
        values.iter().any(|value| !inside.contains(value))
    };
    geometries
        .keys()
        .any(leaves)
        .then_some(NotOnCharts::Repeating)
}

/// The geometries that are drawn with a material, and how often.
fn geometries_of(scene: &Scene, material: usize) -> BTreeMap<usize, usize> {
    let default = scene.list("materials").len();
    let mut found = BTreeMap::new();
    for draw in scene.draws() {
        for primitive in &scene.meshes[draw.mesh].primitives {
            if primitive.material.unwrap_or(default) == material {
                *found.entry(primitive.geometry).or_insert(0) += 1;
            }
        }
    }
    found
}

impl Job<'_> {
    fn bake_material(
        &self,
        result: &mut Scene,
        material: usize,
        triangles: Vec<u32>,
        search: SearchRange,
        wanted: WantedMaps,
    ) -> Result<WantedMaps, NotOnCharts> {
        let plain = self.source.material(material);
        let class = Class {
            alpha: result.material(Some(material)).alpha_mode,
            double_sided: plain.double_sided,
            unlit: false,
            triangles,
            materials: vec![material],
        };
        let before: Vec<(usize, Geometry)> = geometries_of(result, material)
            .into_keys()
            .map(|geometry| (geometry, result.geometries[geometry].clone()))
            .collect();
        if wanted.normal {
            for (geometry, _) in &before {
                tangents::add_to(&mut result.geometries[*geometry]);
            }
        }
        let baked = self.new_maps(result, &class, search, wanted);
        if !matches!(baked, Ok(found) if found.normal) {
            for (geometry, untouched) in before {
                result.geometries[geometry] = untouched;
            }
        }
        baked
    }

    /// Bakes and sets the maps of a material whose meshes have tangents.
    fn new_maps(
        &self,
        result: &mut Scene,
        class: &Class,
        search: SearchRange,
        wanted: WantedMaps,
    ) -> Result<WantedMaps, NotOnCharts> {
        let [material] = class.materials[..] else {
            return Ok(WantedMaps::default());
        };
        let mesh = mesh_of(result, material);
        let overlap = Atlas::new(&mesh, GRID, 1).overlap();
        if overlap > OVERLAP {
            return Err(NotOnCharts::Overlapping(overlap * 100.0));
        }
        let side = resolution::side_of(self.model, class, &self.options.limits);
        let surface = SourceSurface::new(self.source, &class.triangles);
        let caster = Caster::new(self.source, &surface, search);
        let maps = self.bake(class, &caster, &mesh, side);
        let plan = MapPlan {
            replaces: resolution::replaced_kind(self.model, class),
            has_normal_map: wanted.normal,
        };
        set_maps(result, material, &maps, &plan, wanted).map_err(NotOnCharts::NotEncoded)
    }
}

/// Everything that is drawn with a material, in the world, with its texture coordinates. Each geometry is drawn once.
fn mesh_of(scene: &Scene, material: usize) -> Geometry {
    let mut mesh = WorldMesh::default();
    for draw in scene.draws() {
        for primitive in &scene.meshes[draw.mesh].primitives {
            if primitive.material == Some(material) {
                mesh.add(&scene.geometries[primitive.geometry], draw.world);
            }
        }
    }
    Geometry {
        indices: mesh.indices,
        attributes: vec![
            Attribute::new("POSITION", 3, mesh.positions),
            Attribute::new("NORMAL", 3, mesh.normals),
            Attribute::new("TANGENT", 4, mesh.tangents),
            Attribute::new("TEXCOORD_0", 2, mesh.coords),
        ],
        ..Geometry::default()
    }
}

/// Geometries in the world, as one. Normals and tangents that a geometry does not have are zero.
#[derive(Default)]
struct WorldMesh {
    indices: Vec<u32>,
    positions: Vec<f32>,
    normals: Vec<f32>,
    tangents: Vec<f32>,
    coords: Vec<f32>,
}

impl WorldMesh {
    fn add(&mut self, geometry: &Geometry, world: Mat4) {
        let linear = Mat3::from_mat4(world);
        let side = if linear.determinant() < 0.0 {
            -1.0
        } else {
            1.0
        };
        // Normals are multiplied by the cofactors of the matrix, which exist even if a scale is 0.
        let [x, y, z] = [linear.x_axis, linear.y_axis, linear.z_axis];
        let cofactors = Mat3::from_cols(y.cross(z), z.cross(x), x.cross(y)) * side;
        let first = self.positions.len() as u32 / 3;
        let vector = |name: &str, vertex: usize| {
            let found = geometry.attribute(name).map(|found| found.at(vertex));
            found.map_or(Vec3::ZERO, Vec3::from_slice)
        };
        for vertex in 0..geometry.vertex_count() {
            let position = world.transform_point3(geometry.position(vertex as u32));
            let normal = cofactors * vector("NORMAL", vertex);
            let tangent = (linear * vector("TANGENT", vertex)).normalize_or_zero();
            let sign = geometry
                .attribute("TANGENT")
                .map_or(1.0, |found| found.at(vertex)[3]);
            let coords = geometry
                .attribute("TEXCOORD_0")
                .map_or(&[0.0; 2][..], |found| found.at(vertex));
            self.positions.extend(position.to_array());
            self.normals.extend(normal.normalize_or_zero().to_array());
            self.tangents.extend(tangent.extend(sign * side).to_array());
            self.coords.extend(coords);
        }
        for corners in geometry.indices.chunks_exact(3) {
            let [a, b, c] = [corners[0], corners[1], corners[2]].map(|corner| corner + first);
            // A mirrored triangle is turned over, so that its front stays outside.
            let corners = if side < 0.0 { [a, c, b] } else { [a, b, c] };
            self.indices.extend(corners);
        }
    }
}
