//! The certificate of the service, if it speaks TLS itself. A renewed certificate is read without a restart.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::causes::chain;
use crate::given_files;

/// How often the files are checked for changes.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The protocols that clients can choose, the best one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The files of a certificate, in PEM format.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate, followed by the intermediate certificates.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{path} cannot be read as PEM; it must hold {what}", path = path.display())]
    Pem {
        path: PathBuf,
        what: &'static str,
        #[source]
        source: rustls::pki_types::pem::Error,
    },
    #[error("{path} holds no certificate", path = path.display())]
    Empty { path: PathBuf },
    #[error(
        "the certificate {certificate} and the key {key} cannot be used together",
        certificate = certificate.display(),
        key = key.display()
    )]
    Unusable {
        certificate: PathBuf,
        key: PathBuf,
        #[source]
        source: rustls::Error,
    },
}

/// The present certificate.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    config: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// # Errors
    /// If the files cannot be read or do not belong together.
    pub fn open(files: TlsFiles) -> Result<Tls, TlsError> {
        Ok(Tls {
            config: RwLock::new(Arc::new(read(&files)?)),
            files,
        })
    }

    pub fn acceptor(&self) -> TlsAcceptor {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&config))
    }

    /// Reads the files again whenever they change. If they cannot be used, the last certificate stays in use.
    pub async fn follow(self: Arc<Self>) {
        let mut seen = self.state();
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let state = self.state();
            // If a file is missing, a renewal may be replacing it: the next check reads it.
            if state.is_err() || state.as_ref().ok() == seen.as_ref().ok() {
                continue;
            }
            match read(&self.files) {
                Ok(config) => {
                    *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                    tracing::info!("the certificate was read again");
                }
                Err(error) => tracing::error!(
                    error = %chain(&error),
                    "the new certificate cannot be used: the one before stays in use"
                ),
            }
            seen = state;
        }
    }

    fn state(&self) -> io::Result<[(SystemTime, u64); 2]> {
        let state = |path: &Path| {
            let found = std::fs::metadata(path)?;
            io::Result::Ok((found.modified()?, found.len()))
        };
        Ok([state(&self.files.certificate)?, state(&self.files.key)?])
    }
}

fn read(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let TlsFiles { certificate, key } = files;
    let pem = |path: &Path, what| {
        let path = path.to_owned();
        move |source| TlsError::Pem { path, what, source }
    };
    let text = |path: &Path| given_files::read(path).map_err(pem::Error::Io);
    let found = text(certificate).and_then(|text| CertificateDer::pem_slice_iter(&text).collect());
    let certificates: Vec<_> = found.map_err(pem(certificate, "a certificate"))?;
    if certificates.is_empty() {
        return Err(TlsError::Empty {
            path: certificate.clone(),
        });
    }
    let private = text(key).and_then(|text| PrivateKeyDer::from_pem_slice(&text));
    let private = private.map_err(pem(key, "a private key"))?;
    let unusable = |source| TlsError::Unusable {
        certificate: certificate.clone(),
        key: key.clone(),
        source,
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(unusable)?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::skip::skipped;

    /// Makes a certificate for 127.0.0.1 with openssl; false if that is not installed.
    fn make(files: &TlsFiles) -> bool {
        let mut openssl = Command::new("openssl");
        openssl
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
            .args(["ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
            .args(["-subj", "/CN=127.0.0.1", "-keyout"])
            .arg(&files.key)
            .arg("-out")
            .arg(&files.certificate)
            .stderr(Stdio::null());
        openssl.status().is_ok_and(|status| status.success())
    }

    fn files_in(folder: &Path) -> TlsFiles {
        TlsFiles {
            certificate: folder.join("cert.pem"),
            key: folder.join("key.pem"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewed_certificate_is_used_and_a_wrong_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let files = files_in(folder.path());
        if !make(&files) {
            return skipped("openssl is not installed");
        }
        let tls = Arc::new(Tls::open(files.clone()).unwrap());
        let following = tokio::spawn(Arc::clone(&tls).follow());
        let used = || Arc::clone(tls.acceptor().config());
        let first = used();
        tokio::time::sleep(3 * POLL_INTERVAL).await;
        assert!(Arc::ptr_eq(&first, &used()), "nothing has changed");
        std::fs::write(&files.certificate, "not a certificate").unwrap();
        tokio::time::sleep(3 * POLL_INTERVAL).await;
        assert!(Arc::ptr_eq(&first, &used()));
        assert!(make(&files));
        tokio::time::sleep(3 * POLL_INTERVAL).await;
        assert!(!Arc::ptr_eq(&first, &used()));
        following.abort();
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let files = files_in(folder.path());
        let error = Tls::open(files.clone()).unwrap_err();
        assert!(error.to_string().contains("cert.pem"), "{error}");
        std::fs::write(&files.certificate, "no PEM").unwrap();
        let error = Tls::open(files).unwrap_err();
        assert!(error.to_string().contains("no certificate"), "{error}");
    }
}
