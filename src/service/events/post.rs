//! One HTTP POST with a deadline, over plain TCP or TLS, redirects not followed.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use hyper::Request;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

/// The header that carries the signature of the body.
const SIGNATURE_HEADER: &str = "x-engine-signature";

/// The header with the id of the event, the same in each attempt.
const EVENT_HEADER: &str = "x-engine-event-id";

/// How long a call may take.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// What is posted.
#[derive(Debug)]
pub struct Message {
    /// The id of the event.
    pub event: String,
    /// The signature of the body, if the webhook has a secret.
    pub signature: Option<String>,
    /// JSON.
    pub body: Bytes,
}

/// Why a call got no answer.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    #[error("the URL cannot be called")]
    Url,
    /// No connection, or the connection broke.
    #[error("no connection: {0}")]
    Connection(#[from] io::Error),
    /// Certificates cannot be checked here.
    #[error("TLS cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    /// The reply is not HTTP.
    #[error("no answer: {0}")]
    Http(#[from] hyper::Error),
    #[error("no answer in time")]
    Late,
}

/// Sends the calls. Caches the system's certificates.
#[derive(Debug, Default)]
pub struct Poster {
    checked: OnceLock<Arc<ClientConfig>>,
    unchecked: OnceLock<Arc<ClientConfig>>,
}

impl Poster {
    /// Posts JSON and returns the status of the reply.
    pub async fn post(&self, url: &str, verify: bool, message: Message) -> Result<u16, PostError> {
        // The URL was checked at registration, so the parser's error adds nothing.
        let url = Url::parse(url).map_err(|_| PostError::Url)?;
        let calling = self.call(&url, verify, message);
        match tokio::time::timeout(DEADLINE, calling).await {
            Ok(answer) => answer,
            Err(_) => Err(PostError::Late),
        }
    }

    async fn call(&self, url: &Url, verify: bool, message: Message) -> Result<u16, PostError> {
        let host = url.host().ok_or(PostError::Url)?;
        let port = url.port_or_known_default().ok_or(PostError::Url)?;
        let request = request(url, message)?;
        let stream = match &host {
            Host::Domain(name) => TcpStream::connect((*name, port)).await?,
            Host::Ipv4(addr) => TcpStream::connect((*addr, port)).await?,
            Host::Ipv6(addr) => TcpStream::connect((*addr, port)).await?,
        };
        if url.scheme() != "https" {
            return exchange(stream, request).await;
        }
        let name = match host {
            Host::Domain(name) => ServerName::try_from(name.to_owned()),
            Host::Ipv4(addr) => Ok(ServerName::from(std::net::IpAddr::from(addr))),
            Host::Ipv6(addr) => Ok(ServerName::from(std::net::IpAddr::from(addr))),
        };
        // TLS needs a valid host name.
        let name = name.map_err(|_| PostError::Url)?;
        let connector = TlsConnector::from(self.tls(verify)?);
        exchange(connector.connect(name, stream).await?, request).await
    }

    fn tls(&self, verify: bool) -> Result<Arc<ClientConfig>, PostError> {
        let (kept, make): (_, fn() -> _) = if verify {
            (&self.checked, checked)
        } else {
            (&self.unchecked, unchecked)
        };
        if let Some(config) = kept.get() {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(make()?);
        Ok(Arc::clone(kept.get_or_init(|| config)))
    }
}

fn request(url: &Url, message: Message) -> Result<Request<Body>, PostError> {
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    let mut request = Request::post(target)
        .header(HOST, host)
        .header(CONTENT_TYPE, "application/json")
        .header(EVENT_HEADER, message.event)
        .header(USER_AGENT, concat!("assetfs/", env!("CARGO_PKG_VERSION")));
    if let Some(signature) = message.signature {
        request = request.header(SIGNATURE_HEADER, signature);
    }
    // Some URLs are not valid in a request.
    request
        .body(Body::from(message.body))
        .map_err(|_| PostError::Url)
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Body>,
) -> Result<u16, PostError> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let mut sending = std::pin::pin!(sender.send_request(request));
    let answer = tokio::select! {
        answer = sending.as_mut() => answer?,
        // The receiver closed the connection: the reply was already received, or there is none.
        _ = connection => sending.await?,
    };
    Ok(answer.status().as_u16())
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
}

fn checked() -> Result<ClientConfig, rustls::Error> {
    Ok(builder()?.with_platform_verifier()?.with_no_client_auth())
}

fn unchecked() -> Result<ClientConfig, rustls::Error> {
    let any = AnyCertificate(ring::default_provider());
    Ok(builder()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(any))
        .with_no_client_auth())
}

/// Accepts any certificate, as a webhook with `verify_ssl` false asks for; the handshake itself is
/// still checked.
#[derive(Debug)]
struct AnyCertificate(CryptoProvider);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
