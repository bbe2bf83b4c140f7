//! Requests that are valid but for a random change: the service answers each, never with 500, and goes on.
//!
//! The seeds decide the changes. `ASSETFS_MUTATIONS=100000` tries more than the usual few hundred,
//! `ASSETFS_MUTATIONS_FROM` begins at another seed.

#![allow(clippy::print_stdout, reason = "what was tried is printed")]

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::mutate::{Dice, mutated, number_of};
use super::support::{COPYING_WORKER, Fixture};

/// How long an answer may take on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// A valid body for each call that takes one.
fn bodies(asset: u64, rapid: u64, preset: u64) -> Vec<(Method, String, Value)> {
    let config = json!({"schema": "2.5", "limits": {"faces": {"percentage": 50}, "textures": {"size": 512}},
        "workflowSettings": {"targetMBSize": 5, "customAttributes": {"key": "value"}},
        "compressionAndExport": {"fileExports": [{"fileType": "glb", "textureFormat": "webp", "meshCompression": "draco"}, {"fileType": "usdz"}]}});
    let viewer = json!({"shadowToggle": "true", "renderCanvasCSS": "color: #fff; width: 10px", "cameraMinZoom": "0.5",
        "companyLink": "https://example.com/", "displayUnits": "m,cm", "companyLogo": "data:image/png;base64,AAAA"});
    let post = |path: &str, body: Value| (Method::POST, path.to_owned(), body);
    vec![
        post(
            "/api/v2/user/tokens/create",
            json!({"token_name": "mine", "name": "mine"}),
        ),
        post(
            "/api/v2/rawmodel/api-upload/start",
            json!({"model_name": "chair", "filenames": ["a.glb", "b/c.png"], "is_zip": false}),
        ),
        (
            Method::PUT,
            format!("/api/v2/rawmodel/{asset}"),
            json!({"name": "chair", "tags": ["a", "b"]}),
        ),
        (
            Method::PUT,
            format!("/api/v2/rapidmodel/{rapid}"),
            json!({"name": "chair", "tags": ["a", "b"]}),
        ),
        post("/api/v2/rawmodel/delete", json!({"ids": [999_999_999]})),
        post("/api/v2/rapidmodel/delete", json!({"ids": [999_999_999]})),
        post(
            &format!("/api/v2/rawmodel/{asset}/addFormats"),
            json!({"formats": ["usdz", "obj"]}),
        ),
        post(
            &format!("/api/v2/rawmodel/optimize/{asset}"),
            json!({"config": config, "preset_id": preset, "name": "x", "tags": ["a"]}),
        ),
        post(
            "/api/v2/rawmodel/optimize",
            json!({"optimizations": [{"id": asset, "config": config}, {"id": asset, "preset_id": 1}]}),
        ),
        post(
            "/api/v2/preset/create",
            json!({"name": "mine", "config": config, "description": "text", "category": "web"}),
        ),
        (
            Method::PATCH,
            "/api/v2/preset/update".to_owned(),
            json!({"id": preset, "name": "mine", "config": config}),
        ),
        post("/api/v2/preset/rpdx", json!({"config": config})),
        post(
            "/api/v2/embeds/create",
            json!({"model_id": rapid, "name": "x", "config": viewer, "save_user_theme": true}),
        ),
        post(
            "/api/v2/embeds/raw",
            json!({"raw_model_id": asset, "name": "x"}),
        ),
        post(
            "/api/v2/login",
            json!({"email": "a@example.com", "password": "secret"}),
        ),
        post("/api/v2/user/delete", json!({"password": "wrong"})),
        post(
            "/api/v2/user/webhooks",
            json!({"url": "http://192.0.2.1/hook", "secret": "s", "verify_ssl": true}),
        ),
        post(
            &format!("/api/rawmodel/process/{asset}"),
            json!({"max_size_mb": 5, "config": "{\"decimation\": {\"target\": \"f:1\"}}"}),
        ),
        post(
            &format!("/api/rawmodel/optimize/{asset}"),
            json!({"config": config}),
        ),
    ]
}

/// Queries of lists.
const QUERIES: [&str; 5] = [
    "/api/v2/rawmodel?page=2&per_page=5&search=ch&sort=-created_at&tags=a,b",
    "/api/v2/rapidmodel?page=1&search=id:5&tags[]=a&rawModelId=1",
    "/api/v2/embeds?page=1&rapidId=3",
    "/api/v2/preset?page=1&search=web",
    "/api/v2/rawmodel/jobs?page=9",
];

/// A changed query, with what no URL may have written as `%XX`.
fn mutated_query(dice: &mut Dice) -> String {
    let (path, query) = QUERIES[dice.below(QUERIES.len())]
        .split_once('?')
        .expect("a query");
    let bytes = mutated(&[query.as_bytes().to_vec()], false, dice);
    let mut written = format!("{path}?");
    for byte in bytes.into_iter().take(4_000) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'=' | b'&' | b'-' | b'.' | b'_' => {
                written.push(char::from(byte));
            }
            other => written += &format!("%{other:02X}"),
        }
    }
    written
}

#[tokio::test]
async fn requests_with_random_changes_are_answered_and_never_with_500() {
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.requests_per_minute = u32::MAX;
    })
    .await;
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let rapid = service.optimize(asset).await;
    service.optimized(rapid).await;
    let made = json!({"name": "mine", "config": {"schema": "2.5"}});
    let made = service.post("/api/v2/preset/create", made).await.json();
    let preset = made["id"]
        .as_u64()
        .or(made["data"]["id"].as_u64())
        .unwrap_or(1);
    let bodies = bodies(asset, rapid, preset);
    let from = number_of("ASSETFS_MUTATIONS_FROM", 0);
    let count = number_of("ASSETFS_MUTATIONS", 400);
    let mut accepted = 0;
    for seed in from..from + count {
        let mut dice = Dice::new(seed);
        let request = if dice.below(5) == 0 {
            service.request(Method::GET, &mutated_query(&mut dice))
        } else {
            let (method, path, body) = &bodies[dice.below(bodies.len())];
            let bytes = mutated(&[body.to_string().into_bytes()], true, &mut dice);
            let request = service.request(method.clone(), path);
            request
                .header("content-type", "application/json")
                .body(bytes)
        };
        let answer = tokio::time::timeout(TIME_LIMIT, service.send(request)).await;
        let answer = answer.unwrap_or_else(|_| panic!("seed {seed}: no answer"));
        // Too many webhooks are 500 by the API.
        let is_of_api = answer.text().contains("\"code\":1");
        assert!(
            answer.status != 500 || is_of_api,
            "seed {seed}: {}",
            answer.text()
        );
        accepted += u64::from(answer.status.is_success());
    }
    println!("{count} requests, {accepted} of them accepted");
    service.get("/api/v2/rawmodel").await.expect(200);
    assert!(
        accepted > count / 20,
        "the bodies are not valid: {accepted} of {count}"
    );
}
