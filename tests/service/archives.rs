//! Zips in both directions: downloads packed on the fly, uploads unpacked under limits.

use std::io::{Cursor, Read as _, Write as _};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::support::{COPYING_WORKER, Fixture, upload_url};
use super::zips;

fn entries(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    (0..archive.len())
        .map(|number| {
            let mut entry = archive.by_index(number).unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (entry.name().unwrap().into_owned(), bytes)
        })
        .collect()
}

fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

async fn upload_zip(service: &Fixture, bytes: &[u8]) -> Value {
    upload_as(service, bytes, Some(true)).await
}

async fn upload_as(service: &Fixture, bytes: &[u8], is_zip: Option<bool>) -> Value {
    let body = json!({ "model_name": "zipped", "filenames": ["model.zip"], "is_zip": is_zip });
    let started = service
        .post_json("/api/v2/rawmodel/api-upload/start", body)
        .await;
    let url = upload_url(&started, "model.zip");
    service.put(url, bytes).await.expect(200);
    let id = started["id"].as_u64().unwrap();
    service.complete(id).await.expect(200);
    service.analysed(id).await
}

#[tokio::test]
async fn the_files_of_an_asset_come_as_one_zip() {
    let service = Fixture::start().await;
    let big = vec![5; 2_000_000];
    let files: [(&str, &[u8]); 3] = [("Füchs.glb", b"glb"), ("a b/big.bin", &big), ("empty", b"")];
    let id = service.upload("ä chair", &files).await;
    let answer = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads/zip"))
        .await
        .expect(200);
    assert_eq!(
        answer.header("content-length"),
        answer.body.len().to_string()
    );
    assert!(
        answer
            .header("content-disposition")
            .contains("%C3%A4%20chair%2Ezip")
    );
    let found = entries(&answer.body);
    let expected: Vec<(String, Vec<u8>)> = files
        .iter()
        .map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()))
        .collect();
    assert!(found == expected);
    let (draft, _) = service.begin("draft", &["a.glb"]).await;
    service
        .get(&format!("/api/v2/rawmodel/{draft}/downloads/zip"))
        .await
        .expect(404);
}

#[tokio::test]
async fn presets_come_as_zips() {
    let service = Fixture::start().await;
    let config = json!({ "schema": "2.5", "limits": { "faces": { "count": 7 } } });
    let body = json!({ "name": "it's/mine", "config": config });
    let id = service.post("/api/v2/preset/create", body).await.json()["id"].clone();
    let names = |bytes: &[u8]| -> Vec<String> {
        entries(bytes).into_iter().map(|(name, _)| name).collect()
    };
    let both = service
        .get(&format!("/api/v2/preset/{id}/download"))
        .await
        .expect(200);
    assert_eq!(
        names(&both.body),
        ["it's_mine.api.json", "it's_mine.rpdx", "commands.txt"]
    );
    for (name, bytes) in entries(&both.body) {
        if name != "commands.txt" {
            let value: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(value["config"], config, "{name}");
        } else {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.contains(r"'it'\''s_mine.rpdx'"), "{text}");
        }
    }
    let command = service
        .get(&format!("/api/v2/preset/rpdx/{id}"))
        .await
        .expect(200);
    assert_eq!(names(&command.body).len(), 2);
    service.get("/api/v2/preset/rpdx/1").await.expect(200);
    service
        .get("/api/v2/preset/999999/download")
        .await
        .expect(404);
    let sent = service
        .post("/api/v2/preset/rpdx", json!({ "config": config }))
        .await
        .expect(200);
    assert_eq!(names(&sent.body)[0], "preset.rpdx");
    service
        .post("/api/v2/preset/rpdx", json!({}))
        .await
        .expect(422);

    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let asked = service
        .post(
            &format!("/api/v2/rawmodel/optimize/{asset}"),
            json!({ "preset_id": 1 }),
        )
        .await
        .json();
    let of_rapid = service
        .get(&format!(
            "/api/v2/rapidmodel/{}/download/preset",
            asked["id"]
        ))
        .await
        .expect(200);
    assert_eq!(names(&of_rapid.body)[0], "Web Viewer.api.json");
}

#[tokio::test]
async fn an_archive_is_unpacked_for_the_worker() {
    let worker = format!(
        "{COPYING_WORKER}\nprintf '%s' \"$task\" > \"$out/info.log\"; ls \"$in/model\" >> \"$out/info.log\""
    );
    let service = Fixture::with(&worker, |_| {}).await;
    let bytes = zip_of(&[
        ("model/fuze.obj", b"v 0 0 0\n"),
        ("model/fuze uv.jpg", b"jpg"),
        ("__MACOSX/model/._fuze.obj", b"junk"),
    ]);
    // A single file named .zip is an archive, unless the start says otherwise.
    let unsaid = upload_as(&service, &bytes, None).await;
    let asset = upload_zip(&service, &bytes).await;
    for asset in [&unsaid, &asset] {
        assert_eq!(asset["upload_status"], "complete", "{asset}");
        assert_eq!(asset["format"], "obj");
        let log = asset["downloads"]["info.log"].as_str().unwrap();
        let log = service.read(log).await.expect(200).text();
        assert!(log.contains("fuze uv.jpg\nfuze.obj"), "{log}");
        assert!(!log.contains("MACOSX"), "{log}");
    }
    // The download equals the upload.
    let id = asset["id"].as_u64().unwrap();
    let downloads = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads"))
        .await
        .json();
    let read = service.read(downloads["model.zip"].as_str().unwrap()).await;
    assert!(read.expect(200).body == bytes);
}

#[tokio::test]
async fn hostile_archives_are_refused_with_a_reason() {
    let service = Fixture::start().await;
    for archive in zips::hostile() {
        let name = archive.name;
        let asset = upload_zip(&service, &archive.bytes).await;
        let status = if archive.is_limit {
            "Importing Failed Import Limit Exceeded"
        } else {
            "Importing Failed"
        };
        assert_eq!(asset["upload_status"], status, "{name}");
        let message = asset["error_message"].as_str().unwrap();
        assert!(message.contains(archive.reason), "{name}: {message}");
        let log = asset["downloads"]["error.log"].as_str().unwrap();
        assert!(service.read(log).await.text().contains(message));
    }
    let id = service.upload("good", &[("a.glb", b"x")]).await;
    assert_eq!(service.analysed(id).await["upload_status"], "complete");
}
