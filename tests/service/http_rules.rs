//! Rules of HTTP and of the specification that a strict client relies on.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::support::Fixture;

#[tokio::test]
async fn a_head_request_starts_and_counts_nothing() {
    let service = Fixture::start().await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = started["links"]["s3_upload_urls"]["a.glb"].as_str();
    service.put(url.unwrap(), b"x").await.expect(200);
    let path = format!("/api/v2/rawmodel/{id}/api-upload/complete");
    let head = service.request(Method::HEAD, &path);
    service.send(head).await.expect(405);
    let asset = service.get(&format!("/api/v2/rawmodel/{id}")).await.json();
    assert_eq!(asset["data"]["upload_status"], "incomplete");
    service.get(&path).await.expect(200);
    service.analysed(id).await;
    let body = json!({ "raw_model_id": id, "name": "e" });
    let made = service
        .post("/api/v2/embeds/raw", body)
        .await
        .expect(200)
        .json();
    let url = made["embed_url"].as_str().unwrap();
    for _ in 0..3 {
        service.send(service.http.head(url)).await.expect(200);
    }
    service.read(url).await.expect(200);
    let path = format!("/api/v2/embeds/{}", made["embed_id"]);
    let embed = service.get(&path).await.expect(200).json();
    assert!(embed.to_string().contains("\"view_count\":1"), "{embed}");
}

#[tokio::test]
async fn integers_are_digits_or_whole_numbers() {
    let service = Fixture::start().await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let delete = async |id: Value| {
        let body = json!({ "ids": [id] });
        service
            .post("/api/v2/rawmodel/delete", body)
            .await
            .status
            .as_u16()
    };
    for bad in [
        json!(" 1"),
        json!("1 "),
        json!("+1"),
        json!("1.0"),
        json!(1.5),
        json!(""),
    ] {
        assert_eq!(delete(bad.clone()).await, 422, "{bad}");
    }
    for good in [json!(id as f64 + 1000.0), json!((id + 1000).to_string())] {
        assert_eq!(delete(good.clone()).await, 200, "{good}");
    }
}

#[tokio::test]
async fn a_request_without_host_a_schema_of_any_text_and_an_odd_webhook_are_refused() {
    let service = Fixture::start().await;
    let mut stream = TcpStream::connect(service.service.addr()).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 400");

    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    for schema in [json!("any text"), json!(["2.5"]), json!(true), json!("")] {
        let body = json!({ "config": { "schema": schema } });
        let refused = service.post(&path, body).await.expect(422).text();
        assert!(refused.contains("schema"), "{refused}");
    }
    let secret = "s".repeat(5_000);
    for (url, secret) in [
        ("http://127.0.0.1/a\r\nb", ""),
        ("http://127.0.0.1/a b", ""),
        ("http://127.0.0.1/", secret.as_str()),
    ] {
        let body = json!({ "url": url, "verify_ssl": false, "secret": secret });
        service
            .post("/api/v2/user/webhooks", body)
            .await
            .expect(422);
    }
}

#[tokio::test]
async fn a_start_that_is_repeated_with_its_key_makes_one_upload() {
    let service = Fixture::start().await;
    let start = async |key: &str, name: &str| {
        let request = service.request(Method::POST, "/api/v2/rawmodel/api-upload/start");
        let body = json!({ "model_name": name, "filenames": ["b.bin", "a.gltf"] });
        let request = request
            .header("idempotency-key", key)
            .body(body.to_string());
        let request = request.header("content-type", "application/json");
        service.send(request).await.expect(200).json()
    };
    let first = start("one", "chair").await;
    let again = start("one", "chair").await;
    assert_eq!(first["id"], again["id"]);
    let urls = |started: &Value| started["links"]["s3_upload_urls"].clone();
    for name in ["a.gltf", "b.bin"] {
        let url = urls(&again)[name].as_str().unwrap().to_owned();
        let before = urls(&first)[name].as_str().unwrap().to_owned();
        let place = |url: &str| url.split('?').next().unwrap().to_owned();
        assert_eq!(place(&url), place(&before), "{name}");
        service.put(&url, name.as_bytes()).await.expect(200);
    }
    assert_ne!(start("two", "chair").await["id"], first["id"]);
    assert_ne!(
        start("one", "table").await["id"],
        first["id"],
        "another request"
    );
    let list = service.get("/api/v2/rawmodel").await.json();
    assert_eq!(list["meta"]["total"], 3, "{list}");
}
