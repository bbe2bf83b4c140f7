//! The output of a job: logs, counts, progress, pictures and scores.

use std::fs;
use std::path::Path;

use assetfs_engine::job::{AnalyseTask, OptimizeTask, Progress, Task, run};
use serde_json::{Value, json};

use super::shapes::{png, spheres, textured};
use crate::log_lines::LogLines as _;

#[test]
fn settings_that_are_not_done_stand_in_the_warning_log() {
    let model = spheres();
    let report = model
        .optimize(json!({
            "export": [{ "format": { "gltf": { "pbrMaterial": true } } }],
        }))
        .unwrap();
    let log = model.log("warning.log");
    let key = "export[0].format.gltf.pbrMaterial: materials are written whole";
    assert!(log.contains(key), "{log}");
    assert!(
        report
            .warnings
            .lines()
            .iter()
            .any(|line| line.contains(key))
    );
}

#[test]
fn a_failure_leaves_its_sentence_in_the_error_log() {
    let model = spheres();
    let error = model
        .optimize(json!({ "limits": { "faces": { "count": "few" } } }))
        .unwrap_err();
    let sentence = "the configuration is not valid: limits.faces.count is \"few\"; it must be a whole number of at least 1";
    assert_eq!(error.to_string(), sentence);
    assert_eq!(model.log("error.log"), format!("{sentence}\n"));
    assert!(model.log("metrics.json").contains("\"succeeded\": false"));
}

#[test]
fn an_analysis_counts_what_is_there_and_progress_only_grows() {
    let model = spheres();
    let out = model.dir.path().join("analysis");
    let task = Task::Analyse(AnalyseTask {
        input_dir: model.dir.path().join("in"),
        files: vec!["model.gltf".to_owned(), "model.bin".to_owned()],
        output_dir: out.clone(),
    });
    let mut steps: Vec<Progress> = Vec::new();
    let report = run(&task, &mut |step| steps.push(step)).unwrap();
    assert!(steps.is_sorted_by_key(|step| step.percent));
    assert_eq!(steps.last().unwrap().percent, 100);
    assert_eq!(report.source.triangles, 13_776);
    let info: Value =
        serde_json::from_slice(&fs::read(out.join("rpd_info.json")).unwrap()).unwrap();
    assert_eq!(info["geometry"]["triangles"], 13_776);
    assert_eq!(info["geometry"]["meshes"], 10);
    for name in [
        "metrics.json",
        "info.log",
        "warning.log",
        "error.log",
        "thumb.jpg",
    ] {
        assert!(Path::new(&out).join(name).is_file(), "{name}");
        assert!(report.files.iter().any(|file| file == name), "{name}");
    }
}

#[test]
fn pictures_and_scores_come_with_every_job() {
    let model = textured(json!({}), &[]);
    let task = Task::Optimize(OptimizeTask {
        input_dir: model.dir.path().join("in"),
        files: vec!["model.gltf".to_owned()],
        output_dir: model.dir.path().join("out"),
        config: serde_json::Map::new(),
        export_name: Some("renamed.glb".to_owned()),
        base_name: "model".to_owned(),
        scale: 1.0,
    });
    let report = run(&task, &mut |_| {}).unwrap();
    assert_eq!(report.exports[0].name, "renamed.glb");
    let quality = report.exports[0].quality.expect("compared");
    assert!(quality.avg_score > 99.0, "{quality:?}");
    for name in [
        "thumb.jpg",
        "renders/glb-front.png",
        "renders/original-front.png",
    ] {
        assert!(model.dir.path().join("out").join(name).is_file(), "{name}");
    }
}

#[test]
fn a_scene_of_an_authoring_program_is_converted_with_its_materials() {
    let colour = png(8, |x, y| [x as u8 * 30, y as u8 * 30, 9, 255]);
    let material = json!({
        "name": "Wood",
        "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 }, "roughnessFactor": 0.25 },
    });
    let model = textured(material, &[("wood.png", colour.clone())]);
    model
        .optimize(json!({ "compressionAndExport": { "fileExports": [{ "fileType": "fbx" }] } }))
        .unwrap();
    let out = model.dir.path().join("analysis");
    let task = Task::Analyse(AnalyseTask {
        input_dir: model.dir.path().join("out/exports"),
        files: vec!["model.fbx".to_owned()],
        output_dir: out.clone(),
    });
    let report = run(&task, &mut |_| {}).unwrap();
    for file in [
        "converted/model.glb",
        "converted/model.gltf",
        "converted/model.usdz",
        "materials/model.json",
        "pbr_qc/render_0.png",
        "pbr_qc/render_5.png",
        "pbr_qc/diff_5.png",
    ] {
        assert!(
            report.files.iter().any(|name| name == file),
            "{file}: {:?}",
            report.files
        );
        assert!(out.join(file).is_file(), "{file}");
    }
    assert!(!out.join("converted/model.fbx").exists());
    let text = fs::read(out.join("materials/model.json")).unwrap();
    let materials: Value = serde_json::from_slice(&text).unwrap();
    let wood = &materials["materials"][0];
    assert_eq!(wood["name"], "Wood");
    let file = wood["pbrMetallicRoughness"]["baseColorTexture"]["file"]
        .as_str()
        .unwrap();
    assert_eq!(fs::read(out.join("materials").join(file)).unwrap(), colour);
    let info = fs::read_to_string(out.join("info.log")).unwrap();
    assert!(
        info.contains("model.glb: similarity 100.0 of 100"),
        "{info}"
    );
}
