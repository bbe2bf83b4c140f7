//! Rules of HTTP and of the specification that a strict client relies on.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::support::{Fixture, upload_url};
use crate::needs_own_storage;

#[tokio::test]
async fn a_head_request_starts_and_counts_nothing() {
    let service = Fixture::start().await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.put(url, b"x").await.expect(200);
    let path = format!("/api/v2/rawmodel/{id}/api-upload/complete");
    let head = service.request(Method::HEAD, &path);
    assert_eq!(service.send(head).await.expect(405).header("allow"), "GET");
    let asset = service.get(&format!("/api/v2/rawmodel/{id}")).await.json();
    assert_eq!(asset["data"]["upload_status"], "incomplete");
    service.get(&path).await.expect(200);
    service.analysed(id).await;
    let body = json!({ "raw_model_id": id, "name": "e" });
    let made = service.post_json("/api/v2/embeds/raw", body).await;
    let url = made["embed_url"].as_str().unwrap();
    for _ in 0..3 {
        service.send(service.http.head(url)).await.expect(200);
    }
    service.read(url).await.expect(200);
    let path = format!("/api/v2/embeds/{}", made["embed_id"]);
    let embed = service.get_json(&path).await;
    assert!(embed.to_string().contains("\"view_count\":1"), "{embed}");
}

/// The endpoints of the API: each path with its methods.
fn endpoints() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut paths = BTreeMap::<_, BTreeSet<_>>::new();
    for row in include_str!("../../docs/api-coverage.md").lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if let [_, method, path, ..] = cells[..]
            && let Some(path) = path.strip_prefix("`/api/v2/")
        {
            let path = path.trim_end_matches('`');
            paths.entry(path).or_default().insert(method);
        }
    }
    paths
}

#[tokio::test]
async fn every_path_answers_other_methods_with_405_and_names_its_own() {
    let service = Fixture::start().await;
    let endpoints = endpoints();
    assert!(endpoints.len() > 40, "{}", endpoints.len());
    for (path, methods) in endpoints {
        let mut plain = path.replace("{format}", "glb");
        for id in ["{id}", "{tagId}"] {
            plain = plain.replace(id, "1");
        }
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            if methods.contains(method) {
                continue;
            }
            let request = service.request(method.parse().unwrap(), &format!("/api/v2/{plain}"));
            let refused = service.send(request).await.expect(405);
            let allowed: BTreeSet<&str> =
                refused.header("allow").split(',').map(str::trim).collect();
            assert!(methods.is_subset(&allowed), "{method} {path}: {allowed:?}");
            assert!(!allowed.contains(method), "{method} {path}: {allowed:?}");
        }
    }
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
        json!("01"),
        json!("00"),
        json!("-0"),
        json!("1e0"),
        json!("0x1"),
        json!("٣"),
        json!("18446744073709551616"),
        json!(1.5),
        json!(""),
    ] {
        assert_eq!(delete(bad.clone()).await, 422, "{bad}");
    }
    for path in [
        format!("/api/v2/rawmodel/0{id}"),
        format!("/api/v2/rawmodel/+{id}"),
        format!("/api/v2/rawmodel/%20{id}"),
        format!("/api/v2/rawmodel/{id}.0"),
    ] {
        assert_eq!(service.get(&path).await.status.as_u16(), 404, "{path}");
    }
    let odd = service.get("/api/v2/embeds?rapidId=01").await;
    odd.expect(422);
    let many = json!({ "optimizations": [{ "model_id": format!("0{id}"), "config": {} }] });
    let refused = service.post("/api/v2/rawmodel/optimize", many).await;
    assert!(refused.expect(400).text().contains("model_id"));
    for good in [json!(id as f64 + 1000.0), json!((id + 1000).to_string())] {
        assert_eq!(delete(good.clone()).await, 200, "{good}");
    }
}

#[tokio::test]
async fn a_request_without_host_a_schema_of_any_text_and_an_odd_webhook_are_refused() {
    let service = Fixture::start().await;
    for hosts in [
        "",
        "host: a\r\nhost: a\r\n",
        "host: u@a\r\n",
        "host: a b\r\n",
    ] {
        let head = format!("GET / HTTP/1.1\r\n{hosts}\r\n");
        assert_eq!(raw(&service, &head).await, 400, "{hosts}");
    }

    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    let points =
        async || service.get("/api/v2/user/rapidpoints").await.json()["rapidpoints"].clone();
    let before = points().await;
    for schema in [
        json!("99"),
        json!("2.50"),
        json!("02.5"),
        json!("2.4"),
        json!(3),
        json!("any text"),
        json!(["2.5"]),
        json!(true),
        json!(""),
        json!([]),
        json!(-1),
        json!(1e308),
    ] {
        let body = json!({ "config": { "schema": schema } });
        let refused = service.post(&path, body).await.expect(422).text();
        assert!(refused.contains("schema"), "{refused}");
        let body = json!({ "name": "p", "config": { "schema": schema } });
        service
            .post("/api/v2/preset/create", body)
            .await
            .expect(422);
    }
    assert_eq!(points().await, before, "nothing is paid");
    for schema in [json!("2.5"), json!(2.5)] {
        let body = json!({ "config": { "schema": schema } });
        service.post(&path, body).await.expect(200);
    }
    let secret = "s".repeat(5_000);
    for (url, secret) in [
        ("http://127.0.0.1/a\r\nb", ""),
        ("http://127.0.0.1/a b", ""),
        ("http:///a", ""),
        ("http:a", ""),
        ("http://u:p@127.0.0.1/", ""),
        ("http://127.0.0.1\\a", ""),
        ("http://127.0.0.1/#a", ""),
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

/// Sends a request as it is. Returns the status of the reply.
async fn raw(service: &Fixture, request: &str) -> u16 {
    let mut stream = TcpStream::connect(service.service.addr()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    if request.starts_with('P') {
        // A body ends here.
        stream.shutdown().await.unwrap();
    }
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    let head = std::str::from_utf8(&head).unwrap();
    head.strip_prefix("HTTP/1.1 ").unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_body_that_is_cut_or_damaged_is_400_and_stores_nothing() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    let path = &url[url.find("/storage/").unwrap()..];
    let token = format!("authorization: Bearer {}\r\n", service.service.token());
    let chunked = "transfer-encoding: chunked\r\n\r\n";
    for (line, headers) in [
        (format!("PUT {path}"), ""),
        ("POST /api/v2/user/tokens/create".to_owned(), &*token),
        ("POST /api/v2/rawmodel/optimize".to_owned(), &token),
    ] {
        let head = format!("{line} HTTP/1.1\r\nhost: x\r\n{headers}");
        for body in [
            "content-length: 10\r\n\r\n{}".to_owned(),
            format!("{chunked}2\r\n{{}}\r\n"),
            format!("{chunked}2\r\n{{}}\r\nzz\r\n"),
            format!("{chunked}ffffffffffffffffff\r\n"),
        ] {
            let status = raw(&service, &format!("{head}{body}")).await;
            assert_eq!(status, 400, "{line} {body:?}");
        }
    }
    service.complete(id).await.expect(422);
}

#[tokio::test]
async fn a_put_of_a_part_or_of_compressed_bytes_changes_nothing() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.put(url, b"whole").await.expect(200);
    let put = |name, value| service.http.put(url).header(name, value).body("part");
    let part = service.send(put("content-range", "bytes 0-3/5")).await;
    assert!(part.expect(400).text().contains("Content-Range"));
    let coded = service
        .send(put("content-encoding", "gzip"))
        .await
        .expect(415);
    assert_eq!(coded.header("accept-encoding"), "identity");
    service
        .send(put("content-encoding", "identity"))
        .await
        .expect(200);
    service.put(url, b"whole").await.expect(200);
    // The same holds for bodies of JSON.
    let asset = format!("/api/v2/rawmodel/{id}");
    let body = json!({ "scale_factor": 2 }).to_string();
    let put = |name, value| {
        service
            .request(Method::PUT, &asset)
            .header(name, value)
            .body(body.clone())
    };
    service
        .send(put("content-range", "bytes 0-1/9"))
        .await
        .expect(400);
    service
        .send(put("content-encoding", "br"))
        .await
        .expect(415);
    service.complete(id).await.expect(200);
    let asset = service.analysed(id).await;
    assert_eq!(
        (&asset["size"], &asset["scale_factor"]),
        (&json!(5), &json!("1"))
    );
}

#[tokio::test]
async fn an_idempotency_key_that_is_empty_or_too_long_is_refused_by_name() {
    let service = Fixture::start().await;
    let long = "k".repeat(256);
    for (path, status) in [
        ("/api/v2/rawmodel/optimize", 400),
        ("/api/v2/rawmodel/optimize/1", 422),
        ("/api/v2/embeds/create", 422),
        ("/api/v2/rawmodel/api-upload/start", 422),
    ] {
        for key in ["", &long, "ä"] {
            let request = service.request(Method::POST, path).body("{}");
            let refused = service
                .send(request.header("idempotency-key", key))
                .await
                .expect(status);
            let said = refused.text();
            assert!(
                said.contains("The header idempotency-key must have 1 to 255"),
                "{said}"
            );
            match status {
                400 => assert!(said.starts_with("Could not process request: "), "{said}"),
                _ => assert!(refused.json()["errors"]["idempotency-key"].is_array()),
            }
        }
    }
}

#[tokio::test]
async fn a_nul_character_in_an_address_finds_nothing_and_reaches_no_database() {
    let service = Fixture::start().await;
    for list in [
        "rawmodel",
        "rapidmodel",
        "embeds",
        "preset",
        "preset/factory",
    ] {
        let refused = service
            .get(&format!("/api/v2/{list}?q=a%00"))
            .await
            .expect(422);
        assert!(refused.json()["errors"]["q"].is_array());
    }
    for path in [
        "/embed/%00",
        "/embed/a%00/model.glb",
        "/api/v2/rapidmodel/1/g%00/downloadQc",
        "/api/v2/preset/%00",
    ] {
        service.get(path).await.expect(404);
    }
}
