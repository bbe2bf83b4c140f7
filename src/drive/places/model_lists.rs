//! `models.jsonl` and `results.jsonl`: all models, or all results, a line of JSON for each. They contain what
//! the lists of the service contain, so no request for each model is needed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::Value;

use super::place::Text;
use super::stale_jobs::runnable_texts;
use crate::drive::catalog::{
    POINTS_OF_A_RESULT, StaleCheck, asset_status, learn_versions, rapid_status, refresh_listing,
    replaced_models,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::tree::Tree;
use crate::drive::values::filemap::FileMap;
use crate::drive::values::known::{KnownAsset, KnownRapid, KnownTag};
use crate::drive::values::node::{Home, ListingKind};
use crate::outbox::{DraftInfo, ItemStatus, StatusWord};
use crate::wire::{AssetId, NotedPreset, RapidId, Staleness, Timestamp};
use assetfs_formats::warnings::Warning;

/// Version of the fields; a field keeps its name and meaning within one.
const SCHEMA: u32 = 1;

/// The picture of a model or a result, from its folder.
const THUMBNAIL: &str = "analysis/thumb.jpg";

/// What a draft or a source model, and a result, have in common.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
struct Common {
    schema: u32,
    /// The name of its folder.
    name: String,
    /// Its folder, from the top of the drive.
    path: String,
    /// A draft has none.
    id: Option<u64>,
    /// A word of the table of states.
    state: StatusWord,
    percent: Option<u8>,
    /// The state as one line.
    status: String,
    /// Why it failed, or what it was sent without.
    reason: Option<String>,
    /// Of all its files; for a result of the exported ones.
    bytes: Option<u64>,
    created: Option<Timestamp>,
    /// Who sent it: the name in the tag that the drive has set, otherwise the name of the token it was sent with.
    made_by: Option<String>,
    tags: Vec<String>,
}

#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
struct ListedModel {
    #[serde(flatten)]
    common: Common,
    /// Of the uploaded model, as the service names it.
    format: Option<String>,
    /// If the service says so.
    triangles: Option<u64>,
    /// The path of its picture, from the top of the drive.
    thumbnail: Option<String>,
    /// The checksum over the names and contents of its files.
    source_hash: Option<String>,
    /// The id of the model that has taken its name.
    replaced_by: Option<u64>,
    /// The id of the version that it was sent to replace.
    replaces: Option<u64>,
}

#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
struct ListedResult {
    #[serde(flatten)]
    common: Common,
    /// The name of the source model's folder; none if the model was deleted.
    source: Option<String>,
    source_id: Option<u64>,
    /// The checksum over the names and contents of the files of the source model.
    source_hash: Option<String>,
    /// The name of the text in `optimize/` that it was made with, without its extension.
    preset: Option<String>,
    /// The lowest mean score of its exports, 0 to 100.
    similarity: Option<f64>,
    formats: Vec<String>,
    /// Its exported files, from its folder.
    files: Vec<String>,
    /// If the service says so.
    triangles: Option<u64>,
    /// What it warns of, if the service says so.
    warnings: Option<Vec<ListedWarning>>,
    /// The path of its picture, from the top of the drive.
    thumbnail: Option<String>,
    /// Its embeds, if they are known.
    embeds: Option<Vec<ListedEmbed>>,
    /// What it has cost.
    points: u64,
    updated: Option<Timestamp>,
    /// Why it is stale.
    stale: Option<Staleness>,
    /// The checksum of the text that it was made with.
    text_hash: Option<String>,
    /// The checksum of the configuration that it was made with, by meaning.
    config_hash: Option<String>,
    /// The preset of the account that its text names, by its name or its id.
    named_preset: Option<Value>,
    /// The name that the request gave to the exported files, if it gave one.
    export_name: Option<String>,
}

#[derive(Debug, Serialize)]
struct ListedWarning {
    code: &'static str,
    text: String,
}

#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize)]
struct ListedEmbed {
    id: u64,
    name: String,
    url: Option<String>,
}

/// The embeds of each result; `None` if the service did not tell them.
type EmbedsByResult = Option<HashMap<RapidId, Vec<ListedEmbed>>>;

/// Drafts and source models, in the order of their names.
pub(super) async fn models_text(tree: &Arc<Tree>) -> DriveResult<Text> {
    let listed = refresh_listing(tree.catalog(), ListingKind::Assets).await;
    let models = models_at_hand(tree);
    if models.is_empty() {
        listed?;
    }
    lines(models, |model| &model.common)
}

/// Results, in the order of their names.
pub(super) async fn results_text(tree: &Arc<Tree>) -> DriveResult<Text> {
    let listed = refresh_listing(tree.catalog(), ListingKind::Rapids).await;
    learn_versions(tree.catalog()).await;
    let rows: Vec<KnownRapid> = tree.catalog().known().rapids.rows().cloned().collect();
    if rows.is_empty() {
        listed?;
    }
    let mut embeds = match rows.is_empty() {
        true => None,
        false => embeds_of_results(tree).await,
    };
    let stale = StaleCheck::new(tree.catalog());
    let results = rows
        .into_iter()
        .map(|row| {
            let embeds = embeds.as_mut();
            let own = embeds.map(|all| all.remove(&row.id).unwrap_or_default());
            result(tree, &stale, row, own)
        })
        .collect();
    lines(results, |result| &result.common)
}

async fn embeds_of_results(tree: &Tree) -> EmbedsByResult {
    let listed = refresh_listing(tree.catalog(), ListingKind::Embeds).await;
    let known = tree.catalog().known();
    let mut all: HashMap<RapidId, Vec<ListedEmbed>> = HashMap::new();
    for row in known.embeds.rows() {
        let embed = ListedEmbed {
            id: row.id.0,
            name: row.name.clone(),
            url: row.url.clone(),
        };
        if let Some(result) = row.rapid {
            all.entry(result).or_default().push(embed);
        }
    }
    (listed.is_ok() || !all.is_empty()).then_some(all)
}

/// A text that `assetfs run --stale` runs again.
#[derive(Debug, Serialize)]
struct ListedStale {
    schema: u32,
    /// The folder of its stale result, from the top of the drive.
    path: String,
    id: u64,
    /// The folder of the newest version of its model.
    source: String,
    /// The name of the text, without extension.
    preset: String,
    stale: Staleness,
}

/// The texts whose current result is stale.
pub(super) async fn stale_text(tree: &Arc<Tree>) -> DriveResult<Text> {
    let listed = refresh_listing(tree.catalog(), ListingKind::Rapids).await;
    learn_versions(tree.catalog()).await;
    let catalog = tree.catalog();
    let stale = runnable_texts(tree);
    if stale.is_empty() {
        listed?;
    }
    let mut text = String::new();
    for it in stale {
        let source = catalog.home_path(catalog.home_of(it.model));
        push_line(
            &mut text,
            &ListedStale {
                schema: SCHEMA,
                path: catalog
                    .rapid_path(it.result)
                    .trim_start_matches('/')
                    .to_owned(),
                id: it.result.0,
                source: source.trim_start_matches('/').to_owned(),
                preset: it.text,
                stale: it.why,
            },
        )?;
    }
    Ok(Text::new(text, SystemTime::now()))
}

pub(super) fn push_line(text: &mut String, row: &impl Serialize) -> DriveResult<()> {
    let line = serde_json::to_string(row).map_err(|error| {
        DriveError::Local(format!("a line of the list cannot be written: {error}"))
    })?;
    text.push_str(&line);
    text.push('\n');
    Ok(())
}

fn lines<T: Serialize>(mut rows: Vec<T>, common: fn(&T) -> &Common) -> DriveResult<Text> {
    rows.sort_by(|a, b| common(a).name.cmp(&common(b).name));
    let mut text = String::new();
    for row in &rows {
        push_line(&mut text, row)?;
    }
    Ok(Text::new(text, SystemTime::now()))
}

fn models_at_hand(tree: &Tree) -> Vec<ListedModel> {
    let mut drafts: HashMap<Home, DraftInfo> = HashMap::new();
    for draft in tree.outbox().drafts().all() {
        drafts.insert(Home::Made(draft.id), draft);
    }
    let unseen = tree.outbox().uploads().unseen_assets();
    let rows: Vec<KnownAsset> = {
        let known = tree.catalog().known();
        let rows = known.assets.rows();
        rows.filter(|row| !unseen.contains(&row.id))
            .cloned()
            .collect()
    };
    let mut before = HashMap::new();
    for (old, new) in tree.outbox().uploads().replacements() {
        // The first version of all is among them.
        let last: &mut AssetId = before.entry(new).or_insert(old);
        *last = old.max(*last);
    }
    let versions = VersionsAround {
        next: replaced_models(tree.catalog(), &tree.catalog().known()),
        before,
    };
    let mut models: Vec<ListedModel> = rows
        .into_iter()
        .map(|row| {
            let home = tree.catalog().home_of(row.id);
            model(tree, row, home, drafts.remove(&home), &versions)
        })
        .collect();
    models.extend(
        drafts
            .into_iter()
            .map(|(home, draft)| draft_row(tree, home, draft)),
    );
    models
}

/// The versions that are known beside each model.
struct VersionsAround {
    /// The one that has taken its name.
    next: HashMap<AssetId, AssetId>,
    /// The one that it was sent from here to replace.
    before: HashMap<AssetId, AssetId>,
}

/// While the outbox handles a model, its status is the newest.
fn model(
    tree: &Tree,
    row: KnownAsset,
    home: Home,
    draft: Option<DraftInfo>,
    versions: &VersionsAround,
) -> ListedModel {
    let (status, warning) = match draft {
        Some(draft) => (draft.status, draft.warning),
        None => (asset_status(tree.catalog(), &row), None),
    };
    let before = versions.before.get(&row.id).copied();
    let before = before.or(row.notes.replaces);
    let path = tree.catalog().home_path(home);
    let warning = warning.or_else(|| tree.failures().warning_of(&path));
    ListedModel {
        triangles: row.triangles,
        thumbnail: row.has_thumbnail.then(|| thumbnail_of(&path)),
        common: Common {
            bytes: row.size,
            created: row.created,
            made_by: row.notes.by.or(row.token_name),
            tags: names_of(&row.tags),
            ..common(path, Some(row.id.0), &status, warning)
        },
        format: row.format,
        source_hash: row.notes.source,
        replaced_by: versions.next.get(&row.id).map(|new| new.0),
        replaces: before.map(|old| old.0),
    }
}

fn draft_row(tree: &Tree, home: Home, draft: DraftInfo) -> ListedModel {
    let id = draft.asset.map(|asset| asset.0);
    ListedModel {
        common: Common {
            bytes: Some(draft.size),
            created: Some(Timestamp::from(draft.created)),
            made_by: tree.outbox().config().made_by.clone(),
            ..common(
                tree.catalog().home_path(home),
                id,
                &draft.status,
                draft.warning,
            )
        },
        format: None,
        triangles: None,
        thumbnail: None,
        source_hash: None,
        replaced_by: None,
        replaces: None,
    }
}

fn result(
    tree: &Tree,
    stale: &StaleCheck,
    row: KnownRapid,
    embeds: Option<Vec<ListedEmbed>>,
) -> ListedResult {
    let catalog = tree.catalog();
    let status = rapid_status(catalog, &row);
    // A model that was deleted has no folder.
    let is_there = |asset: &AssetId| catalog.known().assets.row(asset.0).is_some();
    let source = row
        .source
        .filter(is_there)
        .map(|asset| catalog.home_path(catalog.home_of(asset)));
    let why_stale = stale.of(&row);
    let path = catalog.rapid_path(row.id);
    let thumbnail = thumbnail_of(&path);
    let files = FileMap::arrange(row.files.into_iter().map(|name| (name, None)), row.id.0);
    ListedResult {
        files: files.files().map(|(path, _)| path.to_string()).collect(),
        triangles: row.triangles,
        warnings: row
            .warnings
            .map(|lines| lines.into_iter().map(warning).collect()),
        thumbnail: row.has_thumbnail.then_some(thumbnail),
        embeds,
        points: POINTS_OF_A_RESULT,
        common: Common {
            bytes: row.bytes,
            created: row.created,
            made_by: row.notes.by.or(row.token_name),
            tags: names_of(&row.tags),
            ..common(path, Some(row.id.0), &status, None)
        },
        source: source.as_deref().map(name_of).map(str::to_owned),
        source_id: row.source.map(|asset| asset.0),
        source_hash: row
            .source
            .and_then(|asset| catalog.asset(asset)?.notes.source),
        stale: why_stale,
        preset: row.made_with,
        similarity: row.similarity,
        formats: row.formats,
        updated: row.updated,
        text_hash: row.notes.text,
        config_hash: row.notes.config,
        named_preset: row.notes.preset.map(|preset| match preset {
            NotedPreset::Name(name) => name.into(),
            NotedPreset::Id(id) => id.0.into(),
        }),
        export_name: row.export_name,
    }
}

/// The picture of a model.
fn thumbnail_of(path: &str) -> String {
    format!("{}/{THUMBNAIL}", path.trim_start_matches('/'))
}

fn warning(line: String) -> ListedWarning {
    let Warning { kind, text } = line.into();
    let code = kind.name();
    ListedWarning { code, text }
}

fn common(path: String, id: Option<u64>, status: &ItemStatus, warning: Option<String>) -> Common {
    let reason = match status {
        ItemStatus::Failed { reason } => Some(reason.clone()),
        _ => warning,
    };
    let path = path.trim_start_matches('/').to_owned();
    Common {
        schema: SCHEMA,
        name: name_of(&path).to_owned(),
        path,
        id,
        state: status.word(),
        percent: status.percent(),
        status: status.to_string(),
        reason,
        bytes: None,
        created: None,
        made_by: None,
        tags: Vec::new(),
    }
}

fn names_of(tags: &[KnownTag]) -> Vec<String> {
    tags.iter().map(|tag| tag.name.clone()).collect()
}

fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
