//! The requested range and no other, of one version.

use std::time::Duration;

use assetfs::client::ClientError;

use super::{bytes_of, range_of};
use crate::fault_server::{FaultServer, Reply, range_reply};
use crate::{client_of, content, signed};

#[tokio::test]
async fn a_range_is_exactly_as_requested_and_clipped_to_the_end() {
    let file = content(10_000);
    let served = file.clone();
    let server =
        FaultServer::start(move |seen, _| range_reply(seen.range(), &served, Some("\"v1\"")));
    let client = client_of(&server);
    let url = signed(&server, "chair.bin");
    for (offset, len) in [
        (0, Some(1)),
        (0, None),
        (100, Some(4096)),
        (9_990, Some(4096)),
        (5000, None),
        (9999, Some(1)),
    ] {
        let reply = client
            .transfers()
            .get_range(&url, offset, len, Some("\"v1\""))
            .await
            .unwrap();
        assert_eq!(reply.meta.size, Some(10_000));
        let end = len.map_or(10_000, |len: u64| (offset + len).min(10_000));
        assert!(
            bytes_of(reply).await.unwrap() == file[offset as usize..end as usize],
            "{offset} {len:?}"
        );
    }
    for (offset, len) in [
        (10_000, Some(1)),
        (20_000, None),
        (50, Some(0)),
        (u64::MAX, Some(u64::MAX)),
    ] {
        let reply = client
            .transfers()
            .get_range(&url, offset, len, None)
            .await
            .unwrap();
        assert_eq!(
            (reply.meta.size, reply.len),
            (Some(10_000), Some(0)),
            "{offset} {len:?}"
        );
        assert!(bytes_of(reply).await.unwrap().is_empty());
    }
    assert!(
        server
            .asked()
            .iter()
            .all(|seen| seen.header("authorization").is_none())
    );
    let asked: Vec<_> = server
        .asked()
        .iter()
        .filter_map(|seen| seen.header("range").map(str::to_owned))
        .collect();
    assert!(
        asked.contains(&"bytes=100-4195".to_owned()) && asked.contains(&"bytes=5000-".to_owned()),
        "{asked:?}"
    );
}

#[tokio::test]
async fn a_server_that_ignores_ranges_still_works() {
    let file = content(300_000);
    let served = file.clone();
    let server = FaultServer::start(move |_, _| Reply::new(200, &[], served.clone()));
    let client = client_of(&server);
    let reply = range_of(&client, &server, 123_456, 1000).await.unwrap();
    assert!(!reply.partial);
    assert!(bytes_of(reply).await.unwrap() == file[123_456..124_456]);
    let reply = range_of(&client, &server, 299_990, 1000).await.unwrap();
    assert!(bytes_of(reply).await.unwrap() == file[299_990..]);
    let reply = range_of(&client, &server, 400_000, 1000).await.unwrap();
    assert!(bytes_of(reply).await.unwrap().is_empty());

    // The same without a length.
    let served = [b"186a0\r\n", &file[..100_000], b"\r\n0\r\n\r\n"].concat();
    let server = FaultServer::start(move |_, _| {
        Reply::new(200, &[("transfer-encoding", "chunked")], served.clone())
    });
    let client = client_of(&server);
    let reply = range_of(&client, &server, 99_000, 5000).await.unwrap();
    assert_eq!((reply.meta.size, reply.len), (None, None));
    assert!(bytes_of(reply).await.unwrap() == file[99_000..100_000]);
}

#[tokio::test]
async fn two_versions_are_never_mixed() {
    let server = FaultServer::start(|seen, before| {
        let version = if before == 0 { "\"v1\"" } else { "\"v2\"" };
        let reply = range_reply(seen.range(), &content(10_000), Some(version));
        if before == 0 {
            reply.cut_after(3_000)
        } else {
            reply
        }
    });
    let client = client_of(&server);
    let reply = range_of(&client, &server, 0, 10_000).await.unwrap();
    let error = bytes_of(reply).await.unwrap_err();
    assert!(matches!(error, ClientError::Changed { .. }), "{error:?}");
    let error = client
        .transfers()
        .get_range(&signed(&server, "a"), 0, Some(10), Some("\"v1\""))
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Changed { .. }), "{error:?}");
    assert!(
        client
            .transfers()
            .get_range(&signed(&server, "a"), 0, Some(10), Some("W/\"v2\""))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_reply_for_another_range_or_with_too_many_bytes_is_an_error() {
    type Headers = Vec<(&'static str, &'static str)>;
    let bad: [(&str, Headers, usize); 6] = [
        (
            "another start",
            vec![("content-range", "bytes 5-14/100")],
            10,
        ),
        ("too far", vec![("content-range", "bytes 10-29/100")], 20),
        ("no range", vec![], 10),
        ("nonsense", vec![("content-range", "bytes x")], 10),
        (
            "another length",
            vec![("content-range", "bytes 10-19/100")],
            9,
        ),
        (
            "another total",
            vec![("content-range", "bytes 10-19/15")],
            10,
        ),
    ];
    for (name, headers, len) in bad {
        let server = FaultServer::start(move |_, _| Reply::new(206, &headers, content(len)));
        let error = range_of(&client_of(&server), &server, 10, 10)
            .await
            .unwrap_err();
        assert!(
            matches!(error, ClientError::Protocol { .. }),
            "{name}: {error:?}"
        );
    }
    // Chunked, so only the stream shows it.
    let server = FaultServer::start(|_, _| {
        let headers = [
            ("content-range", "bytes 0-9/100"),
            ("transfer-encoding", "chunked"),
        ];
        Reply::new(206, &headers, "b\r\n01234567890\r\n0\r\n\r\n")
    });
    let reply = range_of(&client_of(&server), &server, 0, 10).await.unwrap();
    assert!(matches!(
        bytes_of(reply).await,
        Err(ClientError::Protocol { .. })
    ));
    let server = FaultServer::start(|_, _| {
        let headers = [
            ("content-range", "bytes 0-9/100"),
            ("transfer-encoding", "chunked"),
        ];
        Reply::new(206, &headers, "a\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n").after(Duration::ZERO)
    });
    let reply = range_of(&client_of(&server), &server, 0, 10).await.unwrap();
    assert!(matches!(
        bytes_of(reply).await,
        Err(ClientError::Protocol { .. })
    ));
}
