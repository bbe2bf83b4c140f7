//! The local service: the whole API over HTTP, with its records, its files and its worker processes.
//!
//! [`Service::start`] opens the data folder, binds the listeners and starts the workers;
//! [`RunningService`] is the handle that stops all of it. What the service has acknowledged is
//! durable: records and jobs commit together, an upload is on disk before its PUT is answered.
//! The 3D work itself is done by `engine`, in processes of its own.

mod config;

use std::net::SocketAddr;

use url::Url;

pub use config::{ServiceConfig, StorageOrigin, WorkerCommand, WorkerLimits};

/// Why a service could not start or stop.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The address is taken or not ours.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// The local service, before it runs.
#[derive(Debug)]
pub struct Service;

/// A service that runs; stops when told to, or when this is dropped.
#[derive(Debug)]
pub struct RunningService {
    base_url: Url,
    addr: SocketAddr,
    token: String,
}

impl Service {
    /// Starts a service and returns once it answers requests.
    ///
    /// # Errors
    /// When the data folder cannot be used or an address cannot be bound.
    #[expect(clippy::todo, reason = "the first landing carries the signatures only")]
    pub async fn start(config: ServiceConfig) -> Result<RunningService, ServiceError> {
        let _ = config;
        todo!("the first landing carries the signatures only")
    }
}

impl RunningService {
    /// The base of every API path, such as `http://127.0.0.1:4321/`.
    pub fn base_url(&self) -> &Url {
        &self.base_url
    }

    /// Where the API listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The token that was made with the first account, `<id>|<secret>`.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Stops: no new requests, those under way get a moment, workers end and their jobs go back
    /// into the queue.
    pub async fn shutdown(self) {}
}
