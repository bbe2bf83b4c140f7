//! Replies exactly as in the API: states of imports, errors of multi-optimize, versions of presets, the parts of a
//! viewer's URL.

use std::collections::BTreeSet;

use assetfs_engine::sample::{ChairDetail, write_chair_with};
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{COPYING_WORKER, Fixture, WAITING_WORKER, engine, upload_url};
use super::test_records::TestDatabase;

const MULTI: &str = "/api/v2/rawmodel/optimize";

/// An analysis that waits for a file in each of its phases.
const PHASED_WORKER: &str = r#"
cat > /dev/null
here=$(dirname "$0")
for phase in reading preparing drawing; do
  echo "{\"percent\":10,\"step\":\"x\",\"phase\":\"$phase\"}"
  while ! test -e "$here/$phase"; do sleep 0.02; done
done
"#;

#[tokio::test]
async fn every_phase_of_an_import_is_shown_while_it_happens() {
    let service = Fixture::with(PHASED_WORKER, |_| {}).await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.put(url, b"x").await.expect(200);
    let path = format!("/api/v2/rawmodel/{id}");
    service
        .get(&format!("{path}/api-upload/complete"))
        .await
        .expect(200);
    for (status, phase) in [
        ("analysing", "reading"),
        ("dataprepping", "preparing"),
        ("ServiceQC", "drawing"),
    ] {
        let shown = |record: &Value| record["data"]["upload_status"] == status;
        service.until(&path, shown).await;
        std::fs::write(service.dir.path().join(phase), "").unwrap();
    }
    let asset = service.analysed(id).await;
    assert_eq!(asset["upload_status"], "complete");
    assert_eq!(asset["import_status"], "Done");
}

#[tokio::test]
async fn a_failed_import_says_so_in_its_import_status() {
    let service = Fixture::with("cat > /dev/null; exit 1", |_| {}).await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let asset = service.analysed(id).await;
    assert_eq!(asset["upload_status"], "Importing Failed");
    assert_eq!(asset["import_status"], "Failed");
}

#[tokio::test]
async fn errors_of_multi_optimize_are_plain_text() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let good = json!({ "optimizations": [{ "model_id": id, "config": {} }] });
    for (body, reason) in [
        ("{".to_owned(), "JSON"),
        ("[]".to_owned(), "object"),
        ("{}".to_owned(), "optimizations"),
        (
            json!({ "optimizations": [{}] }).to_string(),
            "optimizations[0]",
        ),
        (
            json!({ "optimizations": [{ "model_id": 999, "config": {} }] }).to_string(),
            "no such base asset",
        ),
    ] {
        let request = service.request(Method::POST, MULTI).body(body.clone());
        let answer = service.send(request).await.expect(400);
        assert!(answer.header("content-type").starts_with("text/plain"));
        let text = answer.text();
        assert!(
            text.starts_with("Could not process request: "),
            "{body}: {text}"
        );
        assert!(text.contains(reason), "{body}: {text}");
    }
    // An internal error has its documented text and no details.
    let mut database = TestDatabase::open(&service.dir.path().join("data")).await;
    database.run("ALTER TABLE jobs RENAME TO gone").await;
    let answer = service.post(MULTI, good).await.expect(500);
    assert!(answer.header("content-type").starts_with("text/plain"));
    let text = answer.text();
    let begin = "An error occurred while processing your request: ";
    assert!(text.starts_with(begin) && !text.contains("jobs"), "{text}");
    database.run("ALTER TABLE gone RENAME TO jobs").await;
}

#[tokio::test]
async fn a_preset_that_needs_a_newer_optimizer_is_refused_when_made_and_when_used() {
    let service = Fixture::start().await;
    let preset = |version: &str| json!({ "name": "p", "config": { "schema": "2.5" }, "engineCoreVersion": version });
    for (version, status) in [("0.0.1", 200), ("999.0.0", 422), ("new", 422)] {
        let answer = service.post("/api/v2/preset/create", preset(version)).await;
        let answer = answer.expect(status);
        if status == 422 {
            let errors = &answer.json()["errors"];
            assert!(
                errors["engineCoreVersion"].is_array(),
                "{version}: {errors}"
            );
        }
    }
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let presets = service.get("/api/v2/preset").await.json();
    let preset = presets[0]["id"].as_u64().unwrap();
    // As written by a newer version of the program.
    let mut database = TestDatabase::open(&service.dir.path().join("data")).await;
    let newer = "UPDATE presets SET core_version = '999.0.0'";
    assert_eq!(database.run(newer).await, 1);
    let points = service.get("/api/v2/user/rapidpoints").await.json();
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    let refused = service.post(&path, json!({ "preset_id": preset })).await;
    assert!(refused.expect(422).text().contains("999.0.0"));
    let many = json!({ "optimizations": [{ "model_id": id, "config": { "preset_id": preset } }] });
    assert!(
        service
            .post(MULTI, many)
            .await
            .expect(400)
            .text()
            .contains("999.0.0")
    );
    assert_eq!(service.get("/api/v2/user/rapidpoints").await.json(), points);
}

#[tokio::test]
async fn the_parts_of_a_viewers_url_read_the_model_and_nothing_else() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.glb", b"bytes")]).await;
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    let asked = service.post_json(&path, json!({})).await;
    let rapid = service.optimized(asked["id"].as_u64().unwrap()).await;
    let root = rapid["model"]["rootUrl"].as_str().unwrap();
    assert_eq!(rapid["model"]["fileName"], "chair.glb");
    assert!(root.ends_with('/') && !root.contains('?'), "{root}");
    let read = service.read(&format!("{root}chair.glb")).await.expect(200);
    assert_eq!(read.text(), "bytes");
    let http = &service.http;
    let put = http.put(format!("{root}chair.glb")).body("x");
    service.send(put).await.expect(403);
    let tampered = root.replacen('~', "~9", 1);
    service
        .read(&format!("{tampered}chair.glb"))
        .await
        .expect(403);
    // The signature of one file is not valid for another.
    let file: u64 = root.split('/').nth_back(2).unwrap().parse().unwrap();
    let other = root.replace(&format!("/{file}/"), &format!("/{}/", file - 1));
    service.read(&format!("{other}chair.glb")).await.expect(403);
}

#[tokio::test]
async fn an_empty_file_name_counts_as_absent_and_usdz_has_a_quality_report() {
    let service = Fixture::with("", |config| config.worker = engine()).await;
    let dir = tempfile::tempdir().unwrap();
    write_chair_with(dir.path(), ChairDetail::Small).unwrap();
    let mut files = Vec::new();
    super::support::add_files(dir.path(), "", &mut files);
    let bytes: Vec<Vec<u8>> = files
        .iter()
        .map(|name| std::fs::read(dir.path().join(name)).unwrap())
        .collect();
    let upload: Vec<(&str, &[u8])> = files
        .iter()
        .zip(&bytes)
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
        .collect();
    let id = service.upload("chair", &upload).await;
    let config = json!({ "config": {
        "export": [{ "fileName": "", "format": { "usdz": {} } }],
    } });
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    let asked = service.post_json(&path, config).await;
    let rapid = service.optimized(asked["id"].as_u64().unwrap()).await;
    assert_eq!(rapid["optimization_status"], "done", "{rapid}");
    assert!(
        rapid["downloads"]["all"]["chair.usdz"].is_string(),
        "{rapid}"
    );
    let report = format!("/api/v2/rapidmodel/{}/usdz/downloadQc", asked["id"]);
    let report = service.get_json(&report).await;
    assert!(report["avgScore"].as_f64().unwrap() > 50.0, "{report}");
    assert_eq!(report["file"], "chair.usdz");
}

#[tokio::test]
async fn a_404_of_renders_reports_and_presets_is_plain_text() {
    let service = Fixture::start().await;
    for path in [
        "rawmodel/999/renders",
        "rawmodel/x/renders",
        "rapidmodel/999/renders",
        "rapidmodel/x/renders",
        "rapidmodel/999/glb/downloadQc",
        "rapidmodel/999/download/preset",
    ] {
        let answer = service.get(&format!("/api/v2/{path}")).await.expect(404);
        let kind = answer.header("content-type").to_owned();
        assert!(kind.starts_with("text/plain"), "{path}: {kind}");
        assert!(answer.text().starts_with("There is no such "), "{path}");
    }
    // Elsewhere it is JSON.
    let other = service.get("/api/v2/rapidmodel/999").await.expect(404);
    assert_eq!(other.json()["message"], "There is no such rapid model.");
}

/// Adds the names of the fields that are null, with those of the objects around them.
fn add_nulls(at: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Null => drop(found.insert(at.trim_start_matches("data.").to_owned())),
        Value::Array(items) => items.iter().for_each(|item| add_nulls(at, item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = match at {
                    "" => name.clone(),
                    at => format!("{at}.{name}"),
                };
                add_nulls(&path, value, found);
            }
        }
        _ => {}
    }
}

/// Every record of the API in its first and in its last state.
async fn add_nulls_of(service: &Fixture, found: &mut BTreeSet<String>) {
    let list = service.get("/api/v2/rawmodel").await.json();
    let raw: Vec<u64> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|asset| asset["id"].as_u64())
        .collect();
    let list = service.get("/api/v2/rapidmodel").await.json();
    let rapid: Vec<u64> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|model| model["id"].as_u64())
        .collect();
    let mut paths: Vec<String> = [
        "rawmodel",
        "rapidmodel",
        "rawmodel/jobs",
        "embeds",
        "user/webhooks",
        "user/tokens",
        "user/storage",
        "user/rapidpoints",
        "preset",
        "preset/factory",
        "preset/categories",
        "preset/1",
    ]
    .map(str::to_owned)
    .into();
    for id in raw {
        paths.extend([
            format!("rawmodel/{id}"),
            format!("rawmodel/{id}/processedFormats"),
        ]);
    }
    for id in rapid {
        paths.extend([
            format!("rapidmodel/{id}"),
            format!("rapidmodel/{id}/exports"),
        ]);
    }
    for path in paths {
        let answer = service.get(&format!("/api/v2/{path}")).await.expect(200);
        add_nulls("", &answer.json(), found);
    }
}

#[tokio::test]
async fn the_fields_that_are_null_are_those_that_the_document_names() {
    let mut found = BTreeSet::new();
    let service = Fixture::with(COPYING_WORKER, |_| {}).await;
    service.begin("chair", &["a.glb"]).await;
    let preset = json!({ "name": "p", "config": { "schema": "2.5" } });
    service
        .post("/api/v2/preset/create", preset)
        .await
        .expect(200);
    let hook = json!({ "url": "http://127.0.0.1:9/", "verify_ssl": false });
    service
        .post("/api/v2/user/webhooks", hook)
        .await
        .expect(200);
    add_nulls_of(&service, &mut found).await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let rapid = service.optimize(id).await;
    service.optimized(rapid).await;
    add_nulls_of(&service, &mut found).await;
    let waiting = Fixture::with(WAITING_WORKER, |_| {}).await;
    let id = waiting.upload("chair", &[("a.glb", b"x")]).await;
    waiting.optimize(id).await;
    waiting.optimize(id).await;
    let embed = json!({ "raw_model_id": id, "name": "without a picture" });
    waiting.post("/api/v2/embeds/raw", embed).await.expect(200);
    add_nulls_of(&waiting, &mut found).await;

    let document = include_str!("../../docs/service.md");
    let begin = "- Fields that are null: ";
    let sentence = document.lines().find_map(|line| line.strip_prefix(begin));
    let words = sentence.unwrap().split('`').skip(1).step_by(2);
    let named: BTreeSet<String> = words.map(str::to_owned).collect();
    assert_eq!(found, named);
}
