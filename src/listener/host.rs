//! The rule of HTTP about the header `Host`, for everything that listens here. A request that breaks it may have been meant
//! for another server, or be understood differently by a proxy.

use hyper::header::{HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Request, Version};

/// Why a request must be refused with 400: RFC 9112, 3.2 wants one valid `Host`. HTTP/2 and HTTP/1.0 do not need it.
pub fn host_problem<B>(request: &Request<B>) -> Option<&'static str> {
    let mut hosts = request.headers().get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if request.version() == Version::HTTP_11 => Some("The header Host is missing."),
        (_, Some(_)) => Some("The header Host occurs more than once."),
        (Some(host), None) if !is_host(host) => {
            Some("The header Host must be a host name or an address, and a port if there is one.")
        }
        _ => None,
    }
}

/// Whether a value is a host with an optional port.
fn is_host(value: &HeaderValue) -> bool {
    let text = value.to_str().unwrap_or_default();
    let Ok(authority) = text.parse::<Authority>() else {
        return false;
    };
    let host = authority.host();
    let port = text
        .strip_prefix(host)
        .map(|port| match port.strip_prefix(':') {
            Some(digits) => digits.bytes().all(|digit| digit.is_ascii_digit()),
            None => port.is_empty(),
        });
    !host.is_empty() && port == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(hosts: &[&str]) -> bool {
        let mut request = Request::builder().uri("/");
        for host in hosts {
            request = request.header(HOST, *host);
        }
        host_problem(&request.body(()).unwrap()).is_some()
    }

    #[test]
    fn a_request_has_one_valid_host() {
        for host in [
            "x",
            "x.test:8080",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:80",
            "my_service:1",
            "x:",
        ] {
            assert!(!is_refused(&[host]), "{host}");
        }
        for host in [
            "", " ", "a b", "u@x", "u:p@x", "x:y", "x/y", "http://x", "::1", ":80", "x:1:2",
        ] {
            assert!(is_refused(&[host]), "{host:?}");
        }
        assert!(is_refused(&[]));
        assert!(is_refused(&["x", "x"]));
    }
}
