//! A request of a drop folder that is ready to be sent: its models, its record in the journal, the call, and the
//! result.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::client::ClientError;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::ids::{JobFolder, OwnerFolder, random_token};
use crate::outbox::jobs::book::{EmbedStage, EmbedSubmission, JobKey, JobRecord, Wanted};
use crate::outbox::jobs::deps::{DraftModel, JobDeps};
use crate::outbox::jobs::embeds::embeds_of;
use crate::outbox::jobs::made_before::{Finder, WantedResult};
use crate::outbox::jobs::memory::JobsMemory;
use crate::outbox::jobs::notes::{TextNotes, note_of};
use crate::outbox::jobs::parts::JobParts;
use crate::outbox::jobs::resolve::{PresetLookup, Unresolved};
use crate::outbox::jobs::show::asset_of;
use crate::outbox::jobs::text::embed::EmbedText;
use crate::outbox::jobs::text::many::{ManyItem, ModelRef};
use crate::outbox::jobs::text::{JobText, Request, Settings};
use crate::outbox::moment::Moment;
use crate::outbox::staging::ContentHash;
use crate::outbox::texts::text_stem;
use crate::wire::{
    AssetId, CreateEmbed, CreateRawEmbed, EmbedId, ModelId, MultiOptimize, MultiOptimizeConfig,
    MultiOptimizeItem, OptimizeRequest, OptimizeSettings, OptimizerConfig, PresetId,
    REQUEST_PREFIX, RapidId, is_own_tag, name_note,
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
            owner.ok_or_else(|| format!("{}: there is no model at {path}", job.name))
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
    /// Idempotency key, equal on every machine for the same text and model, or for a result that is made again; `None` if
    /// the user wants to pay again.
    key: Option<String>,
    /// The results that the service already has, each with the one-off tag of its request.
    pub made_before: Vec<(String, RapidId)>,
    /// Those carry the name of the text.
    pub are_named: bool,
    call: OutgoingCall,
}

#[derive(Debug)]
enum OutgoingCall {
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
    /// Prepares the request of a text for its models, which are ready.
    pub async fn prepare(
        parts: &Arc<JobParts>,
        job: &JobKey,
        text: &[u8],
        request: Request,
        models: &[ModelId],
        wanted: Wanted,
    ) -> Result<Outgoing, Unresolved> {
        let of = Preparation {
            parts,
            job,
            text_hash: ContentHash::of(text),
            takes_known: wanted == Wanted::Once,
            after: parts
                .memory()
                .book
                .files
                .get(job)
                .and_then(|file| file.after),
        };
        let mut presets = PresetLookup::default();
        let outgoing = match (request, models) {
            (Request::Many(items), _) => of.many(items, &mut presets).await?,
            (Request::Optimize(text), [ModelId::Asset(asset)]) => {
                of.optimize(text, *asset, &mut presets).await?
            }
            (Request::Embed(text), [model]) => of.build_embed(text, *model).await?,
            _ => return Err(Unresolved::Wrong("it names no model".to_owned())),
        };
        let wanted = outgoing.wanted_results(&name_note(text_stem(&job.name)));
        let asked = Finder::new(parts, presets).find(&wanted);
        let asked = parts.tasks.until_closed(asked).await;
        let (made_before, are_named) = asked.ok_or(Unresolved::Closed)??;
        Ok(Outgoing {
            made_before,
            are_named,
            ..outgoing
        })
    }

    /// The results that it asks for, if it takes what is there.
    fn wanted_results(&self, name: &str) -> Vec<WantedResult> {
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

struct Preparation<'a> {
    parts: &'a Arc<JobParts>,
    job: &'a JobKey,
    text_hash: ContentHash,
    /// Whether a result that the service already has for the same text is taken.
    takes_known: bool,
    /// The result that is made again.
    after: Option<RapidId>,
}

impl Preparation<'_> {
    /// The idempotency key of a kind of request. The service keeps the keys of optimizations for each asset, but those of
    /// embeds for the whole account, so `of` names the model of an embed.
    fn key(&self, of: impl std::fmt::Display) -> Option<String> {
        match (self.takes_known, self.after) {
            (true, _) => Some(format!("assetfs {of} {}", self.text_hash)),
            (false, Some(after)) => Some(format!("assetfs {of} after {after}")),
            (false, None) => None,
        }
    }

    async fn optimize(
        &self,
        text: JobText,
        asset: AssetId,
        presets: &mut PresetLookup,
    ) -> Result<Outgoing, Unresolved> {
        let settings = presets.resolve(self.parts, &text.settings).await?;
        let named_preset = match text.settings {
            Settings::PresetId(id) => Some(id),
            Settings::PresetName(_) | Settings::Config(_) => None,
        };
        let tag = new_tag();
        let note = note_of(self.text_hash, None);
        let mut tags = text.tags;
        tags.push(tag.clone());
        let notes = self
            .notes(&note, &text.settings, &settings, presets)
            .await?;
        tags.extend(notes);
        Ok(Outgoing {
            named_preset,
            key: self.key("optimize"),
            made_before: Vec::new(),
            are_named: true,
            intent: JobRecord::Sent {
                job: self.job.clone(),
                asset,
                tag: tag.clone(),
                text_hash: self.text_hash,
                at: Moment::now(),
                note: self.takes_known.then_some(note),
            },
            request: tag,
            call: OutgoingCall::Optimize(asset, OptimizeRequest { settings, tags }),
        })
    }

    /// The tags by which every machine knows what a result was made with.
    async fn notes(
        &self,
        text: &str,
        asked: &Settings,
        settings: &OptimizeSettings,
        presets: &mut PresetLookup,
    ) -> Result<Vec<String>, Unresolved> {
        let notes = TextNotes {
            text,
            file: &self.job.name,
            config: presets.config_hash_of(self.parts, settings).await?,
            preset: asked.named_preset(),
        };
        Ok(notes.tags().collect())
    }

    async fn many(
        &self,
        items: Vec<ManyItem>,
        presets: &mut PresetLookup,
    ) -> Result<Outgoing, Unresolved> {
        let mut sent = Vec::with_capacity(items.len());
        let mut optimizations = Vec::with_capacity(items.len());
        let mut notes = Vec::with_capacity(items.len());
        for (number, item) in items.into_iter().enumerate() {
            let settings = presets.resolve(self.parts, &item.settings).await?;
            let asset = self.asset_of(&item.model)?;
            let tag = new_tag();
            let note = note_of(self.text_hash, Some(number));
            let mut tags = item.tags;
            tags.push(tag.clone());
            let text_notes = self
                .notes(&note, &item.settings, &settings, presets)
                .await?;
            tags.extend(text_notes);
            notes.extend(self.takes_known.then_some(note));
            let (preset_id, config) = match settings {
                OptimizeSettings::Preset(id) => (Some(id), OptimizerConfig::default()),
                OptimizeSettings::Config(config) => (None, config),
                OptimizeSettings::ServiceDefault => (None, OptimizerConfig::default()),
            };
            optimizations.push(MultiOptimizeItem {
                model_id: asset,
                config: MultiOptimizeConfig {
                    preset_id,
                    tags,
                    export_name: item.export_name,
                    config: config.0,
                },
            });
            sent.push((tag, asset));
        }
        let group = new_tag();
        Ok(Outgoing {
            named_preset: None,
            key: self.key("many"),
            made_before: Vec::new(),
            are_named: true,
            intent: JobRecord::ManySent {
                job: self.job.clone(),
                group: group.clone(),
                items: sent,
                text_hash: self.text_hash,
                at: Moment::now(),
                notes,
            },
            request: group,
            call: OutgoingCall::Many(MultiOptimize { optimizations }),
        })
    }

    fn asset_of(&self, model: &ModelRef) -> Result<AssetId, Unresolved> {
        let memory = self.parts.memory();
        let owner = match model {
            ModelRef::Id(asset) => return Ok(*asset),
            ModelRef::Path(path) => {
                let file = memory.book.files.get(self.job);
                file.and_then(|file| file.paths.get(path).copied())
            }
        };
        let asset = owner.and_then(|owner| asset_of(&*self.parts.own.deps, owner));
        asset.ok_or_else(|| Unresolved::Wrong("a model that it names is gone".to_owned()))
    }

    async fn build_embed(&self, text: EmbedText, model: ModelId) -> Result<Outgoing, Unresolved> {
        let of = model;
        let asked = embeds_of(self.parts, of, &text.name);
        let before = self.parts.tasks.until_closed(asked).await;
        let before = before.ok_or(Unresolved::Closed)?;
        let before = before.map_err(Unresolved::Trouble)?;
        let tag = new_tag();
        let submission = EmbedSubmission {
            of,
            name: text.name.clone(),
            text_hash: self.text_hash,
            before: before.into_iter().collect(),
            at: Moment::now(),
            stage: EmbedStage::Sent,
        };
        let (name, config, save_user_theme) = (text.name, text.config, text.save_user_theme);
        let call = match model {
            ModelId::Rapid(model_id) => OutgoingCall::Embed(CreateEmbed {
                model_id,
                name,
                save_user_theme,
                config,
            }),
            ModelId::Asset(raw_model_id) => OutgoingCall::RawEmbed(CreateRawEmbed {
                raw_model_id,
                name,
                save_user_theme,
                config,
            }),
        };
        Ok(Outgoing {
            named_preset: None,
            key: self.key(format_args!("embed {of}")),
            made_before: Vec::new(),
            are_named: true,
            intent: JobRecord::EmbedSent {
                job: self.job.clone(),
                tag: tag.clone(),
                embed: submission,
            },
            request: tag,
            call,
        })
    }
}

/// The tags of a request without those of the drive.
fn of_the_text(tags: &[String]) -> Vec<String> {
    let tags = tags.iter().filter(|tag| !is_own_tag(tag));
    tags.cloned().collect()
}

fn new_tag() -> String {
    format!("{REQUEST_PREFIX}{}", random_token())
}
