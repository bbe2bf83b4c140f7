//! Requests: token, headers, paths, and how they count for the rate limit.

use assetfs::client::{Client, ClientError};
use assetfs::wire::{AssetId, Password, StartUpload};
use serde_json::json;

use super::I;
use crate::fault_server::{FaultServer, Reply};
use crate::{client_of, quick_config};

#[tokio::test]
async fn without_a_token_only_the_sign_in_is_sent() {
    let server = FaultServer::start(|_, _| Reply::new(200, &[], "17|abc"));
    let mut config = quick_config(&server.url());
    config.token = None;
    let client = Client::new(config).unwrap();
    assert!(matches!(
        client.assets().get(AssetId(1), I).await,
        Err(ClientError::NoToken)
    ));
    assert_eq!(server.count(), 0);
    let token = client
        .account()
        .login("me@example.com", Password::new("pw"))
        .await
        .unwrap();
    assert_eq!(token.expose(), "17|abc");
    let seen = server.asked();
    assert_eq!(seen[0].header("authorization"), None);
    assert_eq!(
        seen[0].body,
        br#"{"email":"me@example.com","password":"pw"}"#
    );
    let config = quick_config(&server.url()).with_token(token);
    let _ = Client::new(config)
        .unwrap()
        .assets()
        .get(AssetId(1), I)
        .await;
    assert_eq!(
        server.asked()[1].header("authorization"),
        Some("Bearer 17|abc")
    );
}

#[tokio::test]
async fn calls_have_the_headers_and_paths_of_the_api() {
    let server = FaultServer::start(|_, _| {
        Reply::json(
            json!({"id": 1042, "links": {"s3_upload_urls": {"a.glb": "https://s/a?sig=1"}}}),
        )
    });
    let mut config = quick_config(&format!("{}/prefix/", server.url()));
    config.burst = 1;
    let client = Client::new(config).unwrap();
    let start = StartUpload {
        model_name: "chair".into(),
        filenames: vec!["a.glb".into()],
        is_zip: false,
    };
    let started = client.assets().start_upload(&start).await.unwrap();
    assert_eq!(
        (started.id, started.links.s3_upload_urls.len()),
        (AssetId(1042), 1)
    );
    let seen = &server.asked()[0];
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str()),
        ("POST", "/prefix/api/v2/rawmodel/api-upload/start")
    );
    assert_eq!(seen.header("authorization"), Some("Bearer 17|t0ken-s3cret"));
    assert_eq!(seen.header("accept"), Some("application/json"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(
        seen.body,
        br#"{"model_name":"chair","filenames":["a.glb"],"is_zip":false}"#
    );
}

#[tokio::test]
async fn upload_calls_do_not_count_for_the_rate_limit_and_others_do() {
    let server = FaultServer::start(|_, _| {
        Reply::json(json!({"data": {"id": 1}, "id": 1, "links": {"s3_upload_urls": []}}))
    });
    let mut config = quick_config(&server.url());
    config.requests_per_minute = 1;
    let client = Client::new(config).unwrap();
    let before = client.budget().available;
    for _ in 0..3 {
        client
            .assets()
            .start_upload(&StartUpload {
                filenames: vec!["a".into()],
                ..StartUpload::default()
            })
            .await
            .unwrap();
        client.assets().complete_upload(AssetId(1)).await.unwrap();
        client.assets().retry_import(AssetId(1)).await.unwrap();
    }
    assert_eq!(client.budget().available, before);
    for _ in 0..20 {
        client.assets().get(AssetId(1), I).await.unwrap();
    }
    assert_eq!(client.budget().available, before - 20);
}

#[tokio::test]
async fn the_account_is_identified_by_the_tokens_owner_or_else_by_the_token() {
    let server = FaultServer::start(|seen, _| {
        assert_eq!(seen.target, "/api/v2/user/tokens/17");
        Reply::json(json!({"id": 17, "name": "t", "tokenable_id": 4}))
    });
    let account = client_of(&server).account().identity().await.unwrap();
    assert_eq!(account.key(), format!("{}#user-4", server.url()));

    let server = FaultServer::start(|_, _| Reply::new(404, &[], "{}"));
    let account = client_of(&server).account().identity().await.unwrap();
    assert_eq!(account.key(), format!("{}#token-17", server.url()));
}
