//! How a listener closes without an error for a client that is just connecting.
//!
//! When a listening socket is closed, Linux resets the connections that nobody has accepted yet, although their clients
//! may have sent a request already. So a listener first ignores packets that begin a connection (SYN without ACK, see
//! RFC 9293, section 3.5), then accepts those whose handshake is under way, and is closed after that. A client whose
//! packet was ignored sends it again after a second and is refused then, before it has sent a request.

use std::time::Duration;

use socket2::{SockFilter, SockRef};
use tokio::net::TcpListener;

/// How long the clients that have begun to connect may take, a round trip of the network.
pub const HANDSHAKE_TIME: Duration = Duration::from_millis(100);

/// Makes the kernel ignore packets that begin a connection. If it cannot, clients that connect while the listener is
/// closed may see a reset.
pub fn ignore_new_clients(listener: &TcpListener) {
    if let Err(error) = filter_out_new_clients(listener) {
        tracing::debug!(%error, "new connections cannot be ignored while the listener is closed");
    }
}

/// Some kernels let only root attach a filter.
fn filter_out_new_clients(listener: &TcpListener) -> std::io::Result<()> {
    SockRef::from(listener).attach_filter(&without_new_clients())
}

/// A program of the classic Berkeley packet filter, which sees a packet from its TCP header on.
fn without_new_clients() -> [SockFilter; 5] {
    // The values are those of <linux/bpf_common.h>.
    const LOAD_BYTE: u16 = 0x30;
    const AND: u16 = 0x54;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const FLAGS_AT: u32 = 13;
    const SYN: u32 = 0x02;
    const ACK: u32 = 0x10;
    const WHOLE_PACKET: u32 = u32::MAX;
    [
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS_AT),
        SockFilter::new(AND, 0, 0, SYN | ACK),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, WHOLE_PACKET),
    ]
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    #[expect(clippy::print_stderr, reason = "what is skipped is said loudly")]
    async fn clients_that_are_connected_are_accepted_and_new_ones_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut early = TcpStream::connect(addr).await.unwrap();
        early.write_all(b"hello").await.unwrap();
        if let Err(error) = filter_out_new_clients(&listener) {
            assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
            eprintln!("SKIPPED clients_that_are_connected_are_accepted_and_new_ones_wait: {error}");
            return;
        }
        let late = tokio::spawn(TcpStream::connect(addr));
        let (mut accepted, _) = listener.accept().await.unwrap();
        let mut text = [0; 5];
        accepted.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"hello");
        let second = tokio::time::timeout(HANDSHAKE_TIME, listener.accept()).await;
        assert!(second.is_err(), "the late client is not connected");
        drop(listener);
        let refused = late.await.unwrap().unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    }
}
