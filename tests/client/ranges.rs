//! Reading through signed URLs: exactly the bytes of one version, or an error.

use std::sync::Mutex;
use std::time::Duration;

use assetfs::client::{ClientError, RangeReply};
use futures_util::TryStreamExt;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::scripted::{Reply, ScriptedServer, Seen, serve_range};
use super::{client_of, content};

async fn bytes_of(reply: RangeReply) -> Result<Vec<u8>, ClientError> {
    let len = reply.len;
    let bytes = reply.stream.try_collect::<Vec<_>>().await?.concat();
    if let Some(len) = len {
        assert_eq!(bytes.len() as u64, len, "the length that was announced");
    }
    Ok(bytes)
}

#[tokio::test]
async fn a_range_is_exactly_what_was_asked_for_clipped_to_the_end() {
    let file = content(10_000);
    let served = file.clone();
    let server = ScriptedServer::start(move |seen, _| serve_range(seen, &served, "\"v1\"")).await;
    let client = client_of(&server);
    let url = server.signed("chair.bin");
    for (offset, len) in [
        (0, Some(1)),
        (0, None),
        (100, Some(4096)),
        (9_990, Some(4096)),
        (5000, None),
        (9999, Some(1)),
    ] {
        let reply = client
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
        let reply = client.get_range(&url, offset, len, None).await.unwrap();
        assert_eq!(
            (reply.meta.size, reply.len),
            (Some(10_000), Some(0)),
            "{offset} {len:?}"
        );
        assert!(bytes_of(reply).await.unwrap().is_empty());
    }
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.header("authorization").is_none())
    );
    let asked: Vec<_> = server
        .seen()
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
    let server = ScriptedServer::start(move |_, _| Reply::new(200, &[], served.clone())).await;
    let client = client_of(&server);
    let reply = client
        .get_range(&server.signed("a"), 123_456, Some(1000), None)
        .await
        .unwrap();
    assert!(!reply.partial);
    assert!(bytes_of(reply).await.unwrap() == file[123_456..124_456]);
    let reply = client
        .get_range(&server.signed("a"), 299_990, Some(1000), None)
        .await
        .unwrap();
    assert!(bytes_of(reply).await.unwrap() == file[299_990..]);
    let reply = client
        .get_range(&server.signed("a"), 400_000, Some(1000), None)
        .await
        .unwrap();
    assert!(bytes_of(reply).await.unwrap().is_empty());

    // The same without any length.
    let served = [b"186a0\r\n", &file[..100_000], b"\r\n0\r\n\r\n"].concat();
    let server = ScriptedServer::start(move |_, _| {
        Reply::new(200, &[("transfer-encoding", "chunked")], served.clone())
    })
    .await;
    let client = client_of(&server);
    let reply = client
        .get_range(&server.signed("a"), 99_000, Some(5000), None)
        .await
        .unwrap();
    assert_eq!((reply.meta.size, reply.len), (None, None));
    assert!(bytes_of(reply).await.unwrap() == file[99_000..100_000]);
}

#[tokio::test]
async fn a_break_a_stall_and_a_short_answer_are_repaired_where_the_version_is_known() {
    type Fault = fn(Reply) -> Reply;
    let faults: [(&str, Fault); 3] = [
        ("cut", |reply| reply.cut_after(3_000)),
        ("cut at once", |reply| reply.cut_after(0)),
        ("stall", |reply| reply.stall_after(3_000)),
    ];
    let file = content(50_000);
    for (name, fault) in faults {
        let served = file.clone();
        let server = ScriptedServer::start(move |seen, before| {
            let reply = serve_range(seen, &served, "\"v1\"");
            if before < 3 { fault(reply) } else { reply }
        })
        .await;
        let client = client_of(&server);
        let reply = client
            .get_range(&server.signed("a"), 10_000, Some(30_000), None)
            .await
            .unwrap();
        assert!(
            bytes_of(reply).await.unwrap() == file[10_000..40_000],
            "{name}"
        );
        assert_eq!(server.count(), 4, "{name}");
        assert_eq!(
            server.seen()[3].header("if-range"),
            Some("\"v1\""),
            "{name}"
        );
    }
    // A server that never sends more than 4,000 bytes at once.
    let served = file.clone();
    let server = ScriptedServer::start(move |seen, _| {
        let (first, last) = seen.range().unwrap();
        let last = last.unwrap().min(first + 3_999);
        let range = format!("bytes {first}-{last}/50000");
        Reply::new(
            206,
            &[("content-range", &range), ("etag", "\"v1\"")],
            &served[first..=last],
        )
    })
    .await;
    let reply = client_of(&server)
        .get_range(&server.signed("a"), 10_000, Some(30_000), None)
        .await
        .unwrap();
    assert!(bytes_of(reply).await.unwrap() == file[10_000..40_000]);
}

#[tokio::test]
async fn a_break_that_cannot_be_repaired_safely_is_an_error_and_never_the_end() {
    for etag in ["W/\"v1\"", ""] {
        let server = ScriptedServer::start(move |_, _| {
            let headers = [("content-range", "bytes 0-9999/10000"), ("etag", etag)];
            Reply::new(
                206,
                &headers[..if etag.is_empty() { 1 } else { 2 }],
                content(10_000),
            )
            .cut_after(3_000)
        })
        .await;
        let reply = client_of(&server)
            .get_range(&server.signed("a"), 0, Some(10_000), None)
            .await
            .unwrap();
        let error = bytes_of(reply).await.unwrap_err();
        assert!(
            matches!(
                error,
                ClientError::CutShort {
                    missing_bytes: 7_000,
                    ..
                }
            ),
            "{error:?}"
        );
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn two_versions_are_never_mixed() {
    let server = ScriptedServer::start(|seen, before| {
        let version = if before == 0 { "\"v1\"" } else { "\"v2\"" };
        let reply = serve_range(seen, &content(10_000), version);
        if before == 0 {
            reply.cut_after(3_000)
        } else {
            reply
        }
    })
    .await;
    let client = client_of(&server);
    let reply = client
        .get_range(&server.signed("a"), 0, Some(10_000), None)
        .await
        .unwrap();
    let error = bytes_of(reply).await.unwrap_err();
    assert!(matches!(error, ClientError::Changed { .. }), "{error:?}");
    let error = client
        .get_range(&server.signed("a"), 0, Some(10), Some("\"v1\""))
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Changed { .. }), "{error:?}");
    assert!(
        client
            .get_range(&server.signed("a"), 0, Some(10), Some("W/\"v2\""))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn an_answer_for_another_range_or_with_too_many_bytes_is_refused() {
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
        let server =
            ScriptedServer::start(move |_, _| Reply::new(206, &headers, content(len))).await;
        let error = client_of(&server)
            .get_range(&server.signed("a"), 10, Some(10), None)
            .await
            .unwrap_err();
        assert!(
            matches!(error, ClientError::Protocol { .. }),
            "{name}: {error:?}"
        );
    }
    // Chunked, so that only the stream can tell.
    let server = ScriptedServer::start(|_, _| {
        let headers = [
            ("content-range", "bytes 0-9/100"),
            ("transfer-encoding", "chunked"),
        ];
        Reply::new(206, &headers, "b\r\n01234567890\r\n0\r\n\r\n")
    })
    .await;
    let reply = client_of(&server)
        .get_range(&server.signed("a"), 0, Some(10), None)
        .await
        .unwrap();
    assert!(matches!(
        bytes_of(reply).await,
        Err(ClientError::Protocol { .. })
    ));
    let server = ScriptedServer::start(|_, _| {
        let headers = [
            ("content-range", "bytes 0-9/100"),
            ("transfer-encoding", "chunked"),
        ];
        Reply::new(206, &headers, "a\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n").after(Duration::ZERO)
    })
    .await;
    let reply = client_of(&server)
        .get_range(&server.signed("a"), 0, Some(10), None)
        .await
        .unwrap();
    assert!(matches!(
        bytes_of(reply).await,
        Err(ClientError::Protocol { .. })
    ));
}

#[tokio::test]
async fn the_size_is_found_with_one_small_request() {
    let dated = ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT");
    let cases: [(&str, Reply, u64, usize); 6] = [
        (
            "206",
            Reply::new(206, &[("content-range", "bytes 0-0/123456"), dated], "x"),
            123_456,
            1,
        ),
        ("200", Reply::new(200, &[dated], content(4321)), 4321, 1),
        (
            "empty by 416",
            Reply::new(416, &[("content-range", "bytes */0")], ""),
            0,
            1,
        ),
        ("empty by 200", Reply::new(200, &[], ""), 0, 1),
        ("empty by 204", Reply::status(204), 0, 1),
        (
            "chunked",
            Reply::new(
                200,
                &[("transfer-encoding", "chunked")],
                "5\r\n01234\r\n0\r\n\r\n",
            ),
            5,
            1,
        ),
    ];
    for (name, reply, size, requests) in cases {
        let server = ScriptedServer::start(move |seen, _| {
            assert_eq!(
                (seen.method.as_str(), seen.header("range")),
                ("GET", Some("bytes=0-0"))
            );
            reply.clone()
        })
        .await;
        let meta = client_of(&server).probe(&server.signed("a")).await.unwrap();
        assert_eq!(meta.size, Some(size), "{name}");
        assert_eq!(server.count(), requests, "{name}");
        if name == "206" {
            assert_eq!(meta.last_modified.unwrap().plain(), "1994-11-06 08:49:37");
        }
    }
    for odd in [
        Reply::new(206, &[("content-range", "bytes 0-0/*")], "x"),
        Reply::status(416),
    ] {
        let server = ScriptedServer::start(move |seen, _| match seen.range() {
            Some(_) => odd.clone(),
            None => Reply::new(200, &[], content(777)),
        })
        .await;
        assert_eq!(
            client_of(&server)
                .probe(&server.signed("a"))
                .await
                .unwrap()
                .size,
            Some(777)
        );
    }
}

#[tokio::test]
async fn a_416_without_a_length_is_asked_again_without_a_range() {
    let server = ScriptedServer::start(|seen, _| match seen.range() {
        Some(_) => Reply::status(416),
        None => Reply::new(200, &[], content(50)),
    })
    .await;
    let client = client_of(&server);
    assert!(
        bytes_of(
            client
                .get_range(&server.signed("a"), 50, Some(5), None)
                .await
                .unwrap()
        )
        .await
        .unwrap()
        .is_empty()
    );
    let bytes = bytes_of(
        client
            .get_range(&server.signed("a"), 40, Some(5), None)
            .await
            .unwrap(),
    )
    .await
    .unwrap();
    assert!(bytes == content(50)[40..45]);
}

#[tokio::test]
async fn probes_and_ranges_are_asked_again_after_an_error() {
    let server = ScriptedServer::start(|seen, before| match before % 3 {
        0 => Reply::status(503),
        1 => Reply::hang_up(),
        _ => serve_range(seen, &content(100), "\"v1\""),
    })
    .await;
    let client = client_of(&server);
    assert_eq!(
        client.probe(&server.signed("a")).await.unwrap().size,
        Some(100)
    );
    let reply = client
        .get_range(&server.signed("a"), 10, Some(10), None)
        .await
        .unwrap();
    assert!(bytes_of(reply).await.unwrap() == content(100)[10..20]);
    assert_eq!(server.count(), 6);
}

#[tokio::test]
async fn parallel_ranges_use_parallel_connections_and_later_ones_use_them_again() {
    let server = ScriptedServer::start(|seen, _| {
        serve_range(seen, &content(100_000), "\"v1\"").after(Duration::from_millis(50))
    })
    .await;
    let client = client_of(&server);
    let url = server.signed("a");
    for _ in 0..3 {
        let reads = (0..8).map(|i| {
            let (client, url) = (client.clone(), url.clone());
            async move {
                bytes_of(
                    client
                        .get_range(&url, i * 10_000, Some(10_000), None)
                        .await
                        .unwrap(),
                )
                .await
            }
        });
        for (i, read) in futures_util::future::join_all(reads)
            .await
            .into_iter()
            .enumerate()
        {
            assert!(read.unwrap() == content(100_000)[i * 10_000..(i + 1) * 10_000]);
        }
    }
    let connections: std::collections::BTreeSet<usize> =
        server.seen().iter().map(|seen| seen.connection).collect();
    assert!(
        (5..=16).contains(&connections.len()),
        "{} connections for 24 requests",
        connections.len()
    );
}

/// What a flaky server does with one request, chosen by a seed.
fn flaky(seen: &Seen, file: &[u8], rng: &mut SmallRng) -> Reply {
    let good = serve_range(seen, file, "\"v1\"");
    match rng.random_range(0..10) {
        0 => Reply::hang_up(),
        1 => Reply::status(503),
        2 => good.cut_after(rng.random_range(0..5000)),
        3 => Reply::new(200, &[("etag", "\"v1\"")], file),
        4 => {
            Reply::new(200, &[("etag", "\"v1\"")], file).cut_after(rng.random_range(0..file.len()))
        }
        5 => Reply::new(429, &[("retry-after", "0")], ""),
        _ => good,
    }
}

#[tokio::test]
async fn whatever_a_flaky_server_does_the_bytes_are_right_or_there_is_an_error() {
    let file = content(60_000);
    for seed in 0..4 {
        let served = file.clone();
        let server_rng = Mutex::new(SmallRng::seed_from_u64(seed));
        let server = ScriptedServer::start(move |seen, _| {
            flaky(seen, &served, &mut server_rng.lock().unwrap())
        })
        .await;
        let client = client_of(&server);
        let url = server.signed("a");
        let mut rng = SmallRng::seed_from_u64(seed + 1000);
        let mut good = 0;
        for _ in 0..150 {
            let offset = rng.random_range(0..file.len() as u64);
            let len = rng.random_range(1..20_000);
            let end = (offset + len).min(file.len() as u64);
            let Ok(reply) = client
                .get_range(&url, offset, Some(len), Some("\"v1\""))
                .await
            else {
                continue;
            };
            if let Ok(bytes) = bytes_of(reply).await {
                assert!(
                    bytes == file[offset as usize..end as usize],
                    "seed {seed}: {offset} {len}"
                );
                good += 1;
            }
        }
        assert!(good > 140, "seed {seed}: only {good} reads of 150 worked");
    }
}
