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
mod closing;
mod connections;
mod host;
mod limits;
mod serve;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use activity::Traffic;
pub use connections::Connections;
pub use host::host_problem;
pub use limits::{ConnectionLimits, Peer};
pub use serve::{RequestBody, Service};

/// How long requests in flight may take after a stop.
const LAST_MOMENT: Duration = Duration::from_secs(5);

/// Pause after a failed `accept`.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1_024;

/// A bound listener.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    addr: SocketAddr,
}

/// An address that is bound and refuses connections until [`Reserved::listen`].
#[derive(Debug)]
pub struct Reserved {
    socket: TcpSocket,
    addr: SocketAddr,
}

impl Reserved {
    /// Binds an address. Port 0 picks a free port.
    ///
    /// # Errors
    /// If the address is in use or not of this machine.
    pub fn bind(addr: SocketAddr) -> io::Result<Reserved> {
        let socket = match addr {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        socket.set_reuseaddr(true)?;
        socket.bind(addr)?;
        let addr = socket.local_addr()?;
        Ok(Reserved { socket, addr })
    }

    /// The address with the actual port.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Accepts connections from now on.
    ///
    /// # Errors
    /// If another process began to listen on the address meanwhile.
    pub fn listen(self) -> io::Result<Listener> {
        let listener = self.socket.listen(BACKLOG)?;
        Ok(Listener {
            listener,
            addr: self.addr,
        })
    }
}

impl Listener {
    /// Binds an address. Port 0 picks a free port.
    ///
    /// # Errors
    /// If the address is in use or not of this machine.
    pub fn bind(addr: SocketAddr) -> io::Result<Listener> {
        Reserved::bind(addr)?.listen()
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

    /// The next connection until `stop`, and after it those whose clients had begun to connect. Then `None`. Safe to
    /// cancel.
    pub async fn next(&self, stop: &CancellationToken) -> Option<(TcpStream, Peer)> {
        tokio::select! {
            biased;
            () = stop.cancelled() => closing::ignore_new_clients(&self.listener),
            accepted = self.accept() => return Some(accepted),
        }
        tokio::time::timeout(closing::HANDSHAKE_TIME, self.accept())
            .await
            .ok()
    }

    /// Serves until `stop`, then gives the requests in flight a short time to finish.
    pub async fn serve<S: Service>(
        self,
        service: S,
        connections: Connections,
        stop: CancellationToken,
    ) {
        let mut tasks = JoinSet::new();
        while let Some((stream, peer)) = self.next(&stop).await {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reserved_address_refuses_connections_until_it_listens() {
        let reserved = Reserved::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let addr = reserved.addr();
        let refused = TcpStream::connect(addr).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let listener = reserved.listen().unwrap();
        assert_eq!(listener.addr(), addr);
        let connecting = TcpStream::connect(addr);
        let (connected, _) = tokio::join!(connecting, listener.accept());
        connected.unwrap();
        let taken = Reserved::bind(addr).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    }
}
