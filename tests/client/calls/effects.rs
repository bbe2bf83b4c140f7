//! Calls that are not idempotent: sent once, and a lost reply is reported.

use std::time::Duration;

use assetfs::client::{Client, ClientError};
use assetfs::wire::{
    AssetId, AssetUpdate, CreateEmbed, CreatePreset, CreateRawEmbed, CreateWebhook, EmbedId,
    MultiOptimize, OptimizeRequest, OptimizerConfig, Password, PresetId, RapidId, StartUpload,
    TagId, UpdatePreset, WebhookId,
};
use serde_json::json;

use crate::fault_server::{Bound, FaultServer, Reply};
use crate::{client_of, quick_config};

/// Every call that is not idempotent, by name.
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
        (
            "start_upload",
            client.assets().start_upload(&start).await.map(drop),
        ),
        (
            "complete_upload",
            client.assets().complete_upload(id).await.map(drop),
        ),
        ("retry_import", client.assets().retry_import(id).await),
        (
            "update_asset",
            client.assets().update(id, &AssetUpdate::default()).await,
        ),
        (
            "add_formats",
            client.assets().add_formats(id, &[text()]).await.map(drop),
        ),
        (
            "optimize",
            client
                .optimizations()
                .start(id, &OptimizeRequest::by_preset(PresetId(7)))
                .await
                .map(drop),
        ),
        (
            "multi_optimize",
            client
                .optimizations()
                .start_many(&MultiOptimize {
                    optimizations: vec![],
                })
                .await,
        ),
        (
            "add_rapid_tags",
            client.rapids().add_tags(RapidId(1), &[text()]).await,
        ),
        ("create_preset", client.presets().create(&preset).await),
        (
            "create_embed",
            client.embeds().create(&embed).await.map(drop),
        ),
        (
            "create_raw_embed",
            client.embeds().create_raw(&raw_embed).await.map(drop),
        ),
        ("create_token", client.tokens().create("x").await.map(drop)),
        (
            "create_webhook",
            client.webhooks().create(&webhook).await.map(drop),
        ),
        ("test_webhook", client.webhooks().test(WebhookId(1)).await),
        (
            "login",
            client
                .account()
                .login("a@b", Password::new("x"))
                .await
                .map(drop),
        ),
        (
            "delete_account",
            client.account().delete(Password::new("x")).await,
        ),
    ]
}

#[tokio::test]
async fn a_call_with_an_effect_is_sent_once_and_a_lost_reply_is_reported() {
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
        let server = FaultServer::start(move |_, _| reply.clone());
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
async fn a_certain_refusal_is_neither_a_lost_reply_nor_repeated() {
    for (reply, is_rate_limit) in [
        (Reply::new(429, &[("retry-after", "7")], ""), true),
        (Reply::new(503, &[("retry-after", "7")], ""), false),
    ] {
        let server = FaultServer::start(move |_, _| reply.clone());
        let client = client_of(&server);
        let error = client
            .assets()
            .complete_upload(AssetId(1))
            .await
            .unwrap_err();
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
async fn a_call_without_a_connection_is_not_a_lost_reply() {
    let base_url = Bound::new().url();
    let client = Client::new(quick_config(&base_url)).unwrap();
    let error = client
        .optimizations()
        .start(AssetId(1), &OptimizeRequest::by_preset(PresetId(7)))
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_delete_with_a_lost_reply_succeeds_if_the_retry_finds_nothing() {
    let server = FaultServer::start(|_, before| match before {
        0 => Reply::hang_up(),
        _ => Reply::new(404, &[], r#"{"message": "No such model"}"#),
    });
    client_of(&server)
        .assets()
        .delete(AssetId(5))
        .await
        .unwrap();
    assert_eq!(server.count(), 2);

    let server = FaultServer::start(|_, _| Reply::new(404, &[], r#"{"message": "No such model"}"#));
    let error = client_of(&server)
        .rapids()
        .delete(RapidId(5))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ClientError::NotFound { message, .. } if message == "No such model"),
        "{error}"
    );
}

#[tokio::test]
async fn idempotent_calls_are_repeated() {
    let server = FaultServer::start(|_, before| match before % 2 {
        0 => Reply::hang_up(),
        _ => Reply::status(200),
    });
    let client = client_of(&server);
    let update = UpdatePreset {
        description: None,
        id: PresetId(1),
        name: "web".into(),
        config: OptimizerConfig::default(),
    };
    client.presets().update(&update).await.unwrap();
    client.assets().delete_many(&[AssetId(1)]).await.unwrap();
    client.rapids().delete_many(&[RapidId(1)]).await.unwrap();
    client
        .assets()
        .remove_tag(AssetId(1), TagId(2))
        .await
        .unwrap();
    client
        .rapids()
        .remove_tag(RapidId(1), TagId(2))
        .await
        .unwrap();
    client.presets().delete(PresetId(1)).await.unwrap();
    client.embeds().delete(EmbedId(1)).await.unwrap();
    assert_eq!(server.count(), 14);
}
