//! Makes the request of a text: resolves its presets and models, and adds the tags by which its result is found again.

use std::sync::Arc;

use crate::outbox::ids::random_token;
use crate::outbox::jobs::book::{EmbedStage, EmbedSubmission, JobKey, JobRecord, Wanted};
use crate::outbox::jobs::embeds::embeds_of;
use crate::outbox::jobs::made_before::Finder;
use crate::outbox::jobs::notes::{TextNotes, note_of};
use crate::outbox::jobs::parts::JobParts;
use crate::outbox::jobs::request::{Outgoing, OutgoingCall, config_note_in};
use crate::outbox::jobs::resolve::{PresetLookup, Unresolved};
use crate::outbox::jobs::show::asset_of;
use crate::outbox::jobs::text::embed::EmbedText;
use crate::outbox::jobs::text::many::{ManyItem, ModelRef};
use crate::outbox::jobs::text::{JobText, Request, Settings};
use crate::outbox::moment::Moment;
use crate::outbox::staging::ContentHash;
use crate::outbox::texts::text_stem;
use crate::wire::{
    AssetId, CreateEmbed, CreateRawEmbed, ModelId, MultiOptimize, MultiOptimizeConfig,
    MultiOptimizeItem, OptimizeRequest, OptimizeSettings, OptimizerConfig, REQUEST_PREFIX, RapidId,
    name_note,
};

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
        after: after_of(parts, job),
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

/// The result that a text is to make again.
fn after_of(parts: &JobParts, job: &JobKey) -> Option<RapidId> {
    let memory = parts.memory();
    memory.book.files.get(job).and_then(|file| file.after)
}

/// Makes requests of the text of a job.
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
    fn key(&self, of: impl std::fmt::Display, meaning: ContentHash) -> Option<String> {
        match (self.takes_known, self.after) {
            (true, _) => Some(format!("assetfs {of} {meaning}")),
            (false, Some(after)) => Some(format!("assetfs {of} after {after}")),
            (false, None) => None,
        }
    }

    /// The same for all texts with the same configuration, preset and tags, in whatever form. If the configuration is not
    /// known, it is that of the text alone.
    fn meaning(&self, tags: &[String], notes: &[String]) -> ContentHash {
        let Some(config) = config_note_in(notes) else {
            return self.text_hash;
        };
        let mut asked = tags.to_vec();
        asked.sort_unstable();
        asked.dedup();
        asked.push(config);
        ContentHash::of(asked.join("\0").as_bytes())
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
        let notes = self
            .notes(&note, &text.settings, &settings, presets)
            .await?;
        let mut tags = text.tags;
        let key = self.key("optimize", self.meaning(&tags, &notes));
        // If its reply is lost, the result is found by its note, or by the same request again. A result that is made again has
        // no note, so it gets a tag.
        let is_keyed = self.takes_known && self.parts.client.keeps_idempotency_keys();
        if !is_keyed {
            tags.push(tag.clone());
        }
        tags.extend(notes);
        Ok(Outgoing {
            named_preset,
            key,
            made_before: Vec::new(),
            are_named: true,
            intent: JobRecord::Sent {
                job: self.job.clone(),
                asset,
                tag: tag.clone(),
                text_hash: self.text_hash,
                at: Moment::now(),
                note: self.takes_known.then_some(note),
                is_keyed,
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
            by: self.parts.config.made_by.as_deref(),
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
            key: self.key("many", self.text_hash),
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
            key: self.key(format_args!("embed {of}"), self.text_hash),
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

fn new_tag() -> String {
    format!("{REQUEST_PREFIX}{}", random_token())
}
