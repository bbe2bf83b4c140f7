//! Our reader beside usd-core: both count the same in our own exports, as text, binary and package.

use std::path::Path;
use std::process::Command;

use assetfs::engine::import::import;
use assetfs::engine::job::{OptimizeTask, Pictures, Task, run_with};
use assetfs::engine::sample::{ChairDetail, write_chair_with};
use serde_json::{Map, Value, json};

use crate::validators::usd_python;

/// Prints triangles, materials and the corners of the box as JSON, after writing the stage as usda and usdc.
const SCRIPT: &str = r#"
import json, sys
from pxr import Usd, UsdGeom, UsdShade
stage = Usd.Stage.Open(sys.argv[1])
stage.Export(sys.argv[2] + "/flat.usdc"); stage.Export(sys.argv[2] + "/text.usda")
prims = list(Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()))
triangles = sum(count - 2 for prim in prims if prim.IsA(UsdGeom.Mesh) for count in UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get())
materials = sum(1 for prim in prims if prim.IsA(UsdShade.Material))
box = UsdGeom.BBoxCache(Usd.TimeCode.Default(), ["default", "render"], False).ComputeWorldBound(stage.GetPseudoRoot()).ComputeAlignedRange()
print(json.dumps([triangles, materials, list(box.GetMin()), list(box.GetMax())]))
"#;

fn counted_by_usd(python: &Path, file: &Path, out: &Path) -> Value {
    let ran = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(file)
        .arg(out)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn counted(dir: &Path, name: &str) -> Value {
    let imported = import(dir, &[name.to_owned()]).unwrap();
    let scene = &imported.scene;
    let bounds = scene.bounds().unwrap();
    json!([
        scene.drawn_triangles(),
        scene.list("materials").len(),
        bounds.min.to_array(),
        bounds.max.to_array()
    ])
}

fn assert_same(ours: &Value, theirs: &Value, what: &str) {
    assert_eq!(
        (&ours[0], &ours[1]),
        (&theirs[0], &theirs[1]),
        "{what}: {ours} {theirs}"
    );
    for corner in [2, 3] {
        for axis in 0..3 {
            let [a, b] = [ours, theirs].map(|it| it[corner][axis].as_f64().unwrap());
            assert!((a - b).abs() < 1e-4, "{what}: {ours} {theirs}");
        }
    }
}

/// The chair as a usdz, written by a whole job, with its similarity to the source.
fn chair_as_usdz(dir: &Path) -> f64 {
    let chair = write_chair_with(dir, ChairDetail::Small).unwrap();
    let config: Map<String, Value> = serde_json::from_value(json!({
        "compressionAndExport": { "fileExports": [{ "fileType": "usdz" }] },
    }))
    .unwrap();
    let task = Task::Optimize(OptimizeTask {
        input_dir: dir.to_owned(),
        files: chair.names,
        output_dir: dir.join("out"),
        config,
        export_name: None,
        base_name: "chair".to_owned(),
        scale: 1.0,
    });
    let report = run_with(&task, Pictures::Shown, &mut |_| {}).unwrap();
    assert_eq!(report.exports[0].triangles, Some(report.result.triangles));
    report.exports[0].quality.unwrap().avg_score
}

#[test]
fn our_own_usdz_comes_back_and_is_scored() {
    let dir = tempfile::tempdir().unwrap();
    let score = chair_as_usdz(dir.path());
    // 99.8 is a FLIP of .002.
    assert!(score >= 99.8, "{score}");
}

#[test]
fn usd_core_counts_the_same() {
    let Some(python) = usd_python() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    chair_as_usdz(dir.path());
    let exports = dir.path().join("out/exports");
    let theirs = counted_by_usd(&python, &exports.join("chair.usdz"), &exports);
    for name in ["chair.usdz", "text.usda", "flat.usdc"] {
        assert_same(&counted(&exports, name), &theirs, name);
    }
}
