//! The connections: pools with one set of rules.
//!
//! Calls to the service share one pool, transfers through signed URLs another: that one speaks HTTP/1.1,
//! so that parallel ranges get parallel connections, and its name look-ups are guarded. Beside each is
//! one that keeps no connection. Calls that are sent once use it, because a kept connection may die at the
//! moment of sending and leave open whether the request arrived; repetitions use it, because after a
//! sleep or a change of network all kept connections may be dead. No pool ever follows a redirect.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{ClientBuilder, Request, Response, redirect};

use super::config::ClientConfig;
use super::error::ClientError;
use super::origin::AddressRule;
use super::resolver::{GuardedResolver, RefusedAddress};
use crate::wire::secret::without_secrets;

/// The pools of connections.
pub(super) struct Transport {
    service: Pools,
    storage: Pools,
    pub(super) rule: Arc<AddressRule>,
}

struct Pools {
    kept: Pool,
    fresh: Pool,
}

/// One pool of connections.
pub(super) enum Pool {
    /// To the network.
    Network(reqwest::Client),
    /// To a server inside a test.
    #[cfg(test)]
    Scripted(Arc<dyn super::scripted::ScriptedServer>),
}

impl Pool {
    /// Sends a request and waits for the head of its answer.
    pub(super) async fn execute(&self, request: Request) -> Result<Response, Fault> {
        match self {
            Pool::Network(client) => client.execute(request).await.map_err(fault_of),
            #[cfg(test)]
            Pool::Scripted(server) => super::scripted::execute(server, request).await,
        }
    }
}

/// Which connection a request may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Connection {
    /// One that was used before, where there is one.
    Kept,
    /// A new one.
    Fresh,
}

impl Connection {
    /// The first attempt may use a kept connection, a repetition gets a fresh one.
    pub(super) fn after_failures(failed: u32) -> Self {
        if failed == 0 { Self::Kept } else { Self::Fresh }
    }
}

impl Pools {
    fn of(&self, connection: Connection) -> &Pool {
        match connection {
            Connection::Kept => &self.kept,
            Connection::Fresh => &self.fresh,
        }
    }
}

/// Why no answer came.
#[derive(Debug)]
pub(super) enum Fault {
    /// The request did not leave: no connection.
    NotSent(String),
    /// Connecting took too long.
    ConnectTimeout,
    /// The address must not be used, or the certificate there not be believed.
    Refused(String),
    /// The request left, or may have left.
    NoAnswer(String),
    /// The request left, and nothing came in time.
    Stalled,
}

impl Transport {
    pub(super) fn new(config: &ClientConfig) -> Result<Self, ClientError> {
        // Another part of the process may have installed it before; that is the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let rule = Arc::new(AddressRule::new(
            config.base_url.clone(),
            config.allow_insecure,
        ));
        let resolver = GuardedResolver::new(rule.clone());
        let to_storage =
            |builder: ClientBuilder| builder.http1_only().dns_resolver(resolver.clone());
        let service = Pools {
            kept: build(config, &rule, |builder| builder)?,
            fresh: build(config, &rule, |builder| builder.pool_max_idle_per_host(0))?,
        };
        let storage = Pools {
            kept: build(config, &rule, |builder| {
                to_storage(builder).pool_max_idle_per_host(32)
            })?,
            fresh: build(config, &rule, |builder| {
                to_storage(builder).pool_max_idle_per_host(0)
            })?,
        };
        Ok(Self {
            service,
            storage,
            rule,
        })
    }

    /// Connections to a server inside a test.
    #[cfg(test)]
    pub(super) fn scripted(
        server: Arc<dyn super::scripted::ScriptedServer>,
        rule: AddressRule,
    ) -> Self {
        let pools = || Pools {
            kept: Pool::Scripted(server.clone()),
            fresh: Pool::Scripted(server.clone()),
        };
        Self {
            service: pools(),
            storage: pools(),
            rule: Arc::new(rule),
        }
    }

    /// The connections to the service.
    pub(super) fn service(&self, connection: Connection) -> &Pool {
        self.service.of(connection)
    }

    /// The connections to signed URLs.
    pub(super) fn storage(&self, connection: Connection) -> &Pool {
        self.storage.of(connection)
    }
}

fn build(
    config: &ClientConfig,
    rule: &AddressRule,
    with: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Pool, ClientError> {
    let client = build_client(config, rule, with)?;
    Ok(Pool::Network(client))
}

fn build_client(
    config: &ClientConfig,
    rule: &AddressRule,
    with: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<reqwest::Client, ClientError> {
    let builder = || {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("assetfs/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(config.deadlines.connect)
            .pool_idle_timeout(Duration::from_secs(30))
            // A peer that is gone is noticed before anybody's patience ends.
            .tcp_user_timeout(Duration::from_secs(20))
            .http2_keep_alive_interval(Duration::from_secs(10))
            .http2_keep_alive_timeout(Duration::from_secs(8))
            .tcp_nodelay(true);
        if rule.base_is_local_by_name() {
            // A service on this machine or in this network is not behind the way out.
            builder = builder.no_proxy();
        }
        with(builder)
    };
    match builder().build() {
        Ok(client) => Ok(client),
        // A machine without root certificates can still talk to a service over http.
        Err(_) if config.base_url.scheme() == "http" => {
            builder().tls_certs_only([]).build().map_err(unusable)
        }
        Err(error) => Err(unusable(error)),
    }
}

fn unusable(error: reqwest::Error) -> ClientError {
    ClientError::no_connection(format!(
        "TLS cannot be set up: {} (is the package ca-certificates installed?)",
        reason_of(error)
    ))
}

/// Sends a request and waits for the head of its answer, for `wait` at most.
pub(super) async fn send(pool: &Pool, request: Request, wait: Duration) -> Result<Response, Fault> {
    match tokio::time::timeout(wait, pool.execute(request)).await {
        Ok(answer) => answer,
        Err(_) => Err(Fault::Stalled),
    }
}

pub(super) fn fault_of(error: reqwest::Error) -> Fault {
    if let Some(refused) = cause::<RefusedAddress>(&error) {
        return Fault::Refused(refused.reason.clone());
    }
    if has_untrusted_certificate(&error) {
        // Asking again would not make it trusted.
        return Fault::Refused(reason_of(error));
    }
    if error.is_connect() && error.is_timeout() {
        return Fault::ConnectTimeout;
    }
    if error.is_connect() || error.is_builder() {
        return Fault::NotSent(reason_of(error));
    }
    Fault::NoAnswer(reason_of(error))
}

/// Whether the other side showed a certificate that must not be believed. TLS hides its errors in
/// those of reading and writing, whose source is the source of what they hold.
fn has_untrusted_certificate(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let io = error.downcast_ref::<std::io::Error>();
        let held = io.and_then(std::io::Error::get_ref);
        let tls = held.and_then(|held| held.downcast_ref::<rustls::Error>());
        if matches!(tls, Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        next = match held {
            Some(held) if held.is::<std::io::Error>() => Some(held),
            _ => error.source(),
        };
    }
    false
}

/// The cause of a type, anywhere in the chain of an error.
pub(super) fn cause<'a, T: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// The causes of an error in words, without its URL.
pub(super) fn reason_of(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut parts: Vec<String> = Vec::new();
    let mut next: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = next {
        let text = without_secrets(&error.to_string());
        if !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        next = error.source();
    }
    // The first only says that a request failed; the causes say why.
    if parts.len() > 1 {
        parts.remove(0);
    }
    parts.join(": ")
}
