//! Pictures from inside of a model with rooms. The rasterizer draws only triangles that are wholly in front of the
//! camera, so triangles that reach behind it are cut first.

use glam::{Vec3, Vec3A, Vec4};
use rayon::prelude::*;

use super::camera::{Camera, View, distance_inside};
use super::picture::{Picture, RenderSettings};
use super::prepare::PreparedScene;
use super::prepared_mesh::PreparedMesh;
use super::prepared_part::{Attributes, PreparedPart};
use super::projection::Projection;
use super::rooms::GRID;
use super::scene::BoundingBox;

/// Places from which a model is looked at from inside.
const EYES: usize = 3;
/// Sides that are looked to from each place.
const SIDES: [Vec3; 4] = [Vec3::Z, Vec3::X, Vec3::NEG_Z, Vec3::NEG_X];
/// Larger models are not searched for rooms, because the search tree would take more memory than all pictures.
const MAX_TRIANGLES: usize = 4_000_000;

impl PreparedScene {
    /// The views from inside of the rooms of a model; none for a model that has no rooms.
    pub fn inside_views(&self, bounds: &BoundingBox) -> Vec<View> {
        if self.is_coarse || self.triangle_count() > MAX_TRIANGLES {
            return Vec::new();
        }
        let points = self.room_points(bounds);
        let eyes = (0..EYES).filter_map(|eye| {
            let at = (eye * 2 + 1) * points.len() / (EYES * 2);
            Some(half_way_up(&points, *points.get(at)?, bounds))
        });
        let views = |eye: Vec3A| {
            let eye = Vec3::from(eye);
            // A camera looks against the direction from the model to the camera.
            SIDES.map(|towards| View::Inside { eye, towards })
        };
        eyes.flat_map(views).collect()
    }

    /// Draws views from inside, one after another: each needs a copy of what is in front of its camera.
    pub fn render_inside(
        &self,
        views: &[View],
        bounds: &BoundingBox,
        settings: &RenderSettings,
    ) -> Vec<(View, Picture)> {
        let draw = |view: &View| {
            let camera = Camera::new(*view, bounds);
            let cut = self.in_front_of(&camera);
            let depths = Projection::depths(&cut, &camera, settings.size);
            let depths = depths
                .into_iter()
                .map(|depth| distance_inside(depth, bounds));
            let picture = Picture {
                depths: depths.collect(),
                ..cut.render(*view, bounds, settings)
            };
            (*view, picture)
        };
        views.iter().map(draw).collect()
    }

    /// What is in front of a camera: triangles behind it are left out, those that reach behind it are cut.
    fn in_front_of(&self, camera: &Camera) -> PreparedScene {
        let parts = self.parts.par_iter().map(|part| {
            let mesh = match part.is_repeated {
                true => PreparedMesh::default(),
                false => CutMesh::new(part, camera).mesh,
            };
            PreparedPart::in_world(mesh, part.name.clone())
        });
        PreparedScene::of(
            parts.collect(),
            self.materials.clone(),
            self.pyramids.clone(),
        )
    }
}

/// The part of a mesh that is in front of a camera.
struct CutMesh {
    mesh: PreparedMesh,
    has_tangents: bool,
}

impl CutMesh {
    fn new(part: &PreparedPart, camera: &Camera) -> CutMesh {
        let mut cut = CutMesh {
            mesh: PreparedMesh {
                material: part.mesh.material,
                ..PreparedMesh::default()
            },
            has_tangents: !part.mesh.tangents.is_empty(),
        };
        for vertex in 0..part.vertex_count() as u32 {
            let (position, attributes) = part.vertex(vertex);
            cut.add(position, &attributes);
        }
        // Cuts are a little before the near plane, so that rounding puts no corner behind it.
        let depths: Vec<f32> = cut
            .mesh
            .positions
            .iter()
            .map(|position| camera.clip * position.extend(1.0))
            .map(|clip| clip.z - clip.w * 1e-3)
            .collect();
        for triangle in 0..part.triangle_count() {
            let vertices = part.vertices(triangle);
            let depth = vertices.map(|vertex| depths[vertex as usize]);
            match depth.iter().filter(|depth| **depth > 0.0).count() {
                0 => {}
                3 => cut.mesh.triangles.push(vertices),
                _ => cut.add_cut(vertices, depth),
            }
        }
        cut
    }

    /// Adds the part of a triangle whose depth is not negative, as one or two triangles.
    fn add_cut(&mut self, corners: [u32; 3], depth: [f32; 3]) {
        let mut outline: Vec<u32> = Vec::with_capacity(4);
        for at in 0..3 {
            let next = (at + 1) % 3;
            let [one, other] = [at, next].map(|at| corners[at]);
            if depth[at] > 0.0 {
                outline.push(one);
            }
            if (depth[at] > 0.0) != (depth[next] > 0.0) {
                let part = depth[at] / (depth[at] - depth[next]);
                outline.push(self.add_between(one, other, part));
            }
        }
        for at in 2..outline.len() {
            let corners = [outline[0], outline[at - 1], outline[at]];
            self.mesh.triangles.push(corners);
        }
    }

    /// Adds a vertex on the line between two others.
    fn add_between(&mut self, one: u32, other: u32, part: f32) -> u32 {
        let [(from, a), (to, b)] = [one, other].map(|vertex| self.vertex(vertex as usize));
        let attributes = Attributes {
            normal: a.normal.lerp(b.normal, part),
            tangent: Vec4::lerp(a.tangent, b.tangent, part).with_w(a.tangent.w),
            uvs: [0, 1].map(|set| a.uvs[set].lerp(b.uvs[set], part)),
            color: a.color.lerp(b.color, part),
        };
        self.add(from.lerp(to, part), &attributes)
    }

    fn add(&mut self, position: Vec3, attributes: &Attributes) -> u32 {
        let mesh = &mut self.mesh;
        mesh.positions.push(position);
        mesh.normals.push(attributes.normal);
        if self.has_tangents {
            mesh.tangents.push(attributes.tangent);
        }
        for (uvs, uv) in mesh.uvs.iter_mut().zip(attributes.uvs) {
            uvs.push(uv);
        }
        mesh.colors.push(attributes.color);
        mesh.positions.len() as u32 - 1
    }

    fn vertex(&self, at: usize) -> (Vec3, Attributes) {
        let mesh = &self.mesh;
        let attributes = Attributes {
            normal: mesh.normals[at],
            tangent: mesh.tangents.get(at).copied().unwrap_or_default(),
            uvs: [0, 1].map(|set| mesh.uvs[set][at]),
            color: mesh.colors[at],
        };
        (mesh.positions[at], attributes)
    }
}

/// The point of a room half way between the floor and the ceiling at `from`, where furniture is in sight. `points` are
/// those of a grid.
fn half_way_up(points: &[Vec3A], from: Vec3A, bounds: &BoundingBox) -> Vec3A {
    let step = (bounds.high.y - bounds.low.y) / GRID as f32 * 1.5;
    let mut column: Vec<Vec3A> = points
        .iter()
        .filter(|point| (point.x, point.z) == (from.x, from.z))
        .copied()
        .collect();
    column.sort_by(|one, other| one.y.total_cmp(&other.y));
    let mut rooms = column.chunk_by(|below, above| above.y - below.y < step);
    let room = rooms.find(|room| room.contains(&from));
    room.map_or(from, |room| room[room.len() / 2])
}
