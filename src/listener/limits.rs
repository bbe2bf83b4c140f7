//! Limits of connections, and the peers that they count.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// Maximum number of connections, and their timeouts.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Maximum number of connections.
    pub total: usize,
    /// Maximum number of connections of one peer address (an IPv6 network of 64 bits counts as one address).
    pub per_peer: usize,
    /// Timeout for the head of a request: from the opening of the connection for the first request, from the first
    /// byte for others.
    pub head: Duration,
    /// Timeout between two requests.
    pub idle: Duration,
    /// Timeout for a client to send or read 256 bytes of a body.
    pub stall: Duration,
    /// How long a new connection waits for a slot if no other can be closed.
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

    /// A client without progress for this time may lose its slot to another.
    pub(super) fn stalled(&self) -> Duration {
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

impl Peer {
    /// The address, or the first one of the network.
    pub fn addr(self) -> IpAddr {
        self.0
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
