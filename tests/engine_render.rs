//! The rasterizer through its front door: silhouettes, colours, masks, skins' rest pose, determinism.

use std::sync::Arc;

use assetfs::engine::render::{
    Alpha, BoundingBox, NO_PART, Picture, PreparedScene, RenderInstance, RenderMaterial,
    RenderMesh, RenderScene, RenderSettings, RenderTexture, TextureUse, View,
};
use glam::{Mat4, Quat, Vec2, Vec3, Vec4};

const UNIT: BoundingBox = BoundingBox {
    low: Vec3::splat(-1.0),
    high: Vec3::splat(1.0),
};

fn settings(size: usize) -> RenderSettings {
    RenderSettings {
        size,
        samples: 2,
        background: None,
        ..RenderSettings::default()
    }
}

/// A box from -1 to 1 scaled by `half`, without normals.
fn cuboid(half: Vec3) -> RenderMesh {
    let mut mesh = RenderMesh::default();
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let normal = Vec3::AXES[axis] * side;
            let (u, v) = (
                Vec3::AXES[(axis + 1) % 3] * side,
                Vec3::AXES[(axis + 2) % 3],
            );
            let base = mesh.positions.len() as u32;
            for (a, b) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                mesh.positions.push((normal + u * a + v * b) * half);
            }
            mesh.indices
                .extend([0, 1, 2, 0, 2, 3].map(|corner| corner + base));
        }
    }
    mesh
}

/// A square in the plane z = `depth`, from -1 to 1, its texture the right way up for the front view.
fn card(depth: f32) -> RenderMesh {
    let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
    RenderMesh {
        positions: corners.map(|(x, y)| Vec3::new(x, y, depth)).to_vec(),
        normals: vec![Vec3::Z; 4],
        uvs: [
            corners
                .map(|(x, y)| Vec2::new(x * 0.5 + 0.5, 0.5 - y * 0.5))
                .to_vec(),
            vec![],
        ],
        indices: vec![0, 1, 2, 0, 2, 3],
        material: Some(0),
        ..RenderMesh::default()
    }
}

fn instance(mesh: usize, world: Mat4) -> RenderInstance {
    RenderInstance {
        mesh,
        world,
        name: format!("part {mesh}"),
    }
}

fn alone(mesh: RenderMesh, material: RenderMaterial, textures: Vec<RenderTexture>) -> RenderScene {
    RenderScene {
        meshes: vec![mesh],
        materials: vec![material],
        textures,
        instances: vec![instance(0, Mat4::IDENTITY)],
    }
}

fn unlit(color: Vec4) -> RenderMaterial {
    RenderMaterial {
        base_color: color,
        unlit: true,
        ..RenderMaterial::default()
    }
}

fn draw(scene: &RenderScene, view: View, size: usize) -> Picture {
    PreparedScene::new(scene).render(view, &UNIT, &settings(size))
}

fn pixel(picture: &Picture, x: usize, y: usize) -> [u8; 4] {
    let at = (y * picture.size + x) * 4;
    picture.rgba[at..at + 4].try_into().unwrap()
}

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

fn quarters() -> RenderTexture {
    let colors: [[u8; 4]; 4] = [
        [255, 0, 0, 255],
        [0, 255, 0, 255],
        [0, 0, 255, 255],
        [128, 128, 128, 255],
    ];
    let size = 64;
    let mut bytes = Vec::new();
    for y in 0..size {
        for x in 0..size {
            bytes.extend(colors[(y / 32) * 2 + x / 32]);
        }
    }
    RenderTexture {
        width: 64,
        height: 64,
        rgba: Arc::new(bytes),
    }
}

#[test]
fn textured_card_shows_the_bytes_of_its_texture() {
    let material = RenderMaterial {
        base_color_texture: Some(TextureUse::new(0)),
        ..unlit(Vec4::ONE)
    };
    let scene = alone(card(0.0), material, vec![quarters()]);
    let picture = draw(&scene, View::Front, 64);
    let expected = [
        ((20, 20), [255, 0, 0]),
        ((44, 20), [0, 255, 0]),
        ((20, 44), [0, 0, 255]),
        ((44, 44), [128; 3]),
    ];
    for ((x, y), color) in expected {
        let found = tone_free(pixel(&picture, x, y));
        assert!(
            found
                .iter()
                .zip(color)
                .all(|(found, wanted): (&u8, u8)| found.abs_diff(wanted) <= 1),
            "at {x} {y}: {found:?} instead of {color:?}"
        );
        assert_eq!(strongest(found), strongest(color), "at {x} {y}");
    }
}

fn tone_free(pixel: [u8; 4]) -> [u8; 3] {
    [pixel[0], pixel[1], pixel[2]]
}

fn strongest(color: [u8; 3]) -> Option<usize> {
    let most = *color.iter().max().unwrap();
    let lead = color
        .iter()
        .filter(|value| value.abs_diff(most) < 8)
        .count();
    (lead == 1).then(|| color.iter().position(|value| *value == most).unwrap())
}

#[test]
fn texture_is_right_in_perspective() {
    // Half of the card lies far behind: the middle of the texture is not in the middle of the picture, but the colour
    // changes on a straight line through the projected centre.
    let material = RenderMaterial {
        base_color_texture: Some(TextureUse::new(0)),
        double_sided: true,
        ..unlit(Vec4::ONE)
    };
    let mut scene = alone(card(0.0), material, vec![quarters()]);
    scene.instances[0].world = Mat4::from_quat(Quat::from_rotation_x(-1.2));
    let picture = draw(&scene, View::ThreeQuarter, 256);
    // The box is centred, so the card's centre is drawn where the box's centre is.
    let centre = find_centre(&picture);
    let near = |dx: i32, dy: i32| {
        let pixel = pixel(&picture, (centre.0 + dx) as usize, (centre.1 + dy) as usize);
        strongest(tone_free(pixel))
    };
    assert_eq!(
        near(-14, -8),
        Some(0),
        "red lies left above the centre {centre:?}"
    );
    assert_eq!(
        near(-30, 14),
        Some(2),
        "blue lies left below the centre {centre:?}"
    );
}

/// Where red, green and blue come closest: the meeting point of the four quarters.
fn find_centre(picture: &Picture) -> (i32, i32) {
    let is =
        |x: usize, y: usize, channel| strongest(tone_free(pixel(picture, x, y))) == Some(channel);
    let mut best = (usize::MAX, (0, 0));
    for y in 8..picture.size - 8 {
        for x in 8..picture.size - 8 {
            let reach = (1..8)
                .find(|r| is(x - r, y - r / 2, 0) && is(x + r, y - r, 1) && is(x - r, y + r, 2));
            if let Some(reach) = reach.filter(|reach| *reach < best.0) {
                best = (reach, (x as i32, y as i32));
            }
        }
    }
    assert!(best.0 < usize::MAX, "no centre found");
    best.1
}

#[test]
fn smaller_picture_of_fine_stripes_is_their_mean_light() {
    let mut bytes = Vec::new();
    for at in 0..256 * 256 {
        let value = if at % 2 == 0 { 0 } else { 255 };
        bytes.extend([value, value, value, 255]);
    }
    let texture = RenderTexture {
        width: 256,
        height: 256,
        rgba: Arc::new(bytes),
    };
    let material = RenderMaterial {
        emissive: Vec3::splat(0.6),
        emissive_texture: Some(TextureUse::new(0)),
        ..RenderMaterial::dull(Vec3::ZERO)
    };
    let picture = draw(&alone(card(0.0), material, vec![texture]), View::Front, 32);
    let [r, ..] = pixel(&picture, 16, 16);
    // Half of 0.6 linear is sRGB 149; a mean of bytes would come out near 100.
    assert!((140..=160).contains(&r), "{r}");
}

#[test]
fn masked_texels_are_holes() {
    let mut texture = quarters();
    let bytes = Arc::make_mut(&mut texture.rgba);
    for y in 0..32 {
        for x in 0..32 {
            bytes[(y * 64 + x) * 4 + 3] = 10;
        }
    }
    let material = RenderMaterial {
        base_color_texture: Some(TextureUse::new(0)),
        alpha: Alpha::Mask(0.5),
        ..unlit(Vec4::ONE)
    };
    let mut scene = alone(card(0.5), material, vec![texture]);
    scene.meshes.push(RenderMesh {
        material: Some(1),
        ..card(-0.5)
    });
    scene.materials.push(unlit(Vec4::new(0.2, 0.0, 0.2, 1.0)));
    scene.instances.push(instance(1, Mat4::IDENTITY));
    let picture = draw(&scene, View::Front, 64);
    assert_eq!(
        picture.parts[20 * 64 + 20],
        1,
        "the hole shows the card behind"
    );
    assert_eq!(picture.parts[20 * 64 + 44], 0);
}

#[test]
fn blended_layers_mix_back_to_front_whatever_their_order() {
    let glass = |color: Vec4| RenderMaterial {
        alpha: Alpha::Blend,
        ..unlit(color)
    };
    let scene = |swap: bool| {
        let mut scene = RenderScene {
            meshes: vec![
                card(-0.5),
                RenderMesh {
                    material: Some(1),
                    ..card(0.5)
                },
            ],
            materials: vec![
                glass(Vec4::new(0.6, 0.0, 0.0, 0.5)),
                glass(Vec4::new(0.0, 0.0, 0.6, 0.5)),
            ],
            textures: vec![],
            instances: vec![instance(0, Mat4::IDENTITY), instance(1, Mat4::IDENTITY)],
        };
        if swap {
            scene.instances.reverse();
        }
        draw(&scene, View::Front, 32)
    };
    let [r, _, b, a] = pixel(&scene(false), 16, 16);
    assert!(b > r && r > 60, "blue lies in front: {r} {b}");
    assert_eq!(a, 191, "two halves cover three quarters");
    assert_eq!(scene(false).rgba, scene(true).rgba);
}

#[test]
fn normal_map_turns_light() {
    let flat = RenderTexture {
        width: 1,
        height: 1,
        rgba: Arc::new(vec![128, 128, 255, 255]),
    };
    let up = RenderTexture {
        width: 1,
        height: 1,
        rgba: Arc::new(vec![128, 220, 200, 255]),
    };
    let down = RenderTexture {
        width: 1,
        height: 1,
        rgba: Arc::new(vec![128, 36, 200, 255]),
    };
    let brightness = |texture: RenderTexture| {
        let material = RenderMaterial {
            normal_texture: Some(TextureUse::new(0)),
            ..RenderMaterial::dull(Vec3::splat(0.4))
        };
        u32::from(
            pixel(
                &draw(&alone(card(0.0), material, vec![texture]), View::Front, 32),
                16,
                16,
            )[1],
        )
    };
    let (flat, up, down) = (brightness(flat), brightness(up), brightness(down));
    // The key light stands above: green up means towards it.
    assert!(
        down + 20 < flat && down + 40 < up,
        "down {down} flat {flat} up {up}"
    );
}

#[test]
fn vertex_colours_multiply() {
    let mut mesh = card(0.0);
    mesh.colors = vec![Vec4::new(1.0, 0.0, 0.0, 1.0); 4];
    let picture = draw(&alone(mesh, unlit(Vec4::ONE), vec![]), View::Front, 32);
    let [r, g, b, _] = pixel(&picture, 16, 16);
    assert!(r > 200 && g < 90 && b < 90, "{r} {g} {b}");
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
        alpha: Alpha::Blend,
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
fn triangles_that_nobody_sees_are_known() {
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
fn what_lies_behind_glass_is_seen() {
    let glass = RenderMaterial {
        alpha: Alpha::Blend,
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
