//! Hidden `.assetfs` folders: status lines, the service's records, tags, commands, by the folder that
//! they stand in.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::attributes::{created, file};
use super::bundles::BundleFolder;
use super::by_id::{IdFolder, SourceLink};
use super::embeds::record_rows;
use super::errors::shown_failure;
use super::kept::{cached_json, detail};
use super::mount_status::mount_status;
use super::node::Row;
use super::place::{Answer, AttributeRule, Contents, Lifetime, Place, Text};
use super::search::SearchFolder;
use super::{metrics, refusals};
use crate::client::Priority;
use crate::drive::catalog::{
    Blob, FlightKey, asked, blob_len, hidden_path, keep_detail, keep_detail_text, known_rapid,
    learn_reason, model_status, rapid_status, read_blob, refresh_orphans, refreshed_asset,
    refreshed_rapid, source_zip_len,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::{Attributes, FileKind, OpenFlags};
use crate::drive::tree::Tree;
use crate::drive::values::known::system_time;
use crate::drive::values::local::HiddenParent;
use crate::drive::values::node::{Bundle, Family, Home, Model};
use crate::wire::{ModelId, RapidId};

/// A status line is asked for again when it is older than this and can still change.
const STATUS_HOLDS: Duration = Duration::from_secs(1);

/// A hidden folder.
pub(in crate::drive) struct HiddenFolder(pub(in crate::drive) HiddenParent);

impl Place for HiddenFolder {
    fn identity(&self) -> String {
        format!("hidden/{}", self.0)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::Folder)
    }

    fn path(&self, tree: &Tree) -> String {
        hidden_path(&tree.catalog, self.0)
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Own
    }

    fn rows<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Vec<Row>> {
        Box::pin(async move {
            let parent = self.0;
            let files = HiddenName::in_folder(parent).iter();
            let files = files.map(|name| Row::new(name.text(), HiddenFile(parent, *name)));
            let mut rows: Vec<Row> = files.collect();
            rows.extend(match parent {
                HiddenParent::RawModels => family_rows(Family::Raw),
                HiddenParent::RapidModels => family_rows(Family::Rapid),
                HiddenParent::Presets => [Bundle::Both, Bundle::CommandLine]
                    .map(|bundle| Row::new(bundle.name(), BundleFolder(bundle)))
                    .into(),
                HiddenParent::Embeds => record_rows(tree).await?,
                HiddenParent::Model(Model::Rapid(rapid)) => {
                    vec![Row::new("source", SourceLink(rapid))]
                }
                HiddenParent::Root
                | HiddenParent::Jobs
                | HiddenParent::Account
                | HiddenParent::Model(Model::Raw(_)) => Vec::new(),
            });
            Ok(rows)
        })
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        shown_failure(tree, self.0)
    }

    fn shown_model(&self, _: &Tree) -> Option<Model> {
        model_of(self.0)
    }
}

fn family_rows(family: Family) -> Vec<Row> {
    vec![
        Row::new("by-id", IdFolder(family)),
        Row::new("search", SearchFolder(family)),
    ]
}

fn model_of(parent: HiddenParent) -> Option<Model> {
    match parent {
        HiddenParent::Model(model) => Some(model),
        _ => None,
    }
}

/// The files of hidden folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::drive) enum HiddenName {
    /// `status.json`: the mount.
    MountStatus,
    /// `metrics`: the same for Prometheus.
    Metrics,
    /// `ctl`: commands, one a line.
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
    /// `preset.zip`: what made an optimized model.
    PresetZip,
    /// `tags`: all tags of a family, one a line.
    Tags,
    /// `categories.json`: the categories of presets.
    Categories,
}

impl HiddenName {
    /// The file's name. It is part of inode numbers.
    fn text(self) -> &'static str {
        match self {
            HiddenName::MountStatus => "status.json",
            HiddenName::Metrics => "metrics",
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
        }
    }

    fn in_folder(parent: HiddenParent) -> &'static [HiddenName] {
        match parent {
            HiddenParent::Root => &[
                HiddenName::MountStatus,
                HiddenName::Metrics,
                HiddenName::Control,
            ],
            HiddenParent::RawModels => &[HiddenName::Tags, HiddenName::Control],
            HiddenParent::RapidModels => &[HiddenName::Tags],
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

/// A file of a hidden folder.
pub(in crate::drive) struct HiddenFile(
    pub(in crate::drive) HiddenParent,
    pub(in crate::drive) HiddenName,
);

impl Place for HiddenFile {
    fn identity(&self) -> String {
        format!("hidden/{}/{}", self.0, self.1.text())
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        format!("{}/{}", hidden_path(&tree.catalog, self.0), self.1.text())
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    fn attributes<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Attributes> {
        Box::pin(async move {
            match (self.1, self.0) {
                (HiddenName::SourceZip, HiddenParent::Model(Model::Raw(home))) => {
                    let len = source_zip_len(&tree.catalog, home).await?;
                    let asset = tree.catalog.asset_of(home).map(ModelId::Asset);
                    let made = asset.map_or(tree.opened, |asset| created(tree, asset));
                    Ok(file(tree, len, made))
                }
                (HiddenName::PresetZip, HiddenParent::Model(Model::Rapid(rapid))) => {
                    let len = blob_len(&tree.catalog, &Blob::PresetOf(rapid)).await?;
                    Ok(file(tree, len, created(tree, ModelId::Rapid(rapid))))
                }
                _ => {
                    let Text { bytes, modified } = self.text(tree).await?;
                    Ok(file(tree, bytes.len() as u64, modified))
                }
            }
        })
    }

    fn text<'a>(&'a self, tree: &'a Arc<Tree>) -> Answer<'a, Text> {
        Box::pin(async move {
            match self.0 {
                HiddenParent::Model(Model::Raw(home)) => model_text(tree, home, self.1).await,
                HiddenParent::Model(Model::Rapid(rapid)) => rapid_text(tree, rapid, self.1).await,
                parent => top_text(tree, parent, self.1).await,
            }
        })
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        shown_failure(tree, self.0)
    }

    fn shown_model(&self, _: &Tree) -> Option<Model> {
        model_of(self.0)
    }

    fn contents(&self, _: &Tree) -> DriveResult<Contents> {
        Ok(match (self.1, self.0) {
            (HiddenName::Control, parent) => Contents::Control(parent),
            (HiddenName::SourceZip, HiddenParent::Model(Model::Raw(home))) => {
                Contents::SourceZip(home)
            }
            _ => Contents::Snapshot,
        })
    }

    fn check_writable(&self, tree: &Tree, _: OpenFlags) -> DriveResult<()> {
        match self.1 {
            HiddenName::Control => Ok(()),
            _ => Err(refusals::made_by_service(&self.path(tree))),
        }
    }

    fn attribute_rule(&self) -> AttributeRule {
        match self.1 {
            // `echo commit > ctl` cuts the file first.
            HiddenName::Control => AttributeRule::Ignored,
            _ => AttributeRule::Refused,
        }
    }
}

/// What reading a `ctl` file shows.
pub(in crate::drive) fn control_help(parent: HiddenParent) -> String {
    let commands = match parent {
        HiddenParent::Root => {
            "drain [ready]\ncancel --orphan ID\nallow-delete\ndelete rawmodels ID…\n\
             delete rapidmodels ID…\nrun JOB.json\ncache clear\ncache verify\npin PATH\nunpin PATH\nrefresh\n"
        }
        HiddenParent::Model(Model::Raw(_)) => {
            "commit [force]\ncancel\nretry\nconvert FORMAT…\nscale FACTOR\nrun JOB.json\nrefresh\n"
        }
        HiddenParent::Model(Model::Rapid(_)) => "run VIEWER.json\nrefresh\n",
        _ => "commit [force] FILE\ncancel FILE\nretry FILE\n",
    };
    format!("# Write one command a line:\n{commands}")
}

/// The texts of top folders.
async fn top_text(tree: &Arc<Tree>, parent: HiddenParent, name: HiddenName) -> DriveResult<Text> {
    match (name, parent) {
        (HiddenName::MountStatus, _) => mount_status_text(tree).await,
        (HiddenName::Metrics, _) => Ok(Text::new(
            metrics::text(&mount_status(tree)),
            SystemTime::now(),
        )),
        (HiddenName::Control, parent) => Ok(Text::new(control_help(parent), tree.opened)),
        (HiddenName::Categories, _) => {
            let of = Arc::clone(tree);
            cached_json(tree, FlightKey::Categories, async move {
                let asked = asked(
                    &of.catalog,
                    of.client.presets().categories(Priority::Interactive),
                );
                keep_detail(&of.catalog, FlightKey::Categories, &asked.await?);
                Ok(())
            })
            .await
        }
        (HiddenName::Tags, HiddenParent::RapidModels) => tags_text(tree, Family::Rapid).await,
        (HiddenName::Tags, _) => tags_text(tree, Family::Raw).await,
        _ => Err(DriveError::NotFound),
    }
}

/// The text of `/.assetfs/status.json`.
async fn mount_status_text(tree: &Arc<Tree>) -> DriveResult<Text> {
    refresh_orphans(&tree.catalog).await;
    let text = serde_json::to_string_pretty(&mount_status(tree))
        .map_err(|error| DriveError::Local(format!("the status cannot be written: {error}")))?;
    Ok(Text::line(&text, SystemTime::now()))
}

/// The texts of a source model.
async fn model_text(tree: &Arc<Tree>, home: Home, name: HiddenName) -> DriveResult<Text> {
    match name {
        HiddenName::Status => {
            let status = model_status(&tree.catalog, home).await?;
            Ok(Text::line(&status.to_string(), SystemTime::now()))
        }
        HiddenName::State => {
            let status = model_status(&tree.catalog, home).await?;
            Ok(Text::line(status.word().as_str(), SystemTime::now()))
        }
        HiddenName::Detail => {
            let Some(asset) = tree.catalog.asset_of(home) else {
                // A draft has no record yet.
                return Ok(Text::new("{}\n", tree.opened));
            };
            refreshed_asset(&tree.catalog, asset, tree.config.refresh).await?;
            let known = || {
                let row = tree.catalog.known().assets.row(asset.0).cloned()?;
                serde_json::to_string_pretty(&row).ok()
            };
            detail(tree, &FlightKey::Asset(asset), known)
        }
        HiddenName::Formats => {
            let Some(asset) = tree.catalog.asset_of(home) else {
                return Ok(Text::new("[]\n", tree.opened));
            };
            let of = Arc::clone(tree);
            cached_json(tree, FlightKey::Formats(asset), async move {
                let asked = asked(
                    &of.catalog,
                    of.client
                        .assets()
                        .processed_formats(asset, Priority::Interactive),
                );
                keep_detail(&of.catalog, FlightKey::Formats(asset), &asked.await?);
                Ok(())
            })
            .await
        }
        HiddenName::Control => {
            let parent = HiddenParent::Model(Model::Raw(home));
            Ok(Text::new(control_help(parent), tree.opened))
        }
        // The bytes of `source.zip` are never held as a text.
        _ => Err(DriveError::NotFound),
    }
}

/// The texts of an optimized model.
async fn rapid_text(tree: &Arc<Tree>, rapid: RapidId, name: HiddenName) -> DriveResult<Text> {
    match name {
        HiddenName::Status | HiddenName::State => {
            let known = known_rapid(&tree.catalog, rapid).await?;
            let row = if known.state.is_final() {
                known
            } else {
                refreshed_rapid(&tree.catalog, rapid, STATUS_HOLDS).await?
            };
            learn_reason(&tree.catalog, Model::Rapid(rapid)).await;
            let modified = system_time(row.updated.or(row.created));
            let status = rapid_status(&tree.catalog, &row);
            Ok(match name {
                HiddenName::State => Text::line(status.word().as_str(), modified),
                _ => Text::line(&status.to_string(), modified),
            })
        }
        HiddenName::Detail => {
            refreshed_rapid(&tree.catalog, rapid, tree.config.refresh).await?;
            let known = || {
                let row = tree.catalog.known().rapids.row(rapid.0).cloned()?;
                serde_json::to_string_pretty(&row).ok()
            };
            detail(tree, &FlightKey::Rapid(rapid), known)
        }
        HiddenName::Exports => {
            let of = Arc::clone(tree);
            cached_json(tree, FlightKey::Exports(rapid), async move {
                let asked = asked(
                    &of.catalog,
                    of.client.rapids().exports(rapid, Priority::Interactive),
                );
                keep_detail(&of.catalog, FlightKey::Exports(rapid), &asked.await?);
                Ok(())
            })
            .await
        }
        HiddenName::PresetZip => Ok(Text {
            bytes: read_blob(&tree.catalog, &Blob::PresetOf(rapid)).await?,
            modified: tree.opened,
        }),
        HiddenName::Control => {
            let parent = HiddenParent::Model(Model::Rapid(rapid));
            Ok(Text::new(control_help(parent), tree.opened))
        }
        _ => Err(DriveError::NotFound),
    }
}

/// All tags of a family, one a line.
async fn tags_text(tree: &Arc<Tree>, family: Family) -> DriveResult<Text> {
    let of = Arc::clone(tree);
    cached_json(tree, FlightKey::Tags(family), async move {
        let (client, now) = (&of.client, Priority::Interactive);
        let tags = match family {
            Family::Raw => asked(&of.catalog, client.assets().tags(now)).await,
            Family::Rapid => asked(&of.catalog, client.rapids().tags(now)).await,
        };
        let mut names: Vec<String> = tags?
            .into_iter()
            .map(|tag| tag.name.replace(['\n', '\r'], " "))
            .collect();
        names.sort_unstable();
        names.dedup();
        let lines: String = names.into_iter().map(|name| name + "\n").collect();
        keep_detail_text(&of.catalog, FlightKey::Tags(family), lines.into());
        Ok(())
    })
    .await
}
