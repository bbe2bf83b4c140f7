//! Serves one connection while it has its slot.

use std::future::{Future, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::activity::Activity;
use super::connections::Connections;
use super::connections::Slot;
use super::limits::{ConnectionLimits, Peer};
use super::stream::WatchedStream;

/// Maximum interval between two checks of a connection.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// How long after its opening a connection may wait for its first request although the server stops.
const FIRST_REQUEST_TIME: Duration = Duration::from_secs(3);

/// The reply to a connection beyond the limit.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: application/json\r\nContent-Length: 35\r\n\r\n{\"message\":\"Too many connections.\"}";

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The handler of requests.
pub trait Service: Clone + Send + Sync + 'static {
    type Body: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;
    /// An error closes the connection without a response.
    type Error: Into<BoxError>;

    /// Handles a request. Its extensions contain the [`Peer`].
    fn answer(
        &self,
        request: Request<RequestBody>,
    ) -> impl Future<Output = Result<Response<Self::Body>, Self::Error>> + Send;
}

/// The body of a request.
#[derive(Debug)]
pub struct RequestBody {
    inner: Incoming,
    activity: Arc<Activity>,
    waits: bool,
}

impl RequestBody {
    fn note(&mut self, waits: bool) {
        if waits != self.waits {
            self.waits = waits;
            match waits {
                true => self.activity.wait(),
                false => self.activity.go_on(),
            }
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        self.note(polled.is_pending());
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.note(false);
    }
}

/// Drop guard: ends the request.
#[derive(Debug)]
struct InFlight(Arc<Activity>);

impl InFlight {
    fn begin(activity: &Arc<Activity>) -> InFlight {
        activity.begin_request();
        InFlight(Arc::clone(activity))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.end_request();
    }
}

/// The body of a response. The request is in flight until the body is sent.
struct AnswerBody<B> {
    inner: Pin<Box<B>>,
    _in_flight: InFlight,
}

impl<B: Body> Body for AnswerBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.inner.as_mut().poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Connections {
    /// Serves a connection, if there is a slot for it, until it ends, times out, loses its slot, or `stop` ends it
    /// after the requests in flight.
    pub async fn serve<S: Service>(
        &self,
        stream: TcpStream,
        peer: Peer,
        service: S,
        stop: CancellationToken,
    ) {
        self.serve_after(|stream| ready(Ok(stream)), stream, peer, service, stop)
            .await;
    }

    /// Like [`Self::serve`], for a connection that begins with a handshake. The timeout of the first request includes the
    /// handshake.
    pub async fn serve_after<S, T, F>(
        &self,
        handshake: impl FnOnce(WatchedStream) -> F + Send,
        stream: TcpStream,
        peer: Peer,
        service: S,
        stop: CancellationToken,
    ) where
        S: Service,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        F: Future<Output = io::Result<T>> + Send,
    {
        let slot = tokio::select! {
            biased;
            slot = self.slot(peer) => slot,
            () = stop.cancelled() => None,
        };
        match slot {
            Some(slot) => {
                let stream = WatchedStream::new(stream, Arc::clone(&slot.activity));
                let opened = tokio::select! {
                    opened = handshake(stream) => opened,
                    () = slot.lost.cancelled() => return,
                    () = expired(&slot.activity, self.limits()) => return,
                    () = stop.cancelled() => return,
                };
                match opened {
                    Ok(stream) => self.serve_at(&slot, stream, peer, service, stop).await,
                    Err(error) => tracing::debug!(%error, "a handshake failed"),
                }
            }
            None => {
                tracing::warn!("a connection is refused: too many are served already");
                // A client that does not read it sees the connection close, which is enough.
                let _ = stream.try_write(BUSY);
            }
        }
    }

    async fn serve_at<S: Service, T: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        slot: &Slot,
        stream: T,
        peer: Peer,
        service: S,
        stop: CancellationToken,
    ) {
        let activity = &slot.activity;
        let answering = hyper::service::service_fn(|request: Request<Incoming>| {
            let in_flight = InFlight::begin(activity);
            let (service, activity) = (service.clone(), Arc::clone(activity));
            async move {
                let mut request = request.map(|inner| RequestBody {
                    inner,
                    activity,
                    waits: false,
                });
                request.extensions_mut().insert(peer);
                let answer = service.answer(request).await?;
                Ok::<_, S::Error>(answer.map(|inner| AnswerBody {
                    inner: Box::pin(inner),
                    _in_flight: in_flight,
                }))
            }
        });
        let mut builder = Builder::new(TokioExecutor::new());
        // `expired` implements the timeout of heads, also before the version of HTTP is known.
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(None);
        builder.http2().timer(TokioTimer::new());
        let connection = builder.serve_connection(TokioIo::new(stream), answering);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = slot.lost.cancelled() => return,
            () = expired(activity, self.limits()) => return,
            () = stop.cancelled() => tokio::select! {
                ended = connection.as_mut() => ended,
                // A client that has just connected is about to send its request.
                () = activity.asked(FIRST_REQUEST_TIME) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            },
        };
        if let Err(error) = ended {
            // Clients may disconnect at any time.
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// Returns when a connection times out.
async fn expired(activity: &Activity, limits: &ConnectionLimits) {
    // A change of state can move the deadline closer without a notification.
    let shortest = limits.head.min(limits.idle).min(limits.stall);
    let look_again = POLL_INTERVAL.min(shortest / 4);
    loop {
        let now = Instant::now();
        let next = now + look_again;
        match activity.deadline(limits) {
            Some(deadline) if deadline <= now => return,
            Some(deadline) => tokio::time::sleep_until(deadline.min(next)).await,
            None => tokio::time::sleep_until(next).await,
        }
    }
}
