//! Sends a file to a signed URL: streamed as a whole, and once more if a kept connection breaks without a reply. When
//! to try again after that is decided by the caller, because each attempt costs all bytes of the file.
//!
//! The invariant: a successful transfer sent exactly the announced length from one opening of the file. A
//! file that is shorter, longer or unreadable fails with that reason, not as a network error.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt};
use reqwest::header::{CONTENT_LENGTH, HeaderValue};
use reqwest::{Body, Method, Request, Response, StatusCode};
use tokio::time::{Instant, sleep_until};

use super::config::Deadlines;
use super::error::ClientError;
use super::meta::ObjectMeta;
use super::retry::report_repeated;
use super::storage::{self, SignedObject};
use super::transport::{self, Connection, Fault};
use crate::locks::Locked;
use crate::wire::Timestamp;

/// Reply of storage to a stored file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutReply {
    /// Metadata of the stored object; the size is the sent length.
    pub meta: ObjectMeta,
}

/// Sends the `len` bytes of the stream from `open` to a signed URL. A second attempt calls `open` again;
/// `progress` receives the bytes sent in the current attempt.
pub(super) async fn put_file<S>(
    object: &SignedObject,
    expires_at: Option<Timestamp>,
    len: u64,
    open: impl Fn() -> S + Send + Sync,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<PutReply, ClientError>
where
    S: Stream<Item = io::Result<Bytes>> + Send + 'static,
{
    let progress = Arc::new(progress);
    let mut connection = Connection::Kept;
    loop {
        let error = match put_once(object, len, &open, &progress, connection).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        let is_broken = matches!(error, ClientError::Unavailable { status: None, .. });
        // With an expired URL a server may close the connection before its error reply is read.
        if is_broken && expires_at.is_some_and(|end| end <= Timestamp::now()) {
            return Err(ClientError::Expired {
                what: object.what.clone(),
            });
        }
        if !is_broken || connection == Connection::Fresh {
            return Err(error);
        }
        let pause = object.storage.retries.jittered(1);
        tracing::debug!(%error, ?pause, "sending a file again");
        report_repeated(&error);
        tokio::time::sleep(pause).await;
        connection = Connection::Fresh;
    }
}

async fn put_once<S>(
    object: &SignedObject,
    len: u64,
    open: &(impl Fn() -> S + Send + Sync),
    progress: &Arc<impl Fn(u64) + Send + Sync + 'static>,
    connection: Connection,
) -> Result<PutReply, ClientError>
where
    S: Stream<Item = io::Result<Bytes>> + Send + 'static,
{
    let deadlines = object.storage.deadlines;
    let transport = &object.storage.transport;
    let pool = transport.storage(connection);
    let mut url = object.url.clone();
    for _ in 0..=storage::MAX_HOPS {
        transport.rule.check_url(&url)?;
        let sending = Arc::new(Sending::new(len));
        let file = object.storage.up.limit(open());
        let body = sending.clone().body(file, progress.clone()).await?;
        let mut request = Request::new(Method::PUT, url);
        request
            .headers_mut()
            .insert(CONTENT_LENGTH, HeaderValue::from(len));
        *request.body_mut() = Some(body);
        let response = match send_watched(pool, request, &sending, deadlines).await {
            Ok(response) => response,
            Err(fault) => {
                return Err(sending.local_fault().unwrap_or_else(|| object.fault(fault)));
            }
        };
        match response.status() {
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {
                let Some(target) = storage::location(&response) else {
                    return Err(object.refusal(response).await);
                };
                url = target;
            }
            status if status.is_success() => {
                let response = object.unaltered(response)?;
                return Ok(stored(response, len, deadlines.stall).await);
            }
            _ => return Err(object.refusal(response).await),
        }
    }
    Err(object.too_many_redirects())
}

async fn stored(response: Response, len: u64, stall: Duration) -> PutReply {
    let meta = ObjectMeta::of(response.status(), response.headers());
    storage::drain(response, stall).await;
    PutReply {
        meta: ObjectMeta {
            size: Some(len),
            ..meta
        },
    }
}

/// Sends a request with a streamed body, and fails if it makes no progress.
async fn send_watched(
    pool: &transport::Pool,
    request: Request,
    sending: &Sending,
    deadlines: Deadlines,
) -> Result<Response, Fault> {
    let sent = pool.execute(request);
    tokio::pin!(sent);
    loop {
        let give_up = sending.give_up_at(&deadlines);
        tokio::select! {
            biased;
            answer = &mut sent => return answer,
            () = sleep_until(give_up) => {
                if sending.give_up_at(&deadlines) <= Instant::now() {
                    return Err(Fault::Stalled);
                }
            }
        }
    }
}

/// State of one attempt: progress and local errors.
struct Sending {
    len: u64,
    state: Mutex<SendingState>,
}

struct SendingState {
    sent: u64,
    last_progress: Instant,
    local_fault: Option<ClientError>,
}

impl Sending {
    fn new(len: u64) -> Self {
        let state = SendingState {
            sent: 0,
            last_progress: Instant::now(),
            local_fault: None,
        };
        Self {
            len,
            state: Mutex::new(state),
        }
    }

    /// The request body: the bytes of the file, counted and checked while they are sent.
    async fn body<S>(
        self: Arc<Self>,
        file: S,
        progress: Arc<impl Fn(u64) + Send + Sync + 'static>,
    ) -> Result<Body, ClientError>
    where
        S: Stream<Item = io::Result<Bytes>> + Send + 'static,
    {
        let mut file = Box::pin(file);
        if self.len == 0 {
            // A streamed empty body would be sent with chunked encoding.
            while let Some(chunk) = file.next().await {
                self.pass(chunk, &*progress)
                    .map_err(|error| self.local_fault().unwrap_or_else(|| local(error)))?;
            }
            return Ok(Body::from(Bytes::new()));
        }
        let end = self.clone();
        let chunks = file.map(move |chunk| self.pass(chunk, &*progress));
        let end = futures_util::stream::once(async move { end.finish() })
            .filter_map(|end| async { end.err().map(Err) });
        Ok(Body::wrap_stream(chunks.chain(end)))
    }

    fn pass(&self, chunk: io::Result<Bytes>, progress: &impl Fn(u64)) -> io::Result<Bytes> {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(error) => return Err(self.fail(local(error))),
        };
        let sent = {
            let mut state = self.state.locked();
            state.sent += chunk.len() as u64;
            state.last_progress = Instant::now();
            state.sent
        };
        if sent > self.len {
            return Err(self.fail(ClientError::LocalChanged {
                expected_bytes: self.len,
                found_bytes: sent,
            }));
        }
        progress(sent);
        Ok(chunk)
    }

    fn finish(&self) -> io::Result<()> {
        let sent = self.state.locked().sent;
        if sent < self.len {
            return Err(self.fail(ClientError::LocalChanged {
                expected_bytes: self.len,
                found_bytes: sent,
            }));
        }
        Ok(())
    }

    fn fail(&self, fault: ClientError) -> io::Error {
        let error = io::Error::other(fault.to_string());
        self.state.locked().local_fault.get_or_insert(fault);
        error
    }

    fn local_fault(&self) -> Option<ClientError> {
        self.state.locked().local_fault.clone()
    }

    fn give_up_at(&self, deadlines: &Deadlines) -> Instant {
        let state = self.state.locked();
        let patience = if state.sent >= self.len {
            deadlines.after_upload
        } else {
            deadlines.stall
        };
        state.last_progress + patience
    }
}

fn local(error: io::Error) -> ClientError {
    ClientError::LocalRead(Arc::new(error))
}
