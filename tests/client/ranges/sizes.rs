//! The size of an object, found with one small request.

use assetfs::client::ClientError;

use super::{bytes_of, range_of};
use crate::fault_server::{FaultServer, Reply};
use crate::{client_of, content, signed};

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
        let server = FaultServer::start(move |seen, _| {
            assert_eq!(
                (seen.method.as_str(), seen.header("range")),
                ("GET", Some("bytes=0-0"))
            );
            reply.clone()
        });
        let meta = client_of(&server)
            .transfers()
            .probe(&signed(&server, "a"))
            .await
            .unwrap();
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
        let server = FaultServer::start(move |seen, _| match seen.range() {
            Some(_) => odd.clone(),
            None => Reply::new(200, &[], content(777)),
        });
        assert_eq!(
            client_of(&server)
                .transfers()
                .probe(&signed(&server, "a"))
                .await
                .unwrap()
                .size,
            Some(777)
        );
    }
}

#[tokio::test]
async fn a_416_without_a_length_is_followed_by_a_request_without_a_range() {
    let server = FaultServer::start(|seen, _| match seen.range() {
        Some(_) => Reply::status(416),
        None => Reply::new(200, &[], content(50)),
    });
    let client = client_of(&server);
    assert!(
        bytes_of(range_of(&client, &server, 50, 5).await.unwrap())
            .await
            .unwrap()
            .is_empty()
    );
    let bytes = bytes_of(range_of(&client, &server, 40, 5).await.unwrap())
        .await
        .unwrap();
    assert!(bytes == content(50)[40..45]);
}

#[tokio::test]
async fn a_size_in_a_reply_for_another_range_is_not_believed() {
    let other = Reply::new(206, &[("content-range", "bytes 7-9/10")], "xyz");
    let server = FaultServer::start(move |_, _| other.clone());
    let client = client_of(&server);
    let probed = client.transfers().probe(&signed(&server, "a")).await;
    let error = probed.unwrap_err();
    assert!(matches!(error, ClientError::Protocol { .. }), "{error:?}");
}
