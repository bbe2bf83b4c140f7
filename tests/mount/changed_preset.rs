//! Commands with a preset file that has changed. They write its text again under the same name, so `by-source/MODEL/TEXT` leads
//! to the result of the changed preset on every machine. Changing the file back costs no point, and a command never takes the
//! result of an earlier content for the new one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::json_schema::check_lines;
use crate::needs_fuse;
use crate::support::{
    ASSETFS, Fixture, exists, file_names, names_in, read, run, small_chair, text, triangles_of,
    wait_until,
};

/// A drive, and a project folder outside of it with one model and the preset `half`.
fn project(fixture: Fixture) -> Fixture {
    let dir = fixture.scratch.path();
    fs::create_dir(dir.join("models")).unwrap();
    fs::rename(small_chair(dir), dir.join("models/chair")).unwrap();
    let file = "models = 'models'\ndrive = 'mnt'\n[presets]\nhalf = 'half.json'\n";
    fs::write(dir.join("assetfs.toml"), file).unwrap();
    keep_faces(&fixture, 50);
    fixture
}

/// The preset as it is with so many percent of the faces.
fn preset(percentage: u32) -> Value {
    json!({ "limits": { "faces": { "percentage": percentage } } })
}

fn keep_faces(fixture: &Fixture, percentage: u32) {
    let path = fixture.scratch.path().join("half.json");
    fs::write(path, preset(percentage).to_string()).unwrap();
}

fn assetfs(fixture: &Fixture, line: &str) -> Command {
    let mut command = Command::new(ASSETFS);
    command
        .current_dir(fixture.scratch.path())
        .args(line.split(' '))
        .env("HOME", fixture.scratch.path())
        .env_remove("XDG_STATE_HOME")
        .env_remove("GITHUB_ACTIONS");
    command
}

/// The last line that `build` or `sync` prints with `--json`.
fn sum_of(fixture: &Fixture, line: &str) -> Value {
    let output = assetfs(fixture, &format!("{line} --json"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let command = line.split(' ').next().unwrap();
    check_lines(command, &text(&output.stdout)).pop().unwrap()
}

const SYNC: &str = "sync models mnt --preset half.json";

/// How many results the service has, each of which was paid.
fn results(fixture: &Fixture) -> usize {
    let page = fixture.service.get("api/v2/rapidmodel?itemsPerPage=50");
    page["data"].as_array().unwrap().len()
}

/// The number of triangles of the result that `by-source` leads to for the preset.
fn current(root: &Path) -> Option<u64> {
    let file = root.join("rapidmodels/.assetfs/by-source/chair/half/chair.glb");
    exists(&file).then(|| triangles_of(&file))
}

fn until_current(root: &Path, triangles: u64) {
    wait_until("by-source has the result of the preset", || {
        current(root) == Some(triangles)
    });
}

fn optimize(fixture: &Fixture) -> PathBuf {
    fixture.path("rawmodels/chair/optimize")
}

fn built(fixture: &Fixture) -> u64 {
    triangles_of(&fixture.scratch.path().join("dist/chair.half.glb"))
}

#[test]
fn a_build_with_a_changed_preset_has_the_address_of_its_text_and_going_back_pays_nothing() {
    needs_fuse!();
    let fixture = project(Fixture::new());
    let elsewhere = fixture.second_machine();
    let mut made = Vec::new();
    // `--dry-run` says what it costs. The earlier result is not paid again.
    for (percentage, points) in [(50, 1), (10, 1), (50, 0), (10, 0)] {
        keep_faces(&fixture, percentage);
        let dry = sum_of(&fixture, "build --dry-run");
        assert_eq!(
            (&dry["made"], &dry["points"]),
            (&json!(1), &json!(points)),
            "{percentage}"
        );
        let sum = sum_of(&fixture, "build");
        assert_eq!(
            (&sum["made"], &sum["points"]),
            (&json!(1), &json!(points)),
            "{percentage}"
        );
        let shown = file_names(&optimize(&fixture));
        assert_eq!(shown, ["half.json", "half.status"]);
        until_current(&fixture.root(), built(&fixture));
        until_current(&elsewhere.root(), built(&fixture));
        made.push(built(&fixture));
    }
    assert!(made[1] < made[0], "{made:?}");
    assert_eq!(made[..2], made[2..]);
    assert_eq!(results(&fixture), 2);
    let sum = sum_of(&fixture, "build");
    assert_eq!((&sum["up_to_date"], &sum["points"]), (&json!(1), &json!(0)));
    let points = fs::read_to_string(fixture.path("account/points.jsonl")).unwrap();
    assert_eq!(points.lines().count(), 2, "{points}");
}

#[test]
fn a_changed_preset_is_sent_while_the_job_of_the_earlier_one_waits() {
    needs_fuse!();
    let mut fixture = project(Fixture::new());
    run(&mut assetfs(&fixture, "sync models mnt --quiet"));
    fixture.service.stop();
    fixture.service.start_again_with(&["--workers", "0"]);
    for percentage in [50, 10, 50, 10] {
        keep_faces(&fixture, percentage);
        run(&mut assetfs(&fixture, SYNC));
    }
    assert_eq!(results(&fixture), 2);
    assert!(!exists(optimize(&fixture).join("half")));
    let mut build = assetfs(&fixture, "build");
    let build = build.stdout(Stdio::piped()).stderr(Stdio::piped());
    let build = build.spawn().unwrap();
    fixture.service.stop();
    fixture.service.start_again();
    let output = build.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let tenth = built(&fixture);
    until_current(&fixture.root(), tenth);
    keep_faces(&fixture, 50);
    run(&mut assetfs(&fixture, "build"));
    assert!(tenth < built(&fixture));
    assert_eq!(results(&fixture), 2);
}

#[test]
fn a_build_whose_text_another_command_writes_anew_does_not_take_its_result() {
    needs_fuse!();
    let mut fixture = project(Fixture::new());
    run(&mut assetfs(&fixture, "sync models mnt --quiet"));
    fixture.service.stop();
    fixture.service.start_again_with(&["--workers", "0"]);
    let mut build = assetfs(&fixture, "build");
    let build = build.stdout(Stdio::piped()).stderr(Stdio::piped());
    let build = build.spawn().unwrap();
    let own = optimize(&fixture).join("half.status");
    wait_until("the build waits for its result", || exists(&own));
    let other = fixture.scratch.path().join("other");
    fs::create_dir(&other).unwrap();
    let file = other.join("half.json");
    fs::write(&file, preset(10).to_string()).unwrap();
    let line = format!("sync models mnt --preset {}", file.display());
    run(&mut assetfs(&fixture, &line));
    fixture.service.stop();
    fixture.service.start_again();
    let output = build.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let half = built(&fixture);
    run(&mut assetfs(&fixture, &line));
    fixture.wait("rawmodels/chair/optimize/half.json");
    wait_until("by-source has the other result", || {
        current(&fixture.root()).is_some_and(|tenth| tenth < half)
    });
    assert_eq!(results(&fixture), 2);
}

#[test]
fn a_text_that_somebody_wrote_is_kept_under_another_name() {
    needs_fuse!();
    let fixture = project(Fixture::new());
    run(&mut assetfs(&fixture, "sync models mnt --quiet"));
    let typed = "{\"limits\": {\"faces\": {\"percentage\": 30}},\n \"tags\": [\"mine\"]}\n";
    fs::write(optimize(&fixture).join("half.json"), typed).unwrap();
    fixture.wait("rawmodels/chair/optimize/half.json");
    let mut said = Vec::new();
    for percentage in [50, 10, 50] {
        keep_faces(&fixture, percentage);
        let output = assetfs(&fixture, SYNC).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        said.push(text(&output.stderr).contains("it is kept as "));
        fixture.wait("rawmodels/chair/optimize/half.json");
        let ours = fs::read_to_string(optimize(&fixture).join("half.json")).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&ours).unwrap(),
            preset(percentage)
        );
    }
    assert_eq!(said, [true, false, false]);
    let texts = file_names(&optimize(&fixture));
    let texts: Vec<&String> = texts.iter().filter(|it| it.ends_with(".json")).collect();
    let [kept, own] = &texts[..] else {
        panic!("{texts:?}");
    };
    assert!(
        *own == "half.json" && kept.starts_with("half-"),
        "{texts:?}"
    );
    assert_eq!(read(optimize(&fixture).join(kept)), typed.as_bytes());
    assert_eq!(results(&fixture), 3);
    // The empty text of a command that was killed before it wrote the content.
    fs::write(optimize(&fixture).join("half.json"), "").unwrap();
    run(&mut assetfs(&fixture, SYNC));
    fixture.wait("rawmodels/chair/optimize/half.json");
    // The same JSON with other spaces is the same preset.
    let spaced = "{ \"limits\": {\"faces\": {\"percentage\": 50}} }\n";
    fs::write(optimize(&fixture).join("half.json"), spaced).unwrap();
    run(&mut assetfs(&fixture, SYNC));
    assert_eq!(
        read(optimize(&fixture).join("half.json")),
        spaced.as_bytes()
    );
    assert_eq!(names_in(&optimize(&fixture)).len(), 6);
}

#[test]
fn the_result_of_an_earlier_preset_on_another_machine_is_not_that_of_the_changed_one() {
    needs_fuse!();
    let fixture = project(Fixture::new());
    run(&mut assetfs(&fixture, SYNC));
    fixture.wait("rawmodels/chair/optimize/half.json");
    let half = current(&fixture.root()).unwrap();
    let elsewhere = fixture.second_machine();
    let model = elsewhere.root().join("rawmodels/chair");
    wait_until("the status is there", || {
        exists(model.join("optimize/half.status"))
    });
    keep_faces(&fixture, 10);
    let run_preset = format!("run --preset half.json {}", model.display());
    let dry = assetfs(&fixture, &format!("{run_preset} --dry-run"))
        .output()
        .unwrap();
    assert!(text(&dry.stderr).contains("costs 1 point"), "{dry:?}");
    run(&mut assetfs(&fixture, &run_preset));
    run(assetfs(&fixture, "wait --quiet").arg(elsewhere.root()));
    let tenth = current(&elsewhere.root()).unwrap();
    assert!(tenth < half);
    until_current(&fixture.root(), tenth);
    // Back to the first preset, on the machine that did not write the text either: its result is there.
    keep_faces(&fixture, 50);
    let dry = assetfs(&fixture, &format!("{run_preset} --dry-run"))
        .output()
        .unwrap();
    assert!(text(&dry.stderr).contains("costs 0 points"), "{dry:?}");
    run(&mut assetfs(&fixture, &run_preset));
    until_current(&elsewhere.root(), half);
    until_current(&fixture.root(), half);
    assert_eq!(results(&fixture), 2);
}

#[test]
fn texts_that_an_earlier_version_named_after_their_configuration_are_not_paid_again() {
    needs_fuse!();
    let fixture = project(Fixture::new());
    run(&mut assetfs(&fixture, SYNC));
    let ours = |percentage| serde_json::to_vec_pretty(&preset(percentage)).unwrap();
    let optimize = optimize(&fixture);
    fs::write(optimize.join("half-0badcafe.json"), ours(10)).unwrap();
    fixture.wait("rawmodels/chair/optimize");
    assert_eq!(results(&fixture), 2);
    keep_faces(&fixture, 10);
    let dry = sum_of(&fixture, &format!("{SYNC} --dry-run"));
    assert_eq!(dry["preset"], json!(0), "{dry}");
    let sum = sum_of(&fixture, SYNC);
    assert_eq!(sum["preset"], json!(0), "{sum}");
    fixture.wait("rawmodels/chair/optimize");
    let link = |name: &str| fs::canonicalize(optimize.join(name)).unwrap();
    assert_eq!(link("half"), link("half-0badcafe"));
    until_current(
        &fixture.root(),
        triangles_of(&link("half").join("chair.glb")),
    );
    assert_eq!(results(&fixture), 2);
}
