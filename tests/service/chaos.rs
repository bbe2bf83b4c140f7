//! Injected faults: each kind has its effect and no other.

use std::time::{Duration, Instant};

use assetfs::service::ChaosPlan;
use serde_json::json;

use super::support::{Fixture, upload_url};
use crate::needs_own_storage;

fn plan(text: &str) -> Option<ChaosPlan> {
    Some(ChaosPlan::parse(text).unwrap())
}

/// A request on its own connection, so that replies cannot be mixed up.
async fn try_get(service: &Fixture, url: &str) -> Result<Vec<u8>, reqwest::Error> {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let token = format!("Bearer {}", service.service.token());
    let mut request = http.get(url);
    if !url.contains("/storage/") {
        request = request.header("authorization", token);
    }
    let response = request.send().await?.error_for_status()?;
    Ok(response.bytes().await?.to_vec())
}

async fn uploaded(service: &Fixture) -> (u64, String) {
    let content: Vec<u8> = (0..5_000_u32).map(|at| (at % 251) as u8).collect();
    let id = service.upload("chair", &[("a.glb", &content)]).await;
    let downloads = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads"))
        .await
        .json();
    (id, downloads["a.glb"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_lost_reply_leaves_the_effect_or_not_as_planned() {
    let service = Fixture::start().await;
    let start = "/api/v2/rawmodel/api-upload/start";
    let body = json!({ "model_name": "x", "filenames": ["a.glb"] }).to_string();
    for (kind, effects) in [("drop_before", 0), ("drop_after", 1)] {
        let text = format!(
            "[[rule]]\nmethod = \"POST\"\npath = \"{start}\"\ntimes = 1\nfault = {{ kind = \"{kind}\" }}"
        );
        service.service.set_chaos(plan(&text));
        let request = service.request(reqwest::Method::POST, start);
        assert!(request.body(body.clone()).send().await.is_err(), "{kind}");
        assert_eq!(service.service.chaos_fired(), vec![1_u64]);
        let list = service.get("/api/v2/rawmodel").await.json();
        assert_eq!(list["meta"]["total"], effects, "{kind}");
    }
    service.service.set_chaos(None);
    assert!(service.service.chaos_fired().is_empty());
}

#[tokio::test]
async fn answers_are_cut_misdescribed_and_slow_as_planned() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let (_, url) = uploaded(&service).await;
    let whole = try_get(&service, &url).await.unwrap();
    for (fault, is_whole) in [
        ("kind = \"cut_reply\", bytes = 100", false),
        ("kind = \"wrong_length\", by = 10", false),
        ("kind = \"no_length\"", true),
        ("kind = \"latency\", ms = 50", true),
        ("kind = \"drip\", bytes_per_second = 20000", true),
    ] {
        let text = format!("[[rule]]\npath = \"/storage/*\"\nfault = {{ {fault} }}");
        service.service.set_chaos(plan(&text));
        let began = Instant::now();
        let got = try_get(&service, &url).await;
        match got {
            Ok(bytes) => assert!(is_whole && bytes == whole, "{fault}"),
            Err(error) => assert!(!is_whole, "{fault}: {error}"),
        }
        if fault.contains("latency") {
            assert!(began.elapsed() >= Duration::from_millis(50));
        }
        if fault.contains("drip") {
            assert!(began.elapsed() >= Duration::from_millis(200));
        }
    }
    let short = "[[rule]]\npath = \"/storage/*\"\nfault = { kind = \"wrong_length\", by = -10 }";
    service.service.set_chaos(plan(short));
    assert_eq!(try_get(&service, &url).await.unwrap(), whole[..4_990]);
    let none = "[[rule]]\npath = \"/storage/*\"\nfault = { kind = \"no_length\" }";
    service.service.set_chaos(plan(none));
    let answer = service.read(&url).await.expect(200);
    assert!(answer.headers.get("content-length").is_none());
}

#[tokio::test]
async fn statuses_come_as_planned_and_in_bursts() {
    let service = Fixture::start().await;
    service.service.set_chaos(plan(
        "[[rule]]\nafter = 1\ntimes = 2\nfault = { kind = \"status\", status = 503 }\n\
         [[rule]]\nafter = 3\ntimes = 1\nfault = { kind = \"status\", status = 429, retry_after = \"7\", body = \"slow\" }",
    ));
    let mut statuses = Vec::new();
    for _ in 0..5 {
        let answer = service.get("/api/v2/user/rapidpoints").await;
        if answer.status == 429 {
            assert_eq!(answer.header("retry-after"), "7");
            assert_eq!(answer.text(), "slow");
        }
        statuses.push(answer.status.as_u16());
    }
    assert_eq!(statuses, [200, 503, 503, 429, 200]);
}

#[tokio::test]
async fn an_upload_that_is_cut_leaves_nothing() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.service.set_chaos(plan(
        "[[rule]]\nmethod = \"PUT\"\ntimes = 1\nfault = { kind = \"cut_request\", bytes = 1000 }",
    ));
    let put = service.http.put(url).body(vec![1; 5_000]);
    assert!(put.send().await.is_err());
    service.complete(id).await.expect(422);
    service.put(url, &vec![1; 5_000]).await.expect(200);
}

#[tokio::test]
async fn urls_expire_and_the_clock_is_wrong_as_planned() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let (id, url) = uploaded(&service).await;
    service.service.set_chaos(plan("clock_ahead_secs = 86400"));
    assert!(
        try_get(&service, &url).await.is_err(),
        "a day later it has expired"
    );
    let answer = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads"))
        .await;
    let date: jiff::Timestamp = jiff::fmt::rfc2822::parse(answer.header("date"))
        .unwrap()
        .timestamp();
    let ahead = date.as_second() - jiff::Timestamp::now().as_second();
    assert!((86_000..=86_800).contains(&ahead), "{ahead}");
    let fresh = answer.json()["a.glb"].as_str().unwrap().to_owned();
    try_get(&service, &fresh).await.unwrap();
    let (later, _) = service.begin("later", &["a.glb"]).await;
    let asset = service
        .get(&format!("/api/v2/rawmodel/{later}"))
        .await
        .json();
    let created: jiff::Timestamp = asset["data"]["created_at"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!(created.as_second() - jiff::Timestamp::now().as_second() > 86_000);
    service.service.set_chaos(plan("download_url_secs = 0"));
    let answer = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads"))
        .await;
    let dead = answer.json()["a.glb"].as_str().unwrap().to_owned();
    service.read(&dead).await.expect(403);
}

#[tokio::test]
async fn connections_are_reset_and_refused_as_planned() {
    let service = Fixture::start().await;
    let url = service.url("/api/v2/rawmodel");
    service.service.set_chaos(plan(
        "[[connection]]\ntimes = 1\nfault = { kind = \"reset\" }",
    ));
    assert!(try_get(&service, &url).await.is_err());
    try_get(&service, &url).await.unwrap();
    service.service.set_chaos(plan(
        "[[connection]]\ntimes = 1\nfault = { kind = \"refuse\", ms = 1500 }",
    ));
    assert!(try_get(&service, &url).await.is_err());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let refused = tokio::net::TcpStream::connect(service.service.addr()).await;
    assert_eq!(
        refused.unwrap_err().kind(),
        std::io::ErrorKind::ConnectionRefused
    );
    let deadline = Instant::now() + Duration::from_secs(10);
    while try_get(&service, &url).await.is_err() {
        assert!(Instant::now() < deadline, "nobody listens again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
