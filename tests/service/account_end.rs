//! Deletion of an account: nothing of it remains in the data folder.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::{Fixture, blobs, upload_url};
use super::test_records::TestDatabase;
use crate::needs_own_storage;

/// Part of everything that the account creates.
const MARK: &str = "zebrafish";

/// An analysis writes a file; an optimization runs until it is killed.
const WORKER: &str = r#"
task=$(cat)
out=$(printf %s "$task" | sed 's/.*"output_dir":"\([^"]*\)".*/\1/')
echo zebrafish > "$out/info.log"
case "$task" in *'"task":"optimize"'*) sleep 1000 ;; esac
"#;

/// The files below `dir` that have the mark in their name or in their bytes.
fn marked(dir: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            marked(&path, found);
            continue;
        }
        // A file may be deleted meanwhile.
        let bytes = std::fs::read(&path).unwrap_or_default();
        let in_bytes = bytes
            .windows(MARK.len())
            .any(|part| part == MARK.as_bytes());
        if in_bytes || path.display().to_string().contains(MARK) {
            found.push(path.display().to_string());
        }
    }
}

fn files_below(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    entries
        .map(|entry| match entry.path() {
            path if path.is_dir() => files_below(&path),
            _ => 1,
        })
        .sum()
}

#[tokio::test]
async fn nothing_of_a_deleted_account_is_left_in_the_data_folder() {
    needs_own_storage!();
    let service = Fixture::with(WORKER, |_| {}).await;
    let data = service.dir.path().join("data");
    let account = std::fs::read(data.join("account.json")).unwrap();
    let account: Value = serde_json::from_slice(&account).unwrap();
    let file = format!("{MARK}.glb");
    let id = service.upload(MARK, &[(&file, MARK.as_bytes())]).await;
    let body = json!({ "tags": [MARK] });
    let path = format!("/api/v2/rawmodel/{id}");
    service
        .json(reqwest::Method::PUT, &path, body)
        .await
        .expect(200);
    let config = json!({ "name": MARK, "config": { "schema": "2.5" } });
    service
        .post("/api/v2/preset/create", config)
        .await
        .expect(200);
    let theme = json!({ "productLink": MARK }).to_string();
    let embed = json!({
        "raw_model_id": id, "name": MARK, "save_user_theme": true, "config": theme,
    });
    service.post("/api/v2/embeds/raw", embed).await.expect(200);
    let hook = json!({ "url": format!("http://127.0.0.1:1/{MARK}"), "verify_ssl": false });
    service
        .post("/api/v2/user/webhooks", hook)
        .await
        .expect(200);
    let token = json!({ "name": MARK });
    service
        .post("/api/v2/user/tokens/create", token)
        .await
        .expect(200);
    let optimize = format!("/api/v2/rawmodel/optimize/{id}");
    let rapid = service.post_json(&optimize, json!({})).await;
    let rapid = format!("/api/v2/rapidmodel/{}", rapid["id"]);
    service
        .until(&rapid, |record| {
            record["data"]["job_status"]["status"] == "executing"
        })
        .await;
    service
        .post(
            &format!("{path}/addFormats"),
            json!({ "formats": ["usdz"] }),
        )
        .await
        .expect(200);
    let (_, begun) = service.begin(MARK, &[&file]).await;
    let mut found = Vec::new();
    marked(&data, &mut found);
    assert!(found.len() > 2, "the test sees the mark: {found:?}");

    let password = json!({ "password": account["password"] });
    service
        .post("/api/v2/user/delete", password)
        .await
        .expect(200);
    // URLs and tokens of before are refused.
    let url = upload_url(&begun, &file);
    service.put(url, MARK.as_bytes()).await.expect(404);
    service.get("/api/v2/rawmodel").await.expect(401);
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let mut found = Vec::new();
        marked(&data, &mut found);
        if found.is_empty() && files_below(&data.join("work")) == 0 {
            break;
        }
        assert!(Instant::now() < deadline, "left: {found:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(blobs(&data).len(), 0);
    assert!(!data.join("account.json").exists());
    let mut database = TestDatabase::open(&data).await;
    for table in [
        "users",
        "tokens",
        "assets",
        "files",
        "rapids",
        "tags",
        "presets",
        "jobs",
        "conversions",
        "embeds",
        "webhooks",
        "counts",
    ] {
        let rows = database
            .number(&format!("SELECT COUNT(*) FROM {table}"))
            .await;
        assert_eq!(rows, 0, "{table}");
    }
}
