//! Small models of other programs, which were once read wrongly.

use assetfs_engine::scene::AlphaMode;

use super::texts::import_texts;
use crate::log_lines::LogLines as _;

#[test]
fn vertices_without_weights_stay_on_the_node_of_their_mesh() {
    let file = include_bytes!("../../../../../tests/fixtures/models/halfskin.fbx");
    let scene = import_texts(&[("halfskin.fbx", file)]).unwrap().scene;
    let skin = &scene.list("skins")[0];
    let joints = skin["joints"].as_array().unwrap();
    let resting = joints.len() as f32 - 1.0;
    let name = &scene.list("nodes")[joints[joints.len() - 1].as_u64().unwrap() as usize]["name"];
    assert_eq!(name, "vertices without joints");
    let geometry = &scene.geometries[0];
    let weights = geometry.attribute("WEIGHTS_0").unwrap();
    let indices = geometry.attribute("JOINTS_0").unwrap();
    let mut still = 0;
    for vertex in 0..geometry.vertex_count() {
        let sum: f32 = weights.at(vertex).iter().sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        still += usize::from(indices.at(vertex)[0] == resting);
    }
    assert!(still > 0 && still < geometry.vertex_count(), "{still}");
    // They are where they would be without a skin.
    let draw = &scene.draws()[0];
    let places = draw.world_positions(geometry);
    let rests = |vertex: &usize| indices.at(*vertex)[0] == resting;
    for vertex in (0..places.len()).filter(rests) {
        let place = places[vertex];
        let plain = draw
            .world
            .transform_point3(geometry.position(vertex as u32));
        assert!((place - plain).length() < 1e-3, "{place} {plain}");
    }
}

#[test]
fn an_image_of_opacity_is_the_alpha_of_the_colour() {
    let file = include_bytes!("../../../../../tests/fixtures/models/opacity.fbx");
    let imported = import_texts(&[("opacity.fbx", file)]).unwrap();
    let material = imported.scene.material(Some(0));
    assert_eq!(
        material.alpha_mode,
        AlphaMode::Blend,
        "{:?}",
        imported.warnings.lines()
    );
    assert_eq!(material.base_color[3], 1.0);
    let image = &imported.scene.images[material.base_color_texture.unwrap().image];
    let pixels = image::load_from_memory(&image.bytes).unwrap().into_rgba8();
    let alphas: Vec<u8> = pixels.pixels().map(|pixel| pixel[3]).collect();
    assert!(alphas.iter().any(|alpha| *alpha < 64), "{alphas:?}");
    assert!(alphas.iter().any(|alpha| *alpha > 192), "{alphas:?}");
}

#[test]
fn an_fbx_of_shape_animations_alone_keeps_them() {
    let file = include_bytes!("../../../../../tests/fixtures/models/shape_animation.fbx");
    let imported = import_texts(&[("shapes.fbx", file)]).unwrap();
    let scene = &imported.scene;
    let animation = scene.list("animations").first().expect("an animation");
    let channels = animation["channels"].as_array().unwrap();
    let weights = channels
        .iter()
        .find(|channel| channel["target"]["path"] == "weights")
        .expect("a channel of weights");
    let sampler = &animation["samplers"][weights["sampler"].as_u64().unwrap() as usize];
    let table = |key: &str| &scene.tables[sampler[key].as_u64().unwrap() as usize];
    let shapes = scene.geometries[0].targets.len();
    assert!(shapes > 0);
    assert_eq!(table("output").count(), table("input").count() * shapes);
    let values = &table("output").values;
    assert!(
        values.iter().any(|weight| *weight != values[0]),
        "{values:?}"
    );
}

#[test]
fn arrays_in_time_samples_of_old_binary_layers_are_read() {
    let file = include_bytes!("../../../../../tests/fixtures/models/crate_0.4.0_timed.usdc");
    let imported = import_texts(&[("timed.usdc", file)]).unwrap();
    let names: Vec<Option<&str>> = imported.scene.meshes.iter().map(|it| it.name()).collect();
    assert_eq!(
        (names.len(), imported.scene.drawn_triangles()),
        (3, 6),
        "{names:?} {:?}",
        imported.warnings.lines()
    );
}
