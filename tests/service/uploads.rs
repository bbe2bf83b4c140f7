//! Uploads: accepted files, signed URLs, and no partial files.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::support::{Fixture, blobs, upload_url};
use crate::needs_own_storage;

const START: &str = "/api/v2/rawmodel/api-upload/start";

#[tokio::test]
async fn names_that_are_not_safe_are_refused() {
    let service = Fixture::start().await;
    for files in [
        json!([]),
        json!(["../a.glb"]),
        json!(["/a.glb"]),
        json!(["a//b.glb"]),
        json!(["a\u{0}b.glb"]),
        json!(["a.glb", "a.glb"]),
        json!(["a", "a/b.glb"]),
        json!(["x".repeat(256)]),
        json!([5]),
        json!((0..10_001).map(|n| n.to_string()).collect::<Vec<_>>()),
        json!("a.glb"),
        json!(null),
    ] {
        let answer = service
            .post(START, json!({ "model_name": "chair", "filenames": files }))
            .await
            .expect(422)
            .json();
        let problems = answer["errors"]["filenames"].as_array().unwrap();
        assert_eq!(problems.len(), 1, "{answer}");
        assert!(answer["message"].is_string());
    }
    for name in [json!(""), json!("x".repeat(256)), json!("a\u{0}"), json!(7)] {
        let body = json!({ "model_name": name, "filenames": ["a.glb"] });
        let answer = service.post(START, body).await.expect(422).json();
        assert!(answer["errors"]["model_name"].is_array(), "{answer}");
    }
    let body = json!({ "model_name": "x", "filenames": ["a.zip", "b.zip"], "is_zip": true });
    service.post(START, body).await.expect(422);
    let list = service.get("/api/v2/rawmodel").await.json();
    assert_eq!(list["meta"]["total"], 0);
}

#[tokio::test]
async fn any_name_comes_back_as_it_was_given() {
    let service = Fixture::start().await;
    let name = "../Füchs – лиса (copy) #2 & 100%?\n\u{202e}";
    let files = [
        "Füchs – лиса (copy) #2 & 100%.GLB",
        "-rf",
        "a b/ü?x=1&y#.bin",
        "…",
    ];
    let contents: Vec<(&str, &[u8])> = files.iter().map(|name| (*name, name.as_bytes())).collect();
    let id = service.upload(name, &contents).await;
    let asset = service.get(&format!("/api/v2/rawmodel/{id}")).await.json();
    assert_eq!(asset["data"]["name"], name);
    assert_eq!(asset["data"]["format"], "glb");
    let downloads = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads"))
        .await
        .json();
    assert_eq!(downloads.as_object().unwrap().len(), files.len());
    for file in files {
        let url = downloads[file].as_str().unwrap();
        assert_eq!(service.read(url).await.expect(200).text(), file);
    }
}

#[tokio::test]
async fn a_signed_url_is_good_for_one_method_and_no_token() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let (_, started) = service.begin("chair", &["a.glb", "b.glb"]).await;
    let urls = &started["links"]["s3_upload_urls"];
    let url = urls["a.glb"].as_str().unwrap();
    service.read(url).await.expect(403);
    for method in [Method::HEAD, Method::POST, Method::DELETE, Method::PATCH] {
        let answer = service
            .send(service.http.request(method.clone(), url))
            .await;
        assert_eq!(answer.status, 403, "{method}");
    }
    let with_token = service.http.put(url).body("x");
    let with_token = with_token.header("authorization", "Bearer 1|x");
    service.send(with_token).await.expect(400);
    service
        .put(&url.replace("a.glb", "b.glb"), b"x")
        .await
        .expect(403);
    service
        .put(&url.replace("expires=1", "expires=2"), b"x")
        .await
        .expect(403);
    let (bare, _) = url.split_once('?').unwrap();
    service.put(bare, b"x").await.expect(403);
    let put = service.put(url, b"hello").await.expect(200);
    assert_eq!(put.header("etag"), "\"5d41402abc4b2a76b9719d911017c592\"");
}

#[tokio::test]
async fn a_signed_url_ends() {
    needs_own_storage!();
    let service = Fixture::with("", |config| {
        config.upload_url_lifetime = Duration::from_secs(1);
    })
    .await;
    let (_, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let answer = service.put(url, b"x").await.expect(403).json();
    assert_eq!(answer["message"], "Request has expired");
}

#[tokio::test]
async fn a_file_may_be_sent_again_until_the_upload_is_complete() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    let left = |answer: super::support::Answer| answer.json()["storage_left"].as_u64().unwrap();
    let before = left(service.get("/api/v2/user/storage").await);
    service.put(url, b"first try").await.expect(200);
    service.put(url, b"second").await.expect(200);
    let after = left(service.get("/api/v2/user/storage").await);
    assert_eq!(before - after, 6);
    let wrong = service.http.put(url).body("third");
    let wrong = wrong.header("content-md5", "AAAAAAAAAAAAAAAAAAAAAA==");
    service.send(wrong).await.expect(400);
    service.complete(id).await.expect(200);
    service.put(url, b"too late").await.expect(409);
    let downloads = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads"))
        .await
        .json();
    let read = service.read(downloads["a.glb"].as_str().unwrap()).await;
    assert_eq!(read.expect(200).body, b"second");
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_leaves_nothing() {
    needs_own_storage!();
    let service = Fixture::with("", |config| config.quota_bytes = Some(1_000_000)).await;
    let (id, started) = service.begin("chair", &["a.glb", "b.glb"]).await;
    let urls = &started["links"]["s3_upload_urls"];
    let a = urls["a.glb"].as_str().unwrap();
    let b = urls["b.glb"].as_str().unwrap();
    service.put(a, &vec![1; 900_000]).await.expect(200);
    service.put(b, &vec![1; 100_001]).await.expect(413);
    // Without a length it is detected while receiving.
    let parts = (0..3).map(|_| Ok::<_, std::io::Error>(vec![2; 60_000]));
    let parts = futures_util::stream::iter(parts);
    let unsized_put = service.http.put(b).body(reqwest::Body::wrap_stream(parts));
    service.send(unsized_put).await.expect(413);
    let storage = service.get("/api/v2/user/storage").await.json();
    assert_eq!(storage["storage_left"], 100_000);
    service.put(b, &vec![1; 100_000]).await.expect(200);
    service
        .delete(&format!("/api/v2/rawmodel/{id}"))
        .await
        .expect(200);
    let storage = service.get("/api/v2/user/storage").await.json();
    assert_eq!(storage["storage_left"], 1_000_000);
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    let path = url.split_once("://").unwrap().1.split_once('/').unwrap().1;
    for _ in 0..3 {
        let mut stream = tokio::net::TcpStream::connect(service.service.addr())
            .await
            .unwrap();
        let head = format!("PUT /{path} HTTP/1.1\r\nhost: x\r\ncontent-length: 5000000\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![7; 3_000_000]).await.unwrap();
        drop(stream);
    }
    service.complete(id).await.expect(422);
    let data = service.dir.path().join("data");
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while !blobs(&data).is_empty() {
        assert!(std::time::Instant::now() < deadline, "something stays");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn ranges_and_conditions_are_honoured() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let content: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
    let id = service
        .upload("chair", &[("a.glb", &content), ("empty.bin", b"")])
        .await;
    let downloads = service
        .get(&format!("/api/v2/rawmodel/{id}/downloads"))
        .await
        .json();
    let url = downloads["a.glb"].as_str().unwrap();
    let whole = service.read(url).await.expect(200);
    assert_eq!(whole.body, content);
    assert_eq!(whole.header("content-length"), "200000");
    assert_eq!(whole.header("accept-ranges"), "bytes");
    assert_eq!(whole.header("content-type"), "model/gltf-binary");
    let etag = whole.header("etag").to_owned();
    let modified = whole.header("last-modified").to_owned();
    assert!(modified.ends_with(" GMT"));

    let with = |headers: Vec<(&'static str, String)>| {
        let mut request = service.http.get(url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        service.send(request)
    };
    let part = with(vec![("range", "bytes=100000-100009".into())])
        .await
        .expect(206);
    assert_eq!(part.body, content[100_000..100_010]);
    assert_eq!(part.header("content-range"), "bytes 100000-100009/200000");
    assert_eq!(part.header("content-length"), "10");
    let tail = with(vec![("range", "bytes=-5".into())]).await.expect(206);
    assert_eq!(tail.body, content[199_995..]);
    let none = with(vec![("range", "bytes=200000-".into())])
        .await
        .expect(416);
    assert_eq!(none.header("content-range"), "bytes */200000");
    for (condition, status) in [
        (etag.clone(), 206),
        (modified.clone(), 206),
        ("\"other\"".to_owned(), 200),
    ] {
        let range = ("range", "bytes=0-0".to_owned());
        let answer = with(vec![range, ("if-range", condition.clone())]).await;
        assert_eq!(answer.status, status, "{condition}");
    }
    with(vec![("if-none-match", etag)]).await.expect(304);
    let empty = downloads["empty.bin"].as_str().unwrap();
    let request = service.http.get(empty).header("range", "bytes=0-0");
    let answer = service.send(request).await.expect(416);
    assert_eq!(answer.header("content-range"), "bytes */0");
    service.send(service.http.head(url)).await.expect(403);
}

#[tokio::test]
async fn signed_urls_may_live_on_another_origin() {
    needs_own_storage!();
    let service = Fixture::with("", |config| {
        config.storage_origin = Some(assetfs::service::StorageOrigin {
            listen: ([127, 0, 0, 1], 0).into(),
            public_url: None,
        });
    })
    .await;
    let (_, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    let parsed = url::Url::parse(url).unwrap();
    assert_ne!(parsed.port(), Some(service.service.addr().port()));
    service.put(url, b"x").await.expect(200);
    // Each origin only serves its own paths.
    let path = format!("{}?{}", parsed.path(), parsed.query().unwrap());
    let there = service.http.put(service.url(&path)).body("x");
    service.send(there).await.expect(404);
    let mut api = parsed.clone();
    api.set_path("/api/v2/rawmodel");
    service.read(api.as_str()).await.expect(404);
}

#[tokio::test]
async fn a_client_that_pipelines_and_leaves_changes_nothing_half_way() {
    let service = Fixture::start().await;
    let body = json!({ "model_name": "x", "filenames": ["a.glb"] }).to_string();
    let token = service.service.token();
    for _ in 0..20 {
        let mut stream = tokio::net::TcpStream::connect(service.service.addr())
            .await
            .unwrap();
        let request = format!(
            "POST {START} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        // The client disconnects without reading the reply.
        drop(stream);
    }
    let mut stream = tokio::net::TcpStream::connect(service.service.addr())
        .await
        .unwrap();
    stream.write_all(b"nonsense\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 400"));
    let list = service.get("/api/v2/rawmodel?itemsPerPage=50").await.json();
    for asset in list["data"].as_array().unwrap() {
        assert_eq!(asset["upload_status"], "incomplete");
        assert_eq!(asset["format"], "glb");
    }
}
