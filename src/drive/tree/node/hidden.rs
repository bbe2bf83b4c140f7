//! What a hidden `.assetfs` folder holds, by the place it stands in.

use std::fmt;

use super::{Home, Top};
use crate::wire::RapidId;

/// A place that has a hidden `.assetfs` folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The top of the drive.
    Root,
    /// A top folder.
    Top(Top),
    /// A source model.
    Model(Home),
    /// An optimized model.
    Rapid(RapidId),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => f.write_str("root"),
            Place::Top(top) => write!(f, "top/{}", top.name()),
            Place::Model(home) => write!(f, "model/{home}"),
            Place::Rapid(rapid) => write!(f, "rapid/{rapid}"),
        }
    }
}

/// The files of a hidden folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HiddenFile {
    /// `status.json`: the mount.
    MountStatus,
    /// `metrics`: the same for Prometheus.
    Metrics,
    /// `ctl`: commands, one a line.
    Control,
    /// `status`: one line.
    Status,
    /// `detail.json`: the service's record.
    Detail,
    /// `exports.json`: the service's list of exports.
    Exports,
    /// `formats.json`: the conversions of an asset.
    Formats,
    /// `source.zip`: all files of an asset.
    SourceZip,
    /// `preset.zip`: what made an optimized model.
    PresetZip,
    /// `tags`: all tags of a family, one a line.
    Tags,
    /// `categories.json`: the categories of presets.
    Categories,
}

impl HiddenFile {
    /// The file's name.
    pub fn name(self) -> &'static str {
        match self {
            HiddenFile::MountStatus => "status.json",
            HiddenFile::Metrics => "metrics",
            HiddenFile::Control => "ctl",
            HiddenFile::Status => "status",
            HiddenFile::Detail => "detail.json",
            HiddenFile::Exports => "exports.json",
            HiddenFile::Formats => "formats.json",
            HiddenFile::SourceZip => "source.zip",
            HiddenFile::PresetZip => "preset.zip",
            HiddenFile::Tags => "tags",
            HiddenFile::Categories => "categories.json",
        }
    }

    /// The files of the hidden folder of a place.
    pub fn of(place: Place) -> &'static [HiddenFile] {
        match place {
            Place::Root => &[
                HiddenFile::MountStatus,
                HiddenFile::Metrics,
                HiddenFile::Control,
            ],
            Place::Top(Top::RawModels) => &[HiddenFile::Tags, HiddenFile::Control],
            Place::Top(Top::RapidModels) => &[HiddenFile::Tags],
            Place::Top(Top::Presets) => &[HiddenFile::Categories],
            Place::Top(_) => &[],
            Place::Model(_) => &[
                HiddenFile::Status,
                HiddenFile::Detail,
                HiddenFile::Formats,
                HiddenFile::SourceZip,
                HiddenFile::Control,
            ],
            Place::Rapid(_) => &[
                HiddenFile::Status,
                HiddenFile::Detail,
                HiddenFile::Exports,
                HiddenFile::PresetZip,
                HiddenFile::Control,
            ],
        }
    }
}
