//! Conversions, quality-control reports, and version 1 of the API.

use serde_json::json;

use super::support::{COPYING_WORKER, Fixture};

/// What the page is told of the conversions of all models.
const UNFINISHED: &str = "/page/conversions.json";

#[tokio::test]
async fn an_asset_is_converted_to_other_formats() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.obj", b"obj!")]).await;
    let add = format!("/api/v2/rawmodel/{id}/addFormats");
    for (body, status) in [
        (json!({}), 422),
        (json!({ "formats": [] }), 422),
        (json!({ "formats": ["docx"] }), 422),
        (json!({ "formats": ["obj", "glb"] }), 400),
    ] {
        let answer = service.post(&add, body.clone()).await;
        assert_eq!(answer.status, status, "{body}");
        assert!(answer.json()["message"].is_string());
    }
    let unknown = "/api/v2/rawmodel/999/addFormats";
    let answer = service.post(unknown, json!({ "formats": ["glb"] })).await;
    assert!(answer.expect(404).json()["message"].is_string());

    let answer = service
        .post(&add, json!({ "formats": ["GLB"] }))
        .await
        .expect(200);
    assert_eq!(answer.json()["formats"], json!(["glb"]));
    let processed = format!("/api/v2/rawmodel/{id}/processedFormats");
    let jobs = service
        .until(&processed, |jobs| jobs[0]["status"] == "finished")
        .await;
    assert_eq!(jobs[0]["progress"], 100);
    assert_eq!(jobs[0]["formats"], json!(["glb"]));
    let converted = service
        .get_json(&format!("/api/v2/rawmodel/{id}/downloads/converted"))
        .await;
    let url = converted["chair.glb"].as_str().unwrap();
    assert_eq!(service.read(url).await.expect(200).body, b"obj!");
    let asset = service.get(&format!("/api/v2/rawmodel/{id}")).await.json();
    assert_eq!(asset["data"]["converted_glb"]["name"], "chair.glb");
    assert!(asset["data"].get("converted_fbx").is_none());
    assert_eq!(service.get_json(UNFINISHED).await, json!({ "data": [] }));
    service.read(&service.url(UNFINISHED)).await.expect(401);
    service
        .post(&add, json!({ "formats": ["glb"] }))
        .await
        .expect(400);
    let pbr = service
        .get_json(&format!("/api/v2/rawmodel/{id}/downloads/pbr"))
        .await;
    assert_eq!(pbr, json!({ "materials": {}, "qc": {} }));
}

#[tokio::test]
async fn a_conversion_that_fails_says_so_and_may_be_asked_again() {
    let worker = r#"task=$(cat); case "$task" in *optimize*) echo '{"error":"no such thing"}'; exit 1;; esac"#;
    let service = Fixture::with(worker, |_| {}).await;
    let id = service.upload("chair", &[("a.obj", b"obj!")]).await;
    let add = format!("/api/v2/rawmodel/{id}/addFormats");
    service
        .post(&add, json!({ "formats": ["glb"] }))
        .await
        .expect(200);
    let processed = format!("/api/v2/rawmodel/{id}/processedFormats");
    let jobs = service
        .until(&processed, |jobs| jobs[0]["status"] == "failed")
        .await;
    assert_eq!(jobs[0]["message"], "no such thing");
    let listed = service.get_json(UNFINISHED).await;
    let only = &listed["data"][0];
    assert_eq!(
        (&only["model_id"], &only["model"]),
        (&json!(id), &json!("chair"))
    );
    assert_eq!(only["job"], jobs[0]);
    service
        .post(&add, json!({ "formats": ["glb"] }))
        .await
        .expect(200);
}

#[tokio::test]
async fn a_quality_report_covers_one_export() {
    let worker = COPYING_WORKER.replace(
        r#""images":"#,
        r#""quality":{"max_score":99.5,"avg_score":98.25},"images":"#,
    );
    let service = Fixture::with(&worker, |_| {}).await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let asked = service
        .post(&format!("/api/v2/rawmodel/optimize/{id}"), json!({}))
        .await
        .json();
    let rapid = service.optimized(asked["id"].as_u64().unwrap()).await;
    assert_eq!(
        rapid["meta"]["qc"],
        json!([{ "glb": { "maxScore": 99.5, "avgScore": 98.25 } }])
    );
    let path = |format: &str| format!("/api/v2/rapidmodel/{}/{format}/downloadQc", rapid["id"]);
    let report = service.get_json(&path("glb")).await;
    assert_eq!(report["avgScore"], 98.25);
    assert_eq!(report["file"], "chair.glb");
    let none = service.get(&path("usdz")).await.expect(404);
    assert!(none.header("content-type").starts_with("text/plain"));
}

#[tokio::test]
async fn version_1_is_still_served() {
    let service = Fixture::start().await;
    let body = json!({ "filenames": ["textures/wood.png", "my chair.gltf"] });
    let started = service
        .post_json("/api/rawmodel/api-upload/start", body)
        .await;
    let id = started["id"].as_u64().unwrap();
    for url in started["links"]["s3_upload_urls"]
        .as_object()
        .unwrap()
        .values()
    {
        service.put(url.as_str().unwrap(), b"x").await.expect(200);
    }
    let complete = format!("/api/rawmodel/{id}/api-upload/complete");
    assert_eq!(started["links"]["complete_upload"], service.url(&complete));
    let done = service.get_json(&complete).await;
    assert_eq!(done["data"]["name"], "my chair");
    assert_eq!(
        done["links"]["optimize"],
        service.url(&format!("/api/rawmodel/optimize/{id}"))
    );
    service.analysed(id).await;
    for path in [format!("/rawmodel/{id}"), format!("/api/rawmodel/{id}")] {
        let asset = service.get_json(&path).await;
        assert_eq!(asset["data"]["upload_status"], "complete");
    }
    let process = format!("/api/rawmodel/process/{id}");
    for bad in [json!({ "max_size_mb": 26 }), json!({ "config": "{" })] {
        service.post(&process, bad).await.expect(422);
    }
    let body = json!({ "max_size_mb": 5, "config": "{\"decimate:target\": 5000}" });
    let asked = service.post_json(&process, body).await;
    assert_eq!(asked["accepted"], true);
    assert_eq!(asked["rawmodel"]["id"], id);
    assert_eq!(
        asked["configuration"]["workflowSettings"]["targetMBSize"],
        5.0
    );
    let body = json!({ "config": { "workflowSettings": { "targetMBSize": 5 } } });
    let asked = service
        .post_json(&format!("/api/rawmodel/optimize/{id}"), body)
        .await;
    assert_eq!(asked["optimization_status"], "sent_to_queue");
    let rapid = asked["id"].as_u64().unwrap();
    service.optimized(rapid).await;
    let path = format!("/api/rapidmodel/{rapid}");
    let model = service.get_json(&path).await;
    assert_eq!(model["data"]["optimization_status"], "done");
    let url = model["data"]["downloads"]["glb"].as_str().unwrap();
    service.read(url).await.expect(200);
    for list in ["/api/rawmodel", "/api/rapidmodel"] {
        let list_of = service.get_json(list).await;
        assert!(list_of["meta"]["total"].as_u64().unwrap() > 0);
        assert_eq!(list_of["meta"]["path"], service.url(list));
    }
    service.delete(&path).await.expect(200);
    service
        .delete(&format!("/api/rawmodel/{id}"))
        .await
        .expect(200);
}

#[tokio::test]
async fn every_endpoint_of_the_api_is_there() {
    let service = Fixture::start().await;
    for (method, template) in assetfs::wire::paths::endpoints() {
        let path = template
            .replace("{id}", "999999")
            .replace("{tagId}", "999999")
            .replace("{format}", "glb");
        let request = service.request(method.parse().unwrap(), &path);
        let answer = service.send(request).await;
        assert_ne!(answer.status, 405, "{method} {path}");
        let text = answer.text();
        assert!(!text.contains("such path"), "{method} {path}: {text}");
    }
}
