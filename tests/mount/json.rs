//! `--json` of the commands that need a drive: their lines are those of `docs/schemas`, also when they fail.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::json_schema::check_lines;
use super::support::{ASSETFS, Fixture, MountPoint, small_chair, text, wait_until};
use crate::needs_fuse;

/// The lines of a command, after a check against its schema, and its exit code.
fn lines(fixture: &Fixture, words: &str, paths: &[&str]) -> (Vec<Value>, i32) {
    let output = Command::new(ASSETFS)
        .args(words.split(' '))
        .args(paths.iter().map(|path| fixture.path(path)))
        .arg("--json")
        .current_dir(fixture.scratch.path())
        .output()
        .unwrap();
    let command = words.split(' ').next().unwrap();
    let lines = check_lines(command, &text(&output.stdout));
    assert!(!lines.is_empty(), "{words}: {}", text(&output.stderr));
    (lines, output.status.code().unwrap())
}

fn only(fixture: &Fixture, words: &str, path: &str) -> Value {
    let (lines, code) = lines(fixture, words, &[path]);
    assert_eq!((lines.len(), code), (1, 0), "{words}: {lines:?}");
    lines.into_iter().next().unwrap()
}

#[test]
fn the_lines_of_commands_are_those_of_their_schemas() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    fixture.add_chair();
    let chair = fixture.path("rawmodels/chair");
    let waited = only(&fixture, "wait", "rawmodels/chair");
    assert_eq!(waited["state"], "complete");
    let preset = fixture.path("presets/factory/Lossless Clean-Up.json");
    fs::copy(preset, chair.join("optimize/web.json")).unwrap();
    let done = only(&fixture, "wait", "rawmodels/chair/optimize/web.json");
    assert_eq!((&done["state"], &done["exit"]), (&json!("done"), &json!(0)));
    let status = only(&fixture, "status", "");
    assert_eq!(status["schema"], 1);
    for (words, path) in [
        ("why", "rawmodels/chair"),
        ("why --since 1h", "rawmodels/chair"),
        ("pin", "rawmodels/chair"),
        ("cache info", ""),
        ("cache verify", ""),
        ("unpin", "rawmodels/chair"),
        ("preset list", ""),
        ("allow-delete", ""),
        ("run", "rawmodels/chair/optimize/web.json"),
    ] {
        let (_, code) = lines(&fixture, words, &[path]);
        assert_eq!(code, 0, "{words}");
    }
    only(&fixture, "wait --quiet", "");
    let source = small_chair(&fixture.scratch.path().join("other"));
    let source = source.display().to_string();
    assert_eq!(
        only(&fixture, &format!("check {source}"), "rawmodels/chair")["differences"],
        json!([])
    );
    let replaced = only(&fixture, &format!("replace {source}"), "rawmodels/chair");
    assert_eq!(replaced["outcome"], "unchanged");
    let made = only(&fixture, &format!("replace {source}"), "rawmodels/stool");
    assert_eq!(
        (&made["outcome"], &made["state"]),
        (&json!("made"), &json!("complete"))
    );
    let (scaled, code) = lines(&fixture, "scale", &["rawmodels/chair"]);
    assert_eq!((&scaled[0]["exit"], code), (&json!(2), 2));
    only(&fixture, "rm", "rawmodels/stool");
    let gone = only(&fixture, "unmount", "");
    assert_eq!(gone["unsent"], json!([]));
    fixture.mount(&[]);
}

#[test]
fn the_reports_of_models_and_results_are_those_of_their_schemas() {
    needs_fuse!();
    let fixture = Fixture::with_pictures();
    fixture.add_chair();
    let preset = fixture.path("presets/factory/Lossless Clean-Up.json");
    let model = fixture.path("rawmodels/chair");
    fs::copy(preset, model.join("optimize/web.json")).unwrap();
    fixture.wait("rawmodels/chair/optimize/web.json");
    for (schema, path) in [
        ("rpd_info", "rawmodels/chair/analysis/rpd_info.json"),
        ("metrics", "rawmodels/chair/analysis/metrics.json"),
        ("detail_model", "rawmodels/chair/.assetfs/detail.json"),
        ("rpd_info", "rapidmodels/chair/analysis/rpd_info.json"),
        ("metrics", "rapidmodels/chair/analysis/metrics.json"),
        ("qc", "rapidmodels/chair/qc/glb.json"),
        ("detail_result", "rapidmodels/chair/.assetfs/detail.json"),
    ] {
        let text = fs::read(fixture.path(path)).unwrap();
        let content: Value = serde_json::from_slice(&text).unwrap();
        let content = check_lines(schema, &content.to_string()).remove(0);
        match schema {
            "qc" => assert!(content["avgScore"].as_f64().unwrap() > 50.0, "{content}"),
            "detail_result" => assert!(
                content["meta"]["qc"][0]["glb"]["avgScore"].is_f64(),
                "{content}"
            ),
            _ => {}
        }
    }
}

#[test]
fn a_failure_is_a_line_with_its_path_its_state_and_its_reason() {
    needs_fuse!();
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("rawmodels/empty")).unwrap();
    let (found, code) = lines(&fixture, "commit", &["rawmodels/empty", "rawmodels/none"]);
    assert_eq!((found.len(), code), (2, 1));
    for line in &found {
        assert_eq!(
            (&line["state"], &line["exit"]),
            (&json!("failed"), &json!(1))
        );
        assert!(!line["reason"].as_str().unwrap().is_empty());
    }
    assert_eq!(found[1]["path"], json!(fixture.path("rawmodels/none")));
    let (found, code) = lines(&fixture, "wait --timeout 1s", &["rawmodels/empty"]);
    assert_eq!((&found[0]["state"], code), (&json!("draft"), 3));
    let (found, code) = lines(&fixture, "why", &["rawmodels/none"]);
    assert_eq!((&found[0]["exists"], code), (&json!(false), 1));
    for words in ["retry", "pin", "convert", "run", "rm", "cancel"] {
        let more = if words == "convert" {
            &["rawmodels/none", "obj"][..]
        } else {
            &["rawmodels/none"]
        };
        let (found, code) = lines(&fixture, words, more);
        assert_ne!(code, 0, "{words}");
        assert_eq!(found.last().unwrap()["state"], "failed", "{words}");
    }
}

#[test]
fn events_and_mount_print_their_lines() {
    needs_fuse!();
    let fixture = Fixture::unmounted(&[]);
    let said = fixture.mount_command(&["--json"]).output().unwrap();
    let _mounted = MountPoint(fixture.root());
    let lines = check_lines("mount", &text(&said.stdout));
    assert_eq!(lines[0]["path"], json!(fixture.root()));
    let log = fixture.scratch.path().join("events");
    let mut events = Command::new(ASSETFS)
        .args(["events", "--json"])
        .arg(fixture.root())
        .stdout(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let mut number = 0;
    wait_until("an event is printed", || {
        number += 1;
        fs::create_dir(fixture.path(&format!("rawmodels/m{number}"))).unwrap();
        fs::read_to_string(&log).unwrap().contains("created")
    });
    events.kill().unwrap();
    events.wait().unwrap();
    let printed = fs::read_to_string(&log).unwrap();
    let whole = printed.rsplit_once('\n').map_or("", |(whole, _)| whole);
    assert!(!check_lines("events", whole).is_empty());
}
