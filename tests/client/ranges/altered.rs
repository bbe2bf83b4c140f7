//! Replies that something between the storage and this machine has altered.

use assetfs::client::ClientError;
use bytes::Bytes;

use super::bytes_of;
use crate::fault_server::{FaultServer, Reply};
use crate::{client_of, content, signed};

const PAGE: &str = "<!doctype html><title>Sign in</title>";

#[tokio::test]
async fn a_compressed_body_is_refused_with_a_reason_and_never_read_as_the_file() {
    for coding in ["gzip", "GZIP", "br", "identity, deflate"] {
        for status in [200, 206] {
            let server = FaultServer::start(move |seen, _| {
                assert_eq!(seen.header("accept-encoding"), Some("identity"));
                let headers = [
                    ("content-encoding", coding),
                    ("content-range", "bytes 0-9/10"),
                ];
                Reply::new(status, &headers, content(10))
            });
            let (client, url) = (client_of(&server), signed(&server, "chair.gltf"));
            let read = client.transfers().get_range(&url, 0, Some(10), None).await;
            let probed = client.transfers().probe(&url).await;
            for error in [read.map(drop).unwrap_err(), probed.map(drop).unwrap_err()] {
                assert!(matches!(error, ClientError::Protocol { .. }), "{error:?}");
                assert!(error.to_string().contains("compressed"), "{error}");
            }
            assert_eq!(server.count(), 2, "a refusal is not repeated");
        }
    }
    for coding in ["identity", "", "aws-chunked"] {
        let server = FaultServer::start(move |_, _| {
            Reply::new(200, &[("content-encoding", coding)], content(10))
        });
        let (client, url) = (client_of(&server), signed(&server, "chair.gltf"));
        let read = client.transfers().get_range(&url, 0, None, None).await;
        assert!(bytes_of(read.unwrap()).await.unwrap() == content(10));
    }
}

#[tokio::test]
async fn a_login_page_is_neither_a_file_nor_the_receipt_of_one() {
    let html = [("content-type", "text/html; charset=utf-8")];
    let server = FaultServer::start(move |_, _| Reply::new(200, &html, PAGE));
    let (client, url) = (client_of(&server), signed(&server, "chair.glb"));
    let read = client.transfers().get_range(&url, 0, Some(10), None).await;
    let probed = client.transfers().probe(&url).await;
    let file = || futures_util::stream::iter([Ok(Bytes::from_static(b"12345"))]);
    let put = client.transfers().put_file(&url, 5, file, |_| {}).await;
    let errors = [
        read.map(drop).unwrap_err(),
        probed.map(drop).unwrap_err(),
        put.map(drop).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("login page"), "{error}");
    }

    // A file that is a page, and one that its storage proves, are files.
    let page = client
        .transfers()
        .get_range(&signed(&server, "notes.HTML"), 0, None, None)
        .await;
    assert_eq!(bytes_of(page.unwrap()).await.unwrap(), PAGE.as_bytes());
    let server = FaultServer::start(move |_, _| {
        Reply::new(200, &[html[0], ("etag", "\"v1\"")], content(10))
    });
    let url = signed(&server, "chair.glb");
    let client = client_of(&server);
    let read = client.transfers().get_range(&url, 0, None, None).await;
    assert!(bytes_of(read.unwrap()).await.unwrap() == content(10));
}
