//! Version 1 of the API with the real engine: its options have an effect, and it returns its documented formats.

use serde_json::{Value, json};

use super::one_model::with_engine;
use super::square_glb::changed_glb;
use super::support::Fixture;

async fn square() -> (Fixture, u64) {
    let service = with_engine().await;
    let id = service
        .upload("square", &[("a.glb", &changed_glb(|_| {}))])
        .await;
    (service, id)
}

#[tokio::test]
async fn the_options_of_the_command_line_act() {
    let (service, id) = square().await;
    let process = format!("/api/rawmodel/process/{id}");
    let options = json!({ "decimation": { "target": "f:1" }, "pixels-per-unit-length": 300 });
    let body = json!({ "max_size_mb": 5, "config": options.to_string() });
    let asked = service.post_json(&process, body).await;
    let used = &asked["configuration"];
    assert_eq!(used["workflowSettings"]["targetMBSize"], 5.0);
    assert_eq!(used["limits"]["faces"]["count"], 1);
    assert_eq!(
        used["limits"]["textures"]["normal"], 300,
        "the square is one unit wide"
    );
    let rapid = asked["id"].as_u64().unwrap();
    service.optimized(rapid).await;
    let model = service.get_json(&format!("/api/rapidmodel/{rapid}")).await;
    let downloads = model["data"]["downloads"].as_object().unwrap();
    let mut formats: Vec<&str> = downloads.keys().map(String::as_str).collect();
    formats.sort_unstable();
    assert_eq!(formats, ["glb", "obj", "usdz"]);
    let glb = service
        .read(downloads["glb"].as_str().unwrap())
        .await
        .expect(200)
        .body;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.glb"), glb).unwrap();
    let model = assetfs_engine::Model::open(dir.path().join("a.glb")).unwrap();
    assert_eq!(model.counts().triangles, 1, "of two");
}

#[tokio::test]
async fn exports_that_are_asked_for_are_the_only_ones() {
    let (service, id) = square().await;
    let config = json!({ "compressionAndExport": { "fileExports": [{ "fileType": "obj" }] } });
    let body = json!({ "config": config });
    let asked = service
        .post_json(&format!("/api/rawmodel/optimize/{id}"), body)
        .await;
    let rapid = asked["id"].as_u64().unwrap();
    service.optimized(rapid).await;
    let model = service
        .get(&format!("/api/rapidmodel/{rapid}"))
        .await
        .json();
    let downloads = model["data"]["downloads"].as_object().unwrap();
    assert_eq!(downloads.keys().collect::<Vec<_>>(), ["obj"]);
}

#[tokio::test]
async fn what_version_1_cannot_do_is_refused_unpaid() {
    let (service, id) = square().await;
    let process = format!("/api/rawmodel/process/{id}");
    let ctm = json!({ "compressionAndExport": { "fileExports": [{ "fileType": "ctm" }] } });
    let before = service.get("/api/v2/user/rapidpoints").await.json();
    let cases: [(Value, &str); 9] = [
        (json!({ "max_size_mb": 0 }), "an integer from 1 to 25"),
        (json!({ "max_size_mb": 26 }), "an integer from 1 to 25"),
        (json!({ "max_size_mb": 1.5 }), "an integer from 1 to 25"),
        (json!({ "max_size_mb": true }), "must be a number"),
        (
            json!({ "config": "{\"decimation-traget\": 5}" }),
            "did you mean decimation-target?",
        ),
        (
            json!({ "config": { "decimation": { "target": "v:5" } } }),
            "a number above 0",
        ),
        (json!({ "config": "{" }), "must be an object"),
        (
            json!({ "config": { "limits": { "faces": { "cuont": 5 } } } }),
            "limits.faces.count?",
        ),
        (
            json!({ "config": ctm }),
            "is \"ctm\"; formats are fbx, glb, gltf, obj, ply, stl and usdz",
        ),
    ];
    for (body, reason) in cases {
        let refused = service
            .post(&process, body.clone())
            .await
            .expect(422)
            .json();
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(reason), "{body}: {message}");
    }
    assert_eq!(service.get("/api/v2/user/rapidpoints").await.json(), before);
}
