//! Bandwidth limits: transfers keep them, and stay whole and correct.

use std::io;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use assetfs::client::Client;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::{content, quick_config, signed};
use crate::fault_server::{FaultServer, Reply, range_reply};

const LIMIT: u64 = 1 << 20;
const LEN: usize = 1 << 20;

fn limited(server: &FaultServer) -> Client {
    let mut config = quick_config(&server.url());
    config.limit_up = NonZeroU64::new(LIMIT);
    config.limit_down = NonZeroU64::new(LIMIT);
    Client::new(config).unwrap()
}

/// Without the quarter of a second that an idle limit saves up.
fn assert_limited(start: Instant, bytes: usize) {
    let least = Duration::from_secs_f64(bytes as f64 / LIMIT as f64 - 0.3);
    assert!(start.elapsed() >= least, "{:?}", start.elapsed());
}

#[tokio::test]
async fn uploads_together_keep_the_limit_and_arrive_whole() {
    let server = FaultServer::start(|_, _| Reply::status(200));
    let client = limited(&server);
    let file = content(LEN);
    let open = || stream::iter([Ok::<_, io::Error>(Bytes::copy_from_slice(&file))]);
    let (one, other) = (signed(&server, "a"), signed(&server, "b"));
    let put = |url| client.transfers().put_file(url, LEN as u64, open, |_| {});
    let start = Instant::now();
    let (first, second) = tokio::join!(put(&one), put(&other));
    assert!(first.is_ok() && second.is_ok());
    assert_limited(start, 2 * LEN);
    assert!(server.asked().iter().all(|asked| asked.body == file));
    assert_eq!(server.asked().len(), 2, "nothing was sent twice");
}

#[tokio::test]
async fn downloads_keep_the_limit_and_are_whole() {
    let file = content(LEN);
    let served = file.clone();
    let server =
        FaultServer::start(move |seen, _| range_reply(seen.range(), &served, Some("\"1\"")));
    let client = limited(&server);
    let start = Instant::now();
    let url = signed(&server, "a");
    let reply = client.transfers().get_range(&url, 0, None, None).await;
    let pieces: Vec<_> = reply.unwrap().stream.map(Result::unwrap).collect().await;
    assert!(pieces.concat() == file);
    assert_limited(start, LEN);
}
