//! Sending files to signed URLs: the whole file, or an error that distinguishes local and remote causes.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assetfs::client::{Client, ClientError, PutReply};
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::{client_of, content, quick_config, signed};
use crate::fault_server::{FaultServer, Reply};

fn in_chunks(
    content: &[u8],
    chunk: usize,
) -> impl futures_util::Stream<Item = io::Result<Bytes>> + use<> {
    let chunks: Vec<_> = content
        .chunks(chunk)
        .map(|chunk| Ok(Bytes::copy_from_slice(chunk)))
        .collect();
    stream::iter(chunks)
}

/// Sends a file in small pieces.
async fn send(server: &FaultServer, file: &[u8]) -> Result<PutReply, ClientError> {
    let (client, url) = (client_of(server), signed(server, "a"));
    let transfers = client.transfers();
    let open = || in_chunks(file, 100);
    transfers
        .put_file(&url, file.len() as u64, open, |_| {})
        .await
}

#[tokio::test]
async fn a_file_is_sent_raw_with_its_length_and_without_the_token() {
    let server = FaultServer::start(|_, _| {
        Reply::new(200, &[("etag", "\"9e107d9d372bb6826bd81d3542a419d6\"")], "")
    });
    let file = content(5 * 1024 * 1024 + 17);
    let seen_progress: Arc<Mutex<Vec<u64>>> = Arc::default();
    let progress = seen_progress.clone();
    let reply = client_of(&server)
        .transfers()
        .put_file(
            &signed(&server, "chair.bin"),
            file.len() as u64,
            || in_chunks(&file, 256 * 1024),
            move |sent| {
                progress.lock().unwrap().push(sent);
            },
        )
        .await
        .unwrap();
    assert_eq!(
        reply.meta.md5_hex().as_deref(),
        Some("9e107d9d372bb6826bd81d3542a419d6")
    );
    assert_eq!(reply.meta.size, Some(file.len() as u64));
    let seen = server.asked();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].method, "PUT");
    assert_eq!(seen[0].target, "/chair.bin?X-Amz-Signature=s3cret");
    assert_eq!(
        seen[0].header("content-length"),
        Some(file.len().to_string().as_str())
    );
    assert_eq!(seen[0].header("transfer-encoding"), None);
    assert_eq!(seen[0].header("authorization"), None);
    assert_eq!(seen[0].header("content-type"), None);
    assert!(seen[0].body == file);
    let progress = seen_progress.lock().unwrap();
    assert!(progress.is_sorted() && progress.last() == Some(&(file.len() as u64)));
}

#[tokio::test]
async fn an_empty_file_is_sent_with_length_zero() {
    let server = FaultServer::start(|_, _| Reply::status(200));
    client_of(&server)
        .transfers()
        .put_file(&signed(&server, "empty"), 0, || in_chunks(&[], 1), |_| {})
        .await
        .unwrap();
    assert_eq!(server.asked()[0].header("content-length"), Some("0"));
    assert_eq!(server.asked()[0].header("transfer-encoding"), None);
}

#[tokio::test]
async fn after_a_disconnect_the_whole_file_is_sent_again() {
    let server = FaultServer::start(|seen, _| {
        if seen.whole {
            Reply::status(200)
        } else {
            Reply::hang_up()
        }
    });
    let file = content(8 * 1024 * 1024);
    let opened = AtomicUsize::new(0);
    let url = signed(&server, "chair.bin");
    let url = assetfs::wire::SignedUrl::new(format!("{}&break-at=1000000", url.expose()));
    let open = || {
        opened.fetch_add(1, Ordering::Relaxed);
        in_chunks(&file, 64 * 1024)
    };
    client_of(&server)
        .transfers()
        .put_file(&url, file.len() as u64, open, |_| {})
        .await
        .unwrap();
    let seen = server.asked();
    assert_eq!((seen.len(), opened.load(Ordering::Relaxed)), (2, 2));
    assert!(!seen[0].whole && seen[1].body == file);
}

#[tokio::test]
async fn a_file_that_the_storage_does_not_take_is_sent_once_and_the_caller_decides_when_again() {
    let file = content(1000);
    let replies = [
        Reply::status(500),
        Reply::status(501),
        Reply::new(503, &[("retry-after", "30")], ""),
        Reply::status(507),
    ];
    for reply in replies {
        let server = FaultServer::start(move |_, _| reply.clone());
        let error = send(&server, &file).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        assert_eq!(server.count(), 1, "{error}");
    }
}

#[tokio::test]
async fn a_file_is_sent_twice_over_connections_that_break() {
    let server = FaultServer::start(|_, _| Reply::hang_up());
    let file = content(1000);
    let error = send(&server, &file).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn a_refused_url_counts_as_expired_at_once() {
    let file = content(1000);
    for status in [401, 403] {
        let server = FaultServer::start(move |_, _| Reply::status(status));
        let client = client_of(&server);
        let url = signed(&server, "a");
        let error = client
            .transfers()
            .put_file(&url, 1000, || in_chunks(&file, 100), |_| {})
            .await
            .unwrap_err();
        assert!(matches!(error, ClientError::Expired { .. }), "{error}");
        let error = client
            .transfers()
            .get_range(&url, 0, Some(10), None)
            .await
            .unwrap_err();
        assert!(matches!(error, ClientError::Expired { .. }), "{error}");
        let error = client.transfers().probe(&url).await.unwrap_err();
        assert!(matches!(error, ClientError::Expired { .. }), "{error}");
        assert_eq!(server.count(), 3);
    }
    let body =
        "<Error><Code>RequestTimeTooSkewed</Code><Message>The clocks differ</Message></Error>";
    let server = FaultServer::start(move |_, _| Reply::new(403, &[], body));
    let error = client_of(&server)
        .transfers()
        .probe(&signed(&server, "a"))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ClientError::Forbidden { message } if message == "The clocks differ"),
        "{error}"
    );
}

#[tokio::test]
async fn a_changed_or_unreadable_file_fails_with_that_reason_and_is_not_sent_again() {
    let server = FaultServer::start(|seen, _| {
        if seen.whole {
            Reply::status(200)
        } else {
            Reply::hang_up()
        }
    });
    let client = client_of(&server);
    let url = signed(&server, "a");
    let file = content(100_000);
    for announced in [99_999, 100_001, 0] {
        let error = client
            .transfers()
            .put_file(&url, announced, || in_chunks(&file, 1000), |_| {})
            .await
            .unwrap_err();
        assert!(
            matches!(error, ClientError::LocalChanged { .. }),
            "{announced}: {error:?}"
        );
    }
    let broken = || {
        stream::iter([
            Ok(Bytes::from_static(b"x")),
            Err(io::Error::other("bad sector")),
        ])
    };
    let error = client
        .transfers()
        .put_file(&url, 10, broken, |_| {})
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ClientError::LocalRead(cause) if cause.to_string() == "bad sector"),
        "{error:?}"
    );
    assert!(server.count() <= 4);
    assert!(
        server.asked().iter().all(|seen| !seen.whole),
        "storage accepted a file of another length"
    );
}

#[tokio::test]
async fn a_server_that_does_not_read_causes_a_timeout_and_bounded_memory_use() {
    // Connections stay in the backlog; nothing is read.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let client = Client::new(quick_config(&base_url)).unwrap();
    let url = assetfs::wire::SignedUrl::new(format!("{base_url}/a?sig=s3cret"));
    let pulled = Arc::new(AtomicU64::new(0));
    let chunk = Bytes::from(vec![7; 256 * 1024]);
    let len = 4096 * chunk.len() as u64;
    let open = || {
        let (pulled, chunk) = (pulled.clone(), chunk.clone());
        pulled.store(0, Ordering::Relaxed);
        stream::iter(0..4096).map(move |_| {
            pulled.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            Ok(chunk.clone())
        })
    };
    let begun = std::time::Instant::now();
    let error = client
        .transfers()
        .put_file(&url, len, open, |_| {})
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Timeout { .. }), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    let pulled = pulled.load(Ordering::Relaxed);
    assert!(
        pulled < 32 * 1024 * 1024,
        "{pulled} bytes were read before they could be sent"
    );
}

#[tokio::test]
async fn sending_follows_a_redirect_that_keeps_the_method() {
    let server = FaultServer::start(|seen, _| match seen.target.as_str() {
        "/moved" => Reply::status(200),
        _ => Reply::new(307, &[("location", "/moved")], ""),
    });
    let file = content(1000);
    send(&server, &file).await.unwrap();
    assert!(server.asked()[1].body == file);
}

#[tokio::test]
async fn a_redirect_that_asks_for_another_method_or_names_no_target_is_refused_with_its_reason() {
    let file = content(1000);
    for (status, target, reason) in [
        (302, Some("/moved"), "302 Found"),
        (303, Some("/moved"), "303 See Other"),
        (307, None, "without a valid target"),
    ] {
        let headers: Vec<_> = target
            .map(|target| ("location", target))
            .into_iter()
            .collect();
        let server = FaultServer::start(move |_, _| Reply::new(status, &headers, ""));
        let error = send(&server, &file).await.unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        let says_no_target = error.to_string().contains("without a valid target");
        assert_eq!(says_no_target, target.is_none(), "{error}");
        assert_eq!(server.count(), 1);
    }
}
