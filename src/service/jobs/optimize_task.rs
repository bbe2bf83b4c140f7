//! What the engine is asked to do for a rapid model: the same each time, so that pictures can be drawn later.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::work_folder::WorkFolder;
use crate::service::names;
use crate::service::records::RapidRow;
use assetfs_engine::job::OptimizeTask;

/// The longest name of a result with the additions of its preset, in bytes.
const MAX_RESULT_NAME_BYTES: usize = 150;

/// What the engine is asked to do for a rapid model.
pub(super) fn task_of(place: &WorkFolder, rapid: &RapidRow, output_dir: PathBuf) -> OptimizeTask {
    OptimizeTask {
        input_dir: place.input(),
        files: place.files.clone(),
        output_dir,
        config: config(rapid),
        export_name: rapid.export_name.as_deref().map(names::file_stem),
        base_name: base_name(rapid),
        scale: rapid.scale_factor,
    }
}

/// The configuration of a rapid model.
fn config(rapid: &RapidRow) -> Map<String, Value> {
    serde_json::from_str(&rapid.config).expect("what was stored is a configuration")
}

/// The default name of the exported files: the asset's name with the additions of the preset.
fn base_name(rapid: &RapidRow) -> String {
    let rule = &rapid.filename_rule;
    let suffix = rule.use_suffix.as_str().filter(|suffix| !suffix.is_empty());
    let preset = rapid.preset_name.as_deref();
    let id = rapid.id.to_string();
    let added = [
        suffix,
        preset.filter(|_| rule.use_preset_name),
        rule.use_id.then_some(id.as_str()),
    ];
    let added: String = added
        .into_iter()
        .flatten()
        .map(|part| format!("-{part}"))
        .collect();
    // If the name is too long, the addition is kept, because it distinguishes the results.
    let added = names::file_stem(&format!("x{added}"));
    let room = MAX_RESULT_NAME_BYTES.saturating_sub(added.len());
    let name = names::file_stem(&rapid.name);
    let end = name.floor_char_boundary(room.max(1));
    format!("{}{}", &name[..end], &added[1..])
}
