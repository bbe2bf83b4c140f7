//! The number of connections that ranges use.

use std::time::Duration;

use super::bytes_of;
use crate::fault_server::{FaultServer, range_reply};
use crate::{client_of, content, signed};

#[tokio::test]
async fn parallel_ranges_use_parallel_connections_and_later_ones_reuse_them() {
    let server = FaultServer::start(|seen, _| {
        range_reply(seen.range(), &content(100_000), Some("\"v1\""))
            .after(Duration::from_millis(50))
    });
    let client = client_of(&server);
    let url = signed(&server, "a");
    for _ in 0..3 {
        let reads = (0..8).map(|i| {
            let (client, url) = (client.clone(), url.clone());
            async move {
                bytes_of(
                    client
                        .transfers()
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
        server.asked().iter().map(|seen| seen.connection).collect();
    assert!(
        (5..=16).contains(&connections.len()),
        "{} connections for 24 requests",
        connections.len()
    );
}
