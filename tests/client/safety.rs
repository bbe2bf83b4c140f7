//! Where the token and requests are sent, and that no secret is shown.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use assetfs::client::{Client, ClientConfig, ClientError, Priority};
use assetfs::wire::{AssetId, OptimizeRequest, PresetId, SignedUrl};
use futures_util::TryStreamExt;
use serde_json::json;

use super::{assert_no_secret, client_of, quick_config, signed};
use crate::fault_server::{Bound, FaultServer, Reply, make_certificate};

#[tokio::test]
async fn the_target_of_a_redirect_gets_no_token() {
    let storage = FaultServer::start(|_, _| Reply::new(200, &[], "a zip"));
    let target = signed(&storage, "bundle.zip").expose().to_owned();
    let service = FaultServer::start(move |_, _| Reply::new(302, &[("location", &target)], ""));
    let download = client_of(&service)
        .assets()
        .zip(AssetId(1), Priority::Interactive)
        .await
        .unwrap();
    let chunks: Vec<_> = download.stream.try_collect().await.unwrap();
    assert_eq!(chunks.concat(), b"a zip");
    assert!(service.asked()[0].header("authorization").is_some());
    assert_eq!(storage.asked()[0].header("authorization"), None);
}

#[tokio::test]
async fn a_redirect_back_to_the_service_has_no_token_either() {
    let service = FaultServer::start(|seen, _| match seen.header("authorization") {
        Some(_) => Reply::new(301, &[("location", "/elsewhere")], ""),
        None => Reply::status(401),
    });
    let error = client_of(&service)
        .assets()
        .get(AssetId(1), Priority::Interactive)
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Protocol { .. }), "{error}");
    let seen = service.asked();
    assert_eq!(
        (seen[1].target.as_str(), seen[1].header("authorization")),
        ("/elsewhere", None)
    );
}

#[tokio::test]
async fn a_redirect_of_a_call_with_an_effect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let other = FaultServer::start(|_, _| Reply::json(json!({"id": 1})));
        let target = signed(&other, "x").expose().to_owned();
        let service =
            FaultServer::start(move |_, _| Reply::new(status, &[("location", &target)], ""));
        let client = client_of(&service);
        let error = client
            .optimizations()
            .start(AssetId(1), &OptimizeRequest::by_preset(PresetId(7)))
            .await
            .unwrap_err();
        assert!(matches!(error, ClientError::Protocol { .. }), "{error}");
        assert_no_secret(&format!("{error} {error:?}"));
        let error = client
            .assets()
            .complete_upload(AssetId(1))
            .await
            .unwrap_err();
        assert!(matches!(error, ClientError::Protocol { .. }), "{error}");
        assert_eq!(other.count(), 0, "{status}");
    }
}

#[tokio::test]
async fn a_redirect_loop_ends() {
    let service =
        FaultServer::start(|_, _| Reply::new(302, &[("location", "/again?x=s3cret")], ""));
    let client = client_of(&service);
    let error = client
        .assets()
        .get(AssetId(1), Priority::Interactive)
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Protocol { .. }), "{error}");
    let error = client
        .transfers()
        .probe(&signed(&service, "x"))
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Protocol { .. }), "{error}");
    assert!(service.count() < 20);
    assert_no_secret(&error.to_string());
}

#[tokio::test]
async fn a_public_service_cannot_redirect_requests_into_this_machine_or_network() {
    let local = FaultServer::start(|_, _| Reply::new(200, &[], "secret of the network"));
    let client = Client::new(quick_config("https://service.invalid")).unwrap();
    let port = local.addr.port();
    for url in [
        format!("http://127.0.0.1:{port}/k?sig=s3cret"),
        format!("https://127.0.0.1:{port}/k?sig=s3cret"),
        format!("https://localhost:{port}/k?sig=s3cret"),
        format!("https://0.0.0.0:{port}/k?sig=s3cret"),
        format!("https://[::ffff:127.0.0.1]:{port}/k?sig=s3cret"),
        "https://10.0.0.1/k?sig=s3cret".to_owned(),
        "https://169.254.169.254/latest/meta-data?sig=s3cret".to_owned(),
        "http://store.invalid/k?sig=s3cret".to_owned(),
        "file:///etc/passwd?s3cret".to_owned(),
    ] {
        let url = SignedUrl::new(url);
        let errors = [
            client.transfers().probe(&url).await.unwrap_err(),
            client
                .transfers()
                .get_range(&url, 0, Some(1), None)
                .await
                .unwrap_err(),
            client
                .transfers()
                .put_file(&url, 0, futures_util::stream::empty, |_| {})
                .await
                .unwrap_err(),
        ];
        for error in errors {
            assert!(
                matches!(error, ClientError::Insecure { .. }),
                "{url}: {error:?}"
            );
            assert_no_secret(&format!("{error} {error:?}"));
        }
    }
    assert_eq!(local.count(), 0);
}

#[tokio::test]
async fn a_redirect_of_a_signed_url_follows_the_same_address_rules() {
    let service = FaultServer::start(|_, _| {
        Reply::new(302, &[("location", "http://store.invalid/k?s=s3cret")], "")
    });
    let error = client_of(&service)
        .transfers()
        .probe(&signed(&service, "a"))
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Insecure { .. }), "{error:?}");
    assert_no_secret(&format!("{error} {error:?}"));
}

#[test]
fn http_to_another_machine_needs_permission() {
    let mut config = ClientConfig::new("http://service.example.com").unwrap();
    assert!(matches!(
        Client::new(config.clone()),
        Err(ClientError::Insecure { .. })
    ));
    config.allow_insecure = true;
    assert!(Client::new(config).is_ok());
    for bad in [
        "",
        "service.example.com",
        "ftp://x",
        "https://me:pw@x",
        "https://x/?a=b",
    ] {
        let result = ClientConfig::new(bad).and_then(Client::new);
        assert!(
            matches!(result, Err(ClientError::BadBaseUrl { .. })),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn no_error_shows_a_token_or_the_query_of_a_signed_url() {
    // The port is closed again.
    let gone = Bound::new().url();
    let unreachable = SignedUrl::new(format!("{gone}/chair.bin?X-Amz-Signature=s3cret"));
    let mut config = quick_config(&gone);
    config.retries.attempts = 2;
    let client = Client::new(config.clone()).unwrap();
    let mut errors = vec![
        client.transfers().probe(&unreachable).await.unwrap_err(),
        client
            .transfers()
            .get_range(&unreachable, 5, None, None)
            .await
            .unwrap_err(),
        client
            .transfers()
            .put_file(&unreachable, 0, futures_util::stream::empty, |_| {})
            .await
            .unwrap_err(),
        client
            .assets()
            .get(AssetId(1), Priority::Interactive)
            .await
            .unwrap_err(),
        client
            .assets()
            .complete_upload(AssetId(1))
            .await
            .unwrap_err(),
    ];
    for reply in [
        Reply::hang_up(),
        Reply::silence(),
        Reply::status(403),
        Reply::status(404),
        Reply::status(500),
        Reply::new(400, &[], "bad: https://h/k?X-Amz-Signature=s3cret"),
        Reply::new(206, &[], "x"),
        Reply::new(302, &[("location", "http://[bad?s3cret")], ""),
    ] {
        let server = FaultServer::start(move |_, _| reply.clone());
        config.base_url = server.url().parse().unwrap();
        let client = Client::new(config.clone()).unwrap();
        let url = signed(&server, "chair.bin");
        errors.push(client.transfers().probe(&url).await.unwrap_err());
        errors.push(
            client
                .transfers()
                .get_range(&url, 5, Some(5), None)
                .await
                .unwrap_err(),
        );
        errors.extend(
            client
                .assets()
                .get(AssetId(1), Priority::Interactive)
                .await
                .err(),
        );
    }
    for error in &errors {
        assert_no_secret(&format!("{error} {error:?}"));
    }
    assert_no_secret(&format!("{client:?} {config:?}"));
}

#[tokio::test]
async fn https_is_encrypted() {
    let plain = FaultServer::start(|_, _| Reply::status(200));
    let mut config = quick_config(&format!("https://{}", plain.addr));
    config.retries.attempts = 1;
    let error = Client::new(config)
        .unwrap()
        .assets()
        .get(AssetId(1), Priority::Interactive)
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            ClientError::Unavailable { .. } | ClientError::Timeout { .. }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("write http://"), "{error}");
    assert_eq!(plain.count(), 0, "a request was sent unencrypted");
}

#[tokio::test]
async fn http_to_a_port_of_https_says_what_to_write() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((mut connection, _)) = port.accept() {
            let mut head = [0; 1024];
            let _ = connection.read(&mut head);
            // What a TLS server answers to plain HTTP: the alert "record overflow".
            let _ = connection.write_all(b"\x15\x03\x01\x00\x02\x02\x16");
        }
    });
    let mut config = quick_config(&format!("http://{address}"));
    config.retries.attempts = 1;
    let client = Client::new(config).unwrap();
    let call = client.assets().get(AssetId(1), Priority::Interactive);
    let error = call.await.unwrap_err().to_string();
    assert!(error.contains("write https://"), "{error}");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_refused_at_once_with_what_to_do() {
    if !crate::skip::has_program_or_skips("openssl") {
        return;
    }
    let keys = tempfile::tempdir().unwrap();
    make_certificate(keys.path());
    let server = Bound::with_tls(keys.path()).serve(|_, _| Reply::status(200));
    let client = Client::new(quick_config(&server.url())).unwrap();
    let call = client.assets().get(AssetId(1), Priority::Interactive);
    let error = call.await.unwrap_err();
    assert!(matches!(error, ClientError::Untrusted { .. }), "{error:?}");
    assert!(error.to_string().contains("SSL_CERT_FILE"), "{error}");
    assert_eq!(server.count(), 0, "a request was sent");
}
