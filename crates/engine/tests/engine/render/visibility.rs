//! Visible triangles, and shadows.

use assetfs_engine::render::{
    NO_PART, PreparedScene, RenderAlpha, RenderMaterial, RenderMesh, RenderSettings, View,
};
use glam::{Mat4, Vec3, Vec4};

use super::scenes::{UNIT, alone, card, cuboid, instance, settings, unlit};

#[test]
fn sky_lights_throw_a_shadow_on_the_floor_only() {
    let mut scene = alone(
        cuboid(Vec3::ONE),
        RenderMaterial::dull(Vec3::splat(0.5)),
        vec![],
    );
    scene.instances[0].world = Mat4::from_scale(Vec3::new(0.4, 1.0, 0.4));
    let bounds = scene.bounding_box().unwrap();
    let lit = RenderSettings {
        sky_lights: 16,
        ..settings(128)
    };
    let picture = PreparedScene::new(&scene).render(View::ThreeQuarter, &bounds, &lit);
    let shadow = |rows: std::ops::Range<usize>| {
        let places = rows.flat_map(|y| (0..128).map(move |x| y * 128 + x));
        let floor = places.filter(|at| picture.parts[*at] == NO_PART);
        floor.map(|at| picture.rgba[at * 4 + 3]).max().unwrap()
    };
    assert!(shadow(96..128) > 60, "{}", shadow(96..128));
    assert_eq!(shadow(0..16), 0, "nothing is dark above the model");
    let front = PreparedScene::new(&scene).render(View::Front, &bounds, &lit);
    assert_eq!(front.rgba[3], 0, "no floor is seen from the front");
}

#[test]
fn invisible_triangles_are_found() {
    let mut scene = alone(
        cuboid(Vec3::ONE),
        RenderMaterial::dull(Vec3::splat(0.5)),
        vec![],
    );
    scene
        .instances
        .push(instance(0, Mat4::from_scale(Vec3::splat(0.5))));
    // Half buried: its lower face lies inside of the large box, and one triangle of it is broken.
    scene.meshes.push(cuboid(Vec3::splat(0.3)));
    scene.meshes[1].indices.splice(0..0, [0, 1, 9999]);
    scene
        .instances
        .push(instance(1, Mat4::from_translation(Vec3::Y)));
    let bounds = scene.bounding_box().unwrap();
    let seen = PreparedScene::new(&scene).seen_triangles(&bounds, 24, 96);
    assert_eq!(seen[0], vec![true; 12]);
    assert_eq!(seen[1], vec![false; 12]);
    // The faces are -X, +X, -Y, +Y, -Z, +Z with two triangles each; the broken triangle comes first.
    let hidden: Vec<usize> = (0..13).filter(|triangle| !seen[2][*triangle]).collect();
    assert_eq!(hidden, [0, 5, 6]);
}

#[test]
fn triangles_smaller_than_a_sample_count_as_seen() {
    let mut dust = card(1.0);
    dust.positions
        .iter_mut()
        .for_each(|point| *point *= Vec3::new(1e-4, 1e-4, 1.0));
    dust.material = None;
    let mut scene = alone(
        cuboid(Vec3::splat(0.9)),
        RenderMaterial::dull(Vec3::ONE),
        vec![],
    );
    scene.meshes.push(dust);
    scene.instances.push(instance(1, Mat4::IDENTITY));
    let seen = PreparedScene::new(&scene).seen_triangles(&UNIT, 16, 64);
    assert_eq!(seen[1], [true, true]);
}

#[test]
fn triangles_behind_glass_count_as_visible() {
    let glass = RenderMaterial {
        alpha: RenderAlpha::Blend,
        ..unlit(Vec4::new(1.0, 1.0, 1.0, 0.3))
    };
    let mut scene = alone(
        RenderMesh {
            material: Some(0),
            ..cuboid(Vec3::ONE)
        },
        glass,
        vec![],
    );
    scene.meshes.push(cuboid(Vec3::splat(0.5)));
    scene.instances.push(instance(1, Mat4::IDENTITY));
    let seen = PreparedScene::new(&scene).seen_triangles(&UNIT, 16, 64);
    assert!(seen.iter().flatten().all(|seen| *seen), "{seen:?}");
}
