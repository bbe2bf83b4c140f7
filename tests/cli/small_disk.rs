//! A full disk of the results is no failure of a model: `assetfs watch` and `assetfs build` say it, wait, and go on.

use std::fs::{self, File};
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::json_schema::check_lines;
use super::square_glb::numbered_glb;
use super::support::{ASSETFS, Bench, Ran};
use super::tmpfs::SmallDisk;

/// A disk at the folder `done` of a bench.
fn disk_of(bench: &Bench) -> Option<SmallDisk> {
    let dir = bench.path("done");
    fs::create_dir(&dir).unwrap();
    SmallDisk::mount(&dir, 4 << 20)
}

fn command(bench: &Bench, args: &[&str]) -> Command {
    let mut command = Command::new(ASSETFS);
    command.args(args).current_dir(bench.path(""));
    command.env_remove("GITHUB_ACTIONS");
    command
}

/// Starts a command; its standard error goes to the file `said` of the bench.
fn start(bench: &Bench, args: &[&str]) -> Child {
    let said = File::create(bench.path("said")).unwrap();
    let mut command = command(bench, args);
    let command = command.stdout(Stdio::piped()).stderr(said);
    command.spawn().unwrap()
}

#[track_caller]
fn wait_until(bench: &Bench, what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        let said = fs::read_to_string(bench.path("said")).unwrap_or_default();
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "never: {what}\n{said}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn waits(bench: &Bench) -> bool {
    let said = fs::read_to_string(bench.path("said")).unwrap();
    said.contains("waits: cannot write to") && said.contains("tried again")
}

#[test]
fn a_hot_folder_waits_for_room_and_goes_on() {
    let bench = Bench::new();
    let Some(disk) = disk_of(&bench) else {
        return;
    };
    let preset = "Lossless Clean-Up";
    let args = [
        "watch", "hot", "--out", "done", "--settle", "100ms", "--json", "-p", preset,
    ];
    bench.write("hot/first.glb", &numbered_glb(0));
    let mut watch = start(&bench, &args);
    wait_until(&bench, "the first result", || {
        bench.path("done/first").exists()
    });
    disk.fill();
    for number in 0..5 {
        bench.write(&format!("hot/m{number}.glb"), &numbered_glb(number));
    }
    wait_until(&bench, "it says so", || waits(&bench));
    bench.write("hot/late.glb", &numbered_glb(9));
    // Longer than the first pauses.
    std::thread::sleep(Duration::from_secs(3));
    let names = bench.names("done");
    assert!(
        !names.iter().any(|name| name.contains("failed")),
        "{names:?}"
    );
    assert!(watch.try_wait().unwrap().is_none(), "it goes on");
    disk.free();
    wait_until(&bench, "the results", || bench.names("done").len() == 8);
    watch.kill().unwrap();
    let mut out = String::new();
    watch
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    watch.wait().unwrap();
    let lines = check_lines("watch", &out);
    let states: Vec<&str> = lines
        .iter()
        .map(|line| line["state"].as_str().unwrap())
        .collect();
    let count = |state: &str| states.iter().filter(|it| **it == state).count();
    assert_eq!(
        (count("done"), count("waiting"), states.len()),
        (7, 1, 8),
        "{out}"
    );
}

#[test]
fn a_build_waits_for_room_and_what_it_gives_up_is_built_by_the_next() {
    let bench = Bench::new();
    let Some(disk) = disk_of(&bench) else {
        return;
    };
    bench.write(
        "assetfs.toml",
        b"models = 'models'\nout = 'done'\n[presets]\nweb = 'Lossless Clean-Up'\n",
    );
    bench.write("models/a.glb", &numbered_glb(0));
    Ran(command(&bench, &["build"]).output().unwrap()).expect(0);
    disk.fill();
    bench.write("models/b.glb", &numbered_glb(1));
    let given_up = Ran(command(&bench, &["build", "--json", "--timeout", "2s"])
        .output()
        .unwrap())
    .expect(1);
    let lines = check_lines("build", &given_up.out());
    let of = |model: &str| lines.iter().find(|line| line["model"] == model).unwrap();
    assert_eq!(of("a.glb")["built"], "up_to_date");
    let reason = of("b.glb")["reason"].as_str().unwrap();
    assert!(reason.contains("no storage space"), "{reason}");
    let mut build = start(&bench, &["build"]);
    wait_until(&bench, "it says so", || waits(&bench));
    disk.free();
    assert!(
        build.wait().unwrap().success(),
        "{}",
        fs::read_to_string(bench.path("said")).unwrap()
    );
    assert!(
        bench.path("done/b.web.glb").exists(),
        "{:?}",
        bench.names("done")
    );
}

#[test]
fn a_hot_folder_with_an_end_gives_up_after_its_timeout_and_records_no_failure() {
    let bench = Bench::new();
    let Some(disk) = disk_of(&bench) else {
        return;
    };
    let preset = "Lossless Clean-Up";
    let args = [
        "watch", "hot", "--out", "done", "--settle", "0s", "--once", "-p", preset,
    ];
    bench.write("hot/a.glb", &numbered_glb(0));
    Ran(command(&bench, &args).output().unwrap()).expect(0);
    disk.fill();
    bench.write("hot/b.glb", &numbered_glb(1));
    let given_up = Ran(command(&bench, &[&args[..], &["--timeout", "2s"]].concat())
        .output()
        .unwrap())
    .expect(1);
    assert!(
        given_up
            .err()
            .contains("no room until the end of --timeout"),
        "{}",
        given_up.err()
    );
    disk.free();
    Ran(command(&bench, &args).output().unwrap()).expect(0);
    assert!(bench.path("done/b").exists());
}
