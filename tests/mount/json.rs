//! `--json` of the commands that need a drive: their lines are those of `docs/schemas`, also when they fail.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::json_schema::{check_lines, commands};
use super::square_glb::numbered_glb;
use super::support::{
    ASSETFS, Fixture, MountPoint, assetfs, fails, read, run, small_chair, text, wait_until,
};
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
    // The file has what a drive knows of itself, and so no warnings of results.
    let mut file = fixture.status();
    assert_eq!(file["schema"], 1);
    file["warnings"] = json!([]);
    file["warnings_not_read"] = json!(0);
    check_lines("status", &file.to_string());
    let points = fs::read_to_string(fixture.path("account/points.jsonl")).unwrap();
    let points = check_lines("points", &points);
    assert_eq!((points.len(), &points[0]["text"]), (1, &json!("web")));
    wait_until("the result has the checksum of its source", || {
        let (models, _) = lines(&fixture, "list --models", &[""]);
        let (results, _) = lines(&fixture, "list --results", &[""]);
        let hash = &models[0]["source_hash"];
        hash.is_string() && results[0]["source_hash"] == *hash
    });
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
    // A budget reads the result behind the link of its text.
    for path in ["optimize/web.json", "optimize", "optimize/web"] {
        let mut wait = assetfs("wait", model.join(path));
        run(wait.args(["--min-similarity", "50"]));
    }
    let mut missed = assetfs("wait", model.join("optimize/web.json"));
    fails(missed.args(["--max-triangles", "1"]), 1);
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
    for words in [
        "retry", "pin", "convert", "run", "rm", "cancel", "list", "status",
    ] {
        let more = if words == "convert" {
            &["rawmodels/none", "obj"][..]
        } else {
            &["rawmodels/none"]
        };
        let (found, code) = lines(&fixture, words, more);
        assert_ne!(code, 0, "{words}");
        let failed = found.last().unwrap();
        assert_eq!(failed["state"], "failed", "{words}");
        let path = json!(fixture.path("rawmodels/none"));
        assert_eq!(failed["path"], path, "{words}");
    }
    // What the service would refuse is wrong use as well.
    for factor in ["0", "-1", "1e-99", "1e99", "inf", "big"] {
        let mut scale = assetfs("scale", fixture.path("rawmodels/empty"));
        fails(scale.args(["--", factor]), 2);
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

/// Those whose lines another test checks, and one that speaks with its parent process alone.
const ELSEWHERE: [&str; 5] = ["mount", "events", "serve", "demo", "engine-worker"];

/// A workplace in which every command succeeds.
struct Everything {
    fixture: Fixture,
    done: std::collections::BTreeSet<String>,
}

impl Everything {
    fn new() -> Everything {
        let fixture = Fixture::new();
        let dir = fixture.scratch.path();
        fs::create_dir_all(dir.join("models")).unwrap();
        for number in 0..2 {
            fs::write(
                dir.join(format!("models/m{number}.glb")),
                numbered_glb(number),
            )
            .unwrap();
        }
        fs::write(
            dir.join("half.json"),
            r#"{"limits":{"faces":{"percentage":50}}}"#,
        )
        .unwrap();
        let build = "models = 'models'\n[presets]\nhalf = 'half.json'\n";
        fs::write(dir.join("assetfs.toml"), build).unwrap();
        Everything {
            fixture,
            done: std::collections::BTreeSet::new(),
        }
    }

    /// Runs a command that has to succeed; its lines, after a check against its schema.
    fn run(&mut self, words: &[&str]) -> Vec<Value> {
        self.feed(words, "")
    }

    /// The same with a text on standard input.
    fn feed(&mut self, words: &[&str], input: &str) -> Vec<Value> {
        use std::io::Write as _;
        let dir = self.fixture.scratch.path();
        let mut command = Command::new(ASSETFS);
        command
            .args(words)
            .arg("--json")
            .current_dir(dir)
            .env("HOME", dir.join("home"))
            .env("XDG_CONFIG_HOME", dir.join("home/config"))
            .env("XDG_STATE_HOME", dir.join("home/state"))
            .env("ASSETFS_KEYRING", "off")
            .env("ASSETFS_BASE_URL", &self.fixture.service.base_url)
            .env_remove("GITHUB_ACTIONS")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        if !["login", "logout"].contains(&words[0]) {
            command.env("ASSETFS_TOKEN", self.fixture.service.token());
        }
        let mut child = command.spawn().unwrap();
        // A command that reads nothing may have ended already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{words:?}: {}",
            text(&output.stderr)
        );
        self.done.insert(words[0].to_owned());
        let lines = check_lines(words[0], &text(&output.stdout));
        for line in &lines {
            assert!(line["exit"].is_null() || line["exit"] == 0, "{line}");
        }
        lines
    }
}

#[test]
fn every_command_that_succeeds_prints_the_lines_of_its_schema() {
    needs_fuse!();
    let mut all = Everything::new();
    let model = "mnt/rawmodels/m0";
    all.run(&["sync", "models", "mnt", "--preset", "half.json"]);
    all.run(&["wait", "mnt"]);
    let listed = all.run(&["list", "mnt"]);
    assert_eq!(listed.len(), 4, "{listed:?}");
    for words in [
        &["status", "mnt"][..],
        &["why", model],
        &["tag", "--add", "oak", model],
        &["scale", model, "2"],
        &["convert", model, "obj"],
        &["pin", model],
        &["unpin", model],
        &["check", "models/m0.glb", "mnt/rawmodels/m0/m0.glb"],
        &["cache", "info", "mnt"],
        &["cache", "verify", "mnt"],
        &["cache", "clear", "mnt"],
        &["embed", "mnt/rapidmodels/m0"],
        &["run", "--preset", "half.json", model],
        &["run", "--stale", "--yes", "mnt"],
        &["run", "--preset", "Web Viewer", "--dry-run", model],
        &["rm", "--dry-run", model],
        &["replace", "models/m1.glb", "mnt/rawmodels/m2"],
        &["rm", "mnt/rawmodels/m2"],
        &["allow-delete", "mnt"],
        &["preset", "list", "mnt"],
        &["preset", "show", "Web Viewer"],
        &["preset", "export", "half.json", "--out", "half.zip"],
        &[
            "optimize",
            "models/m0.glb",
            "out",
            "-p",
            "half.json",
            "--no-pictures",
        ],
        &[
            "watch",
            "models",
            "-p",
            "half.json",
            "-o",
            "done",
            "--once",
            "--no-pictures",
        ],
        &["build", "--no-pictures", "--junit", "report.xml"],
        &["build", "--drive", "mnt"],
        &["thumbnail", "models/m0.glb", "m0.png"],
        &["thumbnail", "--setup"],
        &["recover"],
        &["recover", "list"],
        &["samba", "mnt", "--private", "share", "--port", "4450"],
        &["doctor"],
        &["man"],
        &["completions", "bash"],
        &["whoami"],
        &["token", "list"],
        &["page", "--data-dir", "service"],
    ] {
        all.run(words);
    }
    let begun = all.run(&["run", "--preset", "Lossless Clean-Up", model]);
    let state = begun[0]["state"].as_str().unwrap();
    assert!(["queued", "running"].contains(&state), "{begun:?}");
    fs::create_dir(all.fixture.path("rawmodels/draft")).unwrap();
    all.run(&["cancel", "mnt/rawmodels/draft"]);
    fs::create_dir(all.fixture.path("rawmodels/broken")).unwrap();
    fs::write(all.fixture.path("rawmodels/broken/broken.obj"), "no model").unwrap();
    all.run(&["commit", "mnt/rawmodels/broken"]);
    wait_until("the import has failed", || {
        read(all.fixture.path("rawmodels/broken/.assetfs/state")).starts_with(b"failed")
    });
    all.run(&["retry", "mnt/rawmodels/broken"]);
    all.run(&["token", "create", "mine", "--out", "mine.token"]);
    let made = all.run(&["token", "create", "other"]);
    let id = made[0]["token"]
        .as_str()
        .unwrap()
        .split('|')
        .next()
        .unwrap();
    all.run(&["token", "delete", id]);
    let hook = all.run(&["webhook", "add", "http://127.0.0.1:9/x"]);
    let hook = hook[0]["id"].to_string();
    for words in [
        &["webhook", "list"][..],
        &["webhook", "test", &hook],
        &["webhook", "delete", &hook],
    ] {
        all.run(words);
    }
    let account = read(all.fixture.scratch.path().join("service/account.json"));
    let account: Value = serde_json::from_slice(&account).unwrap();
    let [email, password] = ["email", "password"].map(|key| account[key].as_str().unwrap());
    let password = format!("{password}\n");
    all.feed(&["login", "--email", email], &password);
    all.run(&["logout"]);
    all.run(&["unmount", "mnt"]);
    all.feed(&["account", "delete"], &password);
    let left: Vec<String> = commands(ASSETFS)
        .into_iter()
        .filter(|name| !all.done.contains(name) && !ELSEWHERE.contains(&name.as_str()))
        .collect();
    assert_eq!(left, [""; 0], "commands that were not run");
}
