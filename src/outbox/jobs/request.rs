//! A request of a drop folder that is ready to be sent: its models, its record in the journal, the call, and the
//! result.

use std::collections::BTreeSet;

use crate::client::ClientError;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::ids::{JobFolder, OwnerFolder};
use crate::outbox::jobs::book::{EmbedSubmission, JobKey, JobRecord};
use crate::outbox::jobs::deps::{DraftModel, JobDeps};
use crate::outbox::jobs::made_before::WantedResult;
use crate::outbox::jobs::memory::JobsMemory;
use crate::outbox::jobs::parts::JobParts;
use crate::outbox::jobs::text::Request;
use crate::outbox::jobs::text::many::{ManyItem, ModelRef};
use crate::outbox::staging::ContentHash;
use crate::outbox::texts::shortened;
use crate::wire::{
    AssetId, CreateEmbed, CreateRawEmbed, EmbedId, ModelId, MultiOptimize, OptimizeRequest,
    OptimizeSettings, OptimizerConfig, PresetId, RapidId, is_config_note, is_own_tag,
};

/// The models of a request, without duplicates; `None` while the service has not accepted all of them. An error says
/// why one will never exist.
pub fn models_of(
    deps: &dyn JobDeps,
    memory: &JobsMemory,
    job: &JobKey,
    request: &Request,
) -> Result<Option<Vec<ModelId>>, String> {
    let owners = match (job.folder, request) {
        (JobFolder::RapidEmbeds(rapid), _) => return Ok(Some(vec![ModelId::Rapid(rapid)])),
        (JobFolder::Optimize(owner) | JobFolder::Embeds(owner), _) => vec![owner],
        (JobFolder::Multi, Request::Many(items)) => owners_of(memory, job, items)?,
        (JobFolder::Multi, _) => Vec::new(),
    };
    let mut models = BTreeSet::new();
    for owner in owners {
        let model = match owner {
            OwnerFolder::Asset(asset) => DraftModel::Asset(asset),
            OwnerFolder::Draft(draft) => deps.model_of(draft),
        };
        match model {
            DraftModel::Asset(asset) => models.insert(ModelId::Asset(asset)),
            DraftModel::Expected => return Ok(None),
            DraftModel::Removed => {
                return Err("a model that it names was removed before it was sent".to_owned());
            }
        };
    }
    Ok(Some(models.into_iter().collect()))
}

fn owners_of(
    memory: &JobsMemory,
    job: &JobKey,
    items: &[ManyItem],
) -> Result<Vec<OwnerFolder>, String> {
    let paths = memory.book.files.get(job).map(|file| &file.paths);
    let owner = |item: &ManyItem| match &item.model {
        ModelRef::Id(asset) => Ok(OwnerFolder::Asset(*asset)),
        ModelRef::Path(path) => {
            let owner = paths.and_then(|paths| paths.get(path)).copied();
            owner.ok_or_else(|| shortened(format!("{}: there is no model at {path}", job.name)))
        }
    };
    items.iter().map(owner).collect()
}

/// The earlier request of the same text for the same models.
pub fn sent_before(
    memory: &JobsMemory,
    job: &JobKey,
    models: &[ModelId],
    text: &[u8],
) -> Option<String> {
    let book = &memory.book;
    let hash = ContentHash::of(text);
    let found = match (job.folder, models.first()?) {
        (JobFolder::Multi, _) => book.many_sent_before(hash),
        (JobFolder::Optimize(_), ModelId::Asset(asset)) => book.sent_before(*asset, hash),
        (_, model) => book.embed_sent_before(*model, hash),
    };
    found.cloned()
}

/// A request that is ready to be sent.
#[derive(Debug)]
pub struct Outgoing {
    /// Its tag in the journal.
    pub request: String,
    /// The record that must be durable before the request is sent.
    pub intent: JobRecord,
    /// The preset that its text names by the id.
    pub named_preset: Option<PresetId>,
    /// Idempotency key, equal on every machine for texts of a model that mean the same, or for a result that is made again; `None` if
    /// the user wants to pay again.
    pub(super) key: Option<String>,
    /// The results that the service already has, each with the one-off tag of its request.
    pub made_before: Vec<(String, RapidId)>,
    /// Those carry the name of the text.
    pub are_named: bool,
    pub(super) call: OutgoingCall,
}

#[derive(Debug)]
pub(super) enum OutgoingCall {
    Optimize(AssetId, OptimizeRequest),
    Many(MultiOptimize),
    Embed(CreateEmbed),
    RawEmbed(CreateRawEmbed),
}

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    Rapid(RapidId),
    /// Several rapid models, which the answer does not name.
    Rapids,
    Embed(EmbedId),
}

impl Outgoing {
    /// The results that it asks for, if it takes what is there.
    pub(super) fn wanted_results(&self, name: &str) -> Vec<WantedResult> {
        match (&self.intent, &self.call) {
            (
                JobRecord::Sent {
                    tag,
                    asset,
                    note: Some(note),
                    ..
                },
                OutgoingCall::Optimize(_, request),
            ) => vec![WantedResult {
                tag: tag.clone(),
                asset: *asset,
                note: note.clone(),
                config_note: config_note_in(&request.tags),
                name: name.to_owned(),
                settings: request.settings.clone(),
                tags: of_the_text(&request.tags),
                export_name: None,
            }],
            (JobRecord::ManySent { items, notes, .. }, OutgoingCall::Many(request)) => {
                let asked = request.optimizations.iter().map(|item| &item.config);
                let items = items.iter().zip(notes).zip(asked);
                let wanted = items.map(|(((tag, asset), note), asked)| WantedResult {
                    tag: tag.clone(),
                    asset: *asset,
                    note: note.clone(),
                    config_note: config_note_in(&asked.tags),
                    name: name.to_owned(),
                    settings: match asked.preset_id {
                        Some(id) => OptimizeSettings::Preset(id),
                        None => OptimizeSettings::Config(OptimizerConfig(asked.config.clone())),
                    },
                    tags: of_the_text(&asked.tags),
                    export_name: asked.export_name.clone(),
                });
                wanted.collect()
            }
            _ => Vec::new(),
        }
    }

    /// The embed that it asks for.
    pub fn embed(&self) -> Option<&EmbedSubmission> {
        match &self.intent {
            JobRecord::EmbedSent { embed, .. } => Some(embed),
            _ => None,
        }
    }

    /// Leaves out the items that are made already. True if nothing is left to send.
    pub fn leave_out_made(&mut self) -> bool {
        let made = &self.made_before;
        let is_made = |tag: &str| made.iter().any(|(found, _)| found == tag);
        match &mut self.call {
            OutgoingCall::Optimize(..) => !made.is_empty(),
            OutgoingCall::Many(request) if !made.is_empty() => {
                // The service counts items by their place, and the places of the rest have changed.
                self.key = None;
                request
                    .optimizations
                    .retain(|item| !item.config.tags.iter().any(|tag| is_made(tag)));
                request.optimizations.is_empty()
            }
            OutgoingCall::Many(_) | OutgoingCall::Embed(_) | OutgoingCall::RawEmbed(_) => false,
        }
    }

    /// Sends it, once.
    pub async fn send(&self, parts: &JobParts) -> Option<Result<Made, ClientError>> {
        let client = &parts.client;
        let (before, after) = match self.call {
            OutgoingCall::Optimize(..) | OutgoingCall::Many(_) => {
                (Failpoint::BeforeOptimize, Failpoint::AfterOptimize)
            }
            OutgoingCall::Embed(_) | OutgoingCall::RawEmbed(_) => {
                (Failpoint::BeforeEmbed, Failpoint::AfterEmbed)
            }
        };
        failpoint::hit(before);
        let key = self.key.as_deref();
        let call = async {
            match &self.call {
                OutgoingCall::Optimize(asset, request) => {
                    let model = client
                        .optimizations()
                        .start_keyed(*asset, request, key)
                        .await?;
                    Ok(Made::Rapid(model.id))
                }
                OutgoingCall::Many(request) => {
                    client
                        .optimizations()
                        .start_many_keyed(request, key)
                        .await?;
                    Ok(Made::Rapids)
                }
                OutgoingCall::Embed(request) => {
                    let made = client.embeds().create_keyed(request, key).await?;
                    Ok(Made::Embed(made.embed_id))
                }
                OutgoingCall::RawEmbed(request) => {
                    let made = client.embeds().create_raw_keyed(request, key).await?;
                    Ok(Made::Embed(made.embed_id))
                }
            }
        };
        let reply = parts.tasks.with_grace(call).await;
        failpoint::hit(after);
        reply
    }
}

/// The note of the configuration among the tags of a request.
pub(super) fn config_note_in(tags: &[String]) -> Option<String> {
    tags.iter().find(|tag| is_config_note(tag)).cloned()
}

/// The tags of a request without those of the drive.
fn of_the_text(tags: &[String]) -> Vec<String> {
    let tags = tags.iter().filter(|tag| !is_own_tag(tag));
    tags.cloned().collect()
}
