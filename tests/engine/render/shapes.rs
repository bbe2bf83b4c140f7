//! The covered pixels: silhouettes, sides, seams, and determinism.

use assetfs::engine::render::{
    NO_PART, PreparedScene, RenderAlpha, RenderMaterial, RenderMesh, View,
};
use glam::{Mat4, Vec2, Vec3, Vec4};

use super::scenes::{UNIT, alone, card, cuboid, draw, instance, pixel, settings, unlit};

#[test]
fn cube_is_a_square_in_all_six_views() {
    let scene = alone(
        cuboid(Vec3::ONE),
        RenderMaterial::dull(Vec3::splat(0.5)),
        vec![],
    );
    for (view, picture) in PreparedScene::new(&scene).render_six(&UNIT, &settings(107)) {
        // The border is 7 %: 100 of 107 pixels are covered.
        let covered = picture
            .parts
            .iter()
            .filter(|part| **part != NO_PART)
            .count();
        assert!((10_000..=10_404).contains(&covered), "{view:?}: {covered}");
        assert_eq!(pixel(&picture, 0, 0)[3], 0, "{view:?} has no border");
        let middle = pixel(&picture, 53, 53);
        assert_eq!(middle[3], 255);
        assert!(middle[0] > 90, "{view:?} is not lit: {middle:?}");
    }
}

#[test]
fn inside_of_a_single_sided_box_is_not_drawn() {
    let mut inside_out = cuboid(Vec3::ONE);
    inside_out.indices.truncate(6);
    let scene = alone(inside_out.clone(), RenderMaterial::dull(Vec3::ONE), vec![]);
    // The first face looks along -X.
    assert_eq!(pixel(&draw(&scene, View::Left, 32), 16, 16)[3], 255);
    assert_eq!(pixel(&draw(&scene, View::Right, 32), 16, 16)[3], 0);
    let both = RenderMaterial {
        double_sided: true,
        ..RenderMaterial::dull(Vec3::ONE)
    };
    inside_out.material = Some(0);
    assert_eq!(
        pixel(
            &draw(&alone(inside_out, both, vec![]), View::Right, 32),
            16,
            16
        )[3],
        255
    );
}

#[test]
fn mirrored_instance_keeps_its_outside() {
    let mut scene = alone(
        cuboid(Vec3::ONE),
        RenderMaterial::dull(Vec3::splat(0.5)),
        vec![],
    );
    let plain = draw(&scene, View::Front, 64);
    scene.instances[0].world = Mat4::from_scale(Vec3::new(-1.0, 1.0, 1.0));
    let mirrored = draw(&scene, View::Front, 64);
    let (a, b) = (pixel(&plain, 32, 32), pixel(&mirrored, 32, 32));
    assert!(
        a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= 1),
        "{a:?} {b:?}"
    );
}

#[test]
fn neighbouring_triangles_leave_no_hole() {
    // A fan of thin triangles around a point that is on no pixel's centre.
    let mut mesh = RenderMesh {
        positions: vec![Vec3::new(0.0137, -0.0211, 0.0)],
        ..RenderMesh::default()
    };
    let spokes = 97;
    for spoke in 0..spokes {
        let angle = spoke as f32 / spokes as f32 * std::f32::consts::TAU;
        mesh.positions
            .push(Vec3::new(angle.cos(), angle.sin(), 0.0) * 0.99);
    }
    mesh.indices = (0..spokes)
        .flat_map(|spoke| [0, 1 + spoke, 1 + (spoke + 1) % spokes])
        .collect();
    let glass = RenderMaterial {
        alpha: RenderAlpha::Blend,
        ..unlit(Vec4::new(0.5, 0.5, 0.5, 0.5))
    };
    mesh.material = Some(0);
    let picture = draw(&alone(mesh, glass, vec![]), View::Front, 128);
    for y in 0..128_usize {
        for x in 0..128_usize {
            let (dx, dy) = (x as f32 - 63.5, y as f32 - 63.5);
            if dx * dx + dy * dy < 55.0 * 55.0 {
                // 127 or 128 is one layer; more is an edge drawn twice, less a hole.
                assert!(
                    (127..=128).contains(&pixel(&picture, x, y)[3]),
                    "at {x} {y}: {:?}",
                    pixel(&picture, x, y)
                );
            }
        }
    }
}

#[test]
fn picture_does_not_depend_on_threads() {
    let scene = alone(
        cuboid(Vec3::new(0.7, 1.0, 0.4)),
        RenderMaterial::dull(Vec3::splat(0.4)),
        vec![],
    );
    let many = draw(&scene, View::ThreeQuarter, 200);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let one = pool.install(|| draw(&scene, View::ThreeQuarter, 200));
    assert_eq!(many, one);
}

#[test]
fn broken_geometry_is_left_out() {
    let mut mesh = card(0.0);
    mesh.indices.extend([0, 1, 99, 0, 1]);
    mesh.positions.push(Vec3::new(f32::NAN, 0.0, 0.0));
    mesh.indices.extend([0, 1, 4]);
    mesh.normals = vec![];
    mesh.uvs = [vec![Vec2::NAN; 2], vec![]];
    mesh.material = Some(77);
    let mut scene = alone(mesh, RenderMaterial::default(), vec![]);
    scene.instances.push(instance(5, Mat4::IDENTITY));
    scene
        .instances
        .push(instance(0, Mat4::from_scale(Vec3::ZERO)));
    let prepared = PreparedScene::new(&scene);
    let bounds = scene.bounding_box().unwrap();
    assert_eq!(bounds.high.x, 1.0);
    let picture = prepared.render(View::Front, &bounds, &settings(32));
    assert_eq!(pixel(&picture, 16, 16)[3], 255);
}
