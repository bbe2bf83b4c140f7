//! What is known of a result: its bytes, triangles, similarity and warnings, as budgets and reports read them.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::mounted;
use super::result_warnings::warnings_of;

/// The file with the facts of a result, in its folder.
pub(super) const FACTS_FILE: &str = "analysis/result.json";

/// How much of a file with facts is read.
const MAX_BYTES: u64 = 16 << 20;

/// The facts of a result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ResultFacts {
    /// Of its exported files together.
    pub(super) bytes: u64,
    /// Of the export that has the most; `None` if nobody counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) triangles: Option<u64>,
    /// The lowest mean similarity of its exports, 0 to 100; `None` if nothing was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) similarity: Option<f64>,
    /// The lines of its `warning.log`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}

impl ResultFacts {
    /// The facts that were written into a folder of results; `None` if it has none that can be read.
    pub(super) fn of_folder(folder: &Path) -> Option<ResultFacts> {
        let file = folder.join(FACTS_FILE);
        if fs::metadata(&file).ok()?.len() > MAX_BYTES {
            return None;
        }
        serde_json::from_slice(&fs::read(file).ok()?).ok()
    }

    /// The facts of a result in a mounted drive; `folder` may be a link to it, as those in `optimize/`. What the service does
    /// not say is left out.
    pub(super) fn on_drive(folder: &Path) -> ResultFacts {
        // The link has no such attribute.
        let result = fs::canonicalize(folder);
        ResultFacts {
            bytes: bytes_in(folder),
            triangles: triangles(folder),
            similarity: mounted::similarity(result.as_deref().unwrap_or(folder)),
            warnings: warnings_of(folder),
        }
    }

    /// Writes them into a folder of results.
    pub(super) fn write_into(&self, folder: &Path) -> Result<()> {
        let file = folder.join(FACTS_FILE);
        let cannot = || format!("cannot write {}", file.display());
        fs::create_dir_all(file.parent().unwrap_or(folder)).with_context(cannot)?;
        fs::write(&file, serde_json::to_vec_pretty(self)?).with_context(cannot)
    }
}

/// Of the files at the top of a result: its exports.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| fs::metadata(entry.path()).ok());
    files
        .filter(fs::Metadata::is_file)
        .map(|file| file.len())
        .sum()
}

/// The triangles that the statistics of a result count, if they are in the form of our engine.
fn triangles(folder: &Path) -> Option<u64> {
    let file = folder.join("analysis/rpd_info.json");
    if fs::metadata(&file).ok()?.len() > MAX_BYTES {
        return None;
    }
    let info: Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    info["geometry"]["triangles"].as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_as_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(ResultFacts::of_folder(dir.path()), None);
        let facts = ResultFacts {
            bytes: 7,
            triangles: Some(12),
            similarity: None,
            warnings: vec!["x".to_owned()],
        };
        facts.write_into(dir.path()).unwrap();
        assert_eq!(ResultFacts::of_folder(dir.path()), Some(facts));
        fs::write(dir.path().join(FACTS_FILE), "{").unwrap();
        assert_eq!(ResultFacts::of_folder(dir.path()), None);
    }

    #[test]
    fn a_result_outside_of_a_drive_is_measured_by_its_files() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("analysis")).unwrap();
        fs::write(dir.path().join("a.glb"), "12345").unwrap();
        fs::write(dir.path().join("a.bin"), "12").unwrap();
        let info = r#"{"geometry": {"triangles": 44}}"#;
        fs::write(dir.path().join("analysis/rpd_info.json"), info).unwrap();
        let facts = ResultFacts::on_drive(dir.path());
        assert_eq!((facts.bytes, facts.triangles), (7, Some(44)));
    }
}
