//! The keys of configurations: unknown keys are refused before the user pays, keys of a request have their effect,
//! and presets in their wrapper are accepted.

use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};

use super::square_glb::changed_glb;
use super::support::Fixture;

const FACES: &str = r#"{"limits":{"faces":{"count":7}}}"#;

fn faces() -> Value {
    serde_json::from_str(FACES).unwrap()
}

/// The names and texts of an archive.
fn unzipped(bytes: &[u8]) -> Vec<(String, String)> {
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut files = Vec::new();
    for index in 0..zip.len() {
        let mut text = String::new();
        let mut file = zip.by_index(index).unwrap();
        let name = file.name().unwrap().into_owned();
        std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        files.push((name, text));
    }
    files
}

async fn points(service: &Fixture) -> u64 {
    let points = service.get("/api/v2/user/rapidpoints").await.json();
    points["rapidpoints"].as_u64().unwrap()
}

/// The configuration of a rapid model.
async fn used(service: &Fixture, rapid: u64) -> Value {
    let zip = service
        .get(&format!("/api/v2/rapidmodel/{rapid}/download/preset"))
        .await;
    let files = unzipped(&zip.expect(200).body);
    let (_, text) = files
        .iter()
        .find(|(name, _)| name.ends_with(".rpdx"))
        .unwrap();
    let preset: Value = serde_json::from_str(text).unwrap();
    preset["config"].clone()
}

#[tokio::test]
async fn an_unknown_key_is_refused_without_cost_and_names_the_nearest_one() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let optimize = format!("/api/v2/rawmodel/optimize/{id}");
    let before = points(&service).await;
    let cases = [
        (
            json!({ "limits": { "faces": { "cuont": 5 } } }),
            "limits.faces.cuont",
            "limits.faces.count",
        ),
        (
            json!({ "limit": { "faces": { "count": 5 } } }),
            "limit.faces.count",
            "limits.faces.count",
        ),
        (
            json!({ "compressionAndExport": { "fileExports": [{ "fileType": "glb", "customScale": 2 }] } }),
            "compressionAndExport.fileExports[0].customScale",
            "compressionAndExport.fileExports[].customScaling",
        ),
        (
            json!({ "export": [{ "filename": "x" }] }),
            "export[0].filename",
            "export[].fileName",
        ),
    ];
    for (config, path, nearest) in cases {
        let told = |text: &str| {
            let expected =
                format!("{path} is not a key of the configuration; did you mean {nearest}?");
            assert!(text.contains(&expected), "{text}");
        };
        let one = json!({ "config": config });
        let many = json!({ "optimizations": [{ "model_id": id, "config": config }] });
        let preset = json!({ "name": "x", "config": config });
        told(
            &service
                .post(&optimize, one.clone())
                .await
                .expect(422)
                .text(),
        );
        told(
            &service
                .post(&format!("/api/rawmodel/optimize/{id}"), one.clone())
                .await
                .expect(422)
                .text(),
        );
        told(
            &service
                .post("/api/v2/rawmodel/optimize", many)
                .await
                .expect(400)
                .text(),
        );
        told(
            &service
                .post("/api/v2/preset/create", preset)
                .await
                .expect(422)
                .text(),
        );
        told(
            &service
                .post("/api/v2/preset/rpdx", one)
                .await
                .expect(422)
                .text(),
        );
    }
    let made = json!({ "name": "x", "config": faces() });
    let made = service.post_json("/api/v2/preset/create", made).await;
    let change = json!({ "id": made["id"], "name": "x", "config": { "limits": { "face": { "count": 1 } } } });
    service
        .json(Method::PATCH, "/api/v2/preset/update", change)
        .await
        .expect(422);
    // A configuration next to the config field, not in it.
    let bare = service.post(&optimize, faces()).await.expect(422);
    assert!(
        bare.text().contains("belong into the config field"),
        "{}",
        bare.text()
    );
    service
        .post(&optimize, json!({ "name": "Web" }))
        .await
        .expect(422);
    assert_eq!(points(&service).await, before);
    // Known keys without effect are not refused.
    let known =
        json!({ "export": [{ "format": { "gltf": { "pbrMaterial": true } } }], "import": null });
    service
        .post(&optimize, json!({ "config": known }))
        .await
        .expect(200);
    assert_eq!(points(&service).await, before - 1);
}

#[tokio::test]
async fn an_unknown_field_of_any_body_is_refused_by_name_and_costs_nothing() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let before = points(&service).await;
    let optimize = format!("/api/v2/rawmodel/optimize/{id}");
    let (first, preset) = (
        format!("/api/rawmodel/optimize/{id}"),
        "/api/v2/preset/create",
    );
    let item = json!({ "model_id": id, "config": {} });
    for (path, body, status, said) in [
        (
            "/api/v2/rawmodel/optimize",
            json!({ "optimizations": [item], "tags": ["a"] }),
            400,
            "The tags field is unknown",
        ),
        (
            "/api/v2/rawmodel/optimize",
            json!({ "optimizations": [item], "zzz": null }),
            400,
            "The zzz field is unknown",
        ),
        (
            "/api/v2/rawmodel/optimize",
            json!({ "optimizations": [{ "model_id": id, "config": { "limts": {} } }] }),
            400,
            "limts is not a key",
        ),
        (
            &optimize,
            json!({ "exportNam": "x" }),
            422,
            "did you mean exportName?",
        ),
        (&optimize, json!({ "tag": [] }), 422, "did you mean tags?"),
        (
            &optimize,
            json!({ "config": { "limts": null } }),
            422,
            "did you mean limits",
        ),
        (
            &first,
            json!({ "config": {}, "tags": ["a"] }),
            422,
            "The tags field is unknown",
        ),
        (
            &format!("/api/rawmodel/process/{id}"),
            json!({ "max_size": 5 }),
            422,
            "did you mean max_size_mb?",
        ),
        (
            preset,
            json!({ "name": "x", "config": {}, "tags": ["a"] }),
            422,
            "The tags field is unknown",
        ),
        (
            "/api/v2/rawmodel/api-upload/start",
            json!({ "model_name": "x", "filenames": ["a.zip"], "zip": true }),
            422,
            "The zip field is unknown",
        ),
        (
            "/api/v2/user/tokens/create",
            json!({ "name": "x", "ability": "read" }),
            422,
            "The ability field is unknown",
        ),
    ] {
        let refused = service.post(path, body.clone()).await.expect(status);
        assert!(
            refused.text().contains(said),
            "{path} {body}: {}",
            refused.text()
        );
    }
    let path = format!("/api/v2/rawmodel/{id}");
    let renamed = service
        .json(
            Method::PUT,
            &path,
            json!({ "name": "table", "scale_factor": 2 }),
        )
        .await;
    let errors = renamed.expect(422).json()["errors"].clone();
    assert_eq!(errors, json!({ "name": ["The name field is unknown."] }));
    assert_eq!(service.get(&path).await.json()["data"]["scale_factor"], "1");
    assert_eq!(points(&service).await, before);
    assert_eq!(
        service.get("/api/v2/rawmodel").await.json()["meta"]["total"],
        1
    );
}

#[tokio::test]
async fn what_belongs_to_a_request_is_done_in_a_configuration_too() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let optimize = format!("/api/v2/rawmodel/optimize/{id}");
    let rapid_of = async |body: Value| {
        let asked = service.post_json(&optimize, body).await;
        service.optimized(asked["id"].as_u64().unwrap()).await
    };
    let config =
        json!({ "limits": { "faces": { "count": 7 } }, "tags": ["a"], "exportName": "out" });
    let rapid = rapid_of(json!({ "config": config, "tags": ["b"] })).await;
    let mut tags: Vec<&str> = rapid["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect();
    tags.sort_unstable();
    assert_eq!(tags, ["a", "b"]);
    assert_eq!(rapid["export_name"], "out");
    assert_eq!(used(&service, rapid["id"].as_u64().unwrap()).await, faces());
    let rapid = rapid_of(json!({ "config": { "preset_id": 1 } })).await;
    assert_eq!(rapid["preset_id"], 1);
    for (body, status) in [
        (
            json!({ "config": { "preset_id": 1, "limits": { "faces": { "count": 7 } } } }),
            422,
        ),
        (json!({ "config": { "preset_id": 1 }, "preset_id": 1 }), 422),
        (json!({ "config": { "preset_id": 999_999 } }), 404),
        (json!({ "config": { "tags": [""] } }), 422),
        (json!({ "config": { "exportName": "" } }), 422),
    ] {
        let answer = service.post(&optimize, body.clone()).await;
        assert_eq!(answer.status, status, "{body}");
    }
    for key in [
        json!({ "preset_id": 1 }),
        json!({ "tags": ["a"] }),
        json!({ "exportName": "x" }),
    ] {
        let body = json!({ "name": "x", "config": key });
        let refused = service
            .post("/api/v2/preset/create", body)
            .await
            .expect(422);
        assert!(
            refused
                .text()
                .contains("belongs to an optimization request"),
            "{}",
            refused.text()
        );
    }
}

#[tokio::test]
async fn a_preset_in_its_wrapper_is_the_configuration_in_it() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let optimize = format!("/api/v2/rawmodel/optimize/{id}");
    let api = json!({ "name": "Web", "description": "", "config": faces() });
    let rpdx = json!({ "rpdx_version": "2.5", "name": "Web", "description": "", "config": FACES });
    for body in [
        api.clone(),
        rpdx.clone(),
        json!({ "config": api }),
        json!({ "config": rpdx.to_string() }),
    ] {
        let asked = service.post_json(&optimize, body.clone()).await;
        let rapid = asked["id"].as_u64().unwrap();
        service.optimized(rapid).await;
        assert_eq!(used(&service, rapid).await, faces(), "{body}");
    }
    for wrapped in [api, rpdx] {
        let made = service
            .post_json("/api/v2/preset/create", wrapped.clone())
            .await;
        assert_eq!(made["config"], faces());
        let body = json!({ "name": "x", "config": wrapped });
        let made = service.post_json("/api/v2/preset/create", body).await;
        assert_eq!(made["config"], faces());
    }
    let before = points(&service).await;
    for (body, reason) in [
        (
            json!({ "config": { "rpdx_version": "2.5", "name": "Web" } }),
            "no \"config\"",
        ),
        (
            json!({ "config": { "config": {}, "limits": {} } }),
            "beside \"config\"",
        ),
        (
            json!({ "rpdx_version": "2.5", "name": "Web" }),
            "field is unknown",
        ),
    ] {
        let refused = service
            .post(&optimize, body.clone())
            .await
            .expect(422)
            .json();
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(reason), "{body}: {message}");
    }
    assert_eq!(points(&service).await, before);
}

#[tokio::test]
async fn the_commands_of_a_preset_archive_run_as_they_stand() {
    let service = Fixture::start().await;
    let name = "-it's a \"Web\" preset";
    let body = json!({ "name": name, "config": { "limits": { "faces": { "count": 1 } },
        "compressionAndExport": { "fileExports": [{ "fileType": "stl" }] } } });
    let made = service.post_json("/api/v2/preset/create", body).await;
    let zip = service
        .get(&format!("/api/v2/preset/{}/download", made["id"]))
        .await
        .expect(200);
    let dir = tempfile::tempdir().unwrap();
    let files = unzipped(&zip.body);
    assert_eq!(files.len(), 3);
    for (name, text) in &files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    std::fs::create_dir(dir.path().join("INPUT")).unwrap();
    std::fs::write(dir.path().join("INPUT/square.glb"), changed_glb(|_| {})).unwrap();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_assetfs"));
    let path = std::env::join_paths(
        std::iter::once(binary.parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let run = |command: &mut Command| {
        let ran = command.current_dir(dir.path()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{said}");
    };
    run(Command::new("sh")
        .args(["-e", "commands.txt"])
        .env("PATH", path.unwrap()));
    assert!(dir.path().join("OUTPUT/INPUT.stl").is_file());
    // The body for the API is also accepted.
    let (api, _) = files
        .iter()
        .find(|(name, _)| name.ends_with(".api.json"))
        .unwrap();
    run(Command::new(binary)
        .args(["optimize", "INPUT", "again", "--no-pictures", "-q"])
        .arg(format!("--preset={api}")));
    assert!(dir.path().join("again/INPUT.stl").is_file());
}

#[tokio::test]
async fn a_key_that_is_there_twice_is_refused_and_costs_nothing() {
    let service = Fixture::start().await;
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let before = points(&service).await;
    let limits = r#""limits":{"faces":{"count":5}}"#;
    let twice = format!("{{{limits},{limits}}}");
    let in_text = json!({ "config": twice.as_str() }).to_string();
    for body in [format!("{{\"config\":{twice}}}"), in_text] {
        let path = format!("/api/v2/rawmodel/optimize/{asset}");
        let request = service
            .request(Method::POST, &path)
            .header("content-type", "application/json");
        let answer = service.send(request.body(body)).await;
        assert!(answer.status.is_client_error(), "{answer:?}");
        let said = answer.text();
        assert!(said.contains("is there twice"), "{said}");
    }
    assert_eq!(points(&service).await, before);
}
