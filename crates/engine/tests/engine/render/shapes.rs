//! The covered pixels: silhouettes, sides, seams, and determinism.

use assetfs_engine::render::{
    NO_PART, PreparedScene, RenderAlpha, RenderMaterial, RenderMesh, RenderTextureUse, View,
};
use glam::{Mat4, Vec2, Vec3, Vec4};

use super::scenes::{UNIT, alone, card, cuboid, draw, instance, pixel, quarters, settings, unlit};

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
fn instances_of_one_mesh_look_like_copies_of_it() {
    let bumps = RenderMaterial {
        normal_texture: Some(RenderTextureUse::new(0)),
        ..RenderMaterial::dull(Vec3::new(0.8, 0.4, 0.2))
    };
    let places = [
        Mat4::from_translation(Vec3::new(-0.5, 0.3, 0.0)) * Mat4::from_scale(Vec3::splat(0.3)),
        Mat4::from_translation(Vec3::new(0.5, 0.3, 0.0))
            * Mat4::from_rotation_y(0.7)
            * Mat4::from_scale(Vec3::new(-0.3, 0.3, 0.3)),
        Mat4::from_translation(Vec3::new(0.0, -0.5, 0.0))
            * Mat4::from_rotation_x(0.4)
            * Mat4::from_scale(Vec3::new(0.6, 0.2, 0.3)),
    ];
    let flat = cuboid(Vec3::ONE);
    let mut smooth = flat.clone();
    smooth.normals = smooth.positions.iter().map(|at| at.normalize()).collect();
    let textured = |mut mesh: RenderMesh| {
        let uv = |at: &Vec3| Vec2::new(at.x + 0.3 * at.z, at.y + 0.2 * at.z);
        mesh.uvs[0] = mesh.positions.iter().map(uv).collect();
        mesh
    };
    for (name, mesh, material) in [
        ("flat", flat.clone(), RenderMaterial::dull(Vec3::ONE)),
        ("smooth", smooth.clone(), RenderMaterial::dull(Vec3::ONE)),
        ("flat with a normal map", textured(flat), bumps.clone()),
        ("smooth with a normal map", textured(smooth), bumps),
    ] {
        let mut shared = alone(mesh, material, vec![quarters()]);
        shared.instances = places.iter().map(|place| instance(0, *place)).collect();
        let mut copied = shared.clone();
        copied.meshes = vec![copied.meshes[0].clone(); places.len()];
        for (mesh, instance) in copied.instances.iter_mut().enumerate() {
            instance.mesh = mesh;
        }
        assert_eq!(shared.bounding_box(), copied.bounding_box(), "{name}");
        for view in View::SIX {
            let [one, other] = [&shared, &copied].map(|scene| draw(scene, view, 64));
            assert_eq!(one.parts, other.parts, "{name} {view:?}");
            let bytes = one.rgba.iter().zip(&other.rgba);
            let apart = bytes.map(|(one, other)| one.abs_diff(*other)).max();
            // Tangents that are computed before a stretch differ a little from those computed after it.
            let most = if name.contains("map") { 40 } else { 1 };
            assert!(apart <= Some(most), "{name} {view:?}: {apart:?}");
        }
        let counts = [&shared, &copied].map(|scene| PreparedScene::new(scene).triangle_count());
        assert_eq!(counts, [36, 36], "{name}");
    }
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
