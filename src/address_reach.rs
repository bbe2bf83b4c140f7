//! Which network an IP address belongs to. Requests to addresses that somebody else chose are allowed or refused by it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The network of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This machine: loopback, and the unspecified address, which connects to it.
    ThisMachine,
    /// The machines on the same link. Clouds answer there with the credentials of a machine (169.254.169.254).
    Link,
    /// A private network.
    Private,
    /// The public internet.
    Public,
}

/// The address of a URL whose host is one and no name.
pub fn literal_address(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
        Host::Domain(_) => None,
    }
}

/// The network of an address. An IPv4 address that is embedded in an IPv6 address counts as itself.
pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => embedded_v4(address).map_or_else(|| reach_v6(address), reach_v4),
    }
}

/// The registry is that of RFC 6890. `100.64.0.0/10` is the network between a provider and its customers (RFC 6598).
fn reach_v4(address: Ipv4Addr) -> Reach {
    let [first, second, ..] = address.octets();
    if address.is_loopback() || first == 0 {
        Reach::ThisMachine
    } else if address.is_link_local() || address.is_broadcast() {
        Reach::Link
    } else if address.is_private() || (first == 100 && (64..128).contains(&second)) {
        Reach::Private
    } else {
        Reach::Public
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    let is_site_local = address.segments()[0] & 0xffc0 == 0xfec0;
    if address.is_loopback() || address.is_unspecified() {
        Reach::ThisMachine
    } else if address.is_unicast_link_local() {
        Reach::Link
    } else if address.is_unique_local() || is_site_local {
        Reach::Private
    } else {
        Reach::Public
    }
}

/// The IPv4 address embedded in a mapped, compatible, NAT64 or 6to4 address.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let low = Ipv4Addr::from((u32::from(s[6]) << 16) | u32::from(s[7]));
    if s[..6] == [0, 0, 0, 0, 0, 0xffff] || s[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return Some(low);
    }
    if s[..6] == [0; 6] && (s[6] != 0 || s[7] > 1) {
        return Some(low);
    }
    if s[0] == 0x2002 {
        return Some(Ipv4Addr::from((u32::from(s[1]) << 16) | u32::from(s[2])));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_network() {
        for (text, expected) in [
            ("127.0.0.1", Reach::ThisMachine),
            ("127.9.9.9", Reach::ThisMachine),
            ("0.0.0.0", Reach::ThisMachine),
            ("::1", Reach::ThisMachine),
            ("::", Reach::ThisMachine),
            ("::ffff:127.0.0.1", Reach::ThisMachine),
            ("169.254.169.254", Reach::Link),
            ("::ffff:169.254.169.254", Reach::Link),
            ("64:ff9b::a9fe:a9fe", Reach::Link),
            ("fe80::1", Reach::Link),
            ("10.0.0.1", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("fd00::1", Reach::Private),
            ("2002:a00:1::", Reach::Private),
            ("1.1.1.1", Reach::Public),
            ("2606:4700::1111", Reach::Public),
        ] {
            assert_eq!(reach(text.parse().unwrap()), expected, "{text}");
        }
    }
}
