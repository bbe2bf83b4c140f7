//! `assetfs preset list` and `assetfs optimize --list-presets`: the presets of a drive, of an account or of the engine, with
//! what each does.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::Value;

use super::block_on::block_on;
use super::chosen_preset::Config;
use super::connect::ServiceArgs;
use super::files::is_json;
use super::mounted::{self, MountedDrive};
use super::{output, settings};
use crate::client::Priority;
use crate::factory_presets;
use crate::fuse;
use crate::outbox::{JobSettings, parse_job_text};
use crate::wire::{OptimizerConfig, PresetId};

/// Whose preset it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PresetKind {
    Own,
    Factory,
}

impl PresetKind {
    fn word(self) -> &'static str {
        match self {
            PresetKind::Own => "own",
            PresetKind::Factory => "factory",
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct ListedPreset {
    /// The service's id; `None` of a preset that is not sent yet.
    id: Option<u64>,
    name: String,
    kind: PresetKind,
    /// What it does, in a line.
    description: String,
    config: Config,
}

impl ListedPreset {
    fn new(
        id: Option<u64>,
        name: &str,
        kind: PresetKind,
        description: Option<String>,
        config: Config,
    ) -> ListedPreset {
        let described = description.map(|text| text.trim().replace('\n', " "));
        let known = || {
            let factory = factory_presets::factory(PresetId(id?))?;
            let is_it = kind == PresetKind::Factory && factory.name == name;
            is_it.then(|| factory.description.to_owned())
        };
        let description = described.filter(|text| !text.is_empty()).or_else(known);
        ListedPreset {
            id,
            name: name.to_owned(),
            kind,
            description: description.unwrap_or_else(|| summary(&config)),
            config,
        }
    }
}

/// The presets that the arguments of `preset list` mean: those of the account that flags name, else of a mounted drive, else of
/// the configured account, else of the engine.
pub(super) fn listed(drive: Option<&Path>, service: &ServiceArgs) -> Result<Vec<ListedPreset>> {
    if drive.is_none() && service.account.names_account() {
        return of_account(service);
    }
    if drive.is_some() || !fuse::own_mounts()?.is_empty() {
        return of_drive(&MountedDrive::at_or_only(drive, "preset list")?);
    }
    if settings::load_profile(None)?.names_account() {
        return of_account(service);
    }
    eprintln!("The presets of the engine; a mounted drive or an account has its own, too.");
    Ok(factory())
}

/// The factory presets of the engine.
pub(super) fn factory() -> Vec<ListedPreset> {
    let presets = factory_presets::FACTORY.iter().map(|it| {
        let description = Some(it.description.to_owned());
        ListedPreset::new(
            Some(it.id.0),
            it.name,
            PresetKind::Factory,
            description,
            it.config().0,
        )
    });
    presets.collect()
}

fn of_account(service: &ServiceArgs) -> Result<Vec<ListedPreset>> {
    let client = service.client()?;
    let (own, factory) = block_on(async {
        let own = client.presets().list(Priority::Interactive).await?;
        Ok((own, client.presets().factory(Priority::Interactive).await?))
    })?;
    let own = own.into_iter().map(|it| {
        ListedPreset::new(
            Some(it.id.0),
            &it.name,
            PresetKind::Own,
            it.description,
            it.config.0,
        )
    });
    let factory = factory.into_iter().map(|it| {
        let description = it.description().map(str::to_owned);
        ListedPreset::new(
            Some(it.id.0),
            &it.name,
            PresetKind::Factory,
            description,
            it.config.0,
        )
    });
    Ok(own.chain(factory).collect())
}

fn of_drive(drive: &MountedDrive) -> Result<Vec<ListedPreset>> {
    let folder = drive.root().join("presets");
    let mut presets = in_folder(&folder, PresetKind::Own)?;
    presets.extend(in_folder(&folder.join("factory"), PresetKind::Factory)?);
    Ok(presets)
}

fn in_folder(folder: &Path, kind: PresetKind) -> Result<Vec<ListedPreset>> {
    let entries = fs::read_dir(folder).map_err(|error| mounted::explain_at(folder, error))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| folder.display().to_string())?.path();
        if is_json(&path) {
            files.push(path);
        }
    }
    files.sort();
    let mut presets = files
        .iter()
        .map(|file| in_file(file, kind))
        .collect::<Result<Vec<_>>>()?;
    if kind == PresetKind::Factory {
        presets.sort_by_key(|preset| preset.id);
    }
    Ok(presets)
}

fn in_file(file: &Path, kind: PresetKind) -> Result<ListedPreset> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let text = fs::read(file).map_err(|error| mounted::explain_at(file, error))?;
    // A file that is no preset is listed without what it does: the drive says why it is not sent.
    let config = match parse_job_text(&name, &text).map(|job| job.settings) {
        Ok(JobSettings::Config(OptimizerConfig(config))) => config,
        _ => Config::new(),
    };
    let id = mounted::item_id(file)?.and_then(|id| id.parse().ok());
    let description = mounted::preset_description(file);
    Ok(ListedPreset::new(id, &name, kind, description, config))
}

/// What a configuration does, if nobody has described it.
fn summary(config: &Config) -> String {
    let limit = |path: &[&str]| -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter()
            .try_fold(config.get(*first)?, |value, key| value.get(*key))
    };
    let mut parts = Vec::new();
    if let Some(count) = limit(&["limits", "faces", "count"]).and_then(Value::as_u64) {
        parts.push(format!(
            "at most {} triangles",
            super::table::grouped(count)
        ));
    }
    if let Some(percent) = limit(&["limits", "faces", "percentage"]).and_then(Value::as_f64) {
        parts.push(format!("{percent} % of the triangles"));
    }
    if let Some(pixels) = limit(&["limits", "textures", "baseColor"]).and_then(Value::as_u64) {
        parts.push(format!("colour textures of {pixels} pixels"));
    }
    let exports = limit(&["compressionAndExport", "fileExports"]).and_then(Value::as_array);
    let formats = exports
        .into_iter()
        .flatten()
        .filter_map(|it| it.get("fileType")?.as_str());
    let formats: Vec<&str> = formats.collect();
    if !formats.is_empty() {
        parts.push(format!("as {}", formats.join(" and ")));
    }
    parts.join(", ")
}

/// Prints presets as a table, or as lines of JSON.
pub(super) fn print(presets: &[ListedPreset]) {
    if output::is_json() {
        presets.iter().for_each(output::line);
        return;
    }
    let columns = |text: fn(&ListedPreset) -> String| {
        presets
            .iter()
            .map(|it| text(it).chars().count())
            .max()
            .unwrap_or_default()
    };
    let id = |it: &ListedPreset| {
        it.id
            .map_or_else(|| "not sent".to_owned(), |id| id.to_string())
    };
    let (names, ids) = (columns(|it| it.name.clone()), columns(id).max(2));
    println!(
        "{:names$}  {:>ids$}  {:7}  description",
        "name", "id", "kind"
    );
    for it in presets {
        let line = format!(
            "{:names$}  {:>ids$}  {:7}  {}",
            it.name,
            id(it),
            it.kind.word(),
            it.description
        );
        println!("{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_that_nobody_described_says_what_its_configuration_does() {
        let config = serde_json::json!({
            "limits": {"faces": {"count": 25000}, "textures": {"baseColor": 1024}},
            "compressionAndExport": {"fileExports": [{"fileType": "glb"}, {"fileType": "usdz"}]},
        });
        let Value::Object(config) = config else {
            panic!()
        };
        let preset = ListedPreset::new(
            Some(1234),
            "mine",
            PresetKind::Own,
            Some(" ".into()),
            config,
        );
        assert_eq!(
            preset.description,
            "at most 25,000 triangles, colour textures of 1024 pixels, as glb and usdz"
        );
    }

    #[test]
    fn every_preset_of_the_engine_is_listed_with_its_line() {
        let presets = factory();
        assert_eq!(presets.len(), factory_presets::FACTORY.len());
        assert!(
            presets
                .iter()
                .all(|it| it.description.ends_with('.') && it.id.is_some())
        );
    }
}
