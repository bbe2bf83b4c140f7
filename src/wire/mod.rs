//! Types of the API: ids, records, states, paths and error bodies, shared by the client and the local
//! service. Does no I/O.
//!
//! Two rules hold for every type. What this code writes it reads back unchanged. What others write is read
//! tolerantly: a missing, null or mistyped field gets its empty value, an unknown field stays in `other`, an
//! unknown state stays as its text; only a record without its id is refused.

pub mod asset;
pub mod config;
pub mod embed;
pub mod error;
pub mod export;
pub mod id;
mod lenient;
pub mod note;
pub mod optimize;
pub mod page;
pub mod paths;
pub mod preset;
pub mod preset_name;
pub mod preset_text;
pub mod rapid;
pub mod secret;
pub mod status;
mod strict_json;
pub mod tag;
pub mod time;
pub mod token;
pub mod trace;
pub mod upload;
pub mod user;
pub mod versions;
mod webhook;

pub(crate) use lenient::open_words;

pub use asset::{
    AssetForm, AssetUpdate, BaseAsset, ConversionJob, ConvertedFile, FormatsAdded, FormatsRequest,
    PbrDownloads, SCALES,
};
pub use config::{ConfigError, OptimizerConfig};
pub use embed::{
    CreateEmbed, CreateRawEmbed, Embed, EmbedCreated, EmbedForm, RawEmbedCreated, ViewerConfig,
};
pub use error::ErrorBody;
pub use export::{ExportFile, ExportImage, ExportInfo, ExportList, FormatList, RapidDownloads};
pub use id::{AssetId, EmbedId, ModelId, PresetId, RapidId, TagId, TokenId, UserId, WebhookId};
pub use lenient::{FOLDERS, MADE_BY, Other, TRIANGLES, WAITS_BECAUSE};
pub use note::{
    NotedPreset, ResultNotes, SourceNotes, by_note, config_note, former_name_note, is_config_note,
    name_note, replaces_note, source_note,
};
pub use optimize::{
    IDEMPOTENCY_KEY, JOIN_KEY, KEYS_ARE_KEPT, LegacyOptimizeReply, LegacyProcess, MultiOptimize,
    MultiOptimizeConfig, MultiOptimizeItem, OptimizeRequest, OptimizeSettings,
};
pub use page::{Data, IdList, Items, Page, PageButton, PageLinks, PageMeta};
pub use preset::{
    CreatePreset, FactoryPreset, FilenameRule, Preset, PresetCategory, PresetForm, PresetMeta,
    RpdxRequest, UpdatePreset,
};
pub use preset_name::{PresetNamed, Staleness, find_preset, is_with_id};
pub use preset_text::{PresetText, PresetTextError};
pub use rapid::{
    JobStatus, ModelFiles, QcScore, RapidForm, RapidMeta, RapidModel, SourceModel, Thumbnail,
    WARNINGS,
};
pub use secret::{Password, SignedUrl, Token};
pub use status::{ConversionStatus, JobState, OptimizationStatus, UploadStatus};
pub use strict_json::strict_json;
pub use tag::{
    NOTE_PREFIX, REQUEST_PREFIX, Tag, TagName, TagsRequest, is_found_by_notes, is_own_tag,
    search_terms,
};
pub use time::Timestamp;
pub use token::{ApiToken, CreateToken, SignInCode, TokenForm};
pub use trace::{TRACEPARENT, TraceParent};
pub use upload::{Downloads, StartUpload, UploadLinks, UploadStarted};
pub use user::{DeleteAccount, Login, LoginReply, RapidPoints, StorageLeft};
pub use versions::AllVersions;
pub use webhook::{CreateWebhook, Event, EventData, EventStatus, EventType, Webhook};
