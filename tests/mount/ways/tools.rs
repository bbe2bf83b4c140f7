//! The tools, each as a line of shell, and helpers for the tests that run them.
//!
//! A line gets the source in `$SRC`, the target in `$DST` and a temporary folder in `$TMP`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{Fixture, read, text};

/// One way to copy or save.
pub struct Tool {
    /// Its name in tests; also used as a file name.
    pub name: &'static str,
    /// Programs that it needs; without them it is skipped.
    pub needs: &'static [&'static str],
    /// The command line.
    pub line: &'static str,
}

/// A table of tools.
macro_rules! tools {
    ($($name:literal [$($needs:literal)*] $line:literal)*) => {
        &[$($crate::ways::tools::Tool { name: $name, needs: &[$($needs),*], line: $line }),*]
    };
}
pub(super) use tools;

impl Tool {
    /// False, with a message, if a program is not installed.
    pub fn is_here(&self) -> bool {
        self.needs
            .iter()
            .all(|needed| crate::skip::has_program_or_skips(needed))
    }

    /// The command, not started yet.
    pub fn command(&self, source: &Path, target: &Path, own: &Path) -> Command {
        fs::create_dir_all(own).expect("a folder");
        let mut command = Command::new("bash");
        command
            .args(["-euo", "pipefail", "-c", self.line])
            .current_dir(own)
            .env("SRC", source)
            .env("DST", target)
            .env("TMP", own)
            .env("TMPDIR", own)
            .env("HOME", own)
            .env("TERM", "xterm");
        command
    }

    /// Runs it to its end.
    pub fn run(&self, source: &Path, target: &Path, own: &Path) -> Output {
        self.command(source, target, own)
            .output()
            .expect("bash runs")
    }

    /// Runs it; it must succeed.
    pub fn run_well(&self, source: &Path, target: &Path, own: &Path) {
        let output = self.run(source, target, own);
        assert!(
            output.status.success(),
            "{}: {}: {}{}",
            self.name,
            output.status,
            text(&output.stdout),
            text(&output.stderr)
        );
    }
}

/// All files below a folder, with their bytes. `leave_out` are names directly below it.
pub fn tree(dir: &Path, leave_out: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let entry = entry.expect("an entry");
            let path = entry.path();
            let below = path.strip_prefix(dir).expect("it is below");
            let name = below.to_string_lossy().into_owned();
            let kind = entry.file_type().expect("a type");
            // A folder of the service is renamed to `renders@` if the owner has one of that name.
            if leave_out.contains(&name.trim_end_matches('@')) {
                continue;
            } else if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                files.insert(name, read(&path));
            }
        }
    }
    files
}

/// The folders of the service in a model.
pub const SERVICE_FOLDERS: &[&str] = &[
    "analysis",
    "renders",
    "converted",
    "pbr",
    "qc",
    "optimize",
    "embeds",
    "rapidmodels",
];

/// Asserts that two trees have the same files, without their bytes in the message.
pub fn assert_same_trees(
    what: &str,
    expected: &BTreeMap<String, Vec<u8>>,
    found: &BTreeMap<String, Vec<u8>>,
) {
    let names =
        |files: &BTreeMap<String, Vec<u8>>| -> Vec<String> { files.keys().cloned().collect() };
    assert_eq!(names(expected), names(found), "{what}");
    for (name, bytes) in expected {
        let found = &found[name];
        assert!(
            bytes == found,
            "{what}: {name} differs: {} and {} bytes",
            bytes.len(),
            found.len()
        );
    }
}

/// The only asset of that name, which must be complete.
pub fn one_complete_asset(fixture: &Fixture, name: &str) -> Value {
    let mut assets = fixture.service.assets();
    assets.retain(|asset| asset["name"] == name);
    assert_eq!(assets.len(), 1, "exactly one asset {name}: {assets:#?}");
    let asset = assets.remove(0);
    assert_eq!(asset["upload_status"], "complete", "{name}");
    asset
}

/// The files of an asset on the service, with their bytes.
pub fn files_on_service(fixture: &Fixture, asset: &Value) -> BTreeMap<String, Vec<u8>> {
    let path = format!("api/v2/rawmodel/{}/downloads", asset["id"]);
    let downloads = fixture.service.get(&path);
    let downloads = downloads.as_object().expect("a map");
    let fetched = |url: &Value| crate::support::fetch(url.as_str().expect("a URL"));
    downloads
        .iter()
        .map(|(name, url)| (name.clone(), fetched(url)))
        .collect()
}

/// Asserts that the asset at `rawmodels/<name>` is the only one of its name, complete, and has exactly
/// these files, on the service and through the mount.
pub fn assert_arrived(fixture: &Fixture, name: &str, expected: &BTreeMap<String, Vec<u8>>) {
    fixture.wait(&format!("rawmodels/{name}"));
    let asset = one_complete_asset(fixture, name);
    let held = files_on_service(fixture, &asset);
    let is_nested = expected.keys().any(|path| path.contains('/'));
    let held = if is_nested {
        unzipped(fixture, &held)
    } else {
        held
    };
    assert_same_trees(&format!("{name} on the service"), expected, &held);
    let shown = fixture.path(&format!("rawmodels/{name}"));
    let shown = tree(&shown, SERVICE_FOLDERS);
    assert_same_trees(&format!("{name} on the mount"), expected, &shown);
}

/// The members of the archive as which a nested folder is sent.
fn unzipped(fixture: &Fixture, held: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    assert_eq!(held.len(), 1, "one archive: {:?}", held.keys());
    let dir = tempfile::tempdir_in(fixture.scratch.path()).expect("a folder");
    let archive = dir.path().join("sent.zip");
    fs::write(&archive, held.values().next().expect("one")).expect("room");
    let out = dir.path().join("out");
    let script = "import sys,zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
    let mut python = Command::new("python3");
    crate::support::run(python.args(["-c", script]).args([&archive, &out]));
    tree(&out, &[])
}
