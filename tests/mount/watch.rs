//! `assetfs watch --drive`: the drive does the work of a hot folder, and nothing is uploaded or paid twice.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::needs_fuse;
use crate::square_glb::numbered_glb;
use crate::support::{ASSETFS, Fixture, fails, file_names, names_in, run, wait_until};

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
