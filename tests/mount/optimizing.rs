//! Copying a preset into `optimize/` and reading the result.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::needs_fuse;
use crate::square_glb::numbered_glb;
use crate::support::{Fixture, assetfs, fails, file_names, run, sample, shell, text, triangles_of};
use crate::validators::assert_gltf_has_no_error;

#[test]
fn a_dropped_factory_preset_runs_once_and_its_result_is_read_through_the_link() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_model();
    let preset = fixture.path("presets/factory/Web Viewer.json");
    fixture.copy_in(preset, "rawmodels/model/optimize/web.json");
    fixture.wait("rawmodels/model/optimize/web.json");
    let out = fixture.scratch.path().join("out");
    fs::create_dir(&out).unwrap();
    shell(
        fixture.scratch.path(),
        "cp mnt/rawmodels/model/optimize/web/*.glb out/ && ls out | grep -q glb",
    );
    let rapid = fixture.service.get("api/v2/rapidmodel");
    assert_eq!(rapid["data"].as_array().unwrap().len(), 1, "paid once");
    let tags = rapid["data"][0]["tags"].as_array().unwrap();
    let mut names: Vec<&str> = tags
        .iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    let [by, config, name, text] = names[..] else {
        panic!("the one-off tag is gone, and the notes of the drive are left: {tags:?}");
    };
    assert!(by.starts_with("assetfs:by="), "{by}");
    assert!(config.starts_with("assetfs:config="), "{config}");
    assert_eq!(name, "assetfs:name=web");
    assert!(text.starts_with("assetfs:text="), "{text}");
}

#[test]
fn texts_that_mean_the_same_are_paid_once_in_whatever_form_and_on_every_machine() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_model();
    let results = || {
        let rapid = fixture.service.get("api/v2/rapidmodel");
        rapid["data"].as_array().unwrap().len()
    };
    let with = |model: &Path| run(assetfs("run --preset", "Web Viewer").arg(model));
    let factory = fixture.path("presets/factory/Web Viewer.json");
    let model = fixture.path("rawmodels/model");
    // The text of the command has no newline at its end.
    fixture.copy_in(&factory, "rawmodels/model/optimize/web.json");
    with(&model);
    fixture.wait("rawmodels/model/optimize");
    assert_eq!(results(), 1);
    // The keys in another order, and spaces.
    let text: serde_json::Value = serde_json::from_slice(&fs::read(&factory).unwrap()).unwrap();
    let turned: serde_json::Map<_, _> = text
        .as_object()
        .unwrap()
        .clone()
        .into_iter()
        .rev()
        .collect();
    let turned = serde_json::to_string(&turned).unwrap();
    let job = |name: &str, text: &str| {
        fs::write(model.join("optimize").join(name), text).unwrap();
        fixture.wait(&format!("rawmodels/model/optimize/{name}"));
    };
    job("turned.json", &turned);
    job("spaced.json", &format!("\n{turned}\n"));
    assert_eq!(results(), 1);
    let second = fixture.second_machine();
    let there = second.root().join("rawmodels/model");
    // The first machine sent the same configuration in other bytes: it is not paid again, and the dry run says so.
    let dry = assetfs("run --dry-run --preset", "Web Viewer")
        .arg(&there)
        .output();
    let said = String::from_utf8(dry.unwrap().stderr).unwrap();
    assert!(said.contains("costs 0 points"), "{said}");
    with(&there);
    let copy = second.root().join("rawmodels/model/optimize/again.json");
    fs::copy(&factory, &copy).unwrap();
    run(assetfs(
        "wait",
        second.root().join("rawmodels/model/optimize"),
    ));
    assert_eq!(results(), 1);
    // The command first, then copies; and the folder of a command.
    let folder = fixture.scratch.path().join("models");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("square.glb"), numbered_glb(7)).unwrap();
    run(assetfs("sync --preset", "Web Viewer")
        .arg(&folder)
        .arg(fixture.root())
        .env("HOME", fixture.scratch.path()));
    fixture.copy_in(&factory, "rawmodels/square/optimize/web.json");
    fixture.wait("");
    assert_eq!(results(), 2);
    // What means something else runs: other settings, another tag.
    job("less.json", r#"{"limits":{"faces":{"percentage":40}}}"#);
    assert_eq!(results(), 3);
    job(
        "tagged.json",
        r#"{"config":{"limits":{"faces":{"percentage":40}}},"tags":["shop"]}"#,
    );
    assert_eq!(results(), 4);
}

#[test]
fn run_stale_says_what_it_costs_and_runs_nothing_without_an_answer() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_model();
    let config = |percent: u8| {
        format!(
            r#"{{"limits":{{"faces":{{"percentage":{percent}}}}},"compressionAndExport":{{"fileExports":[{{"fileType":"glb"}}]}}}}"#
        )
    };
    fs::write(fixture.path("presets/shop.json"), config(50)).unwrap();
    let job = fixture.path("rawmodels/model/optimize/web.json");
    fs::write(&job, r#"{"preset": "shop"}"#).unwrap();
    fixture.wait("rawmodels/model/optimize/web.json");
    let root = fixture.path("");
    let stale = |options: &[&str]| {
        let mut command = assetfs("run", "--stale");
        let output = command
            .args(options)
            .arg(&root)
            .stdin(std::process::Stdio::null());
        output.output().unwrap()
    };
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let none = stale(&["--yes"]);
    assert!(
        none.status.success() && said(&none).contains("nothing is to be run again"),
        "{none:?}"
    );
    fs::write(fixture.path("presets/shop.json"), config(60)).unwrap();
    let dry = stale(&["--dry-run"]);
    assert!(dry.status.success(), "{dry:?}");
    assert!(
        said(&dry).contains("1 result is stale; running them again costs 1 point"),
        "{dry:?}"
    );
    let listed = String::from_utf8_lossy(&dry.stdout).into_owned();
    assert!(
        listed.contains("rapidmodels/model (web): its preset has changed"),
        "{listed}"
    );
    let refused = stale(&[]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(
        said(&refused).contains("run it with --yes, or see them with --dry-run"),
        "{refused:?}"
    );
    let total = || fixture.service.get("api/v2/rapidmodel")["meta"]["total"].clone();
    assert_eq!(total(), 1, "nothing was run");
    let ran = stale(&["--yes"]);
    assert!(ran.status.success(), "{ran:?}");
    fixture.wait("rawmodels/model/optimize/web.json");
    assert_eq!(total(), 2);
    assert!(said(&stale(&["--dry-run"])).contains("nothing is to be run again"));
}

#[test]
fn the_optimized_glb_has_no_more_faces_than_asked_and_is_valid() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_model();
    const FACES: u64 = 3000;
    let config = format!(
        r#"{{"schema":"2.5","limits":{{"faces":{{"count":{FACES}}},"textures":{{"baseColor":256,"normal":256,"orm":256,"emissive":256}}}},
            "compressionAndExport":{{"fileExports":[{{"fileType":"glb"}}]}}}}"#
    );
    fs::write(fixture.path("rawmodels/model/optimize/small.json"), config).unwrap();
    fixture.wait("rawmodels/model/optimize/small.json");
    let result = fixture.path("rawmodels/model/optimize/small");
    let glb = file_names(&result)
        .into_iter()
        .find(|name| name.ends_with(".glb"))
        .expect("a glb");
    let local = fixture.scratch.path().join("result.glb");
    fs::copy(result.join(glb), &local).unwrap();
    let faces = triangles_of(&local);
    assert!(faces <= FACES && faces > FACES / 2, "{faces} faces");
    assert_gltf_has_no_error(&local);

    for path in ["optimize/small.json", "optimize", "optimize/small"] {
        let mut wait = assetfs("wait", fixture.path("rawmodels/model").join(path));
        run(wait.args(["--max-triangles", "3000"]));
    }
    let mut names = [0; 256];
    let len = rustix::fs::llistxattr(&result, &mut names[..]).unwrap();
    assert_eq!(len, 0, "a link has no attribute that can be read");
}

#[test]
fn the_same_text_in_the_same_asset_is_paid_once() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let job = fixture.path("rawmodels/chair/optimize/half.json");
    let config = r#"{"limits":{"faces":{"percentage":50}},"compressionAndExport":{"fileExports":[{"fileType":"glb"}]}}"#;
    fs::write(&job, config).unwrap();
    fixture.wait("rawmodels/chair/optimize/half.json");
    let paid = || {
        let points = fixture.service.get("api/v2/user/rapidpoints");
        points["rapidpoints"].as_u64().expect("a number of points")
    };
    let (rapid_models, points) = (
        || fixture.service.get("api/v2/rapidmodel")["meta"]["total"].clone(),
        paid(),
    );
    assert_eq!(rapid_models(), 1, "it ran");
    fs::write(&job, config).unwrap();
    run(Command::new("touch").arg(&job));
    // A new job is sent during `close`; a finished one ends at once.
    fixture.wait("rawmodels/chair/optimize/half.json");
    assert_eq!((rapid_models(), paid()), (1.into(), points));
    // An explicit second run shows that this test would see one.
    run(assetfs("run", &job));
    fixture.wait("rawmodels/chair/optimize/half.json");
    assert_eq!((rapid_models(), paid()), (2.into(), points - 1));
}

#[test]
fn waiting_for_a_text_that_made_no_job_says_what_to_do() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let job = fixture.path("rawmodels/chair/optimize/web.json");
    fs::write(&job, "").unwrap();
    let said = fails(assetfs("wait", &job), 1);
    assert!(said.contains("no job was made of this text"), "{said}");
    assert!(said.contains("write the whole text again"), "{said}");
}

#[test]
fn a_text_that_another_program_is_writing_is_waited_for() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let job = fixture.path("rawmodels/chair/optimize/web.json");
    let mut writer = fs::File::create(&job).unwrap();
    let mut waits = assetfs("wait", &job);
    let waits = waits.stdout(Stdio::piped()).stderr(Stdio::piped());
    let waits = waits.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    writer.write_all(br#"{"preset": "Web Viewer"}"#).unwrap();
    drop(writer);
    let ended = waits.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn a_text_with_another_ending_is_said_to_be_kept_and_how_to_name_it() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    for path in [
        "rawmodels/chair/optimize/note.txt",
        "rawmodels/chair/embeds/note.txt",
        "jobs/note.txt",
        "presets/note",
    ] {
        let path = fixture.path(path);
        if !path.parent().unwrap().exists() {
            continue;
        }
        fs::write(&path, "{}").unwrap();
        for command in ["wait", "why"] {
            let mut command = assetfs(command, &path);
            let output = command.output().unwrap();
            let said = text(&output.stdout) + &text(&output.stderr);
            assert!(said.contains("name it note.json"), "{path:?}: {said}");
        }
        fails(assetfs("wait", &path), 1);
    }
}

#[test]
fn a_job_dropped_before_the_model_is_ready_waits_and_then_runs() {
    needs_fuse!();
    let Some(barrel) = sample("03-exploding-barrel.glb") else {
        return;
    };
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("rawmodels/barrel")).unwrap();
    fs::copy(&barrel, fixture.path("rawmodels/barrel/barrel.glb")).unwrap();
    run(Command::new("sync").arg(fixture.path("rawmodels/barrel")));
    let job = fixture.path("rawmodels/barrel/optimize/half.json");
    fs::write(&job, r#"{"limits":{"faces":{"percentage":50}}}"#).unwrap();
    fixture.wait("rawmodels/barrel/optimize/half.json");
    assert_eq!(fixture.service.get("api/v2/rapidmodel")["meta"]["total"], 1);
}

#[test]
fn error_txt_has_the_time_of_the_failure_and_keeps_it() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    fixture.add_chair();
    let begun = SystemTime::now();
    let job = fixture.path("rawmodels/chair/optimize/bad.json");
    fails(Command::new("cp").arg("/etc/hostname").arg(&job), 1);
    let error = fixture.path("rawmodels/chair/optimize/ERROR.txt");
    let time = || fs::metadata(&error).unwrap().modified().unwrap();
    let failed = time();
    assert!(failed >= begun, "{failed:?} is before {begun:?}");
    run(assetfs("unmount", fixture.root()));
    fixture.mount(&[]);
    assert_eq!(time(), failed);
}

#[test]
fn a_wait_says_that_a_result_is_hardly_smaller_and_what_to_try() {
    needs_fuse!();
    let fixture = Fixture::new();
    fs::write(fixture.path("rawmodels/square.glb"), numbered_glb(1)).unwrap();
    run(assetfs("wait", fixture.path("rawmodels/square")));
    let job = fixture.path("rawmodels/square/optimize/web.json");
    fs::write(&job, r#"{"limits":{"faces":{"count":100000}}}"#).unwrap();
    let output = assetfs("wait", &job).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Web Viewer Light"), "{said}");
    let quiet = assetfs("wait --quiet", &job).output().unwrap();
    assert_eq!(text(&quiet.stderr), "");
}

#[test]
fn a_failure_is_said_once_and_how_to_be_done_with_it() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let job = fixture.path("rawmodels/chair/optimize/bad.json");
    fails(Command::new("cp").arg("/etc/hostname").arg(&job), 1);
    let said = fails(assetfs("wait", fixture.root()), 1);
    assert_eq!(said.matches("is not JSON").count(), 1, "{said}");
    let remove = format!("rm {}", job.display());
    assert!(said.contains(&remove), "{said}");
    fs::remove_file(&job).unwrap();
    run(assetfs("wait", fixture.root()));
}
