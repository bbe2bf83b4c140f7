//! Events: a mount that receives them shows the ends of jobs at once, and asks the service for the state.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use assetfs::client::Priority;
use assetfs::drive::{DriveConfig, WebhookConfig};
use assetfs::wire::Webhook;

use crate::support::account::Account;

fn receiving(config: &mut DriveConfig) {
    config.refresh = Duration::from_secs(600);
    config.webhook = Some(WebhookConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        url: None,
    });
}

async fn until_registered(account: &Account) -> Webhook {
    for _ in 0..200 {
        let hooks = account
            .client
            .webhooks()
            .list(Priority::Interactive)
            .await
            .unwrap();
        if let Some(hook) = hooks.into_iter().next() {
            return hook;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no webhook is registered within 10 s");
}

async fn post(url: &str, signature: Option<&str>, body: &str) -> u16 {
    let mut request = crate::support::account::reqwest_client()
        .post(url)
        .header("content-type", "application/json")
        .body(body.to_owned());
    if let Some(signature) = signature {
        request = request.header("x-engine-signature", signature);
    }
    request.send().await.expect("an answer").status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mount_registers_itself_hears_only_what_is_proven_and_removes_itself_at_the_end() {
    let account = Account::new().await;
    let mounted = account.mount_with(receiving).await;
    let hook = until_registered(&account).await;
    let path = hook.url.rsplit('/').next().unwrap();
    assert_eq!(path.len(), 32, "an unguessable path: {}", hook.url);
    let event = r#"{"event_type":"analysis_finished","data":{"rawmodel_id":1}}"#;
    assert_eq!(post(&hook.url, None, event).await, 204);
    assert_eq!(post(&hook.url, Some("00"), event).await, 403);
    let guessed = hook.url.replace(path, "0123456789abcdef0123456789abcdef");
    assert_eq!(post(&guessed, None, event).await, 404);
    assert_eq!(post(&hook.url, None, "no json").await, 400);
    mounted.close().await;
    let left = account.client.webhooks().list(Priority::Interactive).await;
    assert!(left.unwrap().is_empty());
}

/// The status of a call with these headers.
async fn raw_post(url: &str, hosts: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let url = reqwest::Url::parse(url).unwrap();
    let addr = url.socket_addrs(|| None).unwrap()[0];
    let mut stream = tokio::net::TcpStream::connect(addr).await.unwrap();
    let body = r#"{"event_type":"analysis_finished","data":{"rawmodel_id":1}}"#;
    let head = format!(
        "POST {} HTTP/1.1\r\n{hosts}content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        url.path(),
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer);
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_the_receiver_needs_one_valid_host() {
    let account = Account::new().await;
    let mounted = account.mount_with(receiving).await;
    let url = until_registered(&account).await.url;
    assert_eq!(raw_post(&url, "host: a\r\n").await, "204");
    for hosts in [
        "",
        "host: a\r\nhost: a\r\n",
        "host: u@a\r\n",
        "host: a b\r\n",
    ] {
        assert_eq!(raw_post(&url, hosts).await, "400", "{hosts}");
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_to_the_receiver_leave_room_for_events() {
    let account = Account::new().await;
    let mounted = account.mount_with(receiving).await;
    let hook = until_registered(&account).await;
    let addr = reqwest::Url::parse(&hook.url).unwrap();
    let addr = addr.socket_addrs(|| None).unwrap()[0];
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(tokio::net::TcpStream::connect(addr).await.unwrap());
    }
    let event = r#"{"event_type":"analysis_finished","data":{"rawmodel_id":1}}"#;
    for _ in 0..5 {
        let posting = tokio::time::timeout(Duration::from_secs(5), post(&hook.url, None, event));
        assert_eq!(posting.await.expect("an answer in time"), 204);
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_mount_removes_the_webhook_of_a_killed_mount() {
    let account = Account::new().await;
    let mounted = account.mount_with(receiving).await;
    let first = until_registered(&account).await;
    // As after a kill: the webhook was not removed from the service.
    let mut account = account;
    account.stop_service().await;
    mounted.close().await;
    account.start_service().await;
    assert_eq!(until_registered(&account).await.id, first.id);
    let again = account.mount_with(receiving).await;
    for _ in 0..200 {
        let hooks = account
            .client
            .webhooks()
            .list(Priority::Interactive)
            .await
            .unwrap();
        if hooks.len() == 1 && hooks[0].id != first.id {
            again.close().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the old webhook is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_an_analysis_and_of_an_optimization_elsewhere_shows_within_a_second() {
    let account = Account::new().await;
    let mounted = account.mount_with(receiving).await;
    let tree = &mounted.tree;
    until_registered(&account).await;
    assert!(tree.list("/rawmodels").await.unwrap().is_empty());
    assert!(tree.list("/rapidmodels").await.unwrap().is_empty());

    let asset = account.add_cube().await;
    let ended = Instant::now();
    while tree.list("/rawmodels").await.unwrap() != ["cube"] {
        assert!(
            ended.elapsed() < Duration::from_secs(5),
            "the listing holds 600 s"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let preset = account
        .client
        .presets()
        .factory(Priority::Interactive)
        .await
        .unwrap()
        .remove(0)
        .id;
    let request = assetfs::wire::OptimizeRequest::by_preset(preset);
    let rapid = account
        .client
        .optimizations()
        .start(asset, &request)
        .await
        .unwrap()
        .id;
    loop {
        let record = account
            .client
            .rapids()
            .get(rapid, Priority::Interactive)
            .await;
        if record.unwrap().optimization_status.is_final() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let ended = Instant::now();
    loop {
        let rows = tree.list("/rapidmodels").await.unwrap();
        if let [name] = &rows[..] {
            let status = format!("/rapidmodels/{name}/.assetfs/status");
            if tree.read_text(&status).await.unwrap() == "done\n" {
                break;
            }
        }
        assert!(
            ended.elapsed() < Duration::from_secs(5),
            "the listing holds 600 s"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    mounted.close().await;
}
