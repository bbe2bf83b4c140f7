//! Errors made of error replies and of invalid replies.

use std::time::Duration;

use assetfs::client::{Client, ClientConfig, ClientError, Priority};
use assetfs::wire::{AssetId, OptimizeRequest, PresetId, RapidId};
use serde_json::json;

use super::{assert_no_secret, client_of, quick_config};
use crate::fault_server::{FaultServer, Reply};

const I: Priority = Priority::Interactive;

#[tokio::test]
async fn each_status_has_its_own_error_with_the_message_of_the_service() {
    type Check = fn(&ClientError) -> bool;
    let cases: [(u16, &str, &str, Check); 9] = [
        (
            401,
            r#"{"message": "Invalid token", "error": "Token format is invalid"}"#,
            "Token format is invalid",
            |e| matches!(e, ClientError::Unauthorized { .. }) && e.is_about_token(),
        ),
        (
            403,
            r#"{"message": "Plan too small"}"#,
            "Plan too small",
            |e| matches!(e, ClientError::Forbidden { .. }),
        ),
        (
            404,
            r#"{"message": "Not available"}"#,
            "Not available",
            |e| matches!(e, ClientError::NotFound { .. }),
        ),
        (
            400,
            "Could not process request: model_id is missing",
            "model_id is missing",
            |e| matches!(e, ClientError::Rejected { status: 400, .. }),
        ),
        (
            422,
            r#"{"message": "Invalid", "errors": {"config": ["unknown key"]}}"#,
            "unknown key",
            |e| matches!(e, ClientError::Rejected { status: 422, .. }),
        ),
        (413, "", "413", |e| {
            matches!(e, ClientError::Rejected { status: 413, .. })
        }),
        (405, "<html>no</html>", "Method Not Allowed", |e| {
            matches!(e, ClientError::Rejected { .. })
        }),
        (302, "", "base URL", |e| {
            matches!(e, ClientError::Protocol { .. })
        }),
        (
            422,
            r#"{"message": "see https://h/k?sig=s3cret"}"#,
            "https://h/k",
            |e| matches!(e, ClientError::Rejected { .. }),
        ),
    ];
    for (status, body, words, check) in cases {
        let server = FaultServer::start(move |_, _| Reply::new(status, &[], body));
        let error = client_of(&server)
            .optimizations()
            .start(AssetId(1), &OptimizeRequest::by_preset(PresetId(7)))
            .await
            .unwrap_err();
        assert!(check(&error), "{status} {body}: {error:?}");
        assert!(
            error.to_string().contains(words),
            "{status} {body}: {error}"
        );
        assert_no_secret(&format!("{error} {error:?}"));
        assert_eq!(server.count(), 1);
    }
}

#[tokio::test]
async fn only_a_404_of_the_service_itself_says_that_something_is_gone() {
    let page = "<!DOCTYPE html><html><head><title>404 Not Found</title></head></html>";
    // As nginx, a Go router and Envoy answer while they have no service behind them.
    for body in [page, "404 page not found\n", ""] {
        let server = FaultServer::start(move |_, _| Reply::new(404, &[], body));
        let client = client_of(&server);
        let assets = client.assets();
        for error in [
            assets.get(AssetId(1), I).await.unwrap_err(),
            assets.delete(AssetId(1)).await.unwrap_err(),
        ] {
            assert!(matches!(error, ClientError::Protocol { .. }), "{error:?}");
            assert!(error.to_string().contains("base URL"), "{error}");
        }
        // What is sent once was certainly not done.
        let request = OptimizeRequest::by_preset(PresetId(7));
        let started = client.optimizations().start(AssetId(1), &request).await;
        let error = started.unwrap_err();
        assert!(
            matches!(error, ClientError::Unavailable { .. }),
            "{error:?}"
        );
        // The API says these in plain text.
        let renders = client.rapids().renders(RapidId(1), I).await.unwrap_err();
        let is_gone = matches!(renders, ClientError::NotFound { .. });
        assert_eq!(is_gone, body != page, "{renders:?}");
    }
    let server = FaultServer::start(|_, _| Reply::new(404, &[], r#"{"message": "No such model"}"#));
    let error = asset_error(&server, |_| {}).await;
    assert!(matches!(error, ClientError::NotFound { .. }), "{error:?}");
}

/// The error of a call with changed settings.
async fn asset_error(server: &FaultServer, change: impl FnOnce(&mut ClientConfig)) -> ClientError {
    let mut config = quick_config(&server.url());
    change(&mut config);
    let client = Client::new(config).unwrap();
    client.assets().get(AssetId(1), I).await.unwrap_err()
}

#[tokio::test]
async fn a_reply_that_is_too_large_or_endless_fails_the_call() {
    let server = FaultServer::start(|_, _| {
        Reply::json(json!({"data": {"id": 1, "name": "x".repeat(5000)}}))
    });
    let error = asset_error(&server, |config| config.max_json_bytes = 4000).await;
    assert!(
        matches!(
            error,
            ClientError::TooLarge {
                limit_bytes: 4000,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(server.count(), 1);

    let chunked = "2000\r\n".to_owned() + &"x".repeat(0x2000) + "\r\n0\r\n\r\n";
    let server = FaultServer::start(move |_, _| {
        Reply::new(200, &[("transfer-encoding", "chunked")], chunked.clone())
    });
    let error = asset_error(&server, |config| config.max_json_bytes = 4000).await;
    assert!(matches!(error, ClientError::TooLarge { .. }), "{error}");

    let server = FaultServer::start(|_, _| {
        Reply::json(json!({"data": {"id": 1, "name": "x".repeat(500)}})).drip()
    });
    let begun = std::time::Instant::now();
    let error = asset_error(&server, |config| config.retries.attempts = 1).await;
    assert!(matches!(error, ClientError::Timeout { .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn an_invalid_reply_is_reported_with_its_reason() {
    for (body, words) in [
        ("<html>Welcome</html>", "base URL"),
        ("", "empty"),
        ("{\"data\": {\"name\": \"no id\"}}", "id"),
        ("[1, 2", "EOF"),
        ("{\"data\": \"https://h/k?sig=s3cret\"}", "invalid reply"),
    ] {
        let server = FaultServer::start(move |_, _| Reply::new(200, &[], body));
        let error = client_of(&server)
            .assets()
            .get(AssetId(1), I)
            .await
            .unwrap_err();
        assert!(
            matches!(error, ClientError::Protocol { .. }),
            "{body}: {error}"
        );
        assert!(error.to_string().contains(words), "{body}: {error}");
        assert_no_secret(&error.to_string());
    }
}

#[tokio::test]
async fn a_login_page_and_a_compressed_reply_never_count_as_success() {
    let replies = [
        (
            "login page",
            Reply::new(
                200,
                &[("content-type", "text/html")],
                "\n<!DOCTYPE html><title>Sign in</title>",
            ),
        ),
        (
            "compressed",
            Reply::new(200, &[("content-encoding", "gzip")], "\u{1f}x"),
        ),
    ];
    for (words, reply) in replies {
        let server = FaultServer::start(move |_, _| reply.clone());
        let client = client_of(&server);
        let outcomes = [
            client.assets().get(AssetId(1), I).await.map(drop),
            client.assets().delete(AssetId(1)).await,
            client.tokens().list(I).await.map(drop),
            client.rapids().preset_zip(RapidId(1), I).await.map(drop),
        ];
        for error in outcomes.map(Result::unwrap_err) {
            assert!(matches!(error, ClientError::Protocol { .. }), "{error:?}");
            assert!(error.to_string().contains(words), "{error}");
        }
        // What is sent once may have had its effect.
        let once = [
            client.tokens().create("x").await.map(drop),
            client.rapids().add_tags(RapidId(1), &[]).await,
        ];
        for error in once.map(Result::unwrap_err) {
            assert!(matches!(error, ClientError::LostReply { .. }), "{error:?}");
        }
    }
}
