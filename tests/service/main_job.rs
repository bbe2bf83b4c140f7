//! From an upload to the download of its optimized model.

use super::support::{Fixture, files_are_in_a_bucket};
use serde_json::json;

#[tokio::test]
async fn a_model_goes_up_is_optimized_and_comes_back() {
    let service = Fixture::start().await;
    let (id, started) = service
        .begin("chair", &["chair.gltf", "textures/wood.png"])
        .await;
    let links = &started["links"];
    let complete = format!("/api/v2/rawmodel/{id}/api-upload/complete");
    assert_eq!(links["complete_upload"], service.url(&complete));
    let urls = &links["s3_upload_urls"];
    service
        .put(urls["chair.gltf"].as_str().unwrap(), b"gltf!")
        .await
        .expect(200);
    let refused = service.get(&complete).await.expect(422).json();
    assert_eq!(refused["errors"]["files"], json!(["textures/wood.png"]));
    service
        .put(urls["textures/wood.png"].as_str().unwrap(), b"")
        .await
        .expect(200);
    let completed = service.get_json(&complete).await;
    // A worker may have begun already.
    let status = completed["data"]["upload_status"].as_str().unwrap();
    assert!(["waiting", "analysing"].contains(&status), "{status}");
    assert_eq!(completed["data"]["processing"], true);
    assert_eq!(completed["data"]["size"], 5);

    let asset = service.analysed(id).await;
    assert_eq!(asset["upload_status"], "complete");
    assert_eq!(asset["format"], "gltf");
    assert_eq!(asset["scale_factor"], "1");
    assert_eq!(asset["has_errors"], false);
    assert_eq!(asset["metadata"], json!({ "triangles": 12 }));
    let mut names: Vec<&String> = asset["downloads"].as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(
        names,
        [
            "chair.gltf",
            "error.log",
            "info.log",
            "metrics.json",
            "rpd_info.json",
            "thumb.jpg",
            "warning.log"
        ]
    );
    // Completing again changes nothing.
    let again = service.get_json(&complete).await;
    assert_eq!(again["data"]["upload_status"], "complete");

    let path = format!("/api/v2/rawmodel/{id}/downloads");
    let downloads = service.get_json(&path).await;
    let url = downloads["chair.gltf"].as_str().unwrap();
    assert_eq!(service.read(url).await.expect(200).body, b"gltf!");
    let empty = downloads["textures/wood.png"].as_str().unwrap();
    assert_eq!(service.read(empty).await.expect(200).body, b"");

    let before = service.get("/api/v2/user/rapidpoints").await.json()["rapidpoints"].clone();
    let body = json!({ "preset_id": 1, "tags": ["web", "web", "Ä tag"] });
    let asked = service
        .post_json(&format!("/api/v2/rawmodel/optimize/{id}"), body)
        .await;
    assert_eq!(asked["optimization_status"], "sent_to_queue");
    assert_eq!(
        asked["rawmodel"],
        json!({ "id": id, "name": "chair", "processing": false })
    );
    let after = service.get("/api/v2/user/rapidpoints").await.json()["rapidpoints"].clone();
    assert_eq!(before.as_u64().unwrap() - 1, after.as_u64().unwrap());

    let rapid = service.optimized(asked["id"].as_u64().unwrap()).await;
    assert_eq!(rapid["optimization_status"], "done", "{rapid}");
    assert_eq!(rapid["progress"], 100);
    assert_eq!(rapid["processing_step"], "Done");
    assert_eq!(rapid["job_status"]["status"], "finished");
    assert_eq!(rapid["optimization_formats"], "[\"glb\"]");
    let tags: Vec<&str> = rapid["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect();
    assert_eq!(tags, ["web", "Ä tag"]);
    let glb = rapid["downloads"]["glb"].as_str().unwrap();
    assert_eq!(service.read(glb).await.expect(200).body, b"gltf!");
    assert!(rapid["downloads"]["all"]["chair.glb"].is_string());
    let joined = format!(
        "{}{}",
        rapid["model"]["rootUrl"].as_str().unwrap(),
        rapid["model"]["fileName"].as_str().unwrap()
    );
    assert_eq!(service.read(&joined).await.expect(200).body, b"gltf!");
    let log = service.read(rapid["rpd_warnings"].as_str().unwrap()).await;
    assert_eq!(log.expect(200).body, b"");

    let path = format!("/api/v2/rapidmodel/{}/exports", rapid["id"]);
    let exports = service.get_json(&path).await;
    assert_eq!(
        exports["data"]["chair.glb"]["info"]["images"][0],
        json!({
            "channels": 3, "compressedByteSize": 7, "height": 2, "width": 4,
            "mimetype": "image/png", "slot": "baseColor"
        })
    );
    let of_asset = service
        .get_json(&format!("/api/v2/rawmodel/{id}/rapidmodels"))
        .await;
    assert_eq!(of_asset["data"][0]["id"], rapid["id"]);
    let asset = service.get(&format!("/api/v2/rawmodel/{id}")).await.json();
    assert_eq!(asset["data"]["rapid_models"], json!([rapid["id"]]));

    // The rapid model outlives its asset.
    service
        .delete(&format!("/api/v2/rawmodel/{id}"))
        .await
        .expect(200);
    service
        .get(&format!("/api/v2/rawmodel/{id}"))
        .await
        .expect(404);
    if !files_are_in_a_bucket() {
        // A storage serves an object until the janitor removes it.
        assert_eq!(service.read(url).await.status, 404);
    }
    assert_eq!(service.read(glb).await.expect(200).body, b"gltf!");
    let path = format!("/api/v2/rapidmodel/{}", rapid["id"]);
    service.delete(&path).await.expect(200);
    service.get(&path).await.expect(404);
    if !files_are_in_a_bucket() {
        assert_eq!(service.read(glb).await.status, 404);
    }
    service.service.shutdown().await;
}
