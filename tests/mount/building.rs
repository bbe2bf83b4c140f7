//! `assetfs build` with a drive: each model has its own name there, a changed one becomes the next version, and build, sync
//! and run pay a preset once for a model, on however many machines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::json_schema::check_lines;
use crate::square_glb::{changed_glb, numbered_glb};
use crate::support::{
    ASSETFS, Fixture, file_names, names_in, read, request, run, shell, small_chair, text,
    wait_until,
};
use crate::zips::zip_of;
use crate::{needs_fuse, needs_program};

/// A drive, and beside it a project with the models `m0`, `m1` and so on.
fn project(models: usize) -> Fixture {
    let fixture = Fixture::new();
    let dir = fixture.scratch.path();
    fs::create_dir(dir.join("models")).unwrap();
    let file = "models = 'models'\ndrive = 'mnt'\n[presets]\nhalf = 'half.json'\n";
    fs::write(dir.join("assetfs.toml"), file).unwrap();
    let config = r#"{"limits":{"faces":{"percentage":50}}}"#;
    fs::write(dir.join("half.json"), config).unwrap();
    for number in 0..models {
        put(&fixture, &format!("m{number}"), number);
    }
    fixture
}

fn put(fixture: &Fixture, name: &str, content: usize) {
    let path = fixture.scratch.path().join(format!("models/{name}.glb"));
    fs::write(path, numbered_glb(content)).unwrap();
}

fn assetfs(fixture: &Fixture, args: &[&str]) -> Command {
    let mut command = Command::new(ASSETFS);
    command
        .current_dir(fixture.scratch.path())
        .args(args)
        .env("HOME", fixture.scratch.path())
        .env_remove("XDG_STATE_HOME")
        .env_remove("GITHUB_ACTIONS");
    command
}

fn count(fixture: &Fixture, kind: &str) -> usize {
    let page = fixture
        .service
        .get(&format!("api/v2/{kind}?itemsPerPage=50"));
    page["data"].as_array().unwrap().len()
}

/// How many models and results the service has.
fn counts(fixture: &Fixture) -> (usize, usize) {
    (count(fixture, "rawmodel"), count(fixture, "rapidmodel"))
}

fn models_of(root: &Path) -> Vec<String> {
    let names = names_in(&root.join("rawmodels")).into_iter();
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// The files of the present result of a model, with the preset of the project.
fn by_source(root: &Path, model: &str) -> Vec<PathBuf> {
    let result = root.join(format!("rapidmodels/.assetfs/by-source/{model}/half"));
    wait_until("by-source has the result", || result.exists());
    file_names(&result)
        .into_iter()
        .map(|name| result.join(name))
        .collect()
}

#[test]
fn a_changed_model_of_a_build_is_the_next_version_under_its_own_name() {
    needs_fuse!();
    let fixture = project(2);
    run(&mut assetfs(&fixture, &["build"]));
    assert_eq!(models_of(&fixture.root()), ["m0", "m1"]);
    let first = read(&by_source(&fixture.root(), "m1")[0]);
    // A model whose result has other bytes, too.
    let moved = changed_glb(|json| json["nodes"][0]["translation"] = json!([1, 2, 3]));
    fs::write(fixture.scratch.path().join("models/m1.glb"), moved).unwrap();
    let built = assetfs(&fixture, &["build"]).output().unwrap();
    let said = String::from_utf8_lossy(&built.stdout);
    assert!(said.contains("1 made, 1 up to date"), "{said}");
    let models = models_of(&fixture.root());
    assert_eq!(models[..2], ["m0", "m1"]);
    assert!(
        models.len() == 3 && models[2].starts_with("m1~"),
        "{models:?}"
    );
    let said = String::from_utf8_lossy(&built.stderr);
    let before = format!("m1: a new version; the one before is {}", models[2]);
    assert!(said.contains(&before), "{said}");
    let built = read(fixture.scratch.path().join("dist/m1.half.glb"));
    assert_ne!(built, first);
    wait_until("by-source has the new version", || {
        read(&by_source(&fixture.root(), "m1")[0]) == built
    });
    let [current] = &by_source(&fixture.root(), "m1")[..] else {
        panic!("one file is exported");
    };
    // The text does not say how a build calls its results.
    assert_eq!(current.file_name().unwrap(), "m1.glb");
    assert_eq!(counts(&fixture), (3, 3));
}

#[test]
fn a_model_that_another_machine_sent_under_the_name_of_one_is_named_as_a_double() {
    needs_fuse!();
    needs_program!("curl");
    let fixture = project(1);
    run(&mut assetfs(&fixture, &["build"]));
    let id = crate::others::upload(&fixture, "m0");
    let double = format!("m0~{id}");
    wait_until("the double is listed", || {
        models_of(&fixture.root()).contains(&double)
    });
    let output = assetfs(&fixture, &["build", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains(&double),
        "{}",
        text(&output.stderr)
    );
    let lines = check_lines("build", &text(&output.stdout));
    assert_eq!(lines[0]["built"], "up_to_date");
    let root = fixture.path("rawmodels");
    let told = json!({
        "schema": 1, "path": root.join(&double), "state": lines[1]["state"], "outcome": "double", "id": id,
        "twin": root.join("m0"), "exit": 0,
    });
    assert_eq!(lines[1], told);
}

#[test]
fn build_sync_and_run_of_a_preset_pay_once_on_two_machines() {
    needs_fuse!();
    let fixture = project(2);
    run(&mut assetfs(&fixture, &["build"]));
    assert_eq!(counts(&fixture), (2, 2));
    let elsewhere = fixture.second_machine();
    let other = elsewhere.root().to_str().unwrap().to_owned();
    let sync = |drive: &str| {
        let sync = ["sync", "models", drive, "--preset", "half.json"];
        run(&mut assetfs(&fixture, &sync));
        let models = ["m0", "m1"].map(|name| format!("{drive}/rawmodels/{name}"));
        run(&mut assetfs(
            &fixture,
            &["run", "--preset", "half.json", &models[0], &models[1]],
        ));
        run(&mut assetfs(&fixture, &["wait", "--quiet", drive]));
    };
    sync("mnt");
    sync(&other);
    run(&mut assetfs(&fixture, &["build", "--drive", &other]));
    // The other machine has a project of its own, and no record of what was built.
    fs::remove_dir_all(fixture.scratch.path().join("dist")).unwrap();
    let said = run(&mut assetfs(&fixture, &["build", "--drive", &other]));
    assert!(said.contains("2 results: 2 made"), "{said}");
    assert_eq!(counts(&fixture), (2, 2));
    // And the other way around: what sync has paid, build does not pay.
    put(&fixture, "m2", 9);
    sync(&other);
    assert_eq!(counts(&fixture), (3, 3));
    let said = run(&mut assetfs(&fixture, &["build"]));
    assert!(said.contains("1 made, 2 up to date"), "{said}");
    assert_eq!(counts(&fixture), (3, 3));
}

#[test]
fn models_that_an_earlier_build_brought_under_other_names_stay() {
    needs_fuse!();
    let fixture = project(0);
    // As an earlier version left them: the first state under the name, the second one with letters of its content.
    for (name, content) in [("part", 1), ("part-45efa101", 2)] {
        let model = fixture.path("rawmodels").join(name);
        fs::create_dir(&model).unwrap();
        fs::write(model.join("part.glb"), numbered_glb(content)).unwrap();
    }
    run(&mut assetfs(&fixture, &["wait", "--quiet", "mnt"]));
    put(&fixture, "part", 2);
    run(&mut assetfs(&fixture, &["build"]));
    assert_eq!(
        read(fixture.path("rawmodels/part/part.glb")),
        numbered_glb(2)
    );
    let models = models_of(&fixture.root());
    assert_eq!(models[..2], ["part", "part-45efa101"]);
    let old = models.iter().find(|name| name.starts_with("part~"));
    let old = fixture.path("rawmodels").join(old.unwrap());
    assert_eq!(read(old.join("part.glb")), numbered_glb(1));
    assert_eq!(counts(&fixture), (3, 1));
}

#[test]
fn a_result_of_several_files_has_the_names_of_the_template_in_all_of_them() {
    needs_fuse!();
    let fixture = project(0);
    let dir = fixture.scratch.path();
    let chair = small_chair(dir);
    fs::rename(&chair, dir.join("models/chair")).unwrap();
    let exports =
        r#"{"compressionAndExport":{"fileExports":[{"fileType":"gltf"},{"fileType":"obj"}]}}"#;
    fs::write(dir.join("half.json"), exports).unwrap();
    run(&mut assetfs(&fixture, &["build"]));
    let from_drive = file_names(&dir.join("dist"));
    assert!(
        from_drive.contains(&"chair.half.bin".to_owned()),
        "{from_drive:?}"
    );
    let gltf = text(&read(dir.join("dist/chair.half.gltf")));
    assert!(gltf.contains("\"uri\":\"chair.half.bin\""), "{gltf}");
    let obj = text(&read(dir.join("dist/chair.half.obj")));
    assert!(obj.contains("mtllib chair.half.mtl\n"));
    // The engine of this machine names them in the same way.
    let alone = "models = 'models'\nout = 'alone'\n[presets]\nhalf = 'half.json'\n";
    fs::write(dir.join("alone.toml"), alone).unwrap();
    run(&mut assetfs(&fixture, &["build", "alone.toml"]));
    assert_eq!(file_names(&dir.join("alone")), from_drive);
    assert_eq!(read(dir.join("alone/chair.half.gltf")), gltf.as_bytes());
}

#[test]
fn a_model_that_lacks_a_texture_is_built_with_a_warning() {
    needs_fuse!();
    let fixture = project(0);
    let dir = fixture.scratch.path();
    let chair = small_chair(dir);
    fs::rename(&chair, dir.join("models/chair")).unwrap();
    let lost = file_names(&dir.join("models/chair"))
        .into_iter()
        .find(|name| name.ends_with(".png"))
        .expect("it has a texture");
    fs::remove_file(dir.join("models/chair").join(lost)).unwrap();
    let said = run(&mut assetfs(&fixture, &["build"]));
    assert!(said.contains("1 result: 1 made"), "{said}");
}

/// Deletes what drives have noted on the models, as if a program had made these.
fn forget_notes(fixture: &Fixture) {
    for asset in fixture.service.assets() {
        let id = &asset["id"];
        for tag in asset["tags"].as_array().unwrap() {
            let url = format!(
                "{}api/v2/rawmodel/{id}/tags/{}",
                fixture.service.base_url, tag["id"]
            );
            request(reqwest::Method::DELETE, &url, &fixture.service.token());
        }
    }
}

fn is_noted(fixture: &Fixture) -> bool {
    let assets = fixture.service.assets();
    assets
        .iter()
        .all(|asset| asset["tags"].to_string().contains("assetfs:source="))
}

#[test]
fn zips_and_models_of_several_files_that_another_machine_sent_are_found_and_not_paid_again() {
    needs_fuse!();
    let fixture = project(0);
    let dir = fixture.scratch.path();
    let models = dir.join("models");
    let zip_with = |number| {
        let (mesh, note) = (numbered_glb(number), b"made by hand".to_vec());
        let files: [(&str, &[u8]); 2] = [("scan/mesh.glb", &mesh), ("scan/note.txt", &note)];
        zip_of(&files, zip::CompressionMethod::Deflated)
    };
    fs::write(models.join("scan.zip"), zip_with(1)).unwrap();
    fs::create_dir_all(models.join("nest/parts")).unwrap();
    fs::write(models.join("nest/parts/part.glb"), numbered_glb(2)).unwrap();
    // A folder, and a file with the files that it names.
    let flat = small_chair(dir);
    fs::rename(&flat, models.join("flat")).unwrap();
    let loose = small_chair(dir);
    for file in file_names(&loose) {
        fs::copy(loose.join(&file), models.join(&file)).unwrap();
    }
    // The first machine has them from somebody's hand.
    let rawmodels = fixture.path("rawmodels");
    shell(
        dir,
        "cp -r models/scan.zip models/nest models/flat chair mnt/rawmodels/",
    );
    for name in ["scan.zip", "nest", "flat", "chair"] {
        run(&mut assetfs(
            &fixture,
            &["commit", rawmodels.join(name).to_str().unwrap()],
        ));
    }
    run(&mut assetfs(&fixture, &["build"]));
    assert_eq!(counts(&fixture), (4, 4));
    wait_until("the models are noted", || is_noted(&fixture));

    let builds = |is_paid: bool| {
        let elsewhere = fixture.second_machine();
        let dist = dir.join("dist");
        fs::remove_dir_all(&dist).unwrap();
        let drive = elsewhere.root().to_str().unwrap().to_owned();
        let said = run(&mut assetfs(&fixture, &["build", "--drive", &drive]));
        assert!(said.contains("4 results: 4 made"), "{said}");
        let expected = if is_paid { (5, 5) } else { (4, 4) };
        assert_eq!(counts(&fixture), expected, "{said}");
        let names = ["chair", "flat", "nest", "scan"].map(|name| format!("{name}.half.glb"));
        assert_eq!(file_names(&dist), names);
    };
    builds(false);
    forget_notes(&fixture);
    builds(false);
    // A zip with other files is the next version.
    fs::write(models.join("scan.zip"), zip_with(3)).unwrap();
    builds(true);
    let stored = fixture.service.assets();
    let scans = stored.iter().filter(|asset| asset["name"] == "scan");
    assert_eq!(scans.count(), 2);
}

/// The sum of a build with `--json`.
fn sum_of(fixture: &Fixture, args: &[&str]) -> serde_json::Value {
    let args = [&["build", "--json"], args].concat();
    let output = assetfs(fixture, &args).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    check_lines("build", &text(&output.stdout)).pop().unwrap()
}

#[test]
fn a_dry_run_says_what_a_build_costs_at_most_and_a_build_what_it_has_cost() {
    needs_fuse!();
    let fixture = project(3);
    let dry = ["--dry-run"];
    let sum = sum_of(&fixture, &dry);
    assert_eq!((&sum["made"], &sum["points"]), (&json!(3), &json!(3)));
    assert_eq!(counts(&fixture), (0, 0), "nothing was sent");
    assert!(!fixture.scratch.path().join("dist").exists());
    // Two of them are sent and paid by another command.
    fs::remove_file(fixture.scratch.path().join("models/m2.glb")).unwrap();
    let sync = ["sync", "models", "mnt", "--preset", "half.json"];
    let planned = assetfs(&fixture, &[&sync[..], &["--dry-run"]].concat());
    let said = run(planned);
    let cost = "Running the presets costs at most 2 points.";
    assert!(said.contains(cost), "{said}");
    run(&mut assetfs(&fixture, &sync));
    for model in ["m0", "m1"] {
        fixture.wait(&format!("rawmodels/{model}/optimize/half.json"));
    }
    put(&fixture, "m2", 2);
    assert_eq!(sum_of(&fixture, &dry)["points"], 1);
    let sum = sum_of(&fixture, &[]);
    assert_eq!((&sum["made"], &sum["points"]), (&json!(3), &json!(1)));
    let sum = sum_of(&fixture, &[]);
    assert_eq!((&sum["up_to_date"], &sum["points"]), (&json!(3), &json!(0)));
    let said = run(&mut assetfs(&fixture, &["build", "-n"]));
    assert!(said.contains("costs at most 0 points"), "{said}");
}
