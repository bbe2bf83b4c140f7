//! Which file of an upload is the model: the record, its metadata, renders, embeds and formats agree.

use reqwest::Method;
use serde_json::{Value, json};
use zip::CompressionMethod;

use super::square_glb::changed_glb;
use super::support::{Fixture, engine, engine_without_pictures};
use super::zips::zip_of;

const OBJ: &[u8] = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

/// The names and bytes of the files of an upload.
pub type Upload<'a> = Vec<(&'a str, &'a [u8])>;

pub async fn with_engine() -> Fixture {
    Fixture::with("", |config| config.worker = engine()).await
}

fn keys(map: &Value) -> Vec<&str> {
    map.as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// The longest side of the model in an exported file.
fn longest_side(name: &str, bytes: &[u8]) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(name), bytes).unwrap();
    let model = assetfs_engine::Model::open(dir.path().join(name)).unwrap();
    let [low, high] = model.bounds().unwrap();
    let sides = low.iter().zip(high).map(|(low, high)| high - low);
    sides.fold(0.0, f64::max)
}

#[tokio::test]
async fn record_metadata_renders_and_formats_name_one_file() {
    let service = with_engine().await;
    let glb = changed_glb(|_| {});
    let stored = |files: &[(&str, &[u8])]| zip_of(files, CompressionMethod::Stored);
    let zipped = stored(&[
        ("__MACOSX/._a.glb", b"x"),
        ("in/a.glb", &glb),
        ("in/b.obj", OBJ),
    ]);
    let uploads: [(&str, Upload<'_>, &str, &str); 4] = [
        // The glb is in a deeper folder than the obj.
        (
            "deeper",
            vec![("parts/a.glb", &glb), ("chair.obj", OBJ)],
            "obj",
            "chair.obj",
        ),
        (
            "mixed",
            vec![("a.obj", OBJ), ("b.glb", &glb)],
            "glb",
            "b.glb",
        ),
        // A zip that is not called one: the engine opens it.
        ("packed", vec![("chair.zip", &zipped)], "glb", "chair.zip"),
        (
            "unread",
            vec![("chair.step", b"x"), ("chair.stl", STL)],
            "stl",
            "chair.stl",
        ),
    ];
    for (name, files, format, main_file) in uploads {
        let id = service.upload(name, &files).await;
        let asset = service.analysed(id).await;
        assert_eq!(asset["upload_status"], "complete", "{name}: {asset}");
        assert_eq!(asset["format"], format, "{name}");
        assert_eq!(asset["metadata"]["file"]["format"], format, "{name}");
        assert!(
            keys(&asset["downloads"]).contains(&main_file),
            "{name}: {asset}"
        );
        let path = format!("/api/v2/rawmodel/{id}");
        let renders = service.get_json(&format!("{path}/renders")).await;
        let key = format!("{format}-front.png");
        assert!(renders[&key].is_string(), "{name}: {renders}");
        // It is not converted to its own format.
        let body = json!({ "formats": [format] });
        service
            .post(&format!("{path}/addFormats"), body)
            .await
            .expect(400);
        let raw = json!({ "raw_model_id": id, "name": name });
        let status = if format == "glb" { 200 } else { 422 };
        service.post("/api/v2/embeds/raw", raw).await.expect(status);
    }
}

const STL: &[u8] = b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n";

#[tokio::test]
async fn a_scale_factor_scales_every_export_and_adds_none() {
    let worker = engine_without_pictures();
    let service = Fixture::with("", |config| config.worker = worker).await;
    let id = service
        .upload("square", &[("a.glb", &changed_glb(|_| {}))])
        .await;
    let path = format!("/api/v2/rawmodel/{id}");
    let body = json!({ "scale_factor": 3 });
    service.json(Method::PUT, &path, body).await.expect(200);
    let layouts = [
        (json!({}), vec!["square.glb"], 3.0),
        (
            json!({ "compressionAndExport": { "fileExports": null } }),
            vec!["square.glb"],
            3.0,
        ),
        (
            json!({ "compressionAndExport": { "fileExports": [] } }),
            vec!["square.glb"],
            3.0,
        ),
        (
            json!({ "compressionAndExport": null }),
            vec!["square.glb"],
            3.0,
        ),
        (
            json!({ "compressionAndExport": { "fileExports": [
                { "fileType": "glb", "customScaling": 2 }, { "fileType": "stl", "customScaling": 2 },
            ] } }),
            vec!["square.glb", "square.stl"],
            6.0,
        ),
        (
            json!({ "export": [{ "fileName": "out", "format": { "ply": {}, "stl": {} } }] }),
            vec!["out.ply", "out.stl"],
            3.0,
        ),
    ];
    let mut asked = Vec::new();
    for (config, names, side) in layouts {
        let body = json!({ "config": config });
        asked.push((body, names, side));
    }
    asked.push((json!({}), vec!["square.glb"], 3.0));
    for (body, names, side) in asked {
        let optimize = format!("/api/v2/rawmodel/optimize/{id}");
        let rapid = service.post_json(&optimize, body.clone()).await;
        let rapid = service.optimized(rapid["id"].as_u64().unwrap()).await;
        assert_eq!(rapid["optimization_status"], "done", "{body}: {rapid}");
        assert_eq!(keys(&rapid["downloads"]["all"]), names, "{body}");
        for name in names {
            let url = rapid["downloads"]["all"][name].as_str().unwrap();
            let bytes = service.read(url).await.expect(200).body;
            assert!(
                (longest_side(name, &bytes) - side).abs() < 1e-4,
                "{body}: {name}"
            );
        }
    }
    let formats = json!({ "formats": ["stl"] });
    service
        .post(&format!("{path}/addFormats"), formats)
        .await
        .expect(200);
    service
        .until(&format!("{path}/processedFormats"), |jobs| {
            jobs[0]["status"] == "finished"
        })
        .await;
    let converted = service
        .get(&format!("{path}/downloads/converted"))
        .await
        .json();
    assert_eq!(keys(&converted), ["square.stl"]);
    let bytes = service
        .read(converted["square.stl"].as_str().unwrap())
        .await
        .body;
    assert!((longest_side("square.stl", &bytes) - 3.0).abs() < 1e-4);
}
