//! The texts of the files in `.assetfs` folders.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::kept::{cached_json, detail, record_text};
use super::metrics;
use super::model_lists::{models_text, results_text, stale_text};
use super::mount_status::mount_status;
use super::place::Text;
use crate::client::Priority;
use crate::drive::catalog::{
    Blob, FlightKey, keep_detail_text, known_rapid, learn_reason, learn_versions, model_status,
    rapid_status, read_blob, refresh_asset, refresh_orphans, refresh_rapid, send_with_deadline,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::tree::Tree;
use crate::drive::values::known::system_time;
use crate::drive::values::local::{HiddenName, HiddenParent};
use crate::drive::values::node::{Family, Home, Model};
use crate::wire::{RapidId, is_own_tag};

/// Age after which the status of an unfinished model is requested again.
const STATUS_TTL: Duration = Duration::from_secs(1);
/// How long the status of the mount waits for the lists that results are compared with.
const VERSIONS_PATIENCE: Duration = Duration::from_secs(2);

/// The text of a `ctl` file: its commands.
pub fn control_help(parent: HiddenParent) -> String {
    let commands = match parent {
        HiddenParent::Root => {
            "drain [ready]\ncancel --orphan ID\nallow-delete\ndelete [--confirmed] rawmodels ID…\n\
             delete [--confirmed] rapidmodels ID…\nrun JOB.json\ncache clear\ncache verify\npin PATH\nunpin PATH\nrefresh\nend-events\n"
        }
        HiddenParent::Model(Model::Raw(_)) => {
            "commit [--force]\ncancel\nretry\nconvert FORMAT…\nscale FACTOR\ntag +TAG,-TAG…\nrun JOB.json\nreplace [--remove-old] DRAFT\nrefresh\n"
        }
        HiddenParent::Model(Model::Rapid(_)) => {
            "run VIEWER.json\nrun-stale\ntag +TAG,-TAG…\nrefresh\n"
        }
        _ => "commit [--force] FILE\ncancel FILE\nretry FILE\n",
    };
    format!("# Write one command a line:\n{commands}")
}

/// The texts of top folders.
pub(super) async fn top_text(
    tree: &Arc<Tree>,
    parent: HiddenParent,
    name: HiddenName,
) -> DriveResult<Text> {
    match (name, parent) {
        (HiddenName::MountStatus, _) => mount_status_text(tree).await,
        (HiddenName::Metrics, _) => Ok(Text::new(
            metrics::text(&mount_status(tree)),
            SystemTime::now(),
        )),
        (HiddenName::Control, parent) => Ok(Text::new(control_help(parent), tree.opened())),
        // A stream has no size.
        (HiddenName::Events, _) => Ok(Text::new("", tree.opened())),
        (HiddenName::Categories, _) => {
            record_text(tree, FlightKey::Categories, move |client| async move {
                client.presets().categories(Priority::Interactive).await
            })
            .await
        }
        (HiddenName::Tags, HiddenParent::RapidModels) => tags_text(tree, Family::Rapid).await,
        (HiddenName::Tags, _) => tags_text(tree, Family::Raw).await,
        (HiddenName::Models, _) => models_text(tree).await,
        (HiddenName::Results, _) => results_text(tree).await,
        (HiddenName::Stale, _) => stale_text(tree).await,
        _ => Err(DriveError::NotFound),
    }
}

/// The text of `/.assetfs/status.json`.
async fn mount_status_text(tree: &Arc<Tree>) -> DriveResult<Text> {
    let catalog = tree.catalog();
    // Another machine may have changed a preset or replaced a model: what is stale is counted from the lists.
    let versions = tokio::time::timeout(VERSIONS_PATIENCE, learn_versions(catalog));
    let _ = tokio::join!(refresh_orphans(catalog), versions);
    let text = serde_json::to_string_pretty(&mount_status(tree))
        .map_err(|error| DriveError::Local(format!("the status cannot be written: {error}")))?;
    Ok(Text::line(&text, SystemTime::now()))
}

/// The texts of a source model.
pub(super) async fn model_text(
    tree: &Arc<Tree>,
    home: Home,
    name: HiddenName,
) -> DriveResult<Text> {
    match name {
        HiddenName::Status => {
            let status = model_status(tree.catalog(), home).await?;
            Ok(Text::line(&status.to_string(), SystemTime::now()))
        }
        HiddenName::State => {
            let status = model_status(tree.catalog(), home).await?;
            Ok(Text::line(status.word().as_str(), SystemTime::now()))
        }
        HiddenName::Detail => {
            let Some(asset) = tree.catalog().asset_of(home) else {
                return Ok(Text::new("{}\n", tree.opened()));
            };
            refresh_asset(tree.catalog(), asset, tree.config().refresh).await?;
            let known = || {
                let row = tree.catalog().asset(asset)?;
                serde_json::to_string_pretty(&row).ok()
            };
            detail(tree, &FlightKey::Asset(asset), known)
        }
        HiddenName::Formats => {
            let Some(asset) = tree.catalog().asset_of(home) else {
                return Ok(Text::new("[]\n", tree.opened()));
            };
            record_text(tree, FlightKey::Formats(asset), move |client| async move {
                client
                    .assets()
                    .processed_formats(asset, Priority::Interactive)
                    .await
            })
            .await
        }
        HiddenName::Control => {
            let parent = HiddenParent::Model(Model::Raw(home));
            Ok(Text::new(control_help(parent), tree.opened()))
        }
        // `source.zip` is streamed, never held as a text.
        _ => Err(DriveError::NotFound),
    }
}

/// The texts of an optimized model.
pub(super) async fn rapid_text(
    tree: &Arc<Tree>,
    rapid: RapidId,
    name: HiddenName,
) -> DriveResult<Text> {
    match name {
        HiddenName::Status | HiddenName::State => {
            let known = known_rapid(tree.catalog(), rapid).await?;
            let row = if known.state.is_final() {
                known
            } else {
                refresh_rapid(tree.catalog(), rapid, STATUS_TTL).await?
            };
            learn_reason(tree.catalog(), Model::Rapid(rapid)).await;
            let modified = system_time(row.updated.or(row.created));
            let status = rapid_status(tree.catalog(), &row);
            Ok(match name {
                HiddenName::State => Text::line(status.word().as_str(), modified),
                _ => Text::line(&status.to_string(), modified),
            })
        }
        HiddenName::Detail => {
            refresh_rapid(tree.catalog(), rapid, tree.config().refresh).await?;
            let known = || {
                let row = tree.catalog().rapid(rapid)?;
                serde_json::to_string_pretty(&row).ok()
            };
            detail(tree, &FlightKey::Rapid(rapid), known)
        }
        HiddenName::Exports => {
            record_text(tree, FlightKey::Exports(rapid), move |client| async move {
                client.rapids().exports(rapid, Priority::Interactive).await
            })
            .await
        }
        HiddenName::PresetZip => Ok(Text {
            bytes: read_blob(tree.catalog(), &Blob::PresetOf(rapid)).await?,
            modified: tree.opened(),
        }),
        HiddenName::Control => {
            let parent = HiddenParent::Model(Model::Rapid(rapid));
            Ok(Text::new(control_help(parent), tree.opened()))
        }
        _ => Err(DriveError::NotFound),
    }
}

/// All tags of a family, one per line.
async fn tags_text(tree: &Arc<Tree>, family: Family) -> DriveResult<Text> {
    let of = Arc::clone(tree);
    cached_json(tree, FlightKey::Tags(family), async move {
        let (client, now) = (of.client(), Priority::Interactive);
        let tags = match family {
            Family::Raw => send_with_deadline(of.catalog(), client.assets().tags(now)).await,
            Family::Rapid => send_with_deadline(of.catalog(), client.rapids().tags(now)).await,
        };
        let mut names: Vec<String> = tags?
            .into_iter()
            .filter(|tag| !is_own_tag(&tag.name))
            .map(|tag| tag.name.replace(['\n', '\r'], " "))
            .collect();
        names.sort_unstable();
        names.dedup();
        let lines: String = names.into_iter().map(|name| name + "\n").collect();
        keep_detail_text(of.catalog(), FlightKey::Tags(family), lines.into());
        Ok(())
    })
    .await
}
