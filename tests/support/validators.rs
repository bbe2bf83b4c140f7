//! Checks exported files with public tools: gltf-validator and the validators of USD.
//!
//! `scripts/test` installs both below `target/`. If they are missing, the skip is reported.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of a tool that `scripts/test` installs.
fn test_tool(below: &str, what: &str) -> Option<PathBuf> {
    let found = std::env::var_os("ASSETFS_TEST_TOOLS")
        .map(|tools| Path::new(&tools).join(below))
        .filter(|path| path.exists());
    if found.is_none() {
        crate::skip::skipped(&format!("{what} is not installed"));
    }
    found
}

/// Validates all supported files below a folder.
pub fn assert_valid(folder: &Path) {
    let mut judged = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.extension().and_then(|name| name.to_str()) {
            Some("glb" | "gltf") => assert_gltf_has_no_error(&path),
            Some("usdz") => assert_usd_has_no_issue(&path),
            _ => continue,
        }
        judged += 1;
    }
    assert!(judged > 0, "{} holds no model to judge", folder.display());
}

/// Asserts that gltf-validator finds no error, in the glTF and the files that it names.
pub fn assert_gltf_has_no_error(model: &Path) {
    let Some(validator) = test_tool("node_modules/gltf-validator", "gltf-validator") else {
        return;
    };
    let script = "const v=require(process.argv[1]),fs=require('fs'),path=require('path');\
        const model=process.argv[2],bytes=f=>new Uint8Array(fs.readFileSync(f));\
        v.validateBytes(bytes(model),{externalResourceFunction:async u=>bytes(path.join(path.dirname(model),decodeURIComponent(u)))})\
        .then(r=>{console.log(JSON.stringify(r.issues));process.exit(r.issues.numErrors?1:0)})";
    judged(
        "gltf-validator",
        Command::new("node")
            .args(["-e", script])
            .arg(validator)
            .arg(model),
    );
}

/// A Python that has usd-core.
pub fn usd_python() -> Option<PathBuf> {
    test_tool("venv/bin/python", "usd-core")
}

/// Asserts that the validators of USD report nothing, and that every face is drawn.
pub fn assert_usd_has_no_issue(model: &Path) {
    let Some(python) = usd_python() else {
        return;
    };
    let script = "\
import sys
from pxr import Usd, UsdGeom, UsdValidation
registry = UsdValidation.ValidationRegistry()
stage = Usd.Stage.Open(sys.argv[1])
issues = UsdValidation.ValidationContext(registry.GetOrLoadAllValidators()).Validate(stage)
for issue in issues: print(issue.GetName(), issue.GetMessage())
drawn = stage.Traverse(Usd.TraverseInstanceProxies())
meshes = [prim for prim in drawn if prim.IsA(UsdGeom.Mesh)]
sys.exit(1 if issues or not meshes else 0)
";
    judged(
        "usd-core",
        Command::new(python).args(["-c", script]).arg(model),
    );
}

fn judged(what: &str, command: &mut Command) {
    let output = command.output().expect("the validator runs");
    assert!(
        output.status.success(),
        "{what}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
