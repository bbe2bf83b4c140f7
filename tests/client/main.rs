//! The client and a scripted server: which calls are repeated, where the token is sent, and that a transfer
//! returns exactly the bytes or an error.

mod bandwidth;
mod calls;
#[path = "../support/fault_server/mod.rs"]
mod fault_server;
mod listing;
mod ranges;
mod refusals;
mod safety;
mod sending;
mod service;
#[path = "../support/skip.rs"]
mod skip;

use std::time::Duration;

use assetfs::client::{Client, ClientConfig};
use assetfs::wire::{SignedUrl, Token};

use fault_server::FaultServer;

/// Settings with short timeouts.
fn quick_config(base_url: &str) -> ClientConfig {
    let mut config = ClientConfig::new(base_url).unwrap();
    config.token = Some(Token::parse("17|t0ken-s3cret").unwrap());
    config.deadlines.connect = Duration::from_secs(2);
    config.deadlines.stall = Duration::from_millis(400);
    config.deadlines.json_call = Duration::from_millis(900);
    config.deadlines.after_upload = Duration::from_millis(800);
    config.retries.first_pause = Duration::from_millis(2);
    config.retries.longest_pause = Duration::from_millis(10);
    config
}

fn client_of(server: &FaultServer) -> Client {
    Client::new(quick_config(&server.url())).unwrap()
}

/// A URL that looks signed; its secret is `s3cret`.
fn signed(server: &FaultServer, path: &str) -> SignedUrl {
    SignedUrl::new(format!("{}/{path}?X-Amz-Signature=s3cret", server.url()))
}

/// Messages and `Debug` output contain no secret.
fn assert_no_secret(text: &str) {
    assert!(!text.contains("s3cret"), "a secret is shown: {text}");
}

/// Bytes that differ by position.
fn content(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}

#[test]
fn calls_and_transfers_can_move_between_threads() {
    fn is_send(_: impl Send) {}
    let client = Client::new(quick_config("http://127.0.0.1:1")).unwrap();
    let url = SignedUrl::new("http://127.0.0.1:1/k");
    is_send(client.assets().get(
        assetfs::wire::AssetId(1),
        assetfs::client::Priority::Background,
    ));
    is_send(client.transfers().get_range(&url, 0, None, None));
    is_send(client.transfers().probe(&url));
    is_send(
        client
            .transfers()
            .put_file(&url, 0, futures_util::stream::empty, |_| {}),
    );
    is_send(
        client
            .assets()
            .all(None, assetfs::client::Priority::Background),
    );
}
