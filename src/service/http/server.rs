//! The listeners of the service: connections of `listener`, with injected faults. All end when the service stops.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::listener::{self, Connections, Listener};
use crate::service::chaos::apply::ChaosService;
use crate::service::chaos::{Chaos, ConnectionFault};
use crate::service::tls::Tls;

/// Serves one listener.
#[derive(Debug)]
pub struct Server {
    pub listener: Listener,
    /// The connection limit, shared by all listeners of a service.
    pub connections: Connections,
    pub chaos: Chaos,
    pub stop: CancellationToken,
    /// The certificate, if clients speak TLS with this listener.
    pub tls: Option<Arc<Tls>>,
}

impl Server {
    /// Serves until `stop`, then gives requests in flight a short time to finish.
    pub async fn serve(mut self, router: Router) {
        let mut tasks = JoinSet::new();
        let service = ChaosService::new(router, self.chaos.clone());
        while let Some((stream, peer)) = self.listener.next(&self.stop).await {
            while tasks.try_join_next().is_some() {}
            if let Some(fault) = self.chaos.on_connection() {
                reset(&stream);
                drop(stream);
                self.inject(fault).await;
                continue;
            }
            let (connections, service) = (self.connections.clone(), service.clone());
            let stop = self.stop.clone();
            match self.tls.as_deref().map(Tls::acceptor) {
                None => tasks.spawn(async move {
                    connections.serve(stream, peer, service, stop).await;
                }),
                Some(acceptor) => tasks.spawn(async move {
                    let handshake = |stream| acceptor.accept(stream);
                    connections
                        .serve_after(handshake, stream, peer, service, stop)
                        .await;
                }),
            };
        }
        drop(self.listener);
        listener::finish(tasks).await;
    }

    /// Injects a fault of a connection.
    async fn inject(&mut self, fault: ConnectionFault) {
        let ConnectionFault::Refuse { ms } = fault else {
            return;
        };
        let addr = self.listener.addr();
        // A listener cannot be closed in place, so an unused one replaces it until then.
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        if let Ok(unused) = Listener::bind(any) {
            self.listener = unused;
        }
        tokio::time::sleep(Duration::from_millis(ms)).await;
        loop {
            match Listener::bind(addr) {
                Ok(again) => {
                    self.listener = again;
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "the address is not free again yet");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

/// Makes the client see a reset instead of an orderly close.
fn reset(stream: &TcpStream) {
    // If this fails, the client sees an orderly close, which is good enough.
    let _ = stream.set_zero_linger();
}
