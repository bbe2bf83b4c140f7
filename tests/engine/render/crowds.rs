//! Scenes that draw very many instances at one place: each picture has a bounded cost.

use assetfs::engine::render::{RenderAlpha, RenderMaterial, RenderScene, View};
use glam::{Mat4, Vec3, Vec4};

use super::scenes::{alone, card, draw, instance, pixel, unlit};

/// A card at each of these depths, in their order.
fn cards(material: RenderMaterial, depths: impl Iterator<Item = f32>) -> RenderScene {
    let mut scene = alone(card(0.0), material, vec![]);
    let place = |depth: f32| instance(0, Mat4::from_translation(Vec3::Z * depth));
    scene.instances = depths.map(place).collect();
    scene
}

fn glass(alpha: f32) -> RenderMaterial {
    RenderMaterial {
        alpha: RenderAlpha::Blend,
        ..unlit(Vec4::new(0.0, 0.0, 0.6, alpha))
    }
}

#[test]
fn solid_instances_at_one_place_are_drawn_once_and_blended_ones_add_up() {
    let solid = unlit(Vec4::new(0.6, 0.0, 0.0, 1.0));
    let drawn = |material: &RenderMaterial, count: usize| {
        let places = std::iter::repeat_n(0.0, count);
        draw(&cards(material.clone(), places), View::Front, 32)
    };
    let [one, many] = [1, 3].map(|count| drawn(&solid, count));
    assert_eq!((one.rgba, one.parts), (many.rgba, many.parts));
    let alpha = |count: usize| pixel(&drawn(&glass(0.5), count), 16, 16)[3];
    assert_eq!([alpha(1), alpha(2)], [128, 191]);
}

#[test]
fn layers_beyond_all_reason_are_not_drawn() {
    // Each is nearer than the ones before it.
    let depths = (0..1_200).map(|at| at as f32 / 1_200.0);
    let scene = cards(unlit(Vec4::ONE), depths.clone());
    let seen = draw(&scene, View::Front, 32).parts[16 * 32 + 16];
    assert!((100..1_100).contains(&seen), "{seen}");
    let few = cards(unlit(Vec4::ONE), depths.take(100));
    assert_eq!(draw(&few, View::Front, 32).parts[16 * 32 + 16], 99);
}

#[test]
fn of_too_many_blended_layers_the_nearest_are_drawn() {
    let behind = |count: usize| {
        let depths = (0..count).map(|at| at as f32 / 1_000.0);
        let mut scene = cards(glass(0.0), depths);
        scene.materials.push(glass(1.0));
        let mut back = card(-0.5);
        back.material = Some(1);
        scene.meshes.push(back);
        scene.instances.push(instance(1, Mat4::IDENTITY));
        pixel(&draw(&scene, View::Front, 8), 4, 4)[3]
    };
    assert_eq!([behind(50), behind(1_000)], [255, 0]);
}
