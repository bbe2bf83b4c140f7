//! Which formats a model has already. The service refuses a whole request if one format of it exists, so the command
//! asks only for those that are missing.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::cli::mounted::explain_at;
use crate::wire::{ConversionJob, ConversionStatus};
use assetfs_formats as formats;

/// The requested formats, in lower case and without repetitions, by what has to be done for each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The model has them.
    pub(super) present: Vec<String>,
    /// An earlier request makes them.
    pub(super) going: Vec<String>,
    pub(super) missing: Vec<String>,
}

impl Plan {
    /// `controls` is the hidden folder of the model, `jobs` its conversions.
    pub(super) fn of(asked: &[String], controls: &Path, jobs: &[ConversionJob]) -> Result<Plan> {
        Ok(Plan::sorted(asked, &formats_of(controls)?, jobs))
    }

    fn sorted(asked: &[String], existing: &[String], jobs: &[ConversionJob]) -> Plan {
        let mut plan = Plan::default();
        for format in asked {
            let format = format.to_ascii_lowercase();
            let ways = [&plan.present, &plan.going, &plan.missing];
            if ways.iter().any(|known| known.contains(&format)) {
                continue;
            }
            let mut own = jobs.iter().filter(|job| job.makes(&format));
            let place = if existing.contains(&format) {
                &mut plan.present
            } else if own.clone().any(|job| !job.is_over()) {
                &mut plan.going
            } else if own.any(|job| job.status == ConversionStatus::Finished) {
                &mut plan.present
            } else {
                &mut plan.missing
            };
            place.push(format);
        }
        plan
    }

    /// The formats whose conversions are waited for.
    pub(super) fn awaited(&self) -> Vec<String> {
        self.going.iter().chain(&self.missing).cloned().collect()
    }
}

/// The format of the upload, and those of the converted files.
fn formats_of(controls: &Path) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Record {
        format: Option<String>,
    }
    let path = controls.join("detail.json");
    let text = fs::read(&path).map_err(|error| explain_at(&path, error))?;
    let record: Record = serde_json::from_slice(&text)
        .with_context(|| format!("cannot understand {}", path.display()))?;
    let mut formats: Vec<String> = record.format.into_iter().collect();
    formats
        .iter_mut()
        .for_each(|format| format.make_ascii_lowercase());
    let folder = controls.join("../converted");
    let files = match fs::read_dir(&folder) {
        Ok(files) => files,
        // The folder is there once there is a file in it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(formats),
        Err(error) => return Err(explain_at(&folder, error)),
    };
    for file in files {
        let file = file.map_err(|error| explain_at(&folder, error))?;
        formats.push(formats::extension(&file.file_name().to_string_lossy()));
    }
    Ok(formats)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_format_is_asked_for_once_and_only_if_it_is_missing() {
        let jobs = r#"[{"status": "failed", "formats": ["fbx"]},
            {"status": "finished", "formats": ["obj"], "progress": 100},
            {"status": "executing", "formats": ["stl", "ply"], "progress": 3}]"#;
        let jobs: Vec<ConversionJob> = serde_json::from_str(jobs).unwrap();
        let asked = texts(&["FBX", "usdz", "stl", "obj", "fbx", "gltf"]);
        let plan = Plan::sorted(&asked, &texts(&["step", "usdz"]), &jobs);
        assert_eq!(plan.present, texts(&["usdz", "obj"]));
        assert_eq!(plan.going, texts(&["stl"]));
        assert_eq!(plan.missing, texts(&["fbx", "gltf"]));
    }

    #[test]
    fn the_formats_of_a_model_are_that_of_the_upload_and_of_its_converted_files() {
        let model = tempfile::tempdir().unwrap();
        let controls = model.path().join(".assetfs");
        fs::create_dir(&controls).unwrap();
        fs::write(controls.join("detail.json"), r#"{"format": "STEP"}"#).unwrap();
        assert_eq!(formats_of(&controls).unwrap(), texts(&["step"]));
        fs::create_dir(model.path().join("converted")).unwrap();
        fs::write(model.path().join("converted/part.usdz"), "").unwrap();
        assert_eq!(formats_of(&controls).unwrap(), texts(&["step", "usdz"]));
    }
}
