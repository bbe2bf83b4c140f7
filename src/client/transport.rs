//! Connection pools.
//!
//! Calls to the service use one pool, transfers through signed URLs another. The latter uses HTTP/1.1, so
//! that parallel ranges get parallel connections, and checks resolved addresses. Each has a variant that
//! keeps no connections. Calls that are sent once use it, because a kept connection may die while the
//! request is sent and leave its outcome unknown. Retries use it, because after a suspend or a change of
//! network all kept connections may be dead. No pool follows redirects.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{ClientBuilder, Request, Response, redirect};
use rustls::{AlertDescription, CertificateError};
use rustls_platform_verifier::BuilderVerifierExt as _;
use url::Url;

use super::config::ClientConfig;
use super::error::{ClientError, without_error_numbers};
use super::origin::AddressRule;
use super::resolver::{GuardedResolver, RefusedAddress};
use crate::wire::secret::without_secrets;

pub(super) struct Transport {
    service: Pools,
    storage: Pools,
    pub(super) rule: Arc<AddressRule>,
}

struct Pools {
    kept: Pool,
    fresh: Pool,
}

pub(super) enum Pool {
    Network(reqwest::Client),
    /// Requests go to a server inside a test.
    #[cfg(test)]
    Scripted(Arc<dyn super::scripted::ScriptedServer>),
}

impl Pool {
    /// Sends a request and waits for the head of the reply.
    pub(super) async fn execute(&self, request: Request) -> Result<Response, Fault> {
        match self {
            Pool::Network(client) => client.execute(request).await.map_err(fault_of),
            #[cfg(test)]
            Pool::Scripted(server) => super::scripted::execute(server, request).await,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Connection {
    /// A kept connection, if there is one.
    Kept,
    Fresh,
}

impl Connection {
    /// The first attempt may use a kept connection, a retry gets a fresh one.
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

/// Why no reply came.
#[derive(Debug)]
pub(super) enum Fault {
    /// The request was not sent: no connection.
    NotSent(String),
    ConnectTimeout,
    /// The address is not allowed.
    Refused(String),
    /// The certificate cannot be used now; the text says what to do. Nothing was sent.
    Untrusted(String),
    /// The request was sent, or may have been sent.
    NoAnswer(String),
    /// The request was sent, and no reply came in time.
    Stalled,
}

impl Transport {
    pub(super) fn new(config: &ClientConfig) -> Result<Self, ClientError> {
        // Fails only if another part of the process has installed the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let rule = Arc::new(AddressRule::new(
            config.base_url.clone(),
            config.allow_insecure,
        ));
        let resolver = GuardedResolver::new(rule.clone());
        let mut tls = tls(&config.base_url)?;
        let to_storage =
            |builder: ClientBuilder| builder.http1_only().dns_resolver(resolver.clone());
        tls.alpn_protocols = vec!["h2".into(), "http/1.1".into()];
        let service = Pools {
            kept: build(config, &rule, &tls, |builder| builder)?,
            fresh: build(config, &rule, &tls, |builder| {
                builder.pool_max_idle_per_host(0)
            })?,
        };
        tls.alpn_protocols = vec!["http/1.1".into()];
        let storage = Pools {
            kept: build(config, &rule, &tls, |builder| {
                to_storage(builder).pool_max_idle_per_host(32)
            })?,
            fresh: build(config, &rule, &tls, |builder| {
                to_storage(builder).pool_max_idle_per_host(0)
            })?,
        };
        Ok(Self {
            service,
            storage,
            rule,
        })
    }

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

    pub(super) fn service(&self, connection: Connection) -> &Pool {
        self.service.of(connection)
    }

    pub(super) fn storage(&self, connection: Connection) -> &Pool {
        self.storage.of(connection)
    }
}

fn build(
    config: &ClientConfig,
    rule: &AddressRule,
    tls: &rustls::ClientConfig,
    with: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Pool, ClientError> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .user_agent(concat!("assetfs/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .connect_timeout(config.deadlines.connect)
        .pool_idle_timeout(Duration::from_secs(30))
        // Detects a dead peer before the timeouts of callers.
        .tcp_user_timeout(Duration::from_secs(20))
        .http2_keep_alive_interval(Duration::from_secs(10))
        .http2_keep_alive_timeout(Duration::from_secs(8))
        .tcp_nodelay(true);
    if rule.base_is_local_by_name() {
        // A service on this machine or in the local network is not reached through a proxy.
        builder = builder.no_proxy();
    }
    let client = with(builder).build();
    client
        .map(Pool::Network)
        .map_err(|error| unusable(&reason_of(error)))
}

/// TLS with the root certificates of the machine. They are some hundred files, so they are read once for all connections.
fn tls(base_url: &Url) -> Result<rustls::ClientConfig, ClientError> {
    let tls = rustls::ClientConfig::builder();
    match tls.clone().with_platform_verifier() {
        Ok(tls) => Ok(tls.with_no_client_auth()),
        // A machine without root certificates can still use a service over http.
        Err(_) if base_url.scheme() == "http" => Ok(tls
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth()),
        Err(error) => Err(unusable(&error.to_string())),
    }
}

fn unusable(reason: &str) -> ClientError {
    ClientError::no_connection(format!(
        "cannot set up TLS: {reason}; install the package ca-certificates if it is missing"
    ))
}

/// Sends a request and waits at most `wait` for the head of the reply.
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
    let tls = cause::<rustls::Error>(&error);
    if let Some(rustls::Error::InvalidCertificate(why)) = tls {
        return Fault::Untrusted(certificate_advice(why));
    }
    let has_ended = chain(&error).any(is_early_end);
    if matches!(tls, Some(rustls::Error::InvalidMessage(_))) || error.is_connect() && has_ended {
        return Fault::NotSent(
            "the server did not begin an encrypted connection; check the port, or write http:// instead of https://"
                .to_owned(),
        );
    }
    if is_too_old(tls) {
        return Fault::NotSent(
            "the server supports only TLS versions that are no longer secure; update it to TLS 1.2 or newer"
                .to_owned(),
        );
    }
    if cause::<hyper::Error>(&error).is_some_and(hyper::Error::is_parse) {
        return Fault::NoAnswer(
            "the server did not answer in HTTP; check the port, or write https:// instead of http://"
                .to_owned(),
        );
    }
    if error.is_connect() && error.is_timeout() {
        return Fault::ConnectTimeout;
    }
    if error.is_connect() || error.is_builder() {
        return Fault::NotSent(reason_of(error));
    }
    Fault::NoAnswer(reason_of(error))
}

/// An error and its causes. rustls wraps its errors in I/O errors, whose `source` is the source of the wrapped error, not
/// the wrapped error itself.
fn chain<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let io = error.downcast_ref::<std::io::Error>();
        match io.and_then(std::io::Error::get_ref) {
            Some(held) => Some(held),
            None => error.source(),
        }
    })
}

/// Whether both sides have no version of TLS in common.
fn is_too_old(error: Option<&rustls::Error>) -> bool {
    matches!(
        error,
        Some(
            rustls::Error::AlertReceived(AlertDescription::ProtocolVersion)
                | rustls::Error::PeerIncompatible(_)
        )
    )
}

fn is_early_end(error: &(dyn std::error::Error + 'static)) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::UnexpectedEof)
}

/// What is wrong with a certificate, and what to do.
fn certificate_advice(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "it has expired or is not valid yet. Check the clock of this machine; if it is right, the server needs a \
             new certificate"
                .to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it belongs to another name. Check the address; in a guest network, sign in to the network first".to_owned()
        }
        CertificateError::UnknownIssuer => {
            "this machine does not trust its issuer. Install the issuer's certificate, or name its file in \
             SSL_CERT_FILE, and mount again; in a guest network, sign in to the network first"
                .to_owned()
        }
        // The text of the error is the debug form of a Rust value. Its most frequent cause is a self-signed certificate.
        CertificateError::Other(_) => {
            "it cannot be used by a server: it is, for example, the certificate of an authority, as a self-signed one often \
             is. Give the server a certificate of its own, made for its name"
                .to_owned()
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "it is signed with an algorithm that is no longer secure, such as SHA-1. The server needs a new certificate"
                .to_owned()
        }
        other => format!("{other}. The server needs another certificate"),
    }
}

/// Finds a cause of type `T` in the chain of an error.
pub(super) fn cause<'a, T: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a T> {
    chain(error).find_map(|cause| cause.downcast_ref::<T>())
}

/// The cause of an error in words: the innermost, because the outer ones name parts of this program. Without URL and
/// error number.
pub(super) fn reason_of(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut innermost: &dyn std::error::Error = &error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    without_error_numbers(&without_secrets(&innermost.to_string()))
}

#[cfg(test)]
mod tests {
    use rustls::OtherError;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_certificate_is_said_in_words() {
        let reason = Arc::new(std::io::Error::other("CaUsedAsEndEntity"));
        let said = certificate_advice(&CertificateError::Other(OtherError(reason)));
        assert!(said.contains("self-signed"), "{said}");
        assert!(!said.contains("CaUsedAsEndEntity"), "{said}");
    }

    #[test]
    fn only_errors_about_the_version_of_tls_count_as_too_old() {
        let alert = |description| rustls::Error::AlertReceived(description);
        assert!(is_too_old(Some(&alert(AlertDescription::ProtocolVersion))));
        assert!(!is_too_old(Some(&alert(AlertDescription::AccessDenied))));
        assert!(!is_too_old(None));
    }
}
