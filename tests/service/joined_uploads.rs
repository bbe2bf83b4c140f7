//! Several clients that start the same upload: they get one asset, and none deletes what another sends.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{Answer, Fixture, upload_url};

const START: &str = "/api/v2/rawmodel/api-upload/start";

/// Starts an upload of `chair` as the client `own`, which calls its content `join`.
async fn start(service: &Fixture, own: &str, join: Option<&str>) -> Value {
    let body = json!({ "model_name": "chair", "filenames": ["b.bin", "a.gltf"] });
    let mut request = service.request(Method::POST, START);
    request = request.header("content-type", "application/json");
    request = request.header("idempotency-key", own);
    if let Some(join) = join {
        request = request.header("join-key", join);
    }
    let request = request.body(body.to_string());
    service.send(request).await.expect(200).json()
}

async fn send_files(service: &Fixture, started: &Value) {
    for name in ["a.gltf", "b.bin"] {
        let url = upload_url(started, name);
        service.put(url, name.as_bytes()).await.expect(200);
    }
}

async fn complete(service: &Fixture, started: &Value) -> Answer {
    let path = format!("/api/v2/rawmodel/{}/api-upload/complete", started["id"]);
    service.get(&path).await
}

async fn abandon(service: &Fixture, started: &Value) -> Answer {
    let path = format!("/api/v2/rawmodel/{}/api-upload/abandon", started["id"]);
    service.post(&path, json!({})).await
}

async fn total(service: &Fixture) -> Value {
    let list = service.get_json("/api/v2/rawmodel").await;
    list["meta"]["total"].clone()
}

#[tokio::test]
async fn clients_that_start_the_same_upload_get_one_asset_and_both_may_complete_it() {
    let service = Fixture::start().await;
    let first = start(&service, "one", Some("same")).await;
    let second = start(&service, "two", Some("same")).await;
    assert_eq!(
        (&first["joined"], &second["joined"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(first["id"], second["id"]);
    // Repeated requests say the same.
    for (own, joined) in [("one", false), ("two", true)] {
        let again = start(&service, own, Some("same")).await;
        assert_eq!(
            (&again["id"], &again["joined"]),
            (&first["id"], &json!(joined))
        );
    }
    send_files(&service, &second).await;
    send_files(&service, &first).await;
    complete(&service, &second).await.expect(200);
    complete(&service, &first).await.expect(200);
    service.analysed(first["id"].as_u64().unwrap()).await;
    complete(&service, &second).await.expect(200);
    // Also when it is complete.
    let third = start(&service, "three", Some("same")).await;
    assert_eq!(
        (&third["id"], &third["joined"]),
        (&first["id"], &json!(true))
    );
    assert_eq!(total(&service).await, 1);
    // Other content, and a client that joins nobody.
    for (own, join) in [("four", Some("other")), ("five", None)] {
        let other = start(&service, own, join).await;
        assert_ne!(other["id"], first["id"], "{own}");
        assert_ne!(other["joined"], json!(true), "{own}");
    }
    assert_eq!(total(&service).await, 3);
}

#[tokio::test]
async fn of_clients_at_the_same_moment_one_starts_and_the_others_join() {
    let service = Fixture::start().await;
    for round in 0..8 {
        let join = format!("round {round}");
        let keys: Vec<String> = (0..8).map(|client| format!("{round} {client}")).collect();
        let starts = keys.iter().map(|own| start(&service, own, Some(&join)));
        let started = join_all(starts).await;
        let ids: BTreeSet<u64> = started
            .iter()
            .map(|it| it["id"].as_u64().unwrap())
            .collect();
        assert_eq!(ids.len(), 1, "{started:?}");
        let first = started.iter().filter(|it| it["joined"] == json!(false));
        assert_eq!(first.count(), 1, "{started:?}");
    }
    assert_eq!(total(&service).await, 8);
}

#[tokio::test]
async fn an_upload_that_is_given_up_stays_once_another_client_has_joined() {
    let service = Fixture::start().await;
    let alone = start(&service, "one", Some("same")).await;
    abandon(&service, &alone).await.expect(200);
    abandon(&service, &alone).await.expect(404);
    assert_eq!(total(&service).await, 0);
    // The key is free again.
    let first = start(&service, "two", Some("same")).await;
    assert_eq!(first["joined"], json!(false));
    let second = start(&service, "three", Some("same")).await;
    for given_up in [&first, &second] {
        let refused = abandon(&service, given_up).await.expect(409).json();
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("sends the same upload"), "{message}");
    }
    send_files(&service, &second).await;
    complete(&service, &second).await.expect(200);
    abandon(&service, &first).await.expect(409);
    let asset = service.analysed(first["id"].as_u64().unwrap()).await;
    assert_eq!(asset["upload_status"], "complete");
    abandon(&service, &first).await.expect(409);
    // Who deletes the model deletes it for all.
    let path = format!("/api/v2/rawmodel/{}", first["id"]);
    service.delete(&path).await.expect(200);
    let again = start(&service, "four", Some("same")).await;
    assert_eq!(again["joined"], json!(false));
}

#[tokio::test]
async fn nobody_joins_an_upload_whose_import_failed() {
    let service = Fixture::with("cat > /dev/null\nexit 1", |_| {}).await;
    let first = start(&service, "one", Some("same")).await;
    let second = start(&service, "two", Some("same")).await;
    assert_eq!(first["id"], second["id"]);
    send_files(&service, &first).await;
    complete(&service, &first).await.expect(200);
    let asset = service.analysed(first["id"].as_u64().unwrap()).await;
    assert_ne!(asset["upload_status"], "complete");
    let anew = start(&service, "three", Some("same")).await;
    assert_ne!(anew["id"], first["id"]);
    assert_eq!(anew["joined"], json!(false));
    // All clients have its files, so who gives it up may delete it.
    abandon(&service, &first).await.expect(200);
    assert_eq!(total(&service).await, 1);
}

#[tokio::test]
async fn a_start_whose_content_has_changed_since_is_joined_only_by_the_same_content() {
    let service = Fixture::start().await;
    let lost = start(&service, "one", Some("before")).await;
    let again = start(&service, "one", Some("after")).await;
    assert_eq!(lost["id"], again["id"], "nothing was sent yet");
    let old = start(&service, "two", Some("before")).await;
    assert_ne!(old["id"], lost["id"]);
    let new = start(&service, "three", Some("after")).await;
    assert_eq!((&new["id"], &new["joined"]), (&lost["id"], &json!(true)));
    // Once somebody has joined, changed content is another upload.
    let changed = start(&service, "one", Some("changed")).await;
    assert_ne!(changed["id"], lost["id"]);
    assert_eq!(changed["joined"], json!(false));
}

#[tokio::test]
async fn an_old_version_is_not_joined() {
    let service = Fixture::start().await;
    let old = start(&service, "one", Some("same")).await;
    send_files(&service, &old).await;
    complete(&service, &old).await.expect(200);
    service.analysed(old["id"].as_u64().unwrap()).await;
    let new = start(&service, "two", None).await;
    let note = json!({ "tags": [format!("assetfs:replaces={}", old["id"])] });
    let path = format!("/api/v2/rawmodel/{}", new["id"]);
    service.json(Method::PUT, &path, note).await.expect(200);
    let again = start(&service, "three", Some("same")).await;
    assert_ne!(again["id"], old["id"]);
    assert_eq!(again["joined"], json!(false));
}
