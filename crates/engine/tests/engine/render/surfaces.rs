//! The colours of pixels: textures, masks, blending, light, vertex colours.

use std::sync::Arc;

use assetfs_engine::render::{
    Picture, RenderAlpha, RenderMaterial, RenderMesh, RenderScene, RenderTexture, RenderTextureUse,
    View,
};
use glam::{Mat4, Quat, Vec3, Vec4};

use super::scenes::{alone, card, draw, instance, pixel, quarters, unlit};

#[test]
fn textured_card_shows_the_bytes_of_its_texture() {
    let material = RenderMaterial {
        base_color_texture: Some(RenderTextureUse::new(0)),
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
        base_color_texture: Some(RenderTextureUse::new(0)),
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
        emissive_texture: Some(RenderTextureUse::new(0)),
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
        base_color_texture: Some(RenderTextureUse::new(0)),
        alpha: RenderAlpha::Mask(0.5),
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
        alpha: RenderAlpha::Blend,
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
            normal_texture: Some(RenderTextureUse::new(0)),
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
