//! Ctrl-C while a command reads a huge file: it ends at once, and says so.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::square_glb::numbered_glb;
use super::support::{ASSETFS, Bench, Ran};

/// A model in the folder `models`, of which nothing but its size is read until it is worked on.
fn huge_model() -> Bench {
    let bench = Bench::new();
    bench.write("models/huge/a.glb", &numbered_glb(0));
    let part = File::create(bench.path("models/huge/texture.bin")).unwrap();
    // Nothing of it takes room on the disk.
    part.set_len(1 << 43).unwrap();
    bench
}

fn start(bench: &Bench, args: &[&str]) -> Child {
    let mut command = Command::new(ASSETFS);
    command.args(args).current_dir(bench.path(""));
    command.env_remove("GITHUB_ACTIONS");
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn has_open(pid: u32, file: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let mut open = open.flatten();
    open.any(|it| fs::read_link(it.path()).is_ok_and(|path| path == file))
}

#[track_caller]
fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sends SIGINT while the huge file is read, and returns what the command said.
fn interrupted(bench: &Bench, args: &[&str]) -> Ran {
    let child = start(bench, args);
    let huge = bench
        .path("models/huge/texture.bin")
        .canonicalize()
        .unwrap();
    wait_until("it reads the file", || has_open(child.id(), &huge));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    Ran(child.wait_with_output().unwrap())
}

#[test]
fn commands_that_read_a_huge_file_end_at_ctrl_c_with_a_sentence_and_a_line() {
    let bench = huge_model();
    bench.write(
        "assetfs.toml",
        b"models = 'models'\n[presets]\nweb = 'Lossless Clean-Up'\n",
    );
    let watch = [
        "watch",
        "models",
        "--out",
        "done",
        "--once",
        "--settle",
        "0s",
        "-p",
        "Lossless Clean-Up",
        "--json",
    ];
    for args in [&["build", "--json"][..], &watch] {
        let ran = interrupted(&bench, args).expect(1);
        let why = "interrupted; the same command goes on with what is left";
        assert!(ran.err().contains(why), "{args:?}: {}", ran.err());
        let lines: Vec<Value> = ran
            .out()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let [line] = lines.as_slice() else {
            panic!("{args:?}: {lines:?}");
        };
        assert_eq!((&line["reason"], &line["exit"]), (&why.into(), &1.into()));
    }
}

#[test]
fn a_hot_folder_without_an_end_ends_well_while_it_reads_a_huge_file() {
    let bench = huge_model();
    let args = [
        "watch",
        "models",
        "--out",
        "done",
        "--settle",
        "0s",
        "-p",
        "Lossless Clean-Up",
    ];
    interrupted(&bench, &args).expect(0);
}
