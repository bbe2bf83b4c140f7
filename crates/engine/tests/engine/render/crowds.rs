//! Scenes that draw very many instances at one place: each picture has a bounded cost.

use std::collections::HashSet;

use assetfs_engine::render::{
    NO_PART, PreparedScene, RenderAlpha, RenderMaterial, RenderScene, View,
};
use glam::{Mat4, Vec3, Vec4};

use super::scenes::{UNIT, alone, card, draw, instance, pixel, unlit};

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

/// A number from 0 to 1 for each whole number.
fn scattered(number: usize, salt: usize) -> f32 {
    let mixed = (number * 2_654_435_761 + salt * 40_503) % 65_536;
    (mixed * mixed % 65_521) as f32 / 65_521.0
}

#[test]
fn the_nearest_of_very_many_layers_is_drawn() {
    // Each is nearer than the ones before it.
    let depths = (0..1_200).map(|at| at as f32 / 1_200.0);
    let scene = cards(unlit(Vec4::ONE), depths);
    assert_eq!(draw(&scene, View::Front, 32).parts[16 * 32 + 16], 1_199);
}

/// In a tile that is drawn over many times, triangles are drawn in another order, and hidden ones are skipped.
#[test]
fn many_layers_look_the_same_in_every_order() {
    let material = unlit(Vec4::ONE);
    let place = |number: usize| {
        let at = |salt: usize| scattered(number, salt) * 2.0 - 1.0;
        // Each has a depth of its own.
        let depth = (number * 7_919 % 2_000) as f32 / 2_000.0;
        Mat4::from_translation(Vec3::new(at(1), at(2), depth))
            * Mat4::from_rotation_z(at(4) * 3.0)
            * Mat4::from_scale(Vec3::new(0.6, 0.3, 1.0))
    };
    let mut scene = alone(card(0.0), material, vec![]);
    scene.instances = (0..2_000)
        .map(|number| instance(0, place(number)))
        .collect();
    let forwards = draw(&scene, View::Front, 64);
    scene.instances.reverse();
    let backwards = draw(&scene, View::Front, 64);
    let turned = backwards.parts.iter().map(|part| match *part {
        NO_PART => NO_PART,
        part => 1_999 - part,
    });
    assert!(forwards.parts.iter().copied().eq(turned));
    assert_eq!(forwards.rgba, backwards.rgba);
    let seen: HashSet<&u32> = forwards.parts.iter().collect();
    assert!(seen.len() > 20, "{}", seen.len());
}

#[test]
fn what_follows_many_thin_bars_is_drawn() {
    let bar = |number: usize| {
        let along = number as f32 / 600.0 - 0.5;
        Mat4::from_translation(Vec3::new(along, -along, 0.0))
            * Mat4::from_rotation_z(0.8)
            * Mat4::from_scale(Vec3::new(2.0, 0.0005, 1.0))
    };
    let mut scene = alone(card(0.0), unlit(Vec4::ONE), vec![]);
    scene.instances = (0..600).map(|number| instance(0, bar(number))).collect();
    let square = Mat4::from_translation(Vec3::Z * 0.5) * Mat4::from_scale(Vec3::splat(0.2));
    scene.instances.push(instance(0, square));
    let bounds = UNIT;
    let picture = draw(&scene, View::Front, 64);
    assert_eq!(picture.parts[32 * 64 + 32], 600);
    let seen = PreparedScene::new(&scene).seen_triangles(&bounds, 6, 64);
    assert_eq!(seen[600], [true; 2]);
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
