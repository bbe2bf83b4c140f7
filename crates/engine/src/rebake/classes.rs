//! Sorts the triangles of a model into classes. Each class becomes one mesh with one material.

use glam::Vec3A;
use rayon::prelude::*;

use super::super::render::{PreparedScene, RenderAlpha, sphere_direction};
use super::super::scene::AlphaMode;
use super::options::RebakeOptions;
use assetfs_render::Tree;

/// Triangles whose materials can be one material.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) alpha: AlphaMode,
    /// Whether back faces are drawn.
    pub(super) double_sided: bool,
    pub(super) unlit: bool,
    /// Numbers of triangles of the scene.
    pub(super) triangles: Vec<u32>,
    /// Numbers of the materials, each once.
    pub(super) materials: Vec<usize>,
}

impl Class {
    fn name_of_alpha(&self) -> &'static str {
        match self.alpha {
            AlphaMode::Opaque => "opaque",
            AlphaMode::Mask => "mask",
            AlphaMode::Blend => "blend",
        }
    }

    /// The name of its mesh and material.
    pub(super) fn name(&self) -> String {
        let mut name = format!("baked {}", self.name_of_alpha());
        if self.unlit {
            name += " unlit";
        }
        if self.double_sided {
            name += " double-sided";
        }
        name
    }

    /// Whether it gets a normal map: on request, and where the source has one.
    pub(super) fn has_normal_map(&self, source: &PreparedScene, options: &RebakeOptions) -> bool {
        let is_bumpy = |number: &usize| source.material(*number).normal_texture.is_some();
        !self.unlit && (options.normal_map || self.materials.iter().any(is_bumpy))
    }
}

/// The classes of a scene, the opaque ones first. Parts whose back faces nobody sees from outside join the double-sided
/// class.
pub(super) fn classes(scene: &PreparedScene) -> Vec<Class> {
    let mut classes = by_material(scene);
    let mut number = 0;
    while number + 1 < classes.len() {
        let [one, other] = [&classes[number], &classes[number + 1]];
        let are_alike = (one.alpha, one.unlit) == (other.alpha, other.unlit);
        if are_alike && one.alpha == AlphaMode::Opaque && is_closed(scene, one) {
            let double_sided = classes.remove(number + 1);
            let class = &mut classes[number];
            class.double_sided = true;
            class.triangles.extend(double_sided.triangles);
            class.materials.extend(double_sided.materials);
        }
        number += 1;
    }
    classes
}

/// Whether hardly any back face of a class is seen from outside of the model.
fn is_closed(scene: &PreparedScene, class: &Class) -> bool {
    /// Triangles that are looked at, and rays from each.
    const TRIANGLES: usize = 1024;
    const RAYS: usize = 16;
    /// The share of rays that may find a way out.
    const LEAKS: f32 = 0.01;
    let corners: Vec<[Vec3A; 3]> = (0..scene.triangle_count() as u32)
        .filter(|triangle| is_opaque(scene, *triangle))
        .map(|triangle| scene.corners(triangle).map(Vec3A::from))
        .collect();
    let tree = Tree::new(&corners);
    let step = class.triangles.len().div_ceil(TRIANGLES).max(1);
    let looked_at: Vec<u32> = class.triangles.iter().copied().step_by(step).collect();
    let leaks_behind = |triangle: &u32| {
        let [a, b, c] = scene.corners(*triangle).map(Vec3A::from);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let size = (b - a).length().max((c - a).length());
        let start = (a + b + c) / 3.0 - normal * size * 1e-3;
        let rays = (0..RAYS).map(|ray| {
            let direction = Vec3A::from(sphere_direction(ray, RAYS));
            match direction.dot(normal) > 0.0 {
                true => -direction,
                false => direction,
            }
        });
        rays.filter(|behind| tree.first_hit(start, *behind, f32::INFINITY).is_none())
            .count()
    };
    let leaks: usize = looked_at.par_iter().map(leaks_behind).sum();
    leaks as f32 <= (looked_at.len() * RAYS) as f32 * LEAKS
}

fn is_opaque(scene: &PreparedScene, triangle: u32) -> bool {
    scene.material(scene.material_number(triangle)).alpha == RenderAlpha::Opaque
}

fn by_material(scene: &PreparedScene) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    let mut known: Vec<Option<usize>> = vec![None; scene.material_count()];
    for triangle in 0..scene.triangle_count() as u32 {
        let material = scene.material_number(triangle);
        let class = *known[material].get_or_insert_with(|| {
            let plain = scene.material(material);
            let alpha = match plain.alpha {
                RenderAlpha::Opaque => AlphaMode::Opaque,
                RenderAlpha::Mask(_) => AlphaMode::Mask,
                RenderAlpha::Blend => AlphaMode::Blend,
            };
            let key = (alpha, plain.unlit, plain.double_sided);
            let place = classes
                .iter()
                .position(|known| (known.alpha, known.unlit, known.double_sided) == key);
            let place = place.unwrap_or_else(|| {
                classes.push(Class {
                    alpha,
                    double_sided: plain.double_sided,
                    unlit: plain.unlit,
                    triangles: Vec::new(),
                    materials: Vec::new(),
                });
                classes.len() - 1
            });
            classes[place].materials.push(material);
            place
        });
        classes[class].triangles.push(triangle);
    }
    classes.sort_by_key(|class| (class.alpha as u8, class.unlit, class.double_sided));
    classes
}
