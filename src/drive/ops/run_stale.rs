//! Makes a stale result again: the same text, with the present version of its model and the present configuration of its
//! preset. This costs a point.

use std::sync::Arc;

use serde_json::json;

use crate::drive::catalog::{StaleText, learn_versions};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::{refusals, runnable_texts, text_in};
use crate::drive::tree::Tree;
use crate::drive::values::known::KnownRapid;
use crate::drive::values::local::DropFolder;
use crate::drive::values::names::{safe_name, with_ending};
use crate::wire::{NotedPreset, RapidId};

/// Runs the text of a stale result again.
pub async fn run_stale(tree: &Arc<Tree>, rapid: RapidId) -> DriveResult<()> {
    learn_versions(tree.catalog()).await;
    let mut stale = runnable_texts(tree).into_iter();
    let Some(stale) = stale.find(|it| it.result == rapid) else {
        return Err(DriveError::Invalid(
            "it is not stale, or a newer result of the same text is there already or being made"
                .into(),
        ));
    };
    let row = tree.catalog().rapid(rapid).ok_or(DriveError::NotFound)?;
    let shared = Arc::clone(tree);
    tree.detached(async move { run_text(&shared, &stale, &row).await })
        .await
}

async fn run_text(tree: &Arc<Tree>, stale: &StaleText, row: &KnownRapid) -> DriveResult<()> {
    let folder = DropFolder::Optimize(stale.model).in_outbox();
    let jobs = tree.outbox().jobs();
    if let Some(job) = text_in(tree, DropFolder::Optimize(stale.model), &stale.text) {
        jobs.run_after(&folder, &job.name, stale.result).await?;
        return Ok(());
    }
    let of_source = row.source.map(DropFolder::Optimize);
    let kept = of_source.and_then(|folder| text_in(tree, folder, &stale.text));
    let (name, text) = match kept {
        Some(job) => (job.name, job.text),
        None => {
            let stem = safe_name(&stale.text, row.id.0);
            (with_ending(&stem, ".json"), text_of(tree, row).await?)
        }
    };
    jobs.write(&folder, &name, &text)?;
    let is_made_with_it = row.source == Some(stale.model);
    match is_made_with_it {
        // The service has a result of the same text, which is the stale one.
        true => jobs.run_after(&folder, &name, stale.result).await?,
        false => jobs.submit(&folder, &name).await?,
    };
    Ok(())
}

/// The text of a result that was asked for on another machine: its preset, else its configuration.
async fn text_of(tree: &Tree, row: &KnownRapid) -> DriveResult<Vec<u8>> {
    let mut text = match &row.notes.preset {
        Some(NotedPreset::Name(name)) => json!({ "preset": name }),
        Some(NotedPreset::Id(id)) => json!({ "preset_id": id }),
        None => {
            let config = tree.outbox().jobs().used_config(row.id).await?;
            let config = config.ok_or_else(|| refusals::no_text(row.id))?;
            json!({ "config": config })
        }
    };
    let tags: Vec<&str> = row.tags.iter().map(|tag| tag.name.as_str()).collect();
    if !tags.is_empty() {
        text["tags"] = json!(tags);
    }
    Ok(format!("{text:#}\n").into_bytes())
}
