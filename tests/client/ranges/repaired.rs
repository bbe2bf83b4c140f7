//! Replies that are truncated, stall or fail: resumed if that is safe, else an error.

use std::sync::Mutex;

use assetfs::client::ClientError;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::{bytes_of, range_of};
use crate::fault_server::{Asked, FaultServer, Reply, range_reply};
use crate::{client_of, content, signed};

#[tokio::test]
async fn a_disconnect_a_stall_and_a_short_reply_are_resumed_if_the_version_is_known() {
    type Fault = fn(Reply) -> Reply;
    let faults: [(&str, Fault); 3] = [
        ("cut", |reply| reply.cut_after(3_000)),
        ("cut at once", |reply| reply.cut_after(0)),
        ("stall", |reply| reply.stall_after(3_000)),
    ];
    let file = content(50_000);
    for (name, fault) in faults {
        let served = file.clone();
        let server = FaultServer::start(move |seen, before| {
            let reply = range_reply(seen.range(), &served, Some("\"v1\""));
            if before < 3 { fault(reply) } else { reply }
        });
        let client = client_of(&server);
        let reply = range_of(&client, &server, 10_000, 30_000).await.unwrap();
        assert!(
            bytes_of(reply).await.unwrap() == file[10_000..40_000],
            "{name}"
        );
        assert_eq!(server.count(), 4, "{name}");
        assert_eq!(
            server.asked()[3].header("if-range"),
            Some("\"v1\""),
            "{name}"
        );
    }
    // A server that never sends more than 4,000 bytes per reply.
    let served = file.clone();
    let server = FaultServer::start(move |seen, _| {
        let (first, last) = seen.range().unwrap();
        let last = last.unwrap().min(first + 3_999);
        let range = format!("bytes {first}-{last}/50000");
        Reply::new(
            206,
            &[("content-range", &range), ("etag", "\"v1\"")],
            &served[first..=last],
        )
    });
    let reply = range_of(&client_of(&server), &server, 10_000, 30_000)
        .await
        .unwrap();
    assert!(bytes_of(reply).await.unwrap() == file[10_000..40_000]);
}

#[tokio::test]
async fn a_disconnect_that_cannot_be_resumed_safely_is_an_error_and_not_the_end() {
    for etag in ["W/\"v1\"", ""] {
        let server = FaultServer::start(move |_, _| {
            let headers = [("content-range", "bytes 0-9999/10000"), ("etag", etag)];
            Reply::new(
                206,
                &headers[..if etag.is_empty() { 1 } else { 2 }],
                content(10_000),
            )
            .cut_after(3_000)
        });
        let reply = range_of(&client_of(&server), &server, 0, 10_000)
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
async fn probes_and_ranges_are_repeated_after_an_error() {
    let server = FaultServer::start(|seen, before| match before % 3 {
        0 => Reply::status(503),
        1 => Reply::hang_up(),
        _ => range_reply(seen.range(), &content(100), Some("\"v1\"")),
    });
    let client = client_of(&server);
    assert_eq!(
        client
            .transfers()
            .probe(&signed(&server, "a"))
            .await
            .unwrap()
            .size,
        Some(100)
    );
    let reply = range_of(&client, &server, 10, 10).await.unwrap();
    assert!(bytes_of(reply).await.unwrap() == content(100)[10..20]);
    assert_eq!(server.count(), 6);
}

/// The reply of a flaky server to one request, chosen at random.
fn flaky(seen: &Asked, file: &[u8], rng: &mut SmallRng) -> Reply {
    let good = range_reply(seen.range(), file, Some("\"v1\""));
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
async fn a_flaky_server_causes_right_bytes_or_an_error() {
    let file = content(60_000);
    for seed in 0..4 {
        let served = file.clone();
        let server_rng = Mutex::new(SmallRng::seed_from_u64(seed));
        let server = FaultServer::start(move |seen, _| {
            flaky(seen, &served, &mut server_rng.lock().unwrap())
        });
        let client = client_of(&server);
        let url = signed(&server, "a");
        let mut rng = SmallRng::seed_from_u64(seed + 1000);
        let mut good = 0;
        for _ in 0..150 {
            let offset = rng.random_range(0..file.len() as u64);
            let len = rng.random_range(1..20_000);
            let end = (offset + len).min(file.len() as u64);
            let Ok(reply) = client
                .transfers()
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
        assert!(
            good > 140,
            "seed {seed}: only {good} reads of 150 succeeded"
        );
    }
}
