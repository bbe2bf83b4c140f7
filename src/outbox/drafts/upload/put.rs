//! Sends the objects of an upload in parallel, and reports progress.
//!
//! An object that the storage does not take is sent again after pauses that double from the first time on, while the
//! others go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream;
use futures_util::stream::StreamExt as _;

use crate::client::{ClientError, Priority};
use crate::outbox::drafts::draft::Attempt;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::upload::body::{BodyStream, ObjectBody};
use crate::outbox::drafts::upload::info::FileTransfer;
use crate::outbox::drafts::upload::link::DraftLink;
use crate::outbox::drafts::upload::urls::ObjectUrls;
use crate::outbox::drafts::upload::verify;
use crate::outbox::effect::is_retryable;
use crate::outbox::error::OutboxResult;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::wire::UploadStatus;

/// How often progress events are sent.
const PROGRESS_EVERY: Duration = Duration::from_millis(300);
/// How long the service may take to say whether another machine has completed an upload.
const COMPLETED_LOOK: Duration = Duration::from_secs(5);

/// How sending the objects ended.
pub(super) enum Sent {
    All,
    /// The draft changed, or the outbox closes.
    Stopped,
    /// Another machine has completed the upload.
    Completed,
    Failed(ClientError),
}

/// The status of a PUT into an upload that is complete.
const COMPLETED: u16 = 409;

/// Why an object was not sent.
enum NotSent {
    Completed,
    Failed(ClientError),
}

/// Sends the objects of one attempt.
pub(super) struct ObjectSender<'u> {
    link: &'u DraftLink,
    urls: &'u ObjectUrls,
    attempt: &'u Attempt,
    /// How many objects pause before they are sent again.
    resting: AtomicUsize,
}

impl<'u> ObjectSender<'u> {
    pub(super) fn new(link: &'u DraftLink, urls: &'u ObjectUrls, attempt: &'u Attempt) -> Self {
        ObjectSender {
            link,
            urls,
            attempt,
            resting: AtomicUsize::new(0),
        }
    }

    /// Sends `objects`, the missing ones.
    pub(super) async fn send(&self, objects: Vec<usize>) -> OutboxResult<Sent> {
        let parts = self.link.parts();
        let bodies = verify::bodies_of(parts, &self.attempt.manifest).await?;
        self.show_totals(&bodies);
        let parallel = parts.config.parallel_puts.max(1);
        let names = self.attempt.manifest.object_names();
        let mut puts = stream::iter(objects)
            .map(|object| {
                let (name, body) = (&names[object], bodies[object].clone());
                async move { (object, self.put(object, name, body).await) }
            })
            .buffer_unordered(parallel);
        let stopped = self.link.live().stopped();
        tokio::pin!(stopped);
        let mut progress = tokio::time::interval(PROGRESS_EVERY);
        loop {
            tokio::select! {
                biased;
                next = puts.next() => match next {
                    Some((object, Ok(()))) => self.put_done(object)?,
                    Some((_, Err(NotSent::Completed))) => return Ok(Sent::Completed),
                    Some((_, Err(NotSent::Failed(error)))) => return Ok(Sent::Failed(error)),
                    None => return Ok(Sent::All),
                },
                _ = progress.tick() => self.report_progress(),
                () = &mut stopped => return Ok(Sent::Stopped),
                () = parts.tasks.closed() => return Ok(Sent::Stopped),
            }
        }
    }

    /// Sends an object until it is stored, or until another try cannot succeed.
    async fn put(&self, object: usize, name: &str, body: ObjectBody) -> Result<(), NotSent> {
        let is_shared = !self.attempt.origin.is_own();
        let mut pauses = self.link.pauses();
        loop {
            let pokes = self.link.pokes();
            let error = match self.put_once(object, name, &body).await {
                Ok(()) => return Ok(()),
                Err(ClientError::Rejected { status, .. }) if is_shared && status == COMPLETED => {
                    return Err(NotSent::Completed);
                }
                Err(error) if !is_retryable(&error) => return Err(NotSent::Failed(error)),
                // The storage may close the connection before its refusal is read.
                Err(_) if is_shared && self.is_completed().await => {
                    return Err(NotSent::Completed);
                }
                Err(error) => error,
            };
            self.resting.fetch_add(1, Ordering::Relaxed);
            let pause = self.link.interrupted(error, &mut pauses);
            self.link.rest(pause, pokes).await;
            self.resting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether the service says that the upload is complete.
    async fn is_completed(&self) -> bool {
        let Some(asset) = self.attempt.stage.asset() else {
            return false;
        };
        let assets = self.link.parts().client.assets();
        let record = assets.get(asset, Priority::Background);
        let record = tokio::time::timeout(COMPLETED_LOOK, record).await;
        let record = record.ok().and_then(Result::ok);
        record.is_some_and(|record| record.upload_status != UploadStatus::Incomplete)
    }

    async fn put_once(
        &self,
        object: usize,
        name: &str,
        body: &ObjectBody,
    ) -> Result<(), ClientError> {
        let parts = self.link.parts();
        let permit = parts.own.puts.acquire().await;
        let shown = FileTransfer {
            name: name.to_owned(),
            sent: 0,
            total: body.len(),
        };
        self.link.live().objects().insert(object, shown);
        let Some(url) = self.urls.get(object) else {
            return Err(ClientError::Expired {
                what: format!("object {object}"),
            });
        };
        let sent = Arc::clone(&self.link.live().sent);
        let live = self.link.live().clone();
        let mine = AtomicU64::new(0);
        let progress = move |now: u64| {
            // A retry starts at zero again: the sum goes down by what was sent before.
            let before = mine.swap(now, Ordering::Relaxed);
            sent.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
            if let Some(shown) = live.objects().get_mut(&object) {
                shown.sent = now;
            }
        };
        let reply = parts
            .client
            .transfers()
            .put_file(url, body.len(), || self.begin_attempt(body), progress)
            .await;
        drop(permit);
        self.link.live().objects().remove(&object);
        reply.map(|_| failpoint::hit(Failpoint::AfterPut))
    }

    /// The bytes for one more attempt. The failure of the one before is over, unless another object waits too.
    fn begin_attempt(&self, body: &ObjectBody) -> BodyStream {
        if self.resting.load(Ordering::Relaxed) == 0 && self.link.is_troubled() {
            self.link.set_trouble(None);
        }
        body.stream()
    }

    fn put_done(&self, object: usize) -> OutboxResult<()> {
        let draft = self.link.draft();
        let mut memory = self.link.parts().memory();
        // If this record is lost, the object is sent twice at worst. So nothing waits for the disk here.
        memory.record(UploadRecord::FilePut {
            draft,
            attempt: self.attempt.number,
            file: object,
        })?;
        if let Some(live) = &mut memory.activity(draft).upload {
            live.files_sent += 1;
        }
        drop(memory);
        self.report_progress();
        Ok(())
    }

    fn show_totals(&self, bodies: &[ObjectBody]) {
        let done = self
            .attempt
            .put
            .iter()
            .filter_map(|object| bodies.get(*object))
            .map(ObjectBody::len)
            .sum();
        self.link.live().sent.store(done, Ordering::Relaxed);
        self.link.live().objects().clear();
        let mut memory = self.link.parts().memory();
        if let Some(live) = &mut memory.activity(self.link.draft()).upload {
            live.total = bodies.iter().map(ObjectBody::len).sum();
            live.files = bodies.len();
            live.files_sent = self.attempt.put.len();
        }
    }

    fn report_progress(&self) {
        let sent = self.link.live().sent.load(Ordering::Relaxed);
        self.link.live().rate().note(self.link.parts().now(), sent);
        self.link.parts().status_changed(self.link.draft());
    }
}
