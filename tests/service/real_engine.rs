//! The main job with the real engine, on real models.

use std::path::Path;

use serde_json::{Value, json};

use super::samples::samples;
use super::skip::has_program_or_skips;
use super::support::{Fixture, engine};

/// The files of a folder, by name.
fn files_of(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// The number of triangles in a glb.
fn triangles(glb: &[u8]) -> u64 {
    let len = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    let document: Value = serde_json::from_slice(&glb[20..20 + len]).unwrap();
    let primitives = document["meshes"].as_array().unwrap().iter();
    let primitives = primitives.flat_map(|mesh| mesh["primitives"].as_array().unwrap());
    primitives
        .map(|primitive| {
            // Without indices each three positions are a triangle.
            let accessor = match primitive["indices"].as_u64() {
                Some(indices) => indices,
                None => primitive["attributes"]["POSITION"].as_u64().unwrap(),
            };
            let accessor = &document["accessors"][accessor as usize];
            accessor["count"].as_u64().unwrap() / 3
        })
        .sum()
}

#[tokio::test]
async fn a_fox_is_analysed_and_optimized() {
    let Some(samples) = samples() else { return };
    let service = Fixture::with("", |config| config.worker = engine()).await;
    let fox = std::fs::read(samples.join("04-fox-animated.glb")).unwrap();
    let before = triangles(&fox);
    let id = service.upload("fox", &[("fox.glb", &fox)]).await;
    let asset = service.analysed(id).await;
    assert_eq!(asset["upload_status"], "complete", "{asset}");
    assert_eq!(asset["has_errors"], false);
    for name in [
        "rpd_info.json",
        "metrics.json",
        "info.log",
        "warning.log",
        "thumb.jpg",
    ] {
        let url = asset["downloads"][name].as_str();
        let url = url.unwrap_or_else(|| panic!("no {name}: {asset}"));
        service.read(url).await.expect(200);
    }
    let config = json!({
        "schema": "2.5",
        "limits": { "faces": { "count": 300 }, "textures": { "baseColor": 256, "normal": 256, "orm": 256 } },
        "compressionAndExport": { "fileExports": [{ "fileType": "glb" }] },
    });
    let asked = service
        .post_json(
            &format!("/api/v2/rawmodel/optimize/{id}"),
            json!({ "config": config }),
        )
        .await;
    let rapid = service.optimized(asked["id"].as_u64().unwrap()).await;
    assert_eq!(rapid["optimization_status"], "done", "{rapid}");
    let glb = service
        .read(rapid["downloads"]["glb"].as_str().unwrap())
        .await
        .expect(200)
        .body;
    let after = triangles(&glb);
    assert!(after <= 300 && after > 150, "{before} became {after}");
    assert_eq!(rapid["downloads"]["all"].as_object().unwrap().len(), 1);
    let exports = service
        .get(&format!("/api/v2/rapidmodel/{}/exports", rapid["id"]))
        .await
        .json();
    let images = exports["data"]["fox.glb"]["info"]["images"]
        .as_array()
        .unwrap();
    assert!(!images.is_empty());
    let keys = |map: &Value| -> Vec<String> { map.as_object().unwrap().keys().cloned().collect() };
    let of_asset = service
        .get_json(&format!("/api/v2/rawmodel/{id}/renders"))
        .await;
    assert_eq!(keys(&of_asset).len(), 6);
    assert!(of_asset["glb-front.png"].is_string());
    let path = format!("/api/v2/rapidmodel/{}", rapid["id"]);
    let renders = service.get_json(&format!("{path}/renders")).await;
    for key in ["glb-top.png", "glb-top__diff.png", "original-top.png"] {
        let picture = service
            .read(renders[key].as_str().unwrap())
            .await
            .expect(200);
        assert!(picture.body.starts_with(b"\x89PNG"), "{key}");
    }
    assert_eq!(keys(&renders).len(), 18);
    let overview = rapid["overview"].as_str().unwrap();
    let overview = service.read(overview).await.expect(200);
    assert!(overview.body.starts_with(b"\xFF\xD8"));
    let quality = service
        .get(&format!("{path}/glb/downloadQc"))
        .await
        .expect(200);
    let score = quality.json()["avgScore"].as_f64().unwrap();
    assert!((0.0..=100.0).contains(&score));
    assert_eq!(rapid["meta"]["qc"][0]["glb"]["avgScore"], score);
    assert!(
        images
            .iter()
            .all(|image| image["width"].as_u64().unwrap() <= 256)
    );
}

#[tokio::test]
async fn what_is_broken_fails_with_a_reason_and_the_next_job_runs() {
    let Some(samples) = samples() else { return };
    let service = Fixture::with("", |config| {
        config.worker = engine();
        config.worker_limits.memory_bytes = 1 << 30;
    })
    .await;
    let cad = "part.sldprt";
    let mut files = files_of(&samples.join("14-broken"));
    assert!(!files.is_empty(), "there are broken samples");
    files.push((cad.to_owned(), b"SolidWorks".to_vec()));
    for (name, bytes) in files {
        let id = service.upload(&name, &[(&name, &bytes)]).await;
        let asset = service.analysed(id).await;
        assert_eq!(
            asset["upload_status"], "Importing Failed",
            "{name}: {asset}"
        );
        let message = asset["error_message"].as_str().unwrap();
        assert!(message.len() > 20, "{name}: {message}");
        assert_eq!(message.contains("CAD"), name == cad, "{name}: {message}");
        let log = asset["downloads"]["error.log"].as_str().unwrap();
        assert!(service.read(log).await.text().contains(message), "{name}");
    }
    let glb = std::fs::read(samples.join("03-exploding-barrel.glb")).unwrap();
    let id = service.upload("barrel", &[("barrel.glb", &glb)]).await;
    assert_eq!(service.analysed(id).await["upload_status"], "complete");
}

#[tokio::test]
async fn a_cad_upload_has_a_glb_and_a_usdz_when_it_is_complete() {
    if !has_program_or_skips("assetfs-cad") {
        return;
    }
    let service = Fixture::with("", |config| {
        config.worker = engine();
    })
    .await;
    let step = include_bytes!("../../crates/engine/tests/engine/import/cad/bracket.step");
    let id = service.upload("bracket", &[("bracket.step", step)]).await;
    let asset = service.analysed(id).await;
    assert_eq!(asset["upload_status"], "complete", "{asset}");
    assert_eq!(asset["format"], "step", "{asset}");
    for (key, name) in [
        ("converted_glb", "bracket.glb"),
        ("converted_usdz", "bracket.usdz"),
    ] {
        assert_eq!(asset[key]["name"], name, "{asset}");
        let url = asset[key]["url"].as_str().unwrap();
        assert!(service.read(url).await.body.len() > 1000, "{key}");
    }
    let converted = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads/converted"))
        .await;
    let converted = converted.json();
    assert!(converted["bracket.glb"].is_string(), "{converted}");
    assert!(converted["bracket.usdz"].is_string(), "{converted}");
}
