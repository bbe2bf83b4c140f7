//! `assetfs watch --drive`: the drive does the work of a hot folder, and nothing is uploaded or paid twice.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use assetfs::durable::AppendLog;

use crate::needs_fuse;
use crate::square_glb::numbered_glb;
use crate::support::{
    ASSETFS, Fixture, assetfs, fails, file_names, names_in, read, run, small_chair, triangles_of,
    wait_until,
};

const MODELS: usize = 6;
const KILLS: u64 = 6;

fn watch(fixture: &Fixture) -> Command {
    let mut command = Command::new(ASSETFS);
    command
        .current_dir(fixture.scratch.path())
        .args([
            "watch", "hot", "--out", "done", "--settle", "100ms", "--quiet", "--drive", "mnt",
        ])
        .args(["--preset", "Lossless Clean-Up", "--preset", "half.json"]);
    command
}

fn kill(child: &mut Child) {
    child.kill().expect("killed");
    child.wait().expect("waited for");
}

/// A drive, and beside it a folder to watch and a preset.
fn watched_folder() -> Fixture {
    let fixture = Fixture::new();
    let dir = fixture.scratch.path();
    fs::create_dir(dir.join("hot")).unwrap();
    let config = r#"{"limits":{"faces":{"percentage":50}}}"#;
    fs::write(dir.join("half.json"), config).unwrap();
    fixture
}

#[test]
fn a_drive_that_does_the_work_uploads_and_pays_each_model_once_whatever_is_killed() {
    needs_fuse!();
    let fixture = watched_folder();
    let dir = fixture.scratch.path();
    for number in 0..MODELS {
        let path = dir.join(format!("hot/m{number}.glb"));
        fs::write(path, numbered_glb(number)).unwrap();
    }
    for number in 0..KILLS {
        let mut child = watch(&fixture).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(200 + 350 * number));
        kill(&mut child);
    }
    run(watch(&fixture).arg("--once"));
    for number in 0..MODELS {
        for preset in ["Lossless Clean-Up", "half"] {
            let results = dir.join(format!("done/m{number} ({preset})"));
            let names = file_names(&results);
            assert!(
                names.iter().any(|name| name.ends_with(".glb")),
                "{results:?}: {names:?}"
            );
        }
    }
    let count = |path: &str| fixture.service.get(path)["data"].as_array().unwrap().len();
    assert_eq!(count("api/v2/rawmodel?itemsPerPage=50"), MODELS);
    assert_eq!(count("api/v2/rapidmodel?itemsPerPage=50"), 2 * MODELS);
    // The same folder again is not paid again.
    run(watch(&fixture).arg("--once"));
    assert_eq!(count("api/v2/rapidmodel?itemsPerPage=50"), 2 * MODELS);
}

#[test]
fn a_drive_that_ends_is_waited_for_and_is_no_failure_of_its_models() {
    needs_fuse!();
    let mut fixture = watched_folder();
    let dir = fixture.scratch.path().to_owned();
    let mut child = watch(&fixture).stderr(Stdio::null()).spawn().unwrap();
    for number in 0..3_u64 {
        let path = dir.join(format!("hot/m{number}.glb"));
        fs::write(path, numbered_glb(number as usize)).unwrap();
        // Before the model is begun, during its upload, and later.
        thread::sleep(Duration::from_millis(300 * number));
        fixture.kill_mount();
        thread::sleep(Duration::from_secs(2));
        assert_eq!(child.try_wait().unwrap(), None, "it goes on");
        fixture.mount(&[]);
        wait_until("the results are there", || {
            ["Lossless Clean-Up", "half"].iter().all(|preset| {
                dir.join(format!("done/m{number} ({preset})/m{number}.glb"))
                    .exists()
            })
        });
    }
    let failed = names_in(&dir.join("done")).into_iter();
    let failed: Vec<_> = failed
        .filter(|name| name.to_string_lossy().ends_with(".failed.txt"))
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    kill(&mut child);
}

#[test]
fn while_a_drive_is_not_mounted_nothing_is_copied_to_the_disk_below_and_no_model_fails() {
    needs_fuse!();
    let mut fixture = watched_folder();
    let dir = fixture.scratch.path().to_owned();
    let mut child = watch(&fixture).stderr(Stdio::null()).spawn().unwrap();
    fs::write(dir.join("hot/m0.glb"), numbered_glb(0)).unwrap();
    let has_results = |model: &str| {
        let results = |preset| dir.join(format!("done/{model} ({preset})/{model}.glb"));
        ["Lossless Clean-Up", "half"]
            .map(results)
            .iter()
            .all(|it| it.exists())
    };
    wait_until("the first results are there", || has_results("m0"));
    run(assetfs("unmount", fixture.root()));
    fs::write(dir.join("hot/m1.glb"), numbered_glb(1)).unwrap();
    thread::sleep(Duration::from_secs(3));
    assert_eq!(child.try_wait().unwrap(), None, "it goes on");
    let below = names_in(&fixture.root());
    assert!(below.is_empty(), "{below:?}");
    fixture.mount(&[]);
    wait_until("the other results are there", || has_results("m1"));
    let failed = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(".failed.txt");
    assert!(!names_in(&dir.join("done")).iter().any(failed));
    kill(&mut child);
}

#[test]
fn a_model_is_sent_at_once_and_without_files_that_never_come() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    // The drive itself would wait for minutes.
    fixture.mount(&["--settle", "10m"]);
    let dir = fixture.scratch.path();
    fs::create_dir(dir.join("hot")).unwrap();
    let config = r#"{"limits":{"faces":{"percentage":50}}}"#;
    fs::write(dir.join("half.json"), config).unwrap();
    fs::write(dir.join("hot/m.glb"), numbered_glb(1)).unwrap();
    let triangle = "mtllib gone.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    fs::write(dir.join("hot/t.obj"), triangle).unwrap();
    run(watch(&fixture).arg("--once"));
    let results = names_in(&dir.join("done"));
    let shown = results
        .iter()
        .filter(|name| !name.to_string_lossy().starts_with('.'));
    assert_eq!(shown.count(), 4, "{results:?}");
}

#[test]
fn results_are_never_written_into_a_drive_where_they_would_be_uploaded() {
    needs_fuse!();
    let fixture = watched_folder();
    for out in ["mnt", "mnt/rawmodels/done", "mnt/rapidmodels"] {
        for drive in [["--drive", "mnt"].as_slice(), &[]] {
            let mut command = Command::new(ASSETFS);
            command
                .current_dir(fixture.scratch.path())
                .args([
                    "watch",
                    "hot",
                    "--preset",
                    "half.json",
                    "--once",
                    "--out",
                    out,
                ])
                .args(drive);
            let said = fails(command, 2);
            assert!(said.contains("taken for new models of the drive"), "{said}");
        }
    }
    assert!(names_in(&fixture.path("rawmodels")).is_empty());
}

#[test]
fn a_changed_model_goes_into_the_drive_under_a_name_of_its_own() {
    needs_fuse!();
    let fixture = watched_folder();
    let dir = fixture.scratch.path();
    fs::write(dir.join("hot/m.glb"), numbered_glb(1)).unwrap();
    run(watch(&fixture).arg("--once"));
    fs::write(dir.join("hot/m.glb"), numbered_glb(2)).unwrap();
    run(watch(&fixture).arg("--once"));
    wait_until("both are listed", || {
        names_in(&fixture.path("rawmodels")).len() == 2
    });
    let names = names_in(&fixture.path("rawmodels"));
    assert_eq!(names[0], "m");
    let second = names[1].to_string_lossy();
    assert!(second.starts_with("m-"), "{names:?}");
    let results = names_in(&dir.join("done"));
    let shown: Vec<_> = results
        .iter()
        .filter(|name| !name.to_string_lossy().starts_with('.'))
        .collect();
    assert_eq!(shown, ["m (Lossless Clean-Up)", "m (half)"]);
}

#[test]
fn a_build_through_a_drive_uses_the_models_that_are_there_and_pays_each_result_once() {
    needs_fuse!();
    let fixture = watched_folder();
    let dir = fixture.scratch.path();
    let file = "models = 'hot'\ndrive = 'mnt'\n[presets]\nhalf = 'half.json'\n";
    fs::write(dir.join("assetfs.toml"), file).unwrap();
    for number in 0..2 {
        let path = dir.join(format!("hot/m{number}.glb"));
        fs::write(path, numbered_glb(number)).unwrap();
    }
    let assetfs = |args: &[&str]| {
        let mut command = Command::new(ASSETFS);
        command.current_dir(dir).args(args);
        command
    };
    run(&mut assetfs(&["sync", "hot", "mnt", "--quiet"]));
    let count = |path: &str| fixture.service.get(path)["data"].as_array().unwrap().len();
    let counts = || {
        (
            count("api/v2/rawmodel?itemsPerPage=50"),
            count("api/v2/rapidmodel?itemsPerPage=50"),
        )
    };
    let said = run(&mut assetfs(&["build"]));
    assert!(said.contains("2 results: 2 made"), "{said}");
    assert_eq!(counts(), (2, 2));
    let built = ["m0.half.glb", "m1.half.glb"].map(|name| dir.join("dist").join(name));
    assert!(built.iter().all(|file| file.exists()), "{built:?}");
    // A result that was taken away is there again, and is not paid again; the budget is checked by what the drive says.
    fs::remove_file(dir.join("dist/m1.half.glb")).unwrap();
    let said = run(&mut assetfs(&["build", "--max-bytes", "1M"]));
    assert!(said.contains("1 made, 1 up to date"), "{said}");
    let text = "mnt/rawmodels/m1/optimize/half.json";
    let why = fails(
        &mut assetfs(&["wait", text, "--quiet", "--max-bytes", "10"]),
        1,
    );
    assert!(why.contains("more than the budget of 10 B"), "{why}");
    assert_eq!(counts(), (2, 2));
}

/// Watches once with one preset, and returns what it has printed.
fn watch_half(fixture: &Fixture) -> String {
    let mut command = Command::new(ASSETFS);
    command.current_dir(fixture.scratch.path()).args([
        "watch",
        "hot",
        "--out",
        "done",
        "--settle",
        "100ms",
        "--quiet",
        "--once",
        "--drive",
        "mnt",
        "--preset",
        "half.json",
    ]);
    run(command)
}

fn keep_faces(fixture: &Fixture, percentage: u32) {
    let config = format!(r#"{{"limits":{{"faces":{{"percentage":{percentage}}}}}}}"#);
    fs::write(fixture.scratch.path().join("half.json"), config).unwrap();
}

fn triangles_of_result(fixture: &Fixture) -> u64 {
    triangles_of(&fixture.scratch.path().join("done/chair/chair.glb"))
}

fn results_of_service(fixture: &Fixture) -> usize {
    let results = fixture.service.get("api/v2/rapidmodel?itemsPerPage=50");
    results["data"].as_array().unwrap().len()
}

/// Makes of the records what a version wrote that did not compare the text in the drive with the preset.
fn make_records_old(fixture: &Fixture) {
    let dir = fixture.scratch.path().join("done/.assetfs-watch");
    let earlier = dir.join("records");
    fs::create_dir(&earlier).unwrap();
    let log = dir.join("records.log");
    // Later records of a model replace earlier ones.
    for line in AppendLog::salvage(&log).unwrap().records {
        let mut record: serde_json::Value = serde_json::from_slice(&line).unwrap();
        record.as_object_mut().unwrap().remove("form");
        let name = format!("{}.json", record["entry"].as_str().unwrap());
        fs::write(earlier.join(name), record.to_string()).unwrap();
    }
    fs::remove_file(log).unwrap();
}

#[test]
fn a_changed_preset_is_sent_to_the_drive_and_a_result_that_was_recorded_wrongly_is_made_again() {
    needs_fuse!();
    let fixture = watched_folder();
    let chair = small_chair(fixture.scratch.path());
    fs::rename(&chair, fixture.scratch.path().join("hot/chair")).unwrap();
    watch_half(&fixture);
    let half = triangles_of_result(&fixture);
    keep_faces(&fixture, 10);
    assert!(!watch_half(&fixture).is_empty(), "the result is made again");
    let tenth = triangles_of_result(&fixture);
    assert!(tenth < half, "{tenth} of {half}");
    assert_eq!(results_of_service(&fixture), 2);

    // The record of an earlier version says that the first result was made with the second configuration. It has left the text
    // of the first one.
    let first = r#"{"limits":{"faces":{"percentage":50}}}"#;
    fs::write(fixture.path("rawmodels/chair/optimize/half.json"), first).unwrap();
    let result = fixture.scratch.path().join("done/chair/chair.glb");
    fs::write(&result, "the wrong one").unwrap();
    make_records_old(&fixture);
    watch_half(&fixture);
    assert_eq!(triangles_of_result(&fixture), tenth);
    assert_eq!(watch_half(&fixture), "", "and only once");

    // What was made before is used again.
    keep_faces(&fixture, 50);
    watch_half(&fixture);
    assert_eq!(triangles_of_result(&fixture), half);
    assert_eq!(results_of_service(&fixture), 2, "nothing is paid again");

    // A right record of an earlier version is kept.
    make_records_old(&fixture);
    assert_eq!(watch_half(&fixture), "");
}

#[test]
fn a_model_that_somebody_replaced_in_the_drive_is_not_taken_for_the_watched_one() {
    needs_fuse!();
    let fixture = watched_folder();
    let dir = fixture.scratch.path();
    fs::write(dir.join("hot/m.glb"), numbered_glb(1)).unwrap();
    watch_half(&fixture);
    fs::write(dir.join("m.glb"), numbered_glb(2)).unwrap();
    run(Command::new(ASSETFS)
        .current_dir(dir)
        .args(["replace", "m.glb", "mnt/rawmodels/m"]));
    keep_faces(&fixture, 10);
    watch_half(&fixture);
    wait_until("all three are listed", || {
        names_in(&fixture.path("rawmodels")).len() == 3
    });
    let name = names_in(&fixture.path("rawmodels"))
        .into_iter()
        .find(|name| name.to_string_lossy().starts_with("m-"))
        .expect("a copy of its own");
    let copied = fixture.path("rawmodels").join(name).join("m.glb");
    assert_eq!(read(&copied), numbered_glb(1));
}
