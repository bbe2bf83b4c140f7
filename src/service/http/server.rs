//! Listeners and connections: a bounded number of them, each with a deadline for its headers, all of
//! them ended when the service stops.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::service::chaos::{Chaos, ChaosService, ConnectionFault};

/// How long a client may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// How long requests under way may take when the service stops.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// A listener that is bound and does not accept yet.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    addr: SocketAddr,
}

impl Bound {
    /// Binds an address.
    ///
    /// # Errors
    /// When it is taken or not ours.
    pub async fn bind(addr: SocketAddr) -> io::Result<Bound> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        Ok(Bound { listener, addr })
    }

    /// The address, with the port that was chosen.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// Serves one listener.
#[derive(Debug)]
pub struct Server {
    /// Where connections come from.
    pub bound: Bound,
    /// How many are served at the same time; shared by all listeners of a service.
    pub connections: Arc<Semaphore>,
    /// The faults that are planned.
    pub chaos: Chaos,
    /// Tells to stop.
    pub stop: CancellationToken,
}

impl Server {
    /// Accepts and serves until told to stop, then gives what is under way a last moment.
    pub async fn serve(mut self, router: Router) {
        let mut tasks = JoinSet::new();
        let service = ChaosService::new(router, self.chaos.clone());
        loop {
            let accepted = tokio::select! {
                () = self.stop.cancelled() => break,
                accepted = self.accept() => accepted,
            };
            while tasks.try_join_next().is_some() {}
            match accepted {
                Ok((stream, permit)) => {
                    if let Some(fault) = self.chaos.on_connection() {
                        reset(&stream);
                        drop((stream, permit));
                        self.suffer(fault).await;
                        continue;
                    }
                    let serving = serve_connection(stream, service.clone(), self.stop.clone());
                    tasks.spawn(async move {
                        serving.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    // Too many open files, most likely: those that end make room.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        drop(self.bound);
        let rest = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_MOMENT, rest).await.is_err() {
            tasks.shutdown().await;
        }
    }

    /// Has the listener meet a fault: for a while nobody listens.
    async fn suffer(&mut self, fault: ConnectionFault) {
        let ConnectionFault::Refuse { ms } = fault else {
            return;
        };
        let addr = self.bound.addr;
        // A listener cannot be closed in place: an unused one takes its place until then.
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        if let Ok(unused) = Bound::bind(any).await {
            self.bound = unused;
        }
        tokio::time::sleep(Duration::from_millis(ms)).await;
        loop {
            match Bound::bind(addr).await {
                Ok(bound) => {
                    self.bound = bound;
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "the address is not free again yet");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    async fn accept(&self) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.connections).acquire_owned().await;
        let permit = permit.expect("nobody closes the semaphore");
        let (stream, _) = self.bound.listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok((stream, permit))
    }
}

/// Has the client see a reset instead of an orderly end.
fn reset(stream: &TcpStream) {
    // Where this cannot be set the client sees an end, which is as good.
    let _ = stream.set_zero_linger();
}

async fn serve_connection(stream: TcpStream, service: ChaosService, stop: CancellationToken) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME);
    builder.http2().timer(TokioTimer::new());
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // Clients go away all the time.
        tracing::debug!(%error, "a connection ended early");
    }
}
