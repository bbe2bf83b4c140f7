//! API calls: repetition, refusals, tokens.

use std::time::Duration;

use assetfs::client::{Client, ClientError, Priority};
use assetfs::wire::{
    AssetId, AssetUpdate, CreateEmbed, CreatePreset, CreateRawEmbed, CreateWebhook, EmbedId,
    MultiOptimize, OptimizeRequest, OptimizerConfig, Password, PresetId, RapidId, StartUpload,
    TagId, UpdatePreset, WebhookId,
};
use serde_json::json;

use super::scripted::{Reply, ScriptedServer};
use super::{client_of, quick_config};

const I: Priority = Priority::Interactive;

/// Every call that has an effect each time it is sent, by name.
async fn once_calls(client: &Client) -> Vec<(&'static str, Result<(), ClientError>)> {
    let text = || "x".to_owned();
    let start = StartUpload {
        model_name: text(),
        filenames: vec![text()],
        is_zip: false,
    };
    let preset = CreatePreset {
        name: text(),
        description: None,
        engine_core_version: None,
        config: OptimizerConfig::default(),
    };
    let embed = CreateEmbed {
        model_id: RapidId(1),
        name: text(),
        save_user_theme: None,
        config: None,
    };
    let raw_embed = CreateRawEmbed {
        raw_model_id: AssetId(1),
        name: text(),
        save_user_theme: None,
        config: None,
    };
    let webhook = CreateWebhook {
        url: text(),
        verify_ssl: true,
        secret: None,
    };
    let id = AssetId(1);
    vec![
        ("start_upload", client.start_upload(&start).await.map(drop)),
        (
            "complete_upload",
            client.complete_upload(id).await.map(drop),
        ),
        ("retry_import", client.retry_import(id).await),
        (
            "update_asset",
            client.update_asset(id, &AssetUpdate::default()).await,
        ),
        (
            "add_formats",
            client.add_formats(id, &[text()]).await.map(drop),
        ),
        (
            "optimize",
            client
                .optimize(id, &OptimizeRequest::by_preset(PresetId(7)))
                .await
                .map(drop),
        ),
        (
            "multi_optimize",
            client
                .multi_optimize(&MultiOptimize {
                    optimizations: vec![],
                })
                .await,
        ),
        (
            "add_rapid_tags",
            client.add_rapid_tags(RapidId(1), &[text()]).await,
        ),
        ("create_preset", client.create_preset(&preset).await),
        ("create_embed", client.create_embed(&embed).await.map(drop)),
        (
            "create_raw_embed",
            client.create_raw_embed(&raw_embed).await.map(drop),
        ),
        ("create_token", client.create_token("x").await.map(drop)),
        (
            "create_webhook",
            client.create_webhook(&webhook).await.map(drop),
        ),
        ("test_webhook", client.test_webhook(WebhookId(1)).await),
        (
            "login",
            client.login("a@b", Password::new("x")).await.map(drop),
        ),
        (
            "delete_account",
            client.delete_account(Password::new("x")).await,
        ),
    ]
}

#[tokio::test]
async fn a_call_with_an_effect_is_sent_once_and_a_lost_reply_is_told() {
    let faults: [(&str, Reply); 5] = [
        ("hang up", Reply::hang_up()),
        ("silence", Reply::silence()),
        (
            "500",
            Reply::new(
                500,
                &[],
                "An error occurred while processing your request: x",
            ),
        ),
        ("502", Reply::status(502)),
        (
            "cut",
            Reply::json(json!({"data": {"id": 1, "name": "x"}})).cut_after(5),
        ),
    ];
    for (fault, reply) in faults {
        let server = ScriptedServer::start(move |_, _| reply.clone()).await;
        let outcomes = once_calls(&client_of(&server)).await;
        assert_eq!(
            server.count(),
            outcomes.len(),
            "{fault}: a call was repeated"
        );
        for (name, outcome) in outcomes {
            let error = outcome.expect_err(name);
            let refused = matches!(
                (&error, name, fault),
                (ClientError::Rejected { .. }, "create_webhook", "500")
            );
            assert!(
                matches!(error, ClientError::LostReply { .. }) || refused,
                "{fault}, {name}: {error}"
            );
            assert!(!error.is_transient(), "{fault}, {name}");
        }
    }
}

#[tokio::test]
async fn a_certain_refusal_of_a_call_with_an_effect_is_no_lost_reply_and_not_repeated() {
    for (reply, is_rate_limit) in [
        (Reply::new(429, &[("retry-after", "7")], ""), true),
        (Reply::new(503, &[("retry-after", "7")], ""), false),
    ] {
        let server = ScriptedServer::start(move |_, _| reply.clone()).await;
        let client = client_of(&server);
        let error = client.complete_upload(AssetId(1)).await.unwrap_err();
        assert_eq!(
            matches!(error, ClientError::RateLimited { .. }),
            is_rate_limit,
            "{error}"
        );
        assert_eq!(
            matches!(error, ClientError::Unavailable { .. }),
            !is_rate_limit,
            "{error}"
        );
        assert_eq!(server.count(), 1);
        if is_rate_limit {
            assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        }
    }
}

#[tokio::test]
async fn without_a_connection_a_call_with_an_effect_was_certainly_not_made() {
    let server = ScriptedServer::start(|_, _| Reply::status(200)).await;
    let base_url = server.base_url();
    drop(server);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let client = Client::new(quick_config(&base_url)).unwrap();
    let error = client
        .optimize(AssetId(1), &OptimizeRequest::by_preset(PresetId(7)))
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_reading_call_is_repeated_until_it_works() {
    let faults = [
        Reply::hang_up(),
        Reply::status(502),
        Reply::status(500),
        Reply::json(json!({"data": {"id": 5}})).cut_after(3),
    ];
    let server = ScriptedServer::start(move |_, before| match faults.get(before) {
        Some(fault) => fault.clone(),
        None => {
            Reply::json(json!({"data": {"id": 5, "name": "chair", "upload_status": "complete"}}))
        }
    })
    .await;
    let asset = client_of(&server).asset(AssetId(5), I).await.unwrap();
    assert_eq!(asset.name, "chair");
    assert_eq!(server.count(), 5);
}

#[tokio::test]
async fn a_reading_call_is_given_up_after_five_attempts() {
    let server = ScriptedServer::start(|_, _| Reply::new(503, &[], "down for maintenance")).await;
    let error = client_of(&server).asset(AssetId(5), I).await.unwrap_err();
    assert!(
        error.to_string().contains("down for maintenance") && error.is_transient(),
        "{error}"
    );
    assert_eq!(server.count(), 5);
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let server = ScriptedServer::start(|_, before| match before {
        0 => Reply::new(429, &[("retry-after", "1")], ""),
        _ => Reply::json(json!({"rapidpoints": 12})),
    })
    .await;
    assert_eq!(client_of(&server).points(I).await.unwrap().rapidpoints, 12);
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[1].at - seen[0].at >= Duration::from_secs(1));
}

#[tokio::test]
async fn retry_after_of_an_unavailable_service_is_honoured_as_well() {
    let server = ScriptedServer::start(|_, before| match before {
        0 => Reply::new(503, &[("retry-after", "1")], ""),
        _ => Reply::json(json!({"storage_left": 12})),
    })
    .await;
    assert_eq!(
        client_of(&server).storage(I).await.unwrap().storage_left,
        12
    );
    let seen = server.seen();
    assert!(seen[1].at - seen[0].at >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_repetition_goes_over_a_fresh_connection_when_all_kept_ones_are_dead() {
    // Four connections are opened and kept; afterwards nothing comes back on any of them.
    let server = ScriptedServer::start(|seen, before| match before {
        0..4 => Reply::json(json!({"rapidpoints": 1})).after(Duration::from_millis(100)),
        _ if seen.connection < 4 => Reply::silence(),
        _ => Reply::json(json!({"rapidpoints": 2})),
    })
    .await;
    let client = client_of(&server);
    futures_util::future::join_all((0..4).map(|_| client.points(I))).await;
    assert_eq!(client.points(I).await.unwrap().rapidpoints, 2);
    assert_eq!(server.count(), 6, "more than one dead connection was tried");
}

#[tokio::test]
async fn a_wait_longer_than_anyones_patience_is_told_instead_of_taken() {
    let server = ScriptedServer::start(|_, _| Reply::new(429, &[("retry-after", "600")], "")).await;
    let error = client_of(&server).points(I).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(600)));
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn a_delete_whose_reply_was_lost_is_done_when_nothing_is_left() {
    let server = ScriptedServer::start(|_, before| match before {
        0 => Reply::hang_up(),
        _ => Reply::status(404),
    })
    .await;
    client_of(&server).delete_asset(AssetId(5)).await.unwrap();
    assert_eq!(server.count(), 2);

    let server =
        ScriptedServer::start(|_, _| Reply::new(404, &[], r#"{"message": "No such model"}"#)).await;
    let error = client_of(&server)
        .delete_rapid_model(RapidId(5))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ClientError::NotFound { message, .. } if message == "No such model"),
        "{error}"
    );
}

#[tokio::test]
async fn calls_that_set_a_state_are_repeated() {
    let server = ScriptedServer::start(|_, before| match before % 2 {
        0 => Reply::hang_up(),
        _ => Reply::status(200),
    })
    .await;
    let client = client_of(&server);
    let update = UpdatePreset {
        id: PresetId(1),
        name: "web".into(),
        config: OptimizerConfig::default(),
    };
    client.update_preset(&update).await.unwrap();
    client.delete_assets(&[AssetId(1)]).await.unwrap();
    client.delete_rapid_models(&[RapidId(1)]).await.unwrap();
    client.remove_asset_tag(AssetId(1), TagId(2)).await.unwrap();
    client.remove_rapid_tag(RapidId(1), TagId(2)).await.unwrap();
    client.delete_preset(PresetId(1)).await.unwrap();
    client.delete_embed(EmbedId(1)).await.unwrap();
    assert_eq!(server.count(), 14);
}

#[tokio::test]
async fn without_a_token_nothing_is_sent_but_the_sign_in() {
    let server = ScriptedServer::start(|_, _| Reply::new(200, &[], "17|abc")).await;
    let mut config = quick_config(&server.base_url());
    config.token = None;
    let client = Client::new(config).unwrap();
    assert!(matches!(
        client.asset(AssetId(1), I).await,
        Err(ClientError::NoToken)
    ));
    assert_eq!(server.count(), 0);
    let token = client
        .login("me@example.com", Password::new("pw"))
        .await
        .unwrap();
    assert_eq!(token.expose(), "17|abc");
    let seen = server.seen();
    assert_eq!(seen[0].header("authorization"), None);
    assert_eq!(
        seen[0].body,
        br#"{"email":"me@example.com","password":"pw"}"#
    );
    client.set_token(Some(token));
    let _ = client.asset(AssetId(1), I).await;
    assert_eq!(
        server.seen()[1].header("authorization"),
        Some("Bearer 17|abc")
    );
}

#[tokio::test]
async fn calls_carry_the_headers_and_paths_of_the_api() {
    let server = ScriptedServer::start(|_, _| {
        Reply::json(
            json!({"id": 1042, "links": {"s3_upload_urls": {"a.glb": "https://s/a?sig=1"}}}),
        )
    })
    .await;
    let mut config = quick_config(&format!("{}/prefix/", server.base_url()));
    config.burst = 1;
    let client = Client::new(config).unwrap();
    let start = StartUpload {
        model_name: "chair".into(),
        filenames: vec!["a.glb".into()],
        is_zip: false,
    };
    let started = client.start_upload(&start).await.unwrap();
    assert_eq!(
        (started.id, started.links.s3_upload_urls.len()),
        (AssetId(1042), 1)
    );
    let seen = &server.seen()[0];
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
async fn upload_calls_do_not_use_the_rate_budget_and_others_do() {
    let server = ScriptedServer::start(|_, _| {
        Reply::json(json!({"data": {"id": 1}, "id": 1, "links": {"s3_upload_urls": []}}))
    })
    .await;
    let mut config = quick_config(&server.base_url());
    config.requests_per_minute = 1;
    let client = Client::new(config).unwrap();
    let before = client.budget().available;
    for _ in 0..3 {
        client
            .start_upload(&StartUpload {
                filenames: vec!["a".into()],
                ..StartUpload::default()
            })
            .await
            .unwrap();
        client.complete_upload(AssetId(1)).await.unwrap();
        client.retry_import(AssetId(1)).await.unwrap();
    }
    assert_eq!(client.budget().available, before);
    for _ in 0..20 {
        client.asset(AssetId(1), I).await.unwrap();
    }
    assert_eq!(client.budget().available, before - 20);
}

#[tokio::test]
async fn the_account_is_the_tokens_owner_or_else_the_token() {
    let server = ScriptedServer::start(|seen, _| {
        assert_eq!(seen.target, "/api/v2/user/tokens/17");
        Reply::json(json!({"id": 17, "name": "t", "tokenable_id": 4}))
    })
    .await;
    let account = client_of(&server).account().await.unwrap();
    assert_eq!(account.key(), format!("{}#user-4", server.base_url()));

    let server = ScriptedServer::start(|_, _| Reply::status(404)).await;
    let account = client_of(&server).account().await.unwrap();
    assert_eq!(account.key(), format!("{}#token-17", server.base_url()));
}
