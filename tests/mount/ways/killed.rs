//! The mount is killed at every named crash point; the next mount finishes the work, once. The compiler requires a
//! scenario for each new crash point.

use std::fs;
use std::process::Command;
use std::time::Duration;

use assetfs::outbox::Failpoint;
use serde_json::Value;

use super::models::triangle_glb;
use super::tools::{assert_arrived, tree};
use crate::needs_fuse;
use crate::support::{Fixture, assetfs, file_names, run, small_chair, text, wait_until};

/// The actions that reach a crash point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scenario {
    /// A model is copied in.
    Copy,
    /// An upload is cancelled.
    Cancel,
    /// A job is dropped into a complete model.
    Job,
    /// A viewer is dropped into a complete model.
    Embed,
    /// A preset is written.
    Preset,
}

/// The scenario of a crash point, and the pass at which the mount is killed.
fn scenario(point: Failpoint) -> (Scenario, &'static [u32]) {
    match point {
        Failpoint::BeforeJournal | Failpoint::AfterJournal => {
            (Scenario::Copy, &[1, 2, 3, 5, 8, 11])
        }
        Failpoint::AfterData => (Scenario::Copy, &[1, 2, 4]),
        Failpoint::AfterPut => (Scenario::Copy, &[1, 3]),
        Failpoint::BeforeStart
        | Failpoint::AfterStart
        | Failpoint::BeforePuts
        | Failpoint::AfterPuts
        | Failpoint::BeforeComplete
        | Failpoint::AfterComplete
        | Failpoint::AfterAccepted
        | Failpoint::AfterImport
        | Failpoint::AfterVerified
        | Failpoint::BeforeDrop => (Scenario::Copy, &[1]),
        Failpoint::BeforeDiscard | Failpoint::AfterDiscard => (Scenario::Cancel, &[1]),
        Failpoint::AfterJobText
        | Failpoint::BeforeOptimize
        | Failpoint::AfterOptimize
        | Failpoint::BeforeTagRemoval => (Scenario::Job, &[1]),
        // Only on services without idempotency keys: tests/outbox/crash.rs.
        Failpoint::AfterTagRemoval => (Scenario::Job, &[]),
        Failpoint::BeforeEmbed | Failpoint::AfterEmbed => (Scenario::Embed, &[1]),
        Failpoint::BeforePreset | Failpoint::AfterPreset => (Scenario::Preset, &[1]),
    }
}

/// The crash points of a scenario: the name for the variable, and one for files.
fn steps(wanted: Scenario) -> Vec<(Failpoint, String, String)> {
    let of_point = |point: &Failpoint| {
        let (scenario, passes) = scenario(*point);
        let (point, passes) = (*point, if scenario == wanted { passes } else { &[] });
        passes.iter().map(move |pass| {
            let name = point.name();
            (point, format!("{name}:{pass}"), format!("{name}-{pass}"))
        })
    };
    let steps: Vec<_> = Failpoint::ALL.iter().flat_map(of_point).collect();
    assert!(!steps.is_empty(), "no failpoint belongs to the scenario");
    steps
}

/// Waits until the mount has died at the crash point, then mounts again without one.
fn dies_and_is_mounted_again(fixture: &mut Fixture, step: &str) {
    fixture.wait_until_dead();
    let log = fixture.log_tail();
    assert!(log.contains("died at a failpoint"), "{step}: {log}");
    fixture.mount(&[]);
}

/// Mounts with a crash point.
fn arm(fixture: &mut Fixture, step: &str) {
    fixture.mount_with(&[], &[("ASSETFS_FAILPOINT", step)]);
}

#[test]
fn a_copied_model_is_one_complete_asset_wherever_the_mount_is_killed() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    let source = small_chair(fixture.scratch.path());
    let expected = tree(&source, &[]);
    for (point, step, name) in steps(Scenario::Copy) {
        arm(&mut fixture, &step);
        let target = fixture.path(&format!("rawmodels/{name}"));
        let copied = Command::new("cp")
            .arg("-rT")
            .args([&source, &target])
            .output();
        dies_and_is_mounted_again(&mut fixture, &step);
        if !copied.unwrap().status.success() {
            // The tool reported a failure, so the user copies again.
            run(Command::new("cp").arg("-rT").args([&source, &target]));
        }
        fixture.wait(&format!("rawmodels/{name}"));
        let mut of_name = fixture.service.assets();
        of_name.retain(|asset| asset["name"] == *name);
        assert_eq!(of_name.len(), 1, "killed at {point:?}: {of_name:#?}");
        assert_arrived(&fixture, &name, &expected);
        run(assetfs("unmount", fixture.root()));
    }
}

#[test]
fn a_cancelled_upload_leaves_nothing_wherever_the_mount_is_killed() {
    needs_fuse!();
    let slow = "[[rule]]\nmethod = \"PUT\"\nfault = { kind = \"latency\", ms = 1500 }\n";
    let mut fixture = Fixture::unmounted_with_chaos(slow, &[]);
    let source = small_chair(fixture.scratch.path());
    for (_, step, name) in steps(Scenario::Cancel) {
        arm(&mut fixture, &step);
        let target = fixture.path(&format!("rawmodels/{name}"));
        run(Command::new("cp").arg("-r").args([&source, &target]));
        wait_until("the upload has begun", || {
            fixture.service.assets().len() == 1
        });
        // The mount may die before the last entry is removed.
        let _ = Command::new("rm").arg("-rf").arg(&target).output();
        dies_and_is_mounted_again(&mut fixture, &step);
        run(Command::new("rm").arg("-rf").arg(&target));
        wait_until("the service has nothing of it", || {
            fixture.service.assets().is_empty()
        });
        std::thread::sleep(Duration::from_millis(500));
        assert!(fixture.service.assets().is_empty(), "{step}: it came back");
        assert!(file_names(&fixture.path("rawmodels")).is_empty(), "{step}");
        run(assetfs("unmount", fixture.root()));
    }
}

#[test]
fn a_job_is_paid_once_wherever_the_mount_is_killed() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    fixture.add_chair();
    let id = fixture.only_asset()["id"].to_string();
    run(assetfs("unmount", fixture.root()));
    for (number, (_, step, name)) in steps(Scenario::Job).into_iter().enumerate() {
        let before = rapid_models(&fixture, &id).len();
        arm(&mut fixture, &step);
        let config = fixture.scratch.path().join("config.json");
        let faces = 40 + number;
        let text = format!(r#"{{"limits":{{"faces":{{"percentage":{faces}}}}}}}"#);
        fs::write(&config, text).unwrap();
        let job = fixture.path(&format!("rawmodels/chair/optimize/{name}.json"));
        let copied = Command::new("cp").args([&config, &job]).output().unwrap();
        dies_and_is_mounted_again(&mut fixture, &step);
        if !copied.status.success() {
            run(Command::new("cp").args([&config, &job]));
        }
        let waited = fixture.try_wait(&format!("rawmodels/chair/optimize/{name}.json"));
        // Also if it was killed between intent and request: the service performs a request with a key only once, so it
        // is sent again.
        assert!(waited.status.success(), "{step}: {}", text_of(&waited));
        let models = rapid_models(&fixture, &id);
        assert_eq!(models.len(), before + 1, "{step} is paid once");
        wait_until(&format!("{step}: the one-off tag is gone"), || {
            let is_one_off = |tag: &Value| {
                let name = tag["name"].as_str();
                name.is_some_and(|name| name.starts_with("assetfs-"))
            };
            rapid_models(&fixture, &id).iter().all(|model| {
                let tags = model["tags"].as_array();
                !tags.is_some_and(|tags| tags.iter().any(is_one_off))
            })
        });
        run(assetfs("unmount", fixture.root()));
    }
}

fn text_of(output: &std::process::Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

/// The optimizations of an asset.
fn rapid_models(fixture: &Fixture, asset: &str) -> Vec<Value> {
    let models = fixture
        .service
        .get(&format!("api/v2/rawmodel/{asset}/rapidmodels"));
    let models = models.get("data").cloned().unwrap_or(models);
    models.as_array().expect("a list").clone()
}

#[test]
fn an_embed_is_made_once_wherever_the_mount_is_killed() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    let source = fixture.scratch.path().join("one.glb");
    fs::write(&source, triangle_glb("embedded")).unwrap();
    fs::create_dir(fixture.path("rawmodels/shown")).unwrap();
    fs::copy(&source, fixture.path("rawmodels/shown/one.glb")).unwrap();
    fixture.wait("rawmodels/shown");
    assert!(
        fixture.path("rawmodels/shown/embeds").is_dir(),
        "a glb model has its folder for embeds"
    );
    run(assetfs("unmount", fixture.root()));
    for (number, (point, step, name)) in steps(Scenario::Embed).into_iter().enumerate() {
        arm(&mut fixture, &step);
        let config = fixture.scratch.path().join("viewer.json");
        fs::write(&config, format!(r#"{{"name":"{name}"}}"#)).unwrap();
        let viewer = fixture.path(&format!("rawmodels/shown/embeds/{name}.json"));
        let copied = Command::new("cp")
            .args([&config, &viewer])
            .output()
            .unwrap();
        dies_and_is_mounted_again(&mut fixture, &step);
        if !copied.status.success() {
            run(Command::new("cp").args([&config, &viewer]));
        }
        let embeds = || fixture.service.get("api/v2/embeds")["meta"]["total"].clone();
        // It is unknown whether the request was sent, and it is not sent again automatically.
        if point == Failpoint::BeforeEmbed {
            let waited = fixture.try_wait(&format!("rawmodels/shown/embeds/{name}.json"));
            assert!(text_of(&waited).contains("unknown"), "{}", text_of(&waited));
            assert_eq!(embeds(), number, "{step}");
            run(assetfs("run", &viewer));
        }
        wait_until(&format!("{step}: the embed is there"), || {
            embeds() == number + 1
        });
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(embeds(), number + 1, "{step}");
        run(assetfs("unmount --now", fixture.root()));
    }
}

#[test]
fn a_preset_is_made_once_wherever_the_mount_is_killed() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    for (_, step, name) in steps(Scenario::Preset) {
        arm(&mut fixture, &step);
        let config = fixture.scratch.path().join("config.json");
        fs::write(&config, r#"{"limits":{"faces":{"percentage":50}}}"#).unwrap();
        let preset = fixture.path(&format!("presets/{name}.json"));
        let copied = Command::new("cp")
            .args([&config, &preset])
            .output()
            .unwrap();
        dies_and_is_mounted_again(&mut fixture, &step);
        if !copied.status.success() {
            run(Command::new("cp").args([&config, &preset]));
        }
        let presets = || -> Vec<Value> {
            let list = fixture.service.get("api/v2/preset");
            let list = list.get("data").cloned().unwrap_or(list);
            let mut list = list.as_array().expect("a list").clone();
            list.retain(|preset| preset["name"] == name.as_str());
            list
        };
        wait_until(&format!("{step}: the preset is there"), || {
            presets().len() == 1
        });
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(presets().len(), 1, "{step}");
        assert_eq!(
            file_names(&fixture.path("presets")).len(),
            presets_total(&fixture),
            "{step}"
        );
        run(assetfs("unmount", fixture.root()));
    }
}

fn presets_total(fixture: &Fixture) -> usize {
    let list = fixture.service.get("api/v2/preset");
    let list = list.get("data").cloned().unwrap_or(list);
    list.as_array().expect("a list").len()
}
