//! What `status`, `wait` and `why` say, and what to do next: failures that were answered go, and each is listed once.

use std::fs;
use std::process::Command;

use serde_json::Value;
use zip::CompressionMethod;

use crate::needs_fuse;
use crate::square_glb::{changed_glb, numbered_glb};
use crate::support::{ASSETFS, Fixture, assetfs, fails, run, shell, text, wait_until};
use crate::zips::zip_of;

/// A GLB that looks complete and that the service cannot import.
fn bad_glb() -> Vec<u8> {
    changed_glb(|json| json["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = 7.into())
}

/// Copies a model in whose import fails.
fn add_failed_model(fixture: &Fixture, name: &str) {
    fs::write(
        fixture.path("rawmodels").join(format!("{name}.glb")),
        bad_glb(),
    )
    .unwrap();
    fails(assetfs("wait", fixture.path("rawmodels").join(name)), 1);
}

/// The exit code and the messages of `assetfs wait` for the whole drive.
fn wait_for_all(fixture: &Fixture) -> (Option<i32>, String) {
    let output = assetfs("wait --timeout 60s", fixture.root())
        .output()
        .unwrap();
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_failed_model_that_a_later_version_replaced_is_over() {
    needs_fuse!();
    let fixture = Fixture::new();
    add_failed_model(&fixture, "lamp");
    let job = fixture.path("rawmodels/lamp/optimize/web.json");
    fs::write(&job, r#"{"preset": "Web Viewer"}"#).unwrap();
    // The job of a failed model says so, and what to do.
    let status = fs::read_to_string(job.with_extension("status")).unwrap();
    for said in [&status, &fixture.why("rawmodels/lamp/optimize/web.json")] {
        assert!(
            said.contains("waiting for model, which failed") && said.contains("`assetfs retry`"),
            "{said}"
        );
    }
    let (code, said) = wait_for_all(&fixture);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("`assetfs retry`"), "{said}");
    // A later version is complete: nobody needs to act on the failed one.
    let good = fixture.scratch.path().join("good.glb");
    fs::write(&good, numbered_glb(1)).unwrap();
    run(Command::new(ASSETFS)
        .arg("replace")
        .arg(&good)
        .arg(fixture.path("rawmodels/lamp")));
    assert_eq!(fixture.status()["drafts"], serde_json::json!([]));
    let (code, said) = wait_for_all(&fixture);
    assert_eq!(code, Some(0), "{said}");
    // The text that waited has run for the later version.
    assert_eq!(fixture.status()["jobs"], serde_json::json!([]));
    assert!(fixture.path("rawmodels/lamp/optimize/web").exists());
    // Its files and the reason are kept.
    let names = fs::read_dir(fixture.path("rawmodels")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let old = names
        .into_iter()
        .find(|name| name.starts_with("lamp~"))
        .unwrap();
    let reason = fs::read_to_string(fixture.path("rawmodels").join(old).join("ERROR.txt"));
    assert!(!reason.unwrap().is_empty());
}

#[test]
fn a_failure_is_listed_once_and_goes_with_the_cancelled_model() {
    needs_fuse!();
    let fixture = Fixture::new();
    add_failed_model(&fixture, "fan");
    let job = fixture.path("rawmodels/fan/optimize/half.json");
    fails(Command::new("cp").arg("/etc/hostname").arg(&job), 1);
    let page = run(assetfs("status", fixture.root()));
    assert_eq!(page.matches("half.json is not JSON").count(), 1, "{page}");
    assert!(!page.contains("Failures:"), "{page}");
    run(assetfs("cancel", fixture.path("rawmodels/fan")));
    // On a busy machine the service deletes it later, and it is listed as an orphan until then.
    wait_until("nothing is said of it", || {
        let page = run(assetfs("status", fixture.root()));
        !page.contains("half.json") && !page.contains("fan")
    });
    assert_eq!(fixture.status()["failures"], serde_json::json!([]));
    assert_eq!(wait_for_all(&fixture).0, Some(0));
}

#[test]
fn a_wait_for_an_empty_draft_says_what_to_do() {
    needs_fuse!();
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("rawmodels/empty")).unwrap();
    let path = fixture.path("rawmodels/empty");
    let said = fails(
        Command::new(ASSETFS)
            .args(["wait", "--timeout", "1s"])
            .arg(path),
        3,
    );
    assert!(
        said.contains("nothing to upload yet; copy a model into it, or remove it"),
        "{said}"
    );
}

#[test]
fn a_preset_id_that_does_not_exist_is_named_with_what_to_write() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let job = fixture.path("rawmodels/chair/optimize/mine.json");
    let text = fixture.scratch.path().join("mine.json");
    fs::write(&text, r#"{"preset_id": 4711}"#).unwrap();
    // `close` reports the refusal, which `fs::write` ignores.
    fails(Command::new("cp").arg(&text).arg(&job), 1);
    let why = fixture.why("rawmodels/chair/optimize/mine.json");
    assert!(
        why.contains(r#""preset_id": 4711"#) && why.contains(r#"{"preset": "NAME"}"#),
        "{why}"
    );
    assert!(!why.contains("rawmodel/optimize"), "{why}");
}

#[test]
fn why_says_where_to_look_if_nothing_is_recorded() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    fixture.add_chair();
    let note = fixture.scratch.path().join("note.txt");
    fs::write(&note, "no model").unwrap();
    let refused = Command::new(ASSETFS)
        .arg("replace")
        .arg(&note)
        .arg(fixture.path("rawmodels/chair"))
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let why = run(assetfs("why", fixture.path("rawmodels/chair")));
    assert!(
        why.contains("prints its reason itself") && why.contains("assetfs status"),
        "{why}"
    );
    run(assetfs("unmount", fixture.root()));
    fixture.mount(&["--read-only"]);
    let why = run(assetfs("why", fixture.path("rawmodels/chair")));
    assert!(why.contains("mount it without --read-only"), "{why}");
    let said = fails(assetfs("allow-delete", fixture.root()), 1);
    assert!(said.contains("mount it without --read-only"), "{said}");
    run(assetfs("unmount", fixture.root()));
    fixture.mount(&["--no-delete"]);
    let said = fails(assetfs("allow-delete", fixture.root()), 1);
    assert!(said.contains("--no-delete"), "{said}");
}

#[test]
fn no_command_on_a_drive_prints_an_error_number_or_a_path_of_the_api() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let note = fixture.scratch.path().join("note.txt");
    fs::write(&note, "no model").unwrap();
    for line in [
        "commit mnt/rawmodels/nowhere",
        "wait mnt/rawmodels/nowhere",
        "run mnt/rawmodels/chair",
        "run mnt/rawmodels/chair/optimize/nowhere.json",
        "scale mnt/rawmodels/chair 0",
        "convert mnt/rawmodels/chair nope",
        "pin mnt/rawmodels/nowhere",
        "unpin mnt/rawmodels/nowhere",
        "check note.txt mnt/rawmodels/nowhere",
        "check nowhere mnt/rawmodels/chair",
        "rm mnt/rawmodels/nowhere",
        "cancel mnt/rawmodels/chair",
        "cancel --orphan 99 --drive mnt",
        "retry mnt/rawmodels/chair",
        "commit mnt",
        "thumbnail mnt/rawmodels/nowhere out.png",
        "thumbnail note.txt nowhere/out.png",
        "optimize mnt/rawmodels/nowhere out --preset nowhere.json",
        "replace nowhere.glb mnt/rawmodels/chair",
        "replace note.txt mnt/jobs",
        "mount mnt --local",
    ] {
        let output = Command::new(ASSETFS)
            .args(line.split(' '))
            .current_dir(fixture.scratch.path())
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(1 | 2)),
            "{line}: {said}"
        );
        for raw in ["os error", "invalid digit", "api/v", "panicked"] {
            assert!(!said.contains(raw), "{line}: {said}");
        }
    }
    // A failed command is listed once.
    let page = run(assetfs("status", fixture.root()));
    assert!(!page.contains(".assetfs/ctl"), "{page}");
    let refused = "! echo scale 0 > rawmodels/chair/.assetfs/ctl";
    shell(&fixture.root(), refused);
    let page = run(assetfs("status", fixture.root()));
    assert_eq!(page.matches("0 is not a scale").count(), 1, "{page}");
}

#[test]
fn why_on_a_drive_whose_process_was_killed_says_how_to_go_on() {
    needs_fuse!();
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("rawmodels/chair")).unwrap();
    fixture.kill_mount();
    for command in ["why", "wait", "commit"] {
        let said = fails(assetfs(command, fixture.path("rawmodels/chair")), 1);
        let address = &fixture.service.base_url;
        let root = fixture.root();
        let advice = format!(
            "has ended; `assetfs mount {} --base-url {address}",
            root.display()
        );
        assert!(said.contains(&advice), "{command}: {said}");
    }
}

#[test]
fn why_of_a_file_that_was_cut_off_says_what_to_do() {
    needs_fuse!();
    let fixture = Fixture::new();
    let whole = numbered_glb(1);
    fs::create_dir(fixture.path("rawmodels/fan")).unwrap();
    fs::write(
        fixture.path("rawmodels/fan/fan.glb"),
        &whole[..whole.len() / 2],
    )
    .unwrap();
    wait_until("the draft was looked at", || {
        fixture.why("rawmodels/fan").contains("incomplete: fan.glb")
    });
    let why = fixture.why("rawmodels/fan");
    assert!(
        why.contains("repeat the copy") && why.contains("`assetfs commit --force`"),
        "{why}"
    );
}

#[test]
fn a_refused_commit_leaves_the_status_once_the_model_is_uploaded() {
    needs_fuse!();
    let fixture = Fixture::new();
    let whole = numbered_glb(1);
    let folder = fixture.path("rawmodels/fan");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("fan.glb"), &whole[..whole.len() / 2]).unwrap();
    fails(assetfs("commit", &folder), 1);
    let refused = fixture.status()["refused"].to_string();
    assert!(refused.contains("fan.glb"), "{refused}");
    fs::write(folder.join("fan.glb"), &whole).unwrap();
    run(assetfs("commit", &folder));
    wait_until("the refusal is gone", || {
        fixture.status()["refused"] == serde_json::json!([])
    });
}

/// A layer that names a texture.
const USDA: &str = r#"#usda 1.0
( defaultPrim = "Root" )
def Xform "Root" {
    def Mesh "Fan" {
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
        rel material:binding = </Root/Paint>
    }
    def Material "Paint" {
        token outputs:surface.connect = </Root/Paint/Surface.outputs:surface>
        def Shader "Surface" {
            uniform token info:id = "UsdPreviewSurface"
            color3f inputs:diffuseColor.connect = </Root/Paint/Image.outputs:rgb>
            token outputs:surface
        }
        def Shader "Image" {
            uniform token info:id = "UsdUVTexture"
            asset inputs:file = @wood.png@
            float3 outputs:rgb
        }
    }
}
"#;

#[test]
fn a_loose_file_whose_texture_is_missing_is_sent_by_force_and_the_status_says_without_what() {
    needs_fuse!();
    let fixture = Fixture::new();
    let file = fixture.path("rawmodels/fan.usda");
    fs::write(&file, USDA).unwrap();
    let said = fails(assetfs("commit", &file), 1);
    assert!(
        said.contains("wood.png") && said.contains("`assetfs commit --force`"),
        "{said}"
    );
    run(Command::new(ASSETFS).args(["commit", "--force"]).arg(&file));
    run(assetfs("wait --timeout 60s", fixture.path("rawmodels/fan")));
    let page = run(assetfs("status", fixture.root()));
    assert!(
        page.contains("Failures:") && page.contains("wood.png"),
        "{page}"
    );
    let why = fixture.why("rawmodels/fan");
    assert!(
        why.contains("wood.png") && why.contains("`assetfs replace`"),
        "{why}"
    );
}

#[test]
fn a_commit_says_what_the_model_is_sent_without() {
    needs_fuse!();
    let fixture = Fixture::new();
    let folder = fixture.path("rawmodels/fan");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("fan.usda"), USDA).unwrap();
    let output = assetfs("commit", &folder).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("sent without wood.png"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_commit_of_a_model_whose_import_failed_fails_and_says_what_to_do() {
    needs_fuse!();
    let fixture = Fixture::new();
    add_failed_model(&fixture, "fan");
    let said = fails(assetfs("commit", fixture.path("rawmodels/fan")), 1);
    assert!(
        said.contains("its import has failed") && said.contains("`assetfs retry`"),
        "{said}"
    );
}

/// A file of a CAD program refers to no others, and fails where the service cannot read its format.
#[test]
fn why_of_a_failed_cad_model_gives_no_advice_on_missing_files() {
    needs_fuse!();
    let fixture = Fixture::new();
    let part = "ISO-10303-21;\nHEADER;\nENDSEC;\nDATA;\nENDSEC;\nEND-ISO-10303-21;\n";
    fs::write(fixture.path("rawmodels/part.step"), part).unwrap();
    run(assetfs("commit", fixture.path("rawmodels/part.step")));
    fails(assetfs("wait", fixture.path("rawmodels/part")), 1);
    let why = fixture.why("rawmodels/part");
    assert!(
        why.contains("once the cause is removed, `assetfs retry`"),
        "{why}"
    );
    assert!(!why.contains("if a file is missing"), "{why}");
}

#[test]
fn refusals_name_paths_as_they_were_typed_below_the_drive() {
    needs_fuse!();
    let fixture = Fixture::new();
    fs::write(fixture.path("rawmodels/fan.glb"), numbered_glb(1)).unwrap();
    run(assetfs("commit", fixture.path("rawmodels/fan.glb")));
    fixture.wait("rawmodels/fan");
    for (path, begins) in [
        ("rawmodels/fan/new.txt", "rawmodels/fan belongs to a model"),
        ("rapidmodels/new", "optimized models are made"),
        (
            "account/new",
            "nothing can be made in account; models are copied into rawmodels/",
        ),
    ] {
        fs::write(fixture.path(path), "x").unwrap_err();
        let why = fixture.why(path);
        assert!(why.starts_with(begins), "{path}: {why}");
    }
}

#[test]
fn the_models_that_are_left_out_of_a_zip_are_named() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let triangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    let larger = format!("{triangle}{triangle}");
    let files = [("a.obj", larger.as_bytes()), ("b.obj", triangle.as_bytes())];
    let zip = zip_of(&files, CompressionMethod::Stored);
    fs::write(fixture.path("rawmodels/spot.zip"), zip).unwrap();
    let model = fixture.path("rawmodels/spot");
    wait_until("the zip was looked at", || {
        fixture
            .why("rawmodels/spot")
            .contains("2 models are in spot.zip")
    });
    let why = fixture.why("rawmodels/spot");
    assert!(why.contains("mkdir ../b && cp b.obj ../b/"), "{why}");
    let page = run(assetfs("status", fixture.root()));
    assert!(page.contains("2 models are in spot.zip"), "{page}");
    let output = assetfs("commit", &model).output().unwrap();
    let said = text(&output.stderr);
    assert!(
        said.contains("only a.obj is read; copy b.obj in again"),
        "{said}"
    );
    let why = fixture.why("rawmodels/spot");
    assert!(why.contains("only a.obj is read"), "{why}");
}

#[test]
fn convert_waits_for_the_files_or_says_that_it_goes_on() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let chair = fixture.path("rawmodels/chair");
    run(assetfs("convert", &chair).arg("obj"));
    let names = fs::read_dir(chair.join("converted")).unwrap();
    let names: Vec<_> = names.map(|it| it.unwrap().file_name()).collect();
    assert!(
        names
            .iter()
            .any(|it| it.to_string_lossy().ends_with(".obj")),
        "{names:?}"
    );
    let output = assetfs("convert --no-wait", &chair)
        .arg("stl")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stderr);
    assert!(
        said.contains("in the background") && said.contains("converted/"),
        "{said}"
    );
}

#[test]
fn convert_asks_only_for_the_formats_that_are_missing() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let chair = fixture.path("rawmodels/chair");
    run(assetfs("convert", &chair).arg("obj"));
    let output = assetfs("convert --json", &chair)
        .args(["gltf", "stl", "OBJ"])
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("gltf, obj are there already"), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["present"], serde_json::json!(["gltf", "obj"]));
    assert_eq!(report["requested"], serde_json::json!(["stl"]));
    assert_eq!(report["state"], "done");
    let listed = shell(&chair, "ls converted");
    assert!(listed.contains(".stl"), "{listed}");

    let output = assetfs("convert", &chair).arg("stl").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stderr);
    assert!(said.contains("stl is there already"), "{said}");
}
