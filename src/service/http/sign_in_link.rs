//! Links that sign in to the page once: making their codes, and exchanging a code for a token.
//!
//! Both only for programs of this machine: a link is for the person who sits at it. The address of a browser that came
//! through a proxy is not believed, nor a name for this machine that another server may have given (DNS rebinding).

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use serde_json::json;

use super::body::Fields;
use super::error::ApiError;
use super::request::{Anonymous, ApiCall, JsonReply};
use crate::listener::Peer;
use crate::service::app::App;
use crate::service::new_token::{SignIn, make_sign_in_token};
use crate::service::sign_in_codes::Redeemed;
use crate::wire::SignInCode;
use crate::wire::paths::SIGN_IN_CODE;

/// The path that makes a code.
pub const CODE: &str = SIGN_IN_CODE;

/// The path that takes one.
pub const SESSION: &str = "/page/session";

/// Headers of proxies.
const FORWARDED: [&str; 6] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
];

/// A request of a program or a page of this machine, by its own address.
pub struct FromThisMachine;

impl FromRequestParts<Arc<App>> for FromThisMachine {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, ApiError> {
        let peer = parts.extensions.get::<Peer>();
        let peer = peer.expect("the listener adds the peer to every request");
        let headers = &parts.headers;
        let is_direct =
            is_from_here(peer.addr()) && !FORWARDED.iter().any(|it| headers.contains_key(*it));
        let host = host_of(parts);
        let is_local = host.as_ref().is_some_and(names_this_machine);
        if is_direct && is_local && is_own_page(headers, host.as_ref()) {
            return Ok(FromThisMachine);
        }
        Err(ApiError::Forbidden(
            "A sign-in link works only in a browser on the machine of the service, at the address that the link has. Sign \
             in with a token, or with the e-mail address and password of the account."
                .to_owned(),
        ))
    }
}

/// A peer of IPv6 is known by its network only, and that of `::1` is `::`.
fn is_from_here(peer: IpAddr) -> bool {
    is_loopback(peer) || peer == IpAddr::V6(Ipv6Addr::UNSPECIFIED)
}

fn is_loopback(addr: IpAddr) -> bool {
    addr.to_canonical().is_loopback()
}

/// The host and port that a request was sent to.
fn host_of(parts: &Parts) -> Option<Authority> {
    match parts.headers.get(HOST) {
        Some(host) => host.to_str().ok()?.parse().ok(),
        None => parts.uri.authority().cloned(),
    }
}

fn names_this_machine(host: &Authority) -> bool {
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

/// True unless a page of another origin has sent the request.
fn is_own_page(headers: &HeaderMap, host: Option<&Authority>) -> bool {
    let Some(origin) = headers.get(ORIGIN) else {
        return true;
    };
    let expected = host.map(|host| format!("http://{host}"));
    origin.to_str().ok() == expected.as_deref()
}

pub async fn make(_: FromThisMachine, call: ApiCall) -> Json<SignInCode> {
    Json(call.app.sign_in_codes.make(call.user))
}

pub async fn exchange(
    _: FromThisMachine,
    State(app): State<Arc<App>>,
    _: Anonymous,
    mut fields: Fields,
) -> JsonReply {
    let code = fields.text("code");
    fields.finish()?;
    let user = match app.sign_in_codes.redeem(&code) {
        Redeemed::By(user) => user,
        Redeemed::Used => {
            return Err(refusal(
                "This sign-in link was used already. Each works once",
            ));
        }
        Redeemed::Unknown => {
            return Err(refusal(
                "This sign-in link has expired, or the service was started again since it was made",
            ));
        }
    };
    let token = make_sign_in_token(&app.records, user, SignIn::Link).await?;
    Ok(Json(json!({ "token": token })))
}

fn refusal(why: &str) -> ApiError {
    ApiError::field("code", format!("{why}; `assetfs page` prints a new one."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_at_an_address_of_this_machine_may_exchange_a_code() {
        let host = |text: &str| text.parse::<Authority>().unwrap();
        for name in [
            "localhost:8080",
            "LOCALHOST",
            "127.0.0.1:1",
            "127.8.8.8",
            "[::1]:80",
        ] {
            assert!(names_this_machine(&host(name)), "{name}");
        }
        for name in [
            "example.com",
            "localhost.example.com",
            "10.0.0.1:80",
            "[::2]:80",
            "0.0.0.0",
        ] {
            assert!(!names_this_machine(&host(name)), "{name}");
        }
        let here = host("127.0.0.1:8080");
        let sent_by = |origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            is_own_page(&headers, Some(&here))
        };
        assert!(sent_by(None) && sent_by(Some("http://127.0.0.1:8080")));
        for origin in [
            "null",
            "http://127.0.0.1:8081",
            "http://evil.example",
            "https://127.0.0.1:8080",
        ] {
            assert!(!sent_by(Some(origin)), "{origin}");
        }
    }
}
