//! Lost answers: each call has its effect exactly once, also if a second machine works at the same time.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::models::triangle_glb;
use super::tools::{assert_arrived, tree};
use crate::needs_fuse;
use crate::support::{ASSETFS, Fixture, assetfs, fails, read, run, small_chair, text, wait_until};

/// A plan that loses the answer of the first call to each path, before or after its effect.
fn losing(kind: &str, calls: &[(&str, &str)]) -> String {
    let rule = |(method, path): &(&str, &str)| {
        format!(
            "[[rule]]\nmethod = \"{method}\"\npath = \"{path}\"\ntimes = 1\nfault = {{ kind = \"{kind}\" }}\n"
        )
    };
    calls.iter().map(rule).collect()
}

const UPLOAD: &[(&str, &str)] = &[
    ("POST", "*/api-upload/start"),
    ("PUT", "/storage/*"),
    ("GET", "*/api-upload/complete"),
];

fn list(fixture: &Fixture, path: &str) -> Vec<Value> {
    let found = fixture.service.get(path);
    let found = found.get("data").cloned().unwrap_or(found);
    found.as_array().expect("a list").clone()
}

fn one_asset_although_answers_are_lost(kind: &str) {
    let mut fixture = Fixture::unmounted_with_chaos(&losing(kind, UPLOAD), &[]);
    fixture.mount(&[]);
    let source = small_chair(fixture.scratch.path());
    fixture.copy_in(&source, "rawmodels/chair");
    fixture.wait("rawmodels/chair");
    // The first start may have had its effect: the second joined it by its key.
    let assets = fixture.service.assets();
    assert_eq!(assets.len(), 1, "{assets:#?}");
    let status = run(assetfs("status", fixture.root()));
    assert!(!status.contains("orphan"), "{status}");
    assert_arrived(&fixture, "chair", &tree(&source, &[]));
    assert_eq!(
        fixture.chaos_fired(),
        UPLOAD.len(),
        "every planned fault was met"
    );
}

#[test]
fn lost_answers_of_start_put_and_complete_make_one_asset() {
    needs_fuse!();
    one_asset_although_answers_are_lost("drop_after");
}

#[test]
fn lost_requests_of_start_put_and_complete_make_one_asset() {
    needs_fuse!();
    one_asset_although_answers_are_lost("drop_before");
}

#[test]
fn a_model_that_is_removed_after_lost_answers_of_start_leaves_one_orphan_that_can_be_cancelled() {
    needs_fuse!();
    let plan = "[[rule]]\nmethod = \"POST\"\npath = \"*/api-upload/start\"\n\
        fault = { kind = \"drop_after\" }\n";
    let mut fixture = Fixture::unmounted_with_chaos(plan, &[]);
    fixture.mount(&[]);
    let source = small_chair(fixture.scratch.path());
    let target = fixture.path("rawmodels/chair");
    run(Command::new("cp").arg("-r").args([&source, &target]));
    wait_until("answers are lost", || fixture.chaos_fired() >= 2);
    run(Command::new("rm").arg("-r").arg(&target));
    let begun = fixture.service.assets();
    assert_eq!(begun.len(), 1, "{begun:#?}");
    let status = run(assetfs("status", fixture.root()));
    assert!(status.contains("orphan"), "{status}");
    let cancel = || {
        let mut command = Command::new(ASSETFS);
        command.args(["cancel", "--orphan", &begun[0]["id"].to_string(), "--drive"]);
        command.arg(fixture.root());
        command
    };
    run(cancel());
    let status = run(assetfs("status", fixture.root()));
    assert!(!status.contains("orphan"), "{status}");
    let said = fails(cancel(), 1);
    assert!(
        said.contains("does not exist; `assetfs status` lists"),
        "{said}"
    );
}

#[test]
fn a_lost_answer_of_optimize_pays_once() {
    needs_fuse!();
    let plan = losing("drop_after", &[("POST", "/api/v2/rawmodel/optimize/*")]);
    let mut fixture = Fixture::unmounted_with_chaos(&plan, &[]);
    fixture.mount(&[]);
    fixture.add_chair();
    let config = fixture.scratch.path().join("half.json");
    fs::write(&config, r#"{"limits":{"faces":{"percentage":50}}}"#).unwrap();
    fixture.copy_in(&config, "rawmodels/chair/optimize/half.json");
    fixture.wait("rawmodels/chair/optimize/half.json");
    assert_eq!(list(&fixture, "api/v2/rapidmodel").len(), 1);
    assert_eq!(fixture.chaos_fired(), 1);
}

#[test]
fn a_lost_answer_of_preset_create_and_update_makes_one_preset() {
    needs_fuse!();
    let calls = [
        ("POST", "/api/v2/preset/create"),
        ("PATCH", "/api/v2/preset/update"),
    ];
    let plan = losing("drop_after", &calls);
    let mut fixture = Fixture::unmounted_with_chaos(&plan, &[]);
    fixture.mount(&[]);
    let preset = fixture.path("presets/mine.json");
    let config = fixture.scratch.path().join("mine.json");
    for percentage in [50, 40] {
        let text = format!(r#"{{"limits":{{"faces":{{"percentage":{percentage}}}}}}}"#);
        fs::write(&config, text).unwrap();
        run(Command::new("cp").args([&config, &preset]));
        wait_until("the service has the text", || {
            let presets = list(&fixture, "api/v2/preset");
            assert!(presets.len() <= 1, "{presets:#?}");
            presets.first().is_some_and(|preset| {
                let id = &preset["id"];
                let detail = fixture.service.get(&format!("api/v2/preset/{id}"));
                detail.to_string().contains(&percentage.to_string())
            })
        });
    }
    assert_eq!(fixture.chaos_fired(), 2);
    assert_eq!(list(&fixture, "api/v2/preset").len(), 1);
}

#[test]
fn a_lost_answer_of_an_embed_makes_one_embed() {
    needs_fuse!();
    let plan = losing("drop_after", &[("POST", "/api/v2/embeds/raw")]);
    let mut fixture = Fixture::unmounted_with_chaos(&plan, &[]);
    fixture.mount(&[]);
    let source = fixture.scratch.path().join("shown.glb");
    fs::write(&source, triangle_glb("embedded")).unwrap();
    fixture.copy_in(&source, "rawmodels/");
    fixture.wait("rawmodels/shown.glb");
    let config = fixture.scratch.path().join("viewer.json");
    fs::write(&config, "{}").unwrap();
    let viewer = fixture.path("rawmodels/shown/embeds/viewer.json");
    run(Command::new("cp").args([&config, &viewer]));
    fixture.wait("rawmodels/shown/embeds/viewer.json");
    let status = viewer.with_extension("status");
    assert_eq!(text(&read(&status)).trim(), "done");
    // The same text again sends nothing.
    run(Command::new("cp").args([&config, &viewer]));
    assert_eq!(list(&fixture, "api/v2/embeds").len(), 1);
    assert_eq!(fixture.chaos_fired(), 1);
}

/// Two machines start the same job for the same asset at the same time, and both lose the answer: each gets the
/// result of its own request.
#[test]
fn two_machines_that_optimize_the_same_asset_pay_once_together() {
    needs_fuse!();
    // Late, so that the second machine asks what is there before the request of the first has its effect.
    let rule = |fault: &str| {
        format!(
            "[[rule]]\nmethod = \"POST\"\npath = \"/api/v2/rawmodel/optimize/*\"\ntimes = 2\nfault = {{ {fault} }}\n"
        )
    };
    let plan = rule("kind = \"latency\", ms = 2000") + &rule("kind = \"drop_after\"");
    let mut fixture = Fixture::unmounted_with_chaos(&plan, &[]);
    fixture.mount(&[]);
    fixture.add_chair();
    let other = fixture.second_machine();
    let config = fixture.scratch.path().join("half.json");
    fs::write(&config, r#"{"limits":{"faces":{"percentage":50}}}"#).unwrap();
    let job = "rawmodels/chair/optimize/half.json";
    for root in [fixture.root(), other.root()] {
        wait_until("the asset is seen", || {
            root.join("rawmodels/chair/optimize").is_dir()
        });
    }
    std::thread::scope(|scope| {
        for root in [fixture.root(), other.root()] {
            let config = &config;
            scope.spawn(move || {
                run(Command::new("cp").arg(config).arg(root.join(job)));
                run(assetfs("wait", root.join(job)));
            });
        }
    });
    let models = list(&fixture, "api/v2/rapidmodel");
    assert_eq!(models.len(), 1, "one for both machines: {models:#?}");
    assert_eq!(fixture.chaos_fired(), 4, "both were late and lost");
    let result = |root: std::path::PathBuf| {
        let record = root.join("rawmodels/chair/optimize/half/.assetfs/detail.json");
        let record: Value = serde_json::from_slice(&read(record)).expect("JSON");
        record["id"].clone()
    };
    assert_eq!(result(fixture.root()), result(other.root()));
    // Neither pays again.
    for root in [fixture.root(), other.root()] {
        run(Command::new("cp").arg(&config).arg(root.join(job)));
    }
    assert_eq!(list(&fixture, "api/v2/rapidmodel").len(), 1);
    for model in &models {
        let path = format!("api/v2/rapidmodel/{}", model["id"]);
        wait_until("the one-off tags are gone", || {
            let record = fixture.service.get(&path);
            !record.to_string().contains("assetfs-")
        });
    }
}
