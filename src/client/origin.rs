//! Rules for the addresses that the client may connect to.
//!
//! The base URL must be https, http to this machine, or any http if the user allows it. Addresses that the
//! service names (signed URLs, redirects) must be https and public, unless the base URL itself is plain http
//! or not public. Addresses are checked twice: here as written in the URL, and in `resolver` after name
//! resolution when the connection is made.

use std::net::IpAddr;

use url::{Host, Url};

use super::error::ClientError;
use crate::address_reach::{Reach, literal_address, reach};

/// Checks a base URL.
pub(super) fn check_base(base: &Url, allow_insecure: bool) -> Result<(), ClientError> {
    let bad = |reason: &str| {
        Err(ClientError::BadBaseUrl {
            reason: reason.to_owned(),
        })
    };
    if !matches!(base.scheme(), "http" | "https") {
        return bad("it does not start with https:// or http://");
    }
    if base.host().is_none() {
        return bad("it has no host");
    }
    if !base.username().is_empty() || base.password().is_some() {
        return bad("it contains a user name or password; use a token instead");
    }
    if base.query().is_some() || base.fragment().is_some() {
        return bad("it has a query or a fragment; give only scheme, host, port and path");
    }
    check_plain_http(base, allow_insecure)
}

fn check_plain_http(url: &Url, allow_insecure: bool) -> Result<(), ClientError> {
    if url.scheme() == "http" && !allow_insecure && !is_loopback_host(url) {
        return Err(ClientError::Insecure {
            reason: format!(
                "http to {} is not encrypted; use https, or --allow-insecure in a trusted network",
                url.host_str().unwrap_or_default()
            ),
        });
    }
    Ok(())
}

/// Checks the addresses that a service names.
#[derive(Debug, Clone)]
pub(super) struct AddressRule {
    base: Url,
    allow_insecure: bool,
}

impl AddressRule {
    pub(super) fn new(base: Url, allow_insecure: bool) -> Self {
        Self {
            base,
            allow_insecure,
        }
    }

    /// Checks a URL as written; its name is resolved and checked later.
    pub(super) fn check_url(&self, url: &Url) -> Result<(), ClientError> {
        let refuse = |reason: String| Err(ClientError::Insecure { reason });
        match url.scheme() {
            "https" => {}
            "http" if self.base.scheme() == "http" => check_plain_http(url, self.allow_insecure)?,
            scheme => {
                return refuse(format!(
                    "the service returned an address with {scheme}://, but https is required"
                ));
            }
        }
        match literal_address(url) {
            Some(address) if !is_public(address) && !self.base_is_local_by_name() => refuse(
                format!("the service returned the address {address}, which is not public"),
            ),
            _ => Ok(()),
        }
    }

    /// Checks the addresses that a name resolved to.
    pub(super) fn check_resolved(
        &self,
        host: &str,
        addresses: &[IpAddr],
        base_is_local: bool,
    ) -> Result<(), String> {
        if is_localhost_name(host) && !addresses.iter().all(IpAddr::is_loopback) {
            return Err(format!("{host} does not resolve to this machine"));
        }
        if base_is_local {
            return Ok(());
        }
        match addresses.iter().find(|address| !is_public(**address)) {
            Some(address) => Err(format!(
                "the service returned the host {host}, which resolves to {address}, and that is not a public address"
            )),
            None => Ok(()),
        }
    }

    /// Whether the base URL as written is not public.
    pub(super) fn base_is_local_by_name(&self) -> bool {
        is_loopback_host(&self.base)
            || literal_address(&self.base).is_some_and(|address| !is_public(address))
    }

    /// The host of the base URL, if it is a name.
    pub(super) fn base_name(&self) -> Option<&str> {
        self.base.domain()
    }

    pub(super) fn base_port(&self) -> u16 {
        self.base.port_or_known_default().unwrap_or(443)
    }
}

/// Whether an address is that of the own machine.
pub fn is_loopback_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_localhost_name(name),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn is_localhost_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether an address belongs to the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    reach(address) == Reach::Public
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn http_to_other_machines_needs_permission() {
        for (base, without, with) in [
            ("https://assets.example.com", true, true),
            ("https://10.0.0.5/api-root", true, true),
            ("http://127.0.0.1:8080", true, true),
            ("http://[::1]:8080", true, true),
            ("http://localhost:8080", true, true),
            ("http://10.0.0.5", false, true),
            ("http://assets.example.com", false, true),
            ("http://localhost.example.com", false, true),
            ("ftp://assets.example.com", false, false),
            ("https://user:pw@assets.example.com", false, false),
            ("https://assets.example.com/?a=b", false, false),
        ] {
            assert_eq!(check_base(&url(base), false).is_ok(), without, "{base}");
            assert_eq!(check_base(&url(base), true).is_ok(), with, "{base}");
        }
    }

    #[test]
    fn an_address_of_the_own_machine_is_known() {
        for (text, expected) in [
            ("http://127.0.0.1:7878/embed/1", true),
            ("http://[::1]/embed/1", true),
            ("http://localhost/embed/1", true),
            ("http://LOCALHOST./embed/1", true),
            ("http://assets.localhost/embed/1", true),
            ("https://assets.example.com/embed/1", false),
            ("http://192.168.0.4/embed/1", false),
        ] {
            assert_eq!(is_loopback_host(&url(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_signed_url_must_be_https_and_public_unless_the_base_url_is_not() {
        let cases = [
            // base, allowed insecure, signed URL, may be used
            ("https://a.example", false, "https://store.example/k", true),
            ("https://a.example", false, "http://store.example/k", false),
            ("https://a.example", true, "http://store.example/k", false),
            ("https://a.example", false, "http://127.0.0.1/k", false),
            ("https://a.example", false, "https://127.0.0.1/k", false),
            ("https://a.example", false, "https://10.1.2.3/k", false),
            (
                "https://a.example",
                false,
                "https://169.254.169.254/latest",
                false,
            ),
            ("https://a.example", false, "https://0x7f.1/k", false),
            ("https://a.example", false, "https://2130706433/k", false),
            ("https://a.example", false, "https://[::1]/k", false),
            (
                "https://a.example",
                false,
                "https://[::ffff:10.0.0.1]/k",
                false,
            ),
            ("https://a.example", false, "https://[fe80::1]/k", false),
            ("https://a.example", false, "https://[fd00::1]/k", false),
            ("https://a.example", false, "https://1.1.1.1/k", true),
            ("https://a.example", false, "file:///etc/passwd", false),
            (
                "http://127.0.0.1:80",
                false,
                "http://127.0.0.1:9000/k",
                true,
            ),
            (
                "http://127.0.0.1:80",
                false,
                "https://store.example/k",
                true,
            ),
            (
                "http://127.0.0.1:80",
                false,
                "http://store.example/k",
                false,
            ),
            ("http://127.0.0.1:80", true, "http://store.example/k", true),
            ("https://10.0.0.5", false, "https://10.0.0.6/k", true),
            ("https://10.0.0.5", false, "http://10.0.0.6/k", false),
        ];
        for (base, allow_insecure, signed, expected) in cases {
            let rule = AddressRule::new(url(base), allow_insecure);
            assert_eq!(
                rule.check_url(&url(signed)).is_ok(),
                expected,
                "{base} {allow_insecure} {signed}"
            );
        }
    }

    #[test]
    fn a_name_is_checked_by_the_address_it_resolves_to() {
        let rule = AddressRule::new(url("https://a.example"), false);
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(
            rule.check_resolved("s.example", &[ip("1.1.1.1")], false)
                .is_ok()
        );
        assert!(
            rule.check_resolved("s.example", &[ip("1.1.1.1"), ip("10.0.0.1")], false)
                .is_err()
        );
        assert!(
            rule.check_resolved("s.example", &[ip("10.0.0.1")], true)
                .is_ok()
        );
        assert!(
            rule.check_resolved("localhost", &[ip("1.1.1.1")], true)
                .is_err()
        );
        assert!(
            rule.check_resolved("s.example", &[ip("64:ff9b::a00:1")], false)
                .is_err()
        );
    }
}
