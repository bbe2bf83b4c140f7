//! Webhooks: their events and signatures, and faulty receivers.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::support::Fixture;
use super::zips;

pub const WEBHOOKS: &str = "/api/v2/user/webhooks";

/// The requests of a receiver: head and body.
type Received = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A receiver that replies with `status` and records requests.
async fn receiver(status: &'static str) -> (String, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook?x=1", listener.local_addr().unwrap());
    let received = Received::default();
    let kept = Arc::clone(&received);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (head, body) = read_request(&mut stream).await;
            reply(&mut stream, status).await;
            kept.lock().unwrap().push((head, body));
        }
    });
    (url, received)
}

/// The head, in lower case, and the body of a request.
pub async fn read_request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let len = stream.read(&mut buffer).await.unwrap();
        bytes.extend_from_slice(&buffer[..len]);
        let Some(end) = bytes.windows(4).position(|at| at == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let wanted: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap()
            .parse()
            .unwrap();
        if bytes.len() - end - 4 >= wanted {
            return (head, bytes[end + 4..].to_vec());
        }
    }
}

/// Answers a request.
pub async fn reply(stream: &mut TcpStream, status: &str) {
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
}

/// Waits for the event number `count` and returns all of them.
async fn events(received: &Received, count: usize) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let bodies: Vec<Value> = received
            .lock()
            .unwrap()
            .iter()
            .map(|(_, body)| serde_json::from_slice(body).unwrap())
            .collect();
        if bodies.len() >= count {
            return bodies;
        }
        assert!(Instant::now() < deadline, "{bodies:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn each_job_end_sends_one_signed_event() {
    let service = Fixture::start().await;
    let (url, received) = receiver("204 No Content").await;
    let body = json!({ "url": url, "verify_ssl": false, "secret": "s3cret" });
    let webhook = service.post_json(WEBHOOKS, body).await;
    assert_eq!(webhook["failed_calls"], 0);
    assert_eq!(webhook["last_status"], Value::Null);

    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let told = events(&received, 1).await;
    assert_eq!(told[0]["event_type"], "analysis_finished");
    assert_eq!(told[0]["data"]["status"], "Successful");
    assert_eq!(told[0]["data"]["rawmodel_id"], id);
    assert!(told[0]["timestamp"].as_str().unwrap().ends_with('Z'));
    let asked = service
        .post(&format!("/api/v2/rawmodel/optimize/{id}"), json!({}))
        .await
        .json();
    let told = events(&received, 2).await;
    assert_eq!(told[1]["event_type"], "optimization_finished");
    assert_eq!(told[1]["data"]["rapidmodel_id"], asked["id"]);
    let link = told[1]["data"]["rapidmodel"]["chair.glb"].as_str().unwrap();
    assert_eq!(service.read(link).await.expect(200).body, b"x");

    let body = json!({ "model_id": asked["id"], "name": "viewer" });
    service
        .post("/api/v2/embeds/create", body)
        .await
        .expect(201);
    let body = json!({ "raw_model_id": id, "name": "viewer" });
    service.post("/api/v2/embeds/raw", body).await.expect(200);
    let told = events(&received, 4).await;
    let mut kinds: Vec<&str> = told[2..]
        .iter()
        .map(|event| event["event_type"].as_str().unwrap())
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["embed_creation", "embed_from_raw_creation"]);

    for (head, body) in received.lock().unwrap().iter() {
        assert!(head.starts_with("post /hook?x=1 http/1.1"), "{head}");
        let signature = head
            .lines()
            .find_map(|line| line.strip_prefix("x-engine-signature: "))
            .unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(b"s3cret").unwrap();
        mac.update(body);
        let expected: String = mac
            .finalize()
            .into_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(signature, expected);
    }
    let list = service.get_json(WEBHOOKS).await;
    assert_eq!(list[0]["last_status"], 204);
    assert!(list[0]["last_called_at"].is_string());
    service
        .delete(&format!("{WEBHOOKS}/{}", webhook["id"]))
        .await
        .expect(200);
    service.upload("table", &[("a.glb", b"x")]).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(received.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn failing_receivers_are_recorded_and_delay_no_other() {
    let service = Fixture::start().await;
    let (good, received) = receiver("200 OK").await;
    let (bad, _) = receiver("500 Oh No").await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("http://{}/", silent.local_addr().unwrap());
    for url in ["http://127.0.0.1:1/", silent_url.as_str(), &bad, &good] {
        let body = json!({ "url": url, "verify_ssl": true });
        service.post(WEBHOOKS, body).await.expect(200);
    }
    let began = Instant::now();
    service.upload("chair", &[("a.glb", b"x")]).await;
    events(&received, 1).await;
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "the silent one holds up nobody"
    );
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let list = service.get(WEBHOOKS).await.json();
        let has_failed = |at: usize| list[at]["failed_calls"].as_u64() >= Some(1);
        if has_failed(0) && has_failed(2) {
            assert_eq!(list[0]["last_status"], 0);
            assert_eq!(list[2]["last_status"], 500);
            break;
        }
        assert!(Instant::now() < deadline, "{list}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Analyses succeed and optimizations fail.
const FAILING_WORKER: &str = r#"
task=$(cat)
case "$task" in *'"task":"optimize"'*) echo '{"error":"no triangle is left"}'; exit 1 ;; esac
"#;

#[tokio::test]
async fn a_failed_optimization_reports_its_logs_and_times() {
    let service = Fixture::with(FAILING_WORKER, |_| {}).await;
    let (url, received) = receiver("204 No Content").await;
    let body = json!({ "url": url, "verify_ssl": false });
    let made = service.post_json(WEBHOOKS, body).await;
    assert_eq!(made["notified_at"], json!(null));
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    service.post(&path, json!({})).await.expect(200);
    let told = events(&received, 2).await;
    let data = &told[1]["data"];
    assert_eq!(data["status"], "Failed");
    assert_eq!(data["message"], "no triangle is left");
    let log = data["rapidmodel"]["error.log"].as_str().unwrap();
    let log = service.read(log).await.expect(200).text();
    assert!(log.contains("no triangle is left"), "{log}");
    let called = |list: &Value| {
        let calls = &list[0];
        calls["notified_at"].is_string() && calls["last_status"] == 204
    };
    let list = service.until(WEBHOOKS, called).await;
    let updated = list[0]["updated_at"].as_str().unwrap();
    assert!(updated > made["updated_at"].as_str().unwrap(), "{list}");
}

#[tokio::test]
async fn webhooks_are_checked_tested_and_limited() {
    let service = Fixture::with("", |config| config.max_webhooks = 2).await;
    for body in [
        json!({}),
        json!({ "url": "http://x/" }),
        json!({ "url": "ftp://x/", "verify_ssl": true }),
        json!({ "url": "no url", "verify_ssl": true }),
        json!({ "url": "http://x/", "verify_ssl": "maybe" }),
    ] {
        service.post(WEBHOOKS, body).await.expect(422);
    }
    let (url, received) = receiver("200 OK").await;
    let body = json!({ "url": url, "verify_ssl": true });
    let id = service.post_json(WEBHOOKS, body.clone()).await["id"].clone();
    service.post(WEBHOOKS, body.clone()).await.expect(200);
    let refused = service.post(WEBHOOKS, body).await.expect(500).json();
    assert_eq!(refused[0]["code"], 1);
    assert!(refused[0]["message"].is_string());
    let test = |id: &Value| format!("{WEBHOOKS}/test/{id}");
    service.post(&test(&id), json!({})).await.expect(200);
    let told = events(&received, 1).await;
    assert_eq!(told[0]["event_type"], "test");
    // A later call shows the first, once its reply is noted.
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let again = service.post(&test(&id), json!({})).await;
        let again = again.expect(200).json();
        if again["last_status"] == 200 {
            break;
        }
        assert!(Instant::now() < deadline, "{again}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    service
        .post(&test(&json!(999)), json!({}))
        .await
        .expect(404);
    service.delete(&format!("{WEBHOOKS}/999")).await.expect(404);
}

#[tokio::test]
async fn an_archive_says_that_it_is_unpacked_also_where_the_start_did_not_call_it_one() {
    let service = Fixture::start().await;
    let (url, received) = receiver("200 OK").await;
    let body = json!({ "url": url, "verify_ssl": false });
    service.post(WEBHOOKS, body).await.expect(200);
    let kinds = |told: &[Value]| -> Vec<String> {
        let kind = |event: &Value| event["event_type"].as_str().unwrap().to_owned();
        let mut kinds: Vec<String> = told.iter().map(kind).collect();
        kinds.sort_unstable();
        kinds
    };
    let archive = zips::good();
    let id = service.upload("packed", &[("packed.ZIP", &archive)]).await;
    let told = events(&received, 2).await;
    assert_eq!(kinds(&told), ["analysis_finished", "unzip_finished"]);
    for event in &told {
        assert_eq!(event["data"]["status"], "Successful", "{event}");
        assert_eq!(event["data"]["rawmodel_id"], id, "{event}");
    }
    // Without an archive there is nothing to unpack.
    service.upload("loose", &[("a.glb", b"x")]).await;
    let told = events(&received, 3).await;
    assert_eq!(kinds(&told[2..]), ["analysis_finished"]);
}

#[tokio::test]
async fn a_service_for_other_machines_calls_nothing_on_its_own() {
    let service = Fixture::with("", |config| {
        config.public_url = Some("https://assets.example.com/".parse().unwrap());
    })
    .await;
    let (url, received) = receiver("200 OK").await;
    for refused in [url.as_str(), "http://[::1]:9/", "http://169.254.169.254/"] {
        let body = json!({ "url": refused, "verify_ssl": true });
        let answer = service.post(WEBHOOKS, body).await.expect(422).json();
        let reason = answer["errors"]["url"].to_string();
        assert!(reason.contains("must not lead to"), "{refused}: {answer}");
    }
    // A name is known to be of this machine only when it is resolved.
    let named = url.replace("127.0.0.1", "localhost");
    let body = json!({ "url": named, "verify_ssl": true });
    let id = service.post_json(WEBHOOKS, body).await["id"].clone();
    let test = format!("{WEBHOOKS}/test/{id}");
    service.post(&test, json!({})).await.expect(200);
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let listed = service.get_json(WEBHOOKS).await;
        if !listed[0]["last_called_at"].is_null() {
            assert_eq!(listed[0]["last_status"], 0, "{listed}");
            break;
        }
        assert!(Instant::now() < deadline, "{listed}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(received.lock().unwrap().is_empty());
}
