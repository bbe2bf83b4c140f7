//! Rebaking models of thin parts: they stay visible, and nothing becomes dark.

use assetfs_engine::clean;
use assetfs_engine::export::gltf::write_glb;
use assetfs_engine::pictures::ModelPictures;
use assetfs_engine::rebake::{RebakeOptions, rebake};
use assetfs_engine::settings::MeshCompression;
use assetfs_engine::simplify::{Limits, simplify};
use serde_json::json;

use super::gltf::Model;
use super::rebake::{config, difference};
use crate::drawn::Drawn;
use crate::log_lines::LogLines as _;
use crate::made::{gallery, lettering, tree};

/// What a job chooses to two percent of the triangles, where new surfaces are tried that lose two thirds of a trunk.
#[test]
fn a_trunk_and_all_letters_stay_at_two_percent_or_are_named() {
    for source in [tree(), lettering()] {
        let bytes = write_glb(&source, MeshCompression::None).unwrap();
        let model = Model::of_file("model.glb", &bytes);
        let of_job = |config| {
            let report = model.optimize_and_compare(config);
            let file = model.dir.path().join("out/exports/model.glb");
            let bytes = std::fs::metadata(file).unwrap().len();
            let result = model.result("model.glb");
            let mean = difference(&model, &result);
            (report, result, bytes, mean)
        };
        let plain = of_job(json!({ "limits": { "faces": { "percentage": 2.0 } } }));
        let (report, result, bytes, mean) = of_job(config(2.0, json!({ "bakeNormalMap": true })));
        for (part, there) in Drawn::new(&source, &result).parts_there() {
            let is_named = report
                .warnings
                .lines()
                .iter()
                .any(|line| line.contains(&format!("{part}: ")));
            // Leaves are thinned in any way.
            assert!(
                part == "leaves" || there > 0.85 || there > 0.25 && is_named,
                "{part}: {there} {:?}",
                report.warnings.lines()
            );
        }
        assert!(
            bytes <= plain.2 || mean < plain.3,
            "{bytes} bytes, plain {}; {mean} away, plain {}",
            plain.2,
            plain.3
        );
    }
}

/// Each beam has five triangles left: some vanish, and the others keep their light.
#[test]
fn thin_beams_do_not_become_dark_spikes() {
    let mut source = gallery();
    clean::clean(&mut source);
    let limits = Limits::of_triangles(source.drawn_triangles() / 10);
    let mut plain = source.clone();
    simplify(&mut plain, &limits);
    let options = RebakeOptions {
        normal_map: true,
        ..RebakeOptions::fast(256)
    };
    let baked = rebake(&source, &limits, &options).unwrap().scene;
    let drawn = Drawn::new(&source, &baked);
    let dark = drawn.dark_share();
    assert!(dark < 0.002, "{dark}");
    let pictures = ModelPictures::draw(&source);
    let worst = |result| {
        let compared = pictures.compare(&pictures.draw_where_it_is(result));
        compared.worst_tile().map_or(100.0, |(_, tile)| tile.score)
    };
    let (of_baked, of_plain) = (worst(&baked), worst(&plain));
    assert!(of_baked > of_plain - 5.0, "{of_baked}, plain {of_plain}");
    let there = drawn.parts_there();
    assert!(there["beams"] > 0.75 && there["floor"] > 0.95, "{there:?}");
}
