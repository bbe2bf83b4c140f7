//! Sends the objects of an upload in parallel, and reports progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream;
use futures_util::stream::StreamExt as _;

use crate::client::ClientError;
use crate::outbox::drafts::draft::Attempt;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::upload::body::ObjectBody;
use crate::outbox::drafts::upload::info::FileTransfer;
use crate::outbox::drafts::upload::run::{Flow, Upload};
use crate::outbox::drafts::upload::verify;
use crate::outbox::error::OutboxResult;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;

/// How often progress events are sent.
const PROGRESS_EVERY: Duration = Duration::from_millis(300);

impl Upload {
    /// Sends the missing objects.
    pub(super) async fn put(
        &mut self,
        attempt: &Attempt,
        objects: Vec<usize>,
    ) -> OutboxResult<Flow> {
        let bodies = self.bodies(attempt).await?;
        self.show_totals(attempt, &bodies);
        let parallel = self.parts.config.parallel_puts.max(1);
        let names = attempt.manifest.object_names();
        let mut failure = None;
        {
            let this = &*self;
            let mut puts = stream::iter(objects)
                .map(|object| {
                    let (name, body) = (&names[object], bodies[object].clone());
                    async move { (object, this.put_one(object, name, body).await) }
                })
                .buffer_unordered(parallel);
            let stopped = this.live.stopped();
            tokio::pin!(stopped);
            let mut progress = tokio::time::interval(PROGRESS_EVERY);
            loop {
                tokio::select! {
                    biased;
                    next = puts.next() => match next {
                        Some((object, Ok(()))) => this.put_done(attempt, object).await?,
                        Some((_, Err(error))) => {
                            failure = Some(error);
                            break;
                        }
                        None => break,
                    },
                    _ = progress.tick() => this.report_progress(),
                    () = &mut stopped => return Ok(Flow::End),
                    () = this.parts.tasks.closed() => return Ok(Flow::End),
                }
            }
        }
        match failure {
            None => {
                failpoint::hit(Failpoint::AfterPuts);
                self.set_trouble(None);
                self.retries.reset();
                Ok(Flow::Again)
            }
            // The URLs of a deleted asset do not work either.
            Some(ClientError::Expired { .. } | ClientError::NotFound { .. }) => {
                self.expired = true;
                Ok(Flow::Again)
            }
            Some(error) => self.failed_or_again(error, "the upload").await,
        }
    }

    async fn put_one(
        &self,
        object: usize,
        name: &str,
        body: ObjectBody,
    ) -> Result<(), ClientError> {
        let permit = self.parts.own.puts.acquire().await;
        let shown = FileTransfer {
            name: name.to_owned(),
            sent: 0,
            total: body.len(),
        };
        self.live.objects().insert(object, shown);
        let Some(url) = self.urls.get(&object) else {
            return Err(ClientError::Expired {
                what: format!("object {object}"),
            });
        };
        let sent = Arc::clone(&self.live.sent);
        let live = self.live.clone();
        let mine = AtomicU64::new(0);
        let progress = move |now: u64| {
            // A retry starts at zero again: the sum goes down by what was sent before.
            let before = mine.swap(now, Ordering::Relaxed);
            sent.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
            if let Some(shown) = live.objects().get_mut(&object) {
                shown.sent = now;
            }
        };
        let reply = self
            .parts
            .client
            .transfers()
            .put_file(url, body.len(), || body.stream(), progress)
            .await;
        drop(permit);
        self.live.objects().remove(&object);
        reply.map(|_| failpoint::hit(Failpoint::AfterPut))
    }

    async fn put_done(&self, attempt: &Attempt, object: usize) -> OutboxResult<()> {
        let mut memory = self.parts.memory();
        // If this record is lost, the object is sent twice at worst. So nothing waits for the disk here.
        memory.record(UploadRecord::FilePut {
            draft: self.draft,
            attempt: attempt.number,
            file: object,
        })?;
        if let Some(live) = &mut memory.activity(self.draft).upload {
            live.files_sent += 1;
        }
        drop(memory);
        self.report_progress();
        Ok(())
    }

    async fn bodies(&self, attempt: &Attempt) -> OutboxResult<Vec<ObjectBody>> {
        verify::bodies_of(&self.parts, &attempt.manifest).await
    }

    fn show_totals(&self, attempt: &Attempt, bodies: &[ObjectBody]) {
        let done = attempt
            .put
            .iter()
            .filter_map(|object| bodies.get(*object))
            .map(ObjectBody::len)
            .sum();
        self.live.sent.store(done, Ordering::Relaxed);
        self.live.objects().clear();
        let mut memory = self.parts.memory();
        if let Some(live) = &mut memory.activity(self.draft).upload {
            live.total = bodies.iter().map(ObjectBody::len).sum();
            live.files = bodies.len();
            live.files_sent = attempt.put.len();
        }
    }

    fn report_progress(&self) {
        let sent = self.live.sent.load(Ordering::Relaxed);
        self.live.rate().note(self.parts.now(), sent);
        self.parts.status_changed(self.draft);
    }
}
