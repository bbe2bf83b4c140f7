//! HTTP connections, a bounded number of them: what everything that listens here has in common.
//!
//! A [`Listener`] accepts connections; [`Connections`] decides which are served. A connection is closed when
//! no request arrives in time, or when the client neither sends nor reads although the server waits for it.
//! When the limit is reached, one connection is closed for a new one: first the oldest that
//! has never sent a request, then the one that has been idle longest between requests, then one whose client
//! has stalled. One peer address never takes all connections.
//!
//! There is no limit of time for a request body while bytes keep arriving. The service that is passed in
//! handles the requests.

mod activity;
mod places;
mod serve;
mod stream;

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use places::Connections;
pub use serve::{RequestBody, Service};

/// How long requests under way may take after the order to stop.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// Pause after a failed `accept`.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How many connections there may be, and how long each may keep its place without a use for it.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Connections that are served at the same time.
    pub total: usize,
    /// Of these, how many one peer address may have (an IPv6 network of 64 bits counts as one address).
    pub per_peer: usize,
    /// How long a client may take to send the head of a request, counted from the opening of the
    /// connection for the first one and from its first byte for the others.
    pub head: Duration,
    /// How long a connection may idle between two requests.
    pub idle: Duration,
    /// How long the service waits for a client to send or to read 256 bytes of a body.
    pub stall: Duration,
    /// How long a connection waits for a place when no other can make room.
    pub queue: Duration,
}

impl ConnectionLimits {
    /// Limits for `total` connections; one peer address may have three quarters of them.
    pub fn new(total: usize) -> ConnectionLimits {
        ConnectionLimits {
            total,
            per_peer: (total - total / 4).max(1),
            head: Duration::from_secs(30),
            idle: Duration::from_secs(75),
            stall: Duration::from_secs(75),
            queue: Duration::from_secs(10),
        }
    }

    /// A client that was waited for so long without progress may lose its place to another.
    fn stalled(&self) -> Duration {
        self.stall / 15
    }
}

/// The address of a client, as limits count it: IPv4 addresses one by one, IPv6 addresses by their
/// network of 64 bits. Every request carries it as an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Peer(IpAddr);

impl Peer {
    /// The peer at `addr`.
    pub fn of(addr: IpAddr) -> Peer {
        match addr.to_canonical() {
            IpAddr::V6(addr) => {
                let network = addr.to_bits() >> 64 << 64;
                Peer(IpAddr::V6(Ipv6Addr::from_bits(network)))
            }
            v4 => Peer(v4),
        }
    }
}

/// A listener that is bound.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    addr: SocketAddr,
}

impl Listener {
    /// Binds an address; port 0 takes a free one.
    ///
    /// # Errors
    /// When the address is taken or not ours.
    pub async fn bind(addr: SocketAddr) -> io::Result<Listener> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        Ok(Listener { listener, addr })
    }

    /// The address, with the port that was chosen.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The next connection. A failure to accept (too many open files, most likely) is logged and tried
    /// again. Safe to cancel.
    pub async fn accept(&self) -> (TcpStream, Peer) {
        loop {
            match self.listener.accept().await {
                Ok((stream, addr)) => {
                    // Without it answers come a little later.
                    let _ = stream.set_nodelay(true);
                    return (stream, Peer::of(addr.ip()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Accepts and serves until `stop`, then gives the requests under way a last moment.
    pub async fn serve<S: Service>(
        self,
        service: S,
        connections: Connections,
        stop: CancellationToken,
    ) {
        let mut tasks = JoinSet::new();
        loop {
            let (stream, peer) = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.accept() => accepted,
            };
            while tasks.try_join_next().is_some() {}
            let (connections, service) = (connections.clone(), service.clone());
            let stop = stop.clone();
            tasks.spawn(async move { connections.serve(stream, peer, service, stop).await });
        }
        drop(self);
        finish(tasks).await;
    }
}

/// Waits a moment for connections that were told to stop, then ends them.
pub async fn finish(mut tasks: JoinSet<()>) {
    let rest = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST_MOMENT, rest).await.is_err() {
        tasks.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_counted_as_one_client_would_have_them() {
        let peer = |text: &str| Peer::of(text.parse().unwrap());
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::ffff:1"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
        assert_eq!(peer("::ffff:10.0.0.1"), peer("10.0.0.1"));
        assert_ne!(peer("10.0.0.2"), peer("10.0.0.1"));
    }
}
