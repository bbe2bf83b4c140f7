//! Starts an upload: fixes the manifest, and sends the start request.

use crate::backoff::Backoff;
use crate::client::ClientError;
use crate::outbox::drafts::activity::Trouble;
use crate::outbox::drafts::draft::{AssetOrigin, Draft, StartKey};
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::settle::readiness::DraftFacts;
use crate::outbox::drafts::settle::{facts, look, readiness};
use crate::outbox::drafts::upload::link::{DraftLink, Flow};
use crate::outbox::drafts::upload::manifest::Manifest;
use crate::outbox::drafts::upload::room;
use crate::outbox::drafts::upload::urls::{self, ObjectUrls};
use crate::outbox::effect::Effect;
use crate::outbox::error::OutboxResult;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::ids::{DraftId, random_token};
use crate::outbox::moment::Moment;
use crate::outbox::staging::ContentHash;
use crate::wire::{AssetId, StartUpload, UploadStarted};

/// An upload that is about to be started.
pub(super) struct Start {
    pub(super) attempt: u64,
    /// The token of its idempotency key.
    token: String,
    /// By which other machines that send the same find the upload.
    pub(super) join_key: Option<String>,
    manifest: Manifest,
}

impl Start {
    fn request(&self) -> StartUpload {
        StartUpload {
            model_name: self.manifest.model_name.clone(),
            filenames: self.manifest.object_names(),
            is_zip: self.manifest.is_zip(),
        }
    }
}

/// The idempotency key: a service may refuse a key that comes again with another request.
fn key_of(token: &str, request: &StartUpload) -> String {
    let request = serde_json::to_vec(request).expect("a request can be written as JSON");
    format!("assetfs start {token} {}", ContentHash::of(&request))
}

/// The token of this draft's requests that were not answered, or a new one. Not that of a request in flight: if the draft
/// has changed since, the asset of its answer is deleted.
fn token_for(memory: &DraftsMemory, draft: DraftId) -> String {
    let open = &memory.state.open_starts;
    let is_in_flight = |key: &StartKey| {
        let mut starting = memory.starting.iter();
        starting.any(|attempt| {
            open.get(attempt)
                .is_some_and(|it| it.key.as_ref() == Some(key))
        })
    };
    let keys = open.values().filter_map(|start| start.key.as_ref());
    let mut unanswered = keys.filter(|key| key.draft == draft && !is_in_flight(key));
    let last = unanswered.next_back();
    last.map_or_else(random_token, |key| key.token.clone())
}

/// The join key of a start, unless another draft of this machine sends the same: two copies here stay two models.
pub(super) fn join_key_for(
    memory: &DraftsMemory,
    id: DraftId,
    manifest: &Manifest,
) -> Option<String> {
    let drafts = &memory.state.drafts;
    let replaces = drafts.get(&id)?.replaces.as_ref();
    let key = manifest.join_key(replaces.map(|replaced| replaced.asset));
    let is_same = |(other, draft): (&DraftId, &Draft)| {
        let attempt = draft.attempt.as_ref().filter(|_| *other != id);
        let contents = attempt.map(|attempt| attempt.manifest.contents());
        contents.is_some_and(|contents| contents == manifest.contents())
    };
    (!drafts.iter().any(is_same)).then_some(key)
}

/// True for an asset that this machine has already sent, or that is about to be deleted for good: a new upload is never
/// mistaken for it.
pub(super) fn is_taken(memory: &DraftsMemory, asset: AssetId) -> bool {
    let state = &memory.state;
    let is_discarded = state.discards.contains(&asset) && !state.shared_discards.contains(&asset);
    let mut begun = state.drafts.values().filter_map(Draft::begun_asset);
    state.sent.contains_key(&asset)
        || state.deletions.contains(&asset)
        || is_discarded
        || begun.any(|(other, _)| other == asset)
}

/// Whether an upload of another machine may be joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joining {
    Allowed,
    /// The one that the service has found is one of this machine.
    Ended,
}

/// Starts an attempt.
pub(super) struct Starter<'u> {
    pub(super) link: &'u mut DraftLink,
    pub(super) urls: &'u mut ObjectUrls,
    pub(super) joining: &'u mut Joining,
    /// Back-off before another attempt, after one that was given up.
    pub(super) starts: &'u mut Backoff,
}

impl Starter<'_> {
    /// Starts a new attempt.
    pub(super) async fn start(&mut self) -> OutboxResult<Flow> {
        let Some(found) = look::look(self.link.parts(), self.link.draft()).await? else {
            return Ok(Flow::End);
        };
        let ready = match self.check(&found) {
            Ok(warning) => warning,
            Err(None) => return Ok(Flow::End),
            Err(Some(reason)) => return self.link.fail(reason).await,
        };
        let known = self.known_model().await?;
        let room = match &known {
            Some(_) => None,
            None => match room::take(self.link).await {
                Ok(room) => room,
                Err(flow) => return Ok(flow),
            },
        };
        let Some(start) = self.intend(ready).await? else {
            return Ok(Flow::End);
        };
        drop(room);
        if let Some(known) = known {
            self.link.parts().memory().starting.remove(&start.attempt);
            return self.join(&start, known).await;
        }
        failpoint::hit(Failpoint::BeforeStart);
        let request = start.request();
        let key = key_of(&start.token, &request);
        let assets = self.link.parts().client.assets();
        let call = assets.start_upload_keyed(&request, Some(&key), start.join_key.as_deref());
        let call = self.link.in_turn(call);
        let reply = self.link.parts().tasks.with_grace(call).await;
        failpoint::hit(Failpoint::AfterStart);
        self.link.parts().memory().starting.remove(&start.attempt);
        match reply {
            // The outbox closes. The next run finds an open start request and makes a new attempt.
            None => Ok(Flow::End),
            Some(Ok(reply)) => self.record_start(&start, reply).await,
            Some(Err(error)) => self.handle_failed_start(&start, error).await,
        }
    }

    /// Whether the draft may be sent: `Ok` with a warning, or `Err` with the reason. Without a reason the draft is no
    /// longer ready, and the settle rule decides again.
    fn check(&self, found: &DraftFacts) -> Result<Option<String>, Option<String>> {
        let ordered = {
            let memory = self.link.parts().memory();
            memory
                .state
                .drafts
                .get(&self.link.draft())
                .and_then(|draft| draft.ordered)
        };
        match readiness::readiness(found) {
            Ok(content) => Ok(readiness::warning_for(&content)),
            Err(obstacle) if ordered == Some(true) && obstacle.can_be_forced() => {
                Ok(Some(format!(
                    "sent by force, although {}; `assetfs replace` uploads the model again with all its files",
                    obstacle.sentence()
                )))
            }
            Err(obstacle) if ordered.is_some() => Err(Some(obstacle.sentence())),
            Err(_) => Err(None),
        }
    }

    /// Records that the upload is about to be started. `None` if the draft changed meanwhile.
    async fn intend(&mut self, warning: Option<String>) -> OutboxResult<Option<Start>> {
        let (start, ticket) = {
            let mut memory = self.link.parts().memory();
            if self.link.is_cancelled() {
                return Ok(None);
            }
            let Some(draft) = memory.state.drafts.get(&self.link.draft()) else {
                return Ok(None);
            };
            let manifest = facts::manifest_of(&memory, draft);
            let token = token_for(&memory, self.link.draft());
            let join_key = match self.joining {
                Joining::Allowed => join_key_for(&memory, self.link.draft(), &manifest),
                Joining::Ended => None,
            };
            let start = Start {
                attempt: memory.state.next_id(),
                token,
                join_key,
                manifest,
            };
            let ticket = memory.record(UploadRecord::StartSent {
                draft: self.link.draft(),
                attempt: start.attempt,
                at: Moment::now(),
                manifest: start.manifest.clone(),
                key: Some(start.token.clone()),
                warning,
            })?;
            memory.starting.insert(start.attempt);
            (start, ticket)
        };
        if let Err(error) = self.link.parts().journal.settle_async(ticket).await {
            self.link.parts().memory().starting.remove(&start.attempt);
            self.record_refusal(&start).await?;
            return Err(error);
        }
        self.link.parts().draft_changed(self.link.draft());
        Ok(Some(start))
    }

    async fn record_start(&mut self, start: &Start, reply: UploadStarted) -> OutboxResult<Flow> {
        let origin = AssetOrigin::of(reply.joined.filter(|_| start.join_key.is_some()));
        if origin == AssetOrigin::Joined && is_taken(&self.link.parts().memory(), reply.id) {
            *self.joining = Joining::Ended;
            self.record_refusal(start).await?;
            return Ok(Flow::Again);
        }
        // Recorded even if the draft was changed or removed: then the asset has to be deleted.
        self.link
            .parts()
            .record(UploadRecord::Started {
                draft: self.link.draft(),
                attempt: start.attempt,
                asset: reply.id,
                urls: urls::sealed(&reply.links.s3_upload_urls, &self.link.parts().own.seal),
                origin,
            })
            .await?;
        failpoint::hit(Failpoint::BeforePuts);
        self.link.parts().own.discard_wake.notify_one();
        self.link.set_trouble(None);
        let names = start.manifest.object_names();
        match self.urls.take(&names, &reply.links.s3_upload_urls) {
            None => Ok(Flow::Again),
            // Its other client may have completed it; the state of the asset says so.
            Some(_) if origin == AssetOrigin::Joined => Ok(Flow::Again),
            Some(name) => {
                self.link.drop_attempt(start.attempt).await?;
                self.link
                    .fail(format!(
                        "the service returned no upload URL for {name}; `assetfs retry` repeats the upload"
                    ))
                    .await
            }
        }
    }

    async fn handle_failed_start(
        &mut self,
        start: &Start,
        error: ClientError,
    ) -> OutboxResult<Flow> {
        if Effect::of(&error) == Effect::Unknown {
            // There may be an asset with an unknown id. The next request joins it if the service knows keys; else it is
            // listed as an orphan, and each further try may leave another.
            self.link.drop_attempt(start.attempt).await?;
            self.link.set_trouble(Some(Trouble::Service(error)));
            return Ok(Flow::Pause(self.starts.next_pause()));
        }
        self.record_refusal(start).await?;
        let needed = start.manifest.total_size();
        if let Some(flow) = room::why_refused(self.link, &error, needed).await.flow() {
            return Ok(flow);
        }
        self.link
            .failed_or_again(error, "starting the upload")
            .await
    }

    pub(super) async fn record_refusal(&self, start: &Start) -> OutboxResult<()> {
        self.link
            .parts()
            .record(UploadRecord::StartRefused {
                draft: self.link.draft(),
                attempt: start.attempt,
            })
            .await
    }
}
