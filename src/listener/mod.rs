//! HTTP connections, a bounded number of them: what everything that listens here has in common.
//!
//! A [`Listener`] accepts connections; [`Connections`] decides which are served. A connection is closed when
//! no request arrives in time, or when the client neither sends nor reads although the server waits for it.
//! When the limit is reached, one connection is closed for a new one: first the oldest that
//! has never sent a request, then the one that has been idle longest between requests, then one whose client
//! has stalled. One peer address never takes all connections.
//!
//! There is no limit of time for a request body while bytes keep arriving. The service that is passed in
//! handles the requests.

mod activity;
mod connections;
mod limits;
mod serve;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use activity::Traffic;
pub use connections::Connections;
pub use limits::{ConnectionLimits, Peer};
pub use serve::{RequestBody, Service};

/// How long requests in flight may take after a stop.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// Pause after a failed `accept`.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A bound listener.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    addr: SocketAddr,
}

impl Listener {
    /// Binds an address. Port 0 picks a free port.
    ///
    /// # Errors
    /// If the address is in use or not of this machine.
    pub async fn bind(addr: SocketAddr) -> io::Result<Listener> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        Ok(Listener { listener, addr })
    }

    /// The address with the actual port.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The next connection. A failure to accept (usually too many open files) is logged and tried again. Safe to
    /// cancel.
    pub async fn accept(&self) -> (TcpStream, Peer) {
        loop {
            match self.listener.accept().await {
                Ok((stream, addr)) => {
                    // An error only makes replies slower.
                    let _ = stream.set_nodelay(true);
                    return (stream, Peer::of(addr.ip()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Serves until `stop`, then gives the requests in flight a short time to finish.
    pub async fn serve<S: Service>(
        self,
        service: S,
        connections: Connections,
        stop: CancellationToken,
    ) {
        let mut tasks = JoinSet::new();
        loop {
            let (stream, peer) = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.accept() => accepted,
            };
            while tasks.try_join_next().is_some() {}
            let (connections, service) = (connections.clone(), service.clone());
            let stop = stop.clone();
            tasks.spawn(async move { connections.serve(stream, peer, service, stop).await });
        }
        drop(self);
        finish(tasks).await;
    }
}

/// Waits briefly for connections to close, then ends them.
pub async fn finish(mut tasks: JoinSet<()>) {
    let rest = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST_MOMENT, rest).await.is_err() {
        tasks.shutdown().await;
    }
}
