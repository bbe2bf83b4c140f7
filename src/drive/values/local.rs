//! The files that the drive itself adds to those of the service: hidden folders, `ERROR.txt`, drop folders and the
//! entries of their jobs, texts that are sent when they are closed.

use std::fmt;
use std::sync::Arc;

use crate::drive::values::names::with_ending;
use crate::drive::values::node::{Family, Model};
use crate::outbox::{JobFolder, OwnerFolder, text_stem};
use crate::wire::{AssetId, ModelId, RapidId};

/// A folder that holds a hidden `.assetfs` folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HiddenParent {
    /// `/`.
    Root,
    /// `rawmodels/`.
    RawModels,
    /// `rapidmodels/`.
    RapidModels,
    /// `presets/`.
    Presets,
    /// `embeds/`.
    Embeds,
    /// `jobs/`.
    Jobs,
    /// `account/`.
    Account,
    /// The folder of a model.
    Model(Model),
}

impl HiddenParent {
    /// The folder that shows all models of a family.
    pub fn of_family(family: Family) -> HiddenParent {
        match family {
            Family::Raw => HiddenParent::RawModels,
            Family::Rapid => HiddenParent::RapidModels,
        }
    }

    /// The name of a folder in `/`; empty for others.
    pub fn folder_name(self) -> &'static str {
        match self {
            HiddenParent::Root | HiddenParent::Model(_) => "",
            HiddenParent::RawModels => "rawmodels",
            HiddenParent::RapidModels => "rapidmodels",
            HiddenParent::Presets => "presets",
            HiddenParent::Embeds => "embeds",
            HiddenParent::Jobs => "jobs",
            HiddenParent::Account => "account",
        }
    }
}

/// The text is part of inode numbers.
impl fmt::Display for HiddenParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HiddenParent::Root => f.write_str("root"),
            HiddenParent::Model(model) => model.fmt(f),
            top => write!(f, "top/{}", top.folder_name()),
        }
    }
}

/// The files of hidden folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HiddenName {
    /// `status.json`: the mount.
    MountStatus,
    /// `metrics`: the mount, for Prometheus.
    Metrics,
    /// `events`: changes as they happen, as lines of JSON.
    Events,
    /// `ctl`: commands, one per line.
    Control,
    /// `status`: one line.
    Status,
    /// `state`: the status as one word.
    State,
    /// `detail.json`: the service's record.
    Detail,
    /// `exports.json`: the service's list of exports.
    Exports,
    /// `formats.json`: the conversions of an asset.
    Formats,
    /// `source.zip`: all files of an asset.
    SourceZip,
    /// `preset.zip`: the preset of an optimized model.
    PresetZip,
    /// `tags`: all tags of a family, one per line.
    Tags,
    /// `categories.json`: the categories of presets.
    Categories,
    /// `models.jsonl`: all source models and drafts.
    Models,
    /// `results.jsonl`: all optimized models.
    Results,
    /// `stale.jsonl`: the texts whose current result is stale.
    Stale,
}

impl HiddenName {
    /// The name of the file, which inode numbers are made from.
    pub fn text(self) -> &'static str {
        match self {
            HiddenName::MountStatus => "status.json",
            HiddenName::Metrics => "metrics",
            HiddenName::Events => "events",
            HiddenName::Control => "ctl",
            HiddenName::Status => "status",
            HiddenName::State => "state",
            HiddenName::Detail => "detail.json",
            HiddenName::Exports => "exports.json",
            HiddenName::Formats => "formats.json",
            HiddenName::SourceZip => "source.zip",
            HiddenName::PresetZip => "preset.zip",
            HiddenName::Tags => "tags",
            HiddenName::Categories => "categories.json",
            HiddenName::Models => "models.jsonl",
            HiddenName::Results => "results.jsonl",
            HiddenName::Stale => "stale.jsonl",
        }
    }

    /// The files of a hidden folder.
    pub fn in_folder(parent: HiddenParent) -> &'static [HiddenName] {
        match parent {
            HiddenParent::Root => &[
                HiddenName::MountStatus,
                HiddenName::Metrics,
                HiddenName::Events,
                HiddenName::Control,
            ],
            HiddenParent::RawModels => &[HiddenName::Tags, HiddenName::Models, HiddenName::Control],
            HiddenParent::RapidModels => {
                &[HiddenName::Tags, HiddenName::Results, HiddenName::Stale]
            }
            HiddenParent::Presets => &[HiddenName::Categories],
            HiddenParent::Embeds | HiddenParent::Jobs | HiddenParent::Account => &[],
            HiddenParent::Model(Model::Raw(_)) => &[
                HiddenName::Status,
                HiddenName::State,
                HiddenName::Detail,
                HiddenName::Formats,
                HiddenName::SourceZip,
                HiddenName::Control,
            ],
            HiddenParent::Model(Model::Rapid(_)) => &[
                HiddenName::Status,
                HiddenName::State,
                HiddenName::Detail,
                HiddenName::Exports,
                HiddenName::PresetZip,
                HiddenName::Control,
            ],
        }
    }
}

/// A folder that can contain an `ERROR.txt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorParent {
    /// The folder of a model.
    Model(Model),
    /// A drop folder.
    Drop(DropFolder),
    /// `rawmodels/`: loose files that were not sent.
    RawModels,
}

/// The text is part of inode numbers, and the key of what was dismissed.
impl fmt::Display for ErrorParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorParent::Model(model) => model.fmt(f),
            ErrorParent::Drop(folder) => write!(f, "optimize/{folder}"),
            ErrorParent::RawModels => f.write_str("rawmodels"),
        }
    }
}

/// A drop folder: files copied into it are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropFolder {
    /// `optimize/` of an asset.
    Optimize(AssetId),
    /// `embeds/` of an asset.
    AssetEmbeds(AssetId),
    /// `embeds/` of a rapid model.
    RapidEmbeds(RapidId),
    /// `jobs/`.
    Jobs,
}

/// The text is part of inode numbers; that of `optimize/` is as old as the drive.
impl fmt::Display for DropFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DropFolder::Optimize(asset) => write!(f, "{asset}"),
            DropFolder::AssetEmbeds(asset) => write!(f, "embeds/raw/{asset}"),
            DropFolder::RapidEmbeds(rapid) => write!(f, "embeds/rapid/{rapid}"),
            DropFolder::Jobs => f.write_str("jobs"),
        }
    }
}

impl DropFolder {
    /// The name of the folder.
    pub fn name(self) -> &'static str {
        match self {
            DropFolder::Optimize(_) => "optimize",
            DropFolder::AssetEmbeds(_) | DropFolder::RapidEmbeds(_) => "embeds",
            DropFolder::Jobs => "jobs",
        }
    }

    /// The model that it belongs to.
    pub fn subject(self) -> Option<ModelId> {
        match self {
            DropFolder::Optimize(asset) | DropFolder::AssetEmbeds(asset) => {
                Some(ModelId::Asset(asset))
            }
            DropFolder::RapidEmbeds(rapid) => Some(ModelId::Rapid(rapid)),
            DropFolder::Jobs => None,
        }
    }

    /// The same folder as the outbox names it.
    pub fn in_outbox(self) -> JobFolder {
        match self {
            DropFolder::Optimize(asset) => JobFolder::Optimize(OwnerFolder::Asset(asset)),
            DropFolder::AssetEmbeds(asset) => JobFolder::Embeds(OwnerFolder::Asset(asset)),
            DropFolder::RapidEmbeds(rapid) => JobFolder::RapidEmbeds(rapid),
            DropFolder::Jobs => JobFolder::Multi,
        }
    }

    /// The folder that shows a folder of the outbox; none for that of a draft, which is not shown.
    pub fn of_outbox(folder: &JobFolder) -> Option<DropFolder> {
        Some(match folder {
            JobFolder::Optimize(OwnerFolder::Asset(asset)) => DropFolder::Optimize(*asset),
            JobFolder::Embeds(OwnerFolder::Asset(asset)) => DropFolder::AssetEmbeds(*asset),
            JobFolder::Optimize(OwnerFolder::Draft(_))
            | JobFolder::Embeds(OwnerFolder::Draft(_)) => {
                return None;
            }
            JobFolder::RapidEmbeds(rapid) => DropFolder::RapidEmbeds(*rapid),
            JobFolder::Multi => DropFolder::Jobs,
        })
    }

    /// One of the things that a job shows here.
    pub fn entry(self, text_name: &str, part: JobPart) -> JobEntry {
        JobEntry {
            folder: self,
            text_name: text_name.into(),
            part,
        }
    }
}

/// The three things that one job shows. The names are part of inode numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobPart {
    /// `web.json`: the text.
    Text,
    /// `web.status`: one line.
    Status,
    /// `web`: a link to the rapid model.
    Result,
}

/// Something that a job shows, by the name of its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobEntry {
    pub folder: DropFolder,
    pub text_name: Arc<str>,
    pub part: JobPart,
}

impl JobEntry {
    /// The name under which it is shown.
    pub fn name(&self) -> String {
        let text_name = &*self.text_name;
        let stem = text_stem(text_name);
        match self.part {
            JobPart::Text => text_name.to_owned(),
            JobPart::Status => with_ending(stem, ".status"),
            JobPart::Result => match self.folder {
                DropFolder::AssetEmbeds(_) | DropFolder::RapidEmbeds(_) => {
                    with_ending(stem, ".html")
                }
                DropFolder::Optimize(_) | DropFolder::Jobs => stem.to_owned(),
            },
        }
    }
}

/// The text that a handle writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextTarget {
    /// A job of a drop folder, by file name.
    Job(DropFolder, String),
    /// A preset, by file name.
    Preset(String),
}
