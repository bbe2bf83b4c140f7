//! The opaque triangles of a scene, for rays.

use glam::Vec3A;

use super::prepare::PreparedScene;
use super::prepared_part::PreparedPart;
use super::scene::RenderAlpha;
use super::tree::{Hit, Tree};

impl PreparedScene {
    pub(super) fn is_double_sided(&self, part: &PreparedPart) -> bool {
        self.materials[part.mesh.material as usize]
            .plain
            .double_sided
    }
}

/// Two surfaces touch if they are nearer to each other than this part of the longest side of the box around all.
const TOUCHING: f32 = 1e-5;

/// The triangles that block a view.
pub(super) struct Walls {
    tree: Tree,
    /// For each triangle of the tree, whether both its sides are drawn.
    double_sided: Vec<bool>,
    /// The part of each triangle, and its number in the mesh of the part.
    places: Vec<(u32, u32)>,
    size: f32,
}

impl Walls {
    pub(super) fn new(scene: &PreparedScene) -> Walls {
        let is_opaque = |part: &PreparedPart| {
            let material = &scene.materials[part.mesh.material as usize];
            material.plain.alpha == RenderAlpha::Opaque && !part.is_repeated
        };
        let mut walls = Walls {
            tree: Tree::default(),
            double_sided: Vec::new(),
            places: Vec::new(),
            size: 0.0,
        };
        let mut corners = Vec::new();
        for (number, part) in scene
            .parts
            .iter()
            .enumerate()
            .filter(|(_, part)| is_opaque(part))
        {
            let is_double_sided = scene.is_double_sided(part);
            for at in 0..part.triangle_count() {
                corners.push(part.corners(at).map(Vec3A::from));
                walls.double_sided.push(is_double_sided);
                walls
                    .places
                    .push((number as u32, part.number_in_mesh(at) as u32));
            }
        }
        let all = || corners.iter().flatten().copied();
        let (low, high) = (
            all().fold(Vec3A::INFINITY, Vec3A::min),
            all().fold(Vec3A::NEG_INFINITY, Vec3A::max),
        );
        walls.size = (high - low).max_element().max(0.0);
        walls.tree = Tree::new(&corners);
        walls
    }

    /// The part of each triangle, and its number in the mesh of the part.
    pub(super) fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// The longest side of the box around all.
    pub(super) fn size(&self) -> f32 {
        self.size
    }

    /// The first triangle that a ray meets, nearer than `within` lengths of its direction.
    pub(super) fn first_hit(&self, from: Vec3A, towards: Vec3A, within: f32) -> Option<Hit> {
        self.tree.first_hit(from, towards, within)
    }

    /// The first triangle farther than `near` that a ray meets.
    pub(super) fn first_met(&self, from: Vec3A, towards: Vec3A, near: f32) -> Option<Hit> {
        let counts = |hit: &Hit| hit.distance > near;
        self.tree
            .first_hit_of(from, towards, f32::INFINITY, None, counts)
    }

    /// The first triangle farther than `near` that hides the start of a ray from a viewer at its end: one that shows the
    /// viewer a side that is drawn.
    pub(super) fn first_that_hides(&self, from: Vec3A, towards: Vec3A, near: f32) -> Option<Hit> {
        let hides = |hit: &Hit| {
            hit.distance > near && (!hit.is_front || self.double_sided[hit.triangle as usize])
        };
        self.tree
            .first_hit_of(from, towards, f32::INFINITY, None, hides)
    }

    /// Whether a back is where a ray has met a front: two bodies touch there, and the ray comes from inside of one of them.
    pub(super) fn is_back_at(&self, from: Vec3A, towards: Vec3A, front: &Hit) -> bool {
        let near = self.size * TOUCHING;
        let touches = |hit: &Hit| !hit.is_front && (hit.distance - front.distance).abs() <= near;
        let within = front.distance + near;
        self.tree
            .first_hit_of(from, towards, within, None, touches)
            .is_some()
    }

    /// The direction that the front of a triangle faces.
    pub(super) fn normal_at(&self, hit: &Hit) -> Vec3A {
        let [a, b, c] = *self.tree.corners_of(hit.leaf);
        (b - a).cross(c - a).normalize_or_zero()
    }

    /// Whether the side that a ray met is drawn.
    pub(super) fn is_drawn(&self, hit: &Hit) -> bool {
        hit.is_front || self.double_sided[hit.triangle as usize]
    }
}
