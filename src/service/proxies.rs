//! Proxies in front of the service, and the address of the client behind them.
//!
//! A client can send any `X-Forwarded-For`, so only the part that trusted proxies wrote counts: read from its end, the first
//! address that is not a trusted proxy is the client.

use std::net::IpAddr;
use std::str::FromStr;

use axum::http::HeaderMap;
use ipnet::IpNet;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The addresses of trusted proxies.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(pub Vec<Proxy>);

/// An address, or a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proxy(IpNet);

/// Why a text is neither an address nor a network.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("it must be an IP address or a network, such as 10.1.2.3 or 10.0.0.0/8")]
pub struct ProxyError;

impl FromStr for Proxy {
    type Err = ProxyError;

    fn from_str(text: &str) -> Result<Proxy, ProxyError> {
        let network = match text.contains('/') {
            true => text.parse().ok(),
            false => text.parse::<IpAddr>().ok().map(IpNet::from),
        };
        network.map(Proxy).ok_or(ProxyError)
    }
}

impl TrustedProxies {
    fn trusts(&self, address: IpAddr) -> bool {
        self.0
            .iter()
            .any(|Proxy(network)| network.contains(&address))
    }

    /// The client of a request that came from `peer`.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        let values = headers.get_all(FORWARDED_FOR).into_iter().rev();
        let lists = values.filter_map(|value| value.to_str().ok());
        let mut named = lists.flat_map(|list| list.rsplit(',')).map(str::trim);
        let mut client = peer;
        while self.trusts(client) {
            // Trusted proxies write addresses only, so anything else is from the client and is ignored.
            match named.next().and_then(|name| name.parse::<IpAddr>().ok()) {
                Some(address) => client = address.to_canonical(),
                None => break,
            }
        }
        client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(proxies: &[&str], peer: &str, forwarded: &[&str]) -> String {
        let proxies = proxies.iter().map(|proxy| proxy.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, value.parse().unwrap());
        }
        let peer = peer.parse().unwrap();
        TrustedProxies(proxies).client(peer, &headers).to_string()
    }

    #[test]
    fn the_client_is_the_last_address_that_no_trusted_proxy_has() {
        let proxies = ["10.0.0.0/8", "2001:db8::/32"];
        assert_eq!(
            client(&proxies, "10.1.1.1", &["203.0.113.9"]),
            "203.0.113.9"
        );
        let chain = ["203.0.113.9, 10.2.2.2"];
        assert_eq!(client(&proxies, "10.1.1.1", &chain), "203.0.113.9");
        let several = ["203.0.113.9", "2001:db8::1"];
        assert_eq!(client(&proxies, "10.1.1.1", &several), "203.0.113.9");
        // What a client wrote itself stands before what the proxy wrote.
        let forged = ["198.51.100.1, 203.0.113.9"];
        assert_eq!(client(&proxies, "10.1.1.1", &forged), "203.0.113.9");
    }

    #[test]
    fn a_header_of_others_and_one_that_is_no_address_do_not_count() {
        assert_eq!(client(&[], "10.1.1.1", &["203.0.113.9"]), "10.1.1.1");
        assert_eq!(
            client(&["10.0.0.0/8"], "192.0.2.1", &["203.0.113.9"]),
            "192.0.2.1"
        );
        assert_eq!(
            client(&["10.0.0.0/8"], "10.1.1.1", &["unknown"]),
            "10.1.1.1"
        );
        assert_eq!(client(&["0.0.0.0/0"], "10.1.1.1", &[]), "10.1.1.1");
    }

    #[test]
    fn what_is_neither_an_address_nor_a_network_is_refused() {
        for text in ["proxy", "10.0.0.0/33", "10.0.0.0/x", "::/129", ""] {
            assert_eq!(text.parse::<Proxy>(), Err(ProxyError), "{text}");
        }
    }
}
