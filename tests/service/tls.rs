//! A service that speaks TLS itself.

use std::process::Command;

use assetfs::service::TlsFiles;

use super::skip::skipped;
use super::support::{COPYING_WORKER, Fixture, files_are_in_a_bucket, upload_url};

#[tokio::test]
async fn clients_reach_the_api_and_the_signed_urls_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let files = TlsFiles {
        certificate: folder.path().join("cert.pem"),
        key: folder.path().join("key.pem"),
    };
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args([
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ])
        .arg("-keyout")
        .arg(&files.key)
        .arg("-out")
        .arg(&files.certificate)
        .output();
    let curl = Command::new("curl").arg("--version").output();
    if !made.is_ok_and(|made| made.status.success()) || curl.is_err() {
        return skipped("openssl or curl is not installed");
    }
    let certificate = files.certificate.clone();
    let service = Fixture::with(COPYING_WORKER, |config| config.tls = Some(files)).await;
    let base = service.service.base_url().clone();
    assert_eq!(base.scheme(), "https");
    let call = async |args: &[&str], path: &str| {
        let output = tokio::process::Command::new("curl")
            .args(["--silent", "--show-error", "--noproxy", "*", "--cacert"])
            .arg(&certificate)
            .args([
                "-H",
                &format!("Authorization: Bearer {}", service.service.token()),
            ])
            .args(args)
            .arg(base.join(path).unwrap().as_str())
            .output()
            .await
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    };
    for version in ["--http1.1", "--http2"] {
        let page = call(&[version], "/api/v2/rawmodel").await;
        assert!(page.contains("\"data\":[]"), "{page}");
    }
    let body = r#"{"model_name": "chair", "filenames": ["a.glb"]}"#;
    let args = ["-H", "Content-Type: application/json", "-d", body];
    let started = call(&args, "/api/v2/rawmodel/api-upload/start").await;
    let started: serde_json::Value = serde_json::from_str(&started).unwrap();
    let url = upload_url(&started, "a.glb");
    let is_own = url.starts_with(base.as_str());
    assert_eq!(is_own, !files_are_in_a_bucket(), "{url}");
    // One that speaks plain HTTP gets no answer, and the next one does.
    let plain = base.as_str().replace("https", "http");
    assert!(service.http.get(plain).send().await.is_err());
    call(&[], "/api/v2/rawmodel").await;
}
