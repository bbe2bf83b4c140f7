//! The service with its files in a bucket: clients send and read files there, and the service sees none of the bytes.

use std::time::Duration;

use assetfs::bucket::Credentials;
use assetfs::service::{
    BucketConfig, BucketError, Service, ServiceConfig, ServiceError, WorkerCommand,
};
use reqwest::Method;
use serde_json::json;

use super::s3::TestBucket;
use super::support::{COPYING_WORKER, Fixture, upload_url};

/// The bucket as a service uses it.
pub fn config(bucket: &TestBucket) -> BucketConfig {
    BucketConfig {
        address: bucket.url().parse().unwrap(),
        credentials: Credentials {
            key_id: bucket.key.clone(),
            secret: bucket.secret.clone(),
            session_token: None,
        },
        public_endpoint: None,
    }
}

async fn fixture(bucket: &TestBucket) -> Fixture {
    let bucket = config(bucket);
    Fixture::with(COPYING_WORKER, |config| config.bucket = Some(bucket)).await
}

#[tokio::test]
async fn every_signed_url_leads_to_the_storage() {
    let bucket = TestBucket::start();
    let service = fixture(&bucket).await;
    let (id, started) = service.begin("chair", &["chair ü.glb"]).await;
    let url = upload_url(&started, "chair ü.glb");
    assert!(url.starts_with(&bucket.endpoint), "{url}");
    service.put(url, b"glTF-content").await.expect(200);
    let completed = service.complete(id).await.expect(200).json();
    assert_eq!(completed["data"]["size"], 12);
    let asset = service.analysed(id).await;
    assert_eq!(asset["upload_status"], "complete", "{asset}");
    for (name, url) in asset["downloads"].as_object().unwrap() {
        let url = url.as_str().unwrap();
        assert!(url.starts_with(&bucket.endpoint), "{name} {url}");
        service.read(url).await.expect(200);
    }
    let url = asset["downloads"]["chair ü.glb"].as_str().unwrap();
    let whole = service.read(url).await.expect(200);
    assert_eq!(whole.text(), "glTF-content");
    assert_eq!(whole.header("content-type"), "model/gltf-binary");
    assert_eq!(
        whole.header("content-disposition"),
        "attachment; filename*=UTF-8''chair%20%C3%BC.glb"
    );
    let part = service.http.get(url).header("range", "bytes=2-5");
    assert_eq!(service.send(part).await.expect(206).text(), "TF-c");
    service.put(url, b"other").await.expect(403);

    let body = json!({ "config": { "limits": {} } });
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    let rapid = service.post(&path, body).await.json();
    let rapid = rapid["id"].as_u64().unwrap();
    let rapid = service.optimized(rapid).await;
    assert_eq!(rapid["optimization_status"], "done", "{rapid}");
    let glb = rapid["downloads"]["glb"].as_str().unwrap();
    assert!(glb.starts_with(&bucket.endpoint));
    assert_eq!(service.read(glb).await.expect(200).text(), "glTF-content");
    // The address of a viewer has no query, so the service answers it with the way to the storage.
    let model = &rapid["model"];
    let parts = [&model["rootUrl"], &model["fileName"]].map(|part| part.as_str().unwrap());
    let viewer = parts.concat();
    assert!(viewer.starts_with(&service.url("/storage/")), "{viewer}");
    assert_eq!(
        service.read(&viewer).await.expect(200).text(),
        "glTF-content"
    );
    let direct = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let redirect = service.send(direct.get(&viewer)).await.expect(307);
    assert!(redirect.header("location").starts_with(&bucket.endpoint));
    assert_eq!(redirect.body.len(), 0);
    // Zips are streamed by the service.
    let zip = format!("/api/v2/rawmodel/{id}/downloads/zip");
    let zip = service.get(&zip).await.expect(200);
    assert_eq!(zip.body.len().to_string(), zip.header("content-length"));
    assert!(zip.body.windows(12).any(|bytes| bytes == b"glTF-content"));
}

#[tokio::test]
async fn completing_checks_what_the_storage_has() {
    let bucket = TestBucket::start();
    let service = Fixture::with(COPYING_WORKER, |settings| {
        settings.bucket = Some(config(&bucket));
        settings.quota_bytes = Some(10);
    })
    .await;
    let (id, started) = service.begin("chair", &["a.glb", "b.bin"]).await;
    service
        .put(upload_url(&started, "a.glb"), b"123456")
        .await
        .expect(200);
    let refused = service.complete(id).await.expect(422).json();
    assert_eq!(refused["errors"]["files"], json!(["b.bin"]));
    service
        .put(upload_url(&started, "b.bin"), b"12345")
        .await
        .expect(200);
    service.complete(id).await.expect(413);
    let asset = service.get(&format!("/api/v2/rawmodel/{id}")).await.json();
    assert_eq!(asset["data"]["upload_status"], "incomplete");
    assert_eq!(asset["data"]["size"], 0, "nothing is counted");
    // A shorter file makes it fit: what the analysis writes may go beyond the quota.
    service
        .put(upload_url(&started, "b.bin"), b"1234")
        .await
        .expect(200);
    service.complete(id).await.expect(200);
    let asset = service.analysed(id).await;
    assert_eq!(
        (&asset["upload_status"], &asset["size"]),
        (&json!("complete"), &json!(10))
    );
    // Deleting gives the room back.
    service
        .delete(&format!("/api/v2/rawmodel/{id}"))
        .await
        .expect(200);
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    service
        .put(upload_url(&started, "a.glb"), b"1234567890")
        .await
        .expect(200);
    service.complete(id).await.expect(200);
}

#[tokio::test]
async fn two_calls_of_complete_start_one_analysis() {
    let bucket = TestBucket::start();
    let service = fixture(&bucket).await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    service
        .put(upload_url(&started, "a.glb"), b"glTF")
        .await
        .expect(200);
    let calls = (0..8).map(|_| service.complete(id));
    for answer in futures_util::future::join_all(calls).await {
        answer.expect(200);
    }
    let asset = service.analysed(id).await;
    assert_eq!(asset["upload_status"], "complete");
    assert_eq!(asset["size"], 4, "counted once");
}

#[tokio::test]
async fn what_is_sent_after_the_analysis_changes_nothing() {
    let bucket = TestBucket::start();
    let service = fixture(&bucket).await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.put(url, b"first").await.expect(200);
    service.complete(id).await.expect(200);
    let asset = service.analysed(id).await;
    service.put(url, b"late bytes").await.expect(200);
    let download = asset["downloads"]["a.glb"].as_str().unwrap();
    assert_eq!(service.read(download).await.expect(200).text(), "first");
    service.complete(id).await.expect(200);
    let again = service.get(&format!("/api/v2/rawmodel/{id}")).await.json();
    assert_eq!(again["data"]["size"], 5);
    let download = again["data"]["downloads"]["a.glb"].as_str().unwrap();
    assert_eq!(service.read(download).await.expect(200).text(), "first");
}

#[tokio::test]
async fn what_is_sent_between_completion_and_analysis_fails_the_import() {
    let bucket = TestBucket::start();
    let settings = config(&bucket);
    let service = Fixture::with("exec sleep 300", |config| {
        config.bucket = Some(settings);
    })
    .await;
    // The only worker is busy with this one.
    let busy = {
        let (id, started) = service.begin("busy", &["a.glb"]).await;
        service
            .put(upload_url(&started, "a.glb"), b"x")
            .await
            .expect(200);
        service.complete(id).await.expect(200);
        let path = format!("/api/v2/rawmodel/{id}");
        let analysing = |record: &serde_json::Value| record["data"]["upload_status"] == "analysing";
        service.until(&path, analysing).await;
        id
    };
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.put(url, b"first").await.expect(200);
    service.complete(id).await.expect(200);
    service.put(url, b"other").await.expect(200);
    service
        .delete(&format!("/api/v2/rawmodel/{busy}"))
        .await
        .expect(200);
    let asset = service.analysed(id).await;
    assert_eq!(asset["upload_status"], "Importing Failed", "{asset}");
    let message = asset["error_message"].as_str().unwrap();
    assert!(
        message.contains("a.glb was sent again after the upload was completed"),
        "{message}"
    );
    let downloads = asset["downloads"].as_object().unwrap();
    assert!(!downloads.contains_key("a.glb"), "no byte of it is shown");
}

#[tokio::test]
async fn a_bucket_that_cannot_be_used_is_a_sentence_at_the_start() {
    let bucket = TestBucket::start();
    let start = async |change: &dyn Fn(&mut BucketConfig)| {
        let dir = tempfile::tempdir().unwrap();
        let worker = WorkerCommand {
            program: "/bin/true".into(),
            args: Vec::new(),
        };
        let mut settings = ServiceConfig::new(dir.path().join("data"), worker);
        let mut bucket = config(&bucket);
        change(&mut bucket);
        settings.bucket = Some(bucket);
        match Service::start(settings).await {
            Err(ServiceError::Bucket(error)) => error,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it started"),
        }
    };
    let wrong_secret = start(&|bucket| bucket.credentials.secret = "wrong".to_owned()).await;
    assert!(
        matches!(wrong_secret, BucketError::WrongSecret),
        "{wrong_secret}"
    );
    let unknown = start(&|bucket| bucket.credentials.key_id = "NOBODY".to_owned()).await;
    assert!(matches!(unknown, BucketError::UnknownKey), "{unknown:?}");
    let missing = start(&|bucket| bucket.address.bucket = "missing-bucket".to_owned()).await;
    assert!(
        matches!(missing, BucketError::NoBucket { .. }),
        "{missing:?}"
    );
    assert!(
        missing
            .to_string()
            .contains("missing-bucket does not exist; create it")
    );
    let nobody = start(&|bucket| bucket.address.endpoint = "http://127.0.0.1:9/".parse().unwrap());
    let nobody = nobody.await;
    assert!(
        matches!(nobody, BucketError::Unreachable { .. }),
        "{nobody:?}"
    );
    let text = format!("{wrong_secret} {unknown} {missing} {nobody:?}");
    assert!(
        !text.contains(&bucket.secret) && !text.contains("Signature="),
        "{text}"
    );
}

#[tokio::test]
async fn uploads_of_several_parts_arrive_whole() {
    let bucket = TestBucket::start();
    // The result is larger than one part of an upload.
    let worker = r#"
task=$(cat)
out=$(printf %s "$task" | sed 's/.*"output_dir":"\([^"]*\)".*/\1/')
head -c 40000000 /dev/zero | tr '\0' 'x' > "$out/info.log"
"#;
    let settings = config(&bucket);
    let service = Fixture::with(worker, |config| config.bucket = Some(settings)).await;
    let id = service.upload("chair", &[("a.glb", b"glTF")]).await;
    let asset = service.get(&format!("/api/v2/rawmodel/{id}")).await.json();
    let url = asset["data"]["downloads"]["info.log"].as_str().unwrap();
    let log = service.read(url).await.expect(200).body;
    assert_eq!(log.len(), 40_000_000);
    assert!(log.iter().all(|byte| *byte == b'x'));
}

#[tokio::test]
async fn a_token_beside_a_signature_is_not_needed_and_other_methods_are_refused() {
    let bucket = TestBucket::start();
    let service = Fixture::with(COPYING_WORKER, |settings| {
        settings.bucket = Some(config(&bucket));
        settings.upload_url_lifetime = Duration::from_secs(1);
    })
    .await;
    let (_, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    for method in [Method::GET, Method::DELETE] {
        let answer = service
            .send(service.http.request(method.clone(), url))
            .await;
        assert_eq!(answer.status, 403, "{method}");
    }
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    service.put(url, b"too late").await.expect(403);
}
