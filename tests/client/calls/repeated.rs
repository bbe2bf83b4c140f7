//! Read-only calls: repeated until they succeed, after the pauses that the service asks for.

use std::time::Duration;

use assetfs::wire::AssetId;
use serde_json::json;

use super::I;
use crate::client_of;
use crate::fault_server::{FaultServer, Reply};

#[tokio::test]
async fn a_reading_call_is_repeated_until_it_succeeds() {
    let faults = [
        Reply::hang_up(),
        Reply::status(502),
        Reply::status(500),
        Reply::json(json!({"data": {"id": 5}})).cut_after(3),
    ];
    let server = FaultServer::start(move |_, before| match faults.get(before) {
        Some(fault) => fault.clone(),
        None => {
            Reply::json(json!({"data": {"id": 5, "name": "chair", "upload_status": "complete"}}))
        }
    });
    let asset = client_of(&server)
        .assets()
        .get(AssetId(5), I)
        .await
        .unwrap();
    assert_eq!(asset.name, "chair");
    assert_eq!(server.count(), 5);
}

#[tokio::test]
async fn a_reading_call_fails_after_five_attempts() {
    let server = FaultServer::start(|_, _| Reply::new(503, &[], "down for maintenance"));
    let error = client_of(&server)
        .assets()
        .get(AssetId(5), I)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("down for maintenance") && error.is_transient(),
        "{error}"
    );
    assert_eq!(server.count(), 5);
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let server = FaultServer::start(|_, before| match before {
        0 => Reply::new(429, &[("retry-after", "1")], ""),
        _ => Reply::json(json!({"rapidpoints": 12})),
    });
    assert_eq!(
        client_of(&server)
            .account()
            .points(I)
            .await
            .unwrap()
            .rapidpoints,
        12
    );
    let seen = server.asked();
    assert_eq!(seen.len(), 2);
    assert!(seen[1].at - seen[0].at >= Duration::from_secs(1));
}

#[tokio::test]
async fn retry_after_of_a_503_is_honoured_too() {
    let server = FaultServer::start(|_, before| match before {
        0 => Reply::new(503, &[("retry-after", "1")], ""),
        _ => Reply::json(json!({"storage_left": 12})),
    });
    assert_eq!(
        client_of(&server)
            .account()
            .storage_left(I)
            .await
            .unwrap()
            .storage_left,
        Some(12)
    );
    let seen = server.asked();
    assert!(seen[1].at - seen[0].at >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_retry_uses_a_fresh_connection_if_all_kept_ones_are_dead() {
    // Four connections are opened and kept; later requests on them get no reply.
    let server = FaultServer::start(|seen, before| match before {
        0..4 => Reply::json(json!({"rapidpoints": 1})).after(Duration::from_millis(100)),
        _ if seen.connection < 4 => Reply::silence(),
        _ => Reply::json(json!({"rapidpoints": 2})),
    });
    let client = client_of(&server);
    futures_util::future::join_all((0..4).map(|_| client.account().points(I))).await;
    assert_eq!(client.account().points(I).await.unwrap().rapidpoints, 2);
    assert_eq!(server.count(), 6, "more than one dead connection was tried");
}

#[tokio::test]
async fn a_call_fails_at_once_if_the_service_asks_for_too_long_a_wait() {
    let server = FaultServer::start(|_, _| Reply::new(429, &[("retry-after", "600")], ""));
    let error = client_of(&server).account().points(I).await.unwrap_err();
    // No pause that a service asks for counts for more than two minutes.
    assert_eq!(error.retry_after(), Some(Duration::from_secs(120)));
    assert_eq!(server.count(), 1);
}
