//! Invalid requests: each gets an error as JSON.

use assetfs::wire::paths::endpoints;
use reqwest::Method;
use serde_json::json;

use super::support::Fixture;

#[tokio::test]
async fn unknown_paths_and_methods_are_answered_as_json() {
    let service = Fixture::start().await;
    for path in [
        "/api",
        "/api/v2",
        "/api/v2/nothing",
        "/storage",
        "/storage/1",
        "/api/v2/rawmodel/",
        "/api/v2/rawmodel/x",
        "/api/v2/rawmodel/-1",
        "/api/v2/rawmodel/99999999999999999999",
        "/api/v2/rawmodel/%ff",
        "/api/v2/rawmodel/1%2F2",
        "/%2e%2e/etc/passwd",
    ] {
        let answer = service.get(path).await.expect(404);
        assert!(answer.json()["message"].is_string(), "{path}");
    }
    let answer = service
        .json(Method::PATCH, "/api/v2/rawmodel", json!({}))
        .await;
    assert!(answer.expect(405).json()["message"].is_string());
}

#[tokio::test]
async fn no_body_makes_the_service_stumble() {
    let service = Fixture::with("", |config| config.requests_per_minute = 1_000_000).await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let bodies = [
        "",
        "null",
        "[]",
        "{",
        "{\"ids\":[null]}",
        "{\"name\":{},\"config\":null,\"id\":-1,\"tags\":[[]],\"ids\":{},\"filenames\":{}}",
        "{\"name\":\"\\u0000\",\"model_name\":\"\\ud800\",\"filenames\":[\"\\u0000\"]}",
        "{\"id\":1e400,\"model_id\":1.5,\"raw_model_id\":\"1\",\"optimizations\":[1,{},null]}",
        "\u{feff}{}",
        &deep,
    ];
    for (method, template) in endpoints() {
        if template.ends_with("user/delete") {
            continue;
        }
        let path = template
            .replace("{id}", "7")
            .replace("{tagId}", "1")
            .replace("{format}", "glb");
        for body in bodies {
            let request = service
                .request(method.parse().unwrap(), &path)
                .body(body.to_owned());
            let answer = service.send(request).await;
            assert_ne!(
                answer.status,
                500,
                "{method} {path} {body}: {}",
                answer.text()
            );
        }
    }
    let large = service
        .request(Method::POST, "/api/v2/preset/create")
        .body(vec![b' '; 9 << 20]);
    service.send(large).await.expect(413);
    service.get("/api/v2/rawmodel").await.expect(200);
}

#[tokio::test]
async fn every_call_but_the_login_needs_a_token() {
    let service = Fixture::with("", |config| config.requests_per_minute = 1_000_000).await;
    let (id, _) = service.begin("chair", &["a.glb"]).await;
    for (method, template) in endpoints() {
        if template.ends_with("/login") {
            continue;
        }
        let path = template
            .replace("{id}", &id.to_string())
            .replace("{tagId}", "1")
            .replace("{format}", "glb");
        for token in [
            None,
            Some("Bearer "),
            Some("Bearer 1|x"),
            Some("Basic MTp4"),
        ] {
            let mut request = service
                .http
                .request(method.parse().unwrap(), service.url(&path))
                .body("{}");
            if let Some(token) = token {
                request = request.header("authorization", token);
            }
            let answer = service.send(request).await;
            assert_eq!(
                answer.status,
                401,
                "{method} {path} {token:?}: {}",
                answer.text()
            );
        }
    }
    service
        .get(&format!("/api/v2/rawmodel/{id}"))
        .await
        .expect(200);
}

#[tokio::test]
async fn objects_of_others_are_not_there() {
    let service = Fixture::start().await;
    let (id, _) = service.begin("chair", &["a.glb"]).await;
    // There is one account only; an unknown id is answered like a foreign one.
    for path in [
        "",
        "/downloads",
        "/rapidmodels",
        "/api-upload/complete",
        "/downloads/pbr",
    ] {
        service
            .get(&format!("/api/v2/rawmodel/{}{path}", id + 1))
            .await
            .expect(404);
    }
}
