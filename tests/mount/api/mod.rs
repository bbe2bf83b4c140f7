//! The features of the API, used with a shell on a real mount: the rows of `docs/api-coverage.md`.

mod assets;
mod mounts;
mod results;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Fixture, run};
use crate::ways::models::triangle_glb;

const HALF: &str = r#"{"schema":"2.5","limits":{"faces":{"percentage":50}},
"compressionAndExport":{"fileExports":[{"fileType":"glb"},{"fileType":"usdz"}]}}"#;

/// A model of one triangle in `rawmodels/NAME`, complete.
pub fn add_triangle(fixture: &Fixture, name: &str) {
    let file = fixture.path(&format!("rawmodels/{name}.glb"));
    fs::write(file, triangle_glb(name)).unwrap();
    fixture.wait(&format!("rawmodels/{name}.glb"));
}

/// Copies a text to a path of the drive.
pub fn drop_text(fixture: &Fixture, path: &str, content: &str) {
    let local = fixture.scratch.path().join("dropped.json");
    fs::write(&local, content).unwrap();
    run(Command::new("cp").arg(&local).arg(fixture.path(path)));
}

/// Copies the preset and waits; returns the folder of the result.
fn optimized(fixture: &Fixture, name: &str) -> String {
    drop_text(
        fixture,
        &format!("rawmodels/{name}/optimize/half.json"),
        HALF,
    );
    fixture.wait(&format!("rawmodels/{name}/optimize/half.json"));
    let link = fixture.path(&format!("rawmodels/{name}/optimize/half"));
    let target = fs::read_link(link).unwrap();
    let rapid = target.file_name().unwrap().to_string_lossy();
    format!("rapidmodels/{rapid}")
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The tags of a user; the drive's own begin with `assetfs:`.
fn tags_of(record: &Value) -> Vec<&str> {
    let names = record["tags"].as_array().unwrap().iter();
    let names = names.map(|tag| tag["name"].as_str().unwrap());
    let mut names: Vec<&str> = names.filter(|name| !name.starts_with("assetfs:")).collect();
    names.sort_unstable();
    names
}

fn total(fixture: &Fixture, path: &str) -> u64 {
    fixture.service.get(path)["meta"]["total"].as_u64().unwrap()
}
