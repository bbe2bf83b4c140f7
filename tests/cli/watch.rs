//! `assetfs watch`: what is dropped in comes out once, whatever is killed, and failures say why.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::{Value, json};

use super::square_glb::numbered_glb;
use super::support::{ASSETFS, Bench, Ran};

fn watch(bench: &Bench, args: &[&str]) -> Command {
    let mut command = Command::new(ASSETFS);
    let usual = [
        "watch",
        "hot",
        "--out",
        "done",
        "--settle",
        "100ms",
        "--no-pictures",
    ];
    command.args(usual).args(args).current_dir(bench.path(""));
    command
}

fn once(bench: &Bench, args: &[&str]) -> Ran {
    let mut command = watch(bench, &["--once", "--preset", "Lossless Clean-Up"]);
    Ran(command.args(args).output().unwrap())
}

/// The lines of `--json`.
fn lines(ran: &Ran) -> Vec<Value> {
    let text = ran.out();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What is in the folder of the results, records left out, with the inode of each.
fn results(bench: &Bench) -> BTreeMap<String, u64> {
    let names = bench.names("done").into_iter();
    let shown = names.filter(|name| !name.starts_with('.'));
    shown
        .map(|name| {
            let inode = fs::metadata(bench.path("done").join(&name)).unwrap().ino();
            (name, inode)
        })
        .collect()
}

#[test]
fn a_dropped_model_comes_out_once_under_its_name() {
    let bench = Bench::with_chair();
    bench.write("hot/a.glb", &numbered_glb(1));
    fs::rename(bench.path("chair"), bench.path("hot/chair")).unwrap();
    let ran = once(&bench, &["--json"]).expect(0);
    let done = lines(&ran);
    assert_eq!(done.len(), 2, "{done:?}");
    assert!(done.iter().all(|line| line["state"] == "done"), "{done:?}");
    assert_eq!(bench.names("done/a"), ["a.glb", "analysis"]);
    assert_eq!(bench.names("done/chair"), ["analysis", "chair.glb"]);
    let before = results(&bench);
    assert_eq!(before.len(), 2);
    // Touched, copied over with the same bytes, taken away: nothing is done a second time.
    bench.write("hot/a.glb", &numbered_glb(1));
    assert_eq!(once(&bench, &["--json"]).expect(0).out(), "");
    assert_eq!(results(&bench), before);
    fs::remove_dir_all(bench.path("done/a")).unwrap();
    assert_eq!(once(&bench, &["--json"]).expect(0).out(), "");
    assert_eq!(results(&bench).len(), 1);
}

#[test]
fn a_model_or_preset_that_changes_is_done_again_in_its_place() {
    let bench = Bench::new();
    bench.write("mine.json", br#"{"limits":{"faces":{"percentage":90}}}"#);
    bench.write("hot/a.glb", &numbered_glb(1));
    let run = || {
        Ran(watch(&bench, &["--once", "--json", "-p", "mine.json"])
            .output()
            .unwrap())
        .expect(0)
    };
    assert_eq!(lines(&run()).len(), 1);
    let first = results(&bench);
    bench.write("hot/a.glb", &numbered_glb(2));
    assert_eq!(lines(&run()).len(), 1);
    let second = results(&bench);
    assert_eq!((second.len(), first.len()), (1, 1));
    assert_ne!(first, second);
    bench.write("mine.json", br#"{"limits":{"faces":{"percentage":95}}}"#);
    assert_eq!(lines(&run()).len(), 1);
    assert_ne!(results(&bench), second);
    assert_eq!(bench.names("done/a"), ["a.glb", "analysis"]);
}

#[test]
fn several_presets_and_models_of_one_stem_have_results_of_their_own() {
    let bench = Bench::new();
    bench.write("half.json", br#"{"limits":{"faces":{"percentage":50}}}"#);
    bench.write("hot/a.glb", &numbered_glb(1));
    bench.write("hot/a.stl", b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n");
    once(&bench, &["--preset", "half.json"]).expect(0);
    let names: Vec<String> = results(&bench).into_keys().collect();
    assert_eq!(
        names,
        [
            "a (Lossless Clean-Up)",
            "a (half)",
            "a.stl (Lossless Clean-Up)",
            "a.stl (half)"
        ]
    );
}

#[test]
fn a_failure_is_a_text_in_the_place_of_the_results_until_the_model_is_mended() {
    let bench = Bench::new();
    let whole = numbered_glb(1);
    bench.write("hot/a.glb", &whole[..whole.len() - 8]);
    let ran = once(&bench, &[]).expect(1);
    assert!(
        ran.err().contains("a.glb waits for the rest of a.glb"),
        "{}",
        ran.err()
    );
    let text = fs::read_to_string(bench.path("done/a.failed.txt")).unwrap();
    assert!(text.contains("truncated"), "{text}");
    // The same again: it is known, and the exit code still says so.
    let again = once(&bench, &["--json"]).expect(1);
    let line = &lines(&again)[0];
    assert_eq!(
        (&line["state"], &line["exit"]),
        (&json!("failed"), &json!(1))
    );
    let said = again.err();
    assert!(
        said.contains("a.glb failed in an earlier run") && said.contains("done/a.failed.txt"),
        "{said}"
    );
    assert!(said.contains("Remove that text to try it again"), "{said}");
    let quiet = once(&bench, &["--quiet"]).expect(1);
    assert_eq!(quiet.err(), "");
    // The text is removed: it is tried again.
    fs::remove_file(bench.path("done/a.failed.txt")).unwrap();
    assert_eq!(
        lines(&once(&bench, &["--json"]).expect(1))[0]["state"],
        "failed"
    );
    bench.write("hot/a.glb", &whole);
    once(&bench, &[]).expect(0);
    assert_eq!(results(&bench).into_keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn what_cannot_work_is_refused_with_what_to_do() {
    let bench = Bench::new();
    fs::create_dir(bench.path("hot")).unwrap();
    for (args, code, sentence) in [
        (&["--preset", "no such"][..], 2, "no such"),
        (
            &["--preset", "Web Viewer", "--out", "hot"],
            2,
            "choose another folder for --out",
        ),
        (
            &["--preset", "Web Viewer", "--drive", "hot"],
            1,
            "not in a mounted assetfs drive",
        ),
        (
            &["--preset", "Web Viewer", "--memory", "1M"],
            2,
            "at least 256M",
        ),
    ] {
        let usual = ["watch", "hot", "--once"];
        let out = if args.contains(&"--out") {
            &[][..]
        } else {
            &["--out", "done"]
        };
        let mut command = Command::new(ASSETFS);
        command
            .args(usual)
            .args(out)
            .args(args)
            .current_dir(bench.path(""));
        let ran = Ran(command.output().unwrap()).expect(code);
        assert!(ran.err().contains(sentence), "{}", ran.err());
    }
    let mut first = start(&bench);
    wait_until("the first has its folder", || {
        bench.path("done/.assetfs-watch/records.log").exists()
    });
    thread::sleep(Duration::from_millis(200));
    let second = once(&bench, &[]).expect(1);
    assert!(
        second.err().contains("another `assetfs watch`"),
        "{}",
        second.err()
    );
    kill(&mut first);
}

fn start(bench: &Bench) -> Child {
    let mut command = watch(bench, &["--quiet", "--preset", "Lossless Clean-Up"]);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[track_caller]
fn wait_until(what: &str, is_true: impl FnMut() -> bool) {
    wait_within(Duration::from_secs(120), what, is_true);
}

#[track_caller]
fn wait_within(longest: Duration, what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < longest, "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// How many files in a folder are opened in this time.
fn opened(folder: &Path, time: Duration) -> usize {
    use rustix::fs::inotify;
    use rustix::io::Errno;
    let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
    let watch = inotify::init(flags).unwrap();
    inotify::add_watch(&watch, folder, inotify::WatchFlags::OPEN).unwrap();
    thread::sleep(time);
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut buffer);
    let mut count = 0;
    loop {
        match events.next() {
            // The folder itself has no name.
            Ok(event) => count += usize::from(event.file_name().is_some()),
            Err(Errno::AGAIN) => return count,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_folder_at_rest_is_not_read() {
    let bench = Bench::new();
    for number in 0..3 {
        bench.write(&format!("hot/m{number}.glb"), &numbered_glb(number));
    }
    let mut running = start(&bench);
    wait_until("all results", || results(&bench).len() == 3);
    thread::sleep(Duration::from_millis(600));
    assert_eq!(opened(&bench.path("hot"), Duration::from_secs(1)), 0);
    // A change is still seen.
    bench.write("hot/m3.glb", &numbered_glb(3));
    wait_until("the new result", || results(&bench).len() == 4);
    kill(&mut running);
}

#[test]
fn a_pipe_in_the_folder_is_left_alone_and_a_signal_ends_the_watch() {
    let bench = Bench::new();
    bench.write("hot/a.glb", &numbered_glb(1));
    bench.write("hot/b/b.glb", &numbered_glb(2));
    for name in ["hot/pipe.glb", "hot/b/wood.png", "hot/c.gltf"] {
        let pipe = bench.path(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    }
    once(&bench, &[]).expect(0);
    assert_eq!(results(&bench).into_keys().collect::<Vec<_>>(), ["a", "b"]);
    let mut running = start(&bench);
    wait_until("it watches", || {
        fs::read_to_string(bench.path("done/.assetfs-watch/lock"))
            .is_ok_and(|pid| pid.trim() == running.id().to_string())
    });
    thread::sleep(Duration::from_millis(300));
    let pid = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    wait_within(Duration::from_secs(10), "it ends", || {
        running.try_wait().unwrap().is_some()
    });
}

#[test]
fn a_pipe_in_the_place_of_a_preset_is_refused_at_once() {
    let bench = Bench::new();
    bench.write("a.glb", &numbered_glb(1));
    let pipe = bench.path("pipe.json");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let ran = bench.optimize(&["a.glb", "out", "--preset", "pipe.json"]);
    let ran = ran.expect(2);
    assert!(
        ran.err()
            .contains("cannot read the preset pipe.json: it is a pipe"),
        "{}",
        ran.err()
    );
}

#[test]
fn a_preset_may_be_in_utf_16_and_come_from_a_pipe_of_the_shell() {
    let bench = Bench::new();
    bench.write("a.glb", &numbered_glb(1));
    let text = r#"{"limits":{"faces":{"percentage":90}}}"#;
    let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
    let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    bench.write("mine.json", &bytes);
    bench
        .optimize(&["a.glb", "out", "--preset", "mine.json", "--no-pictures"])
        .expect(0);
    let line = format!("{ASSETFS} optimize a.glb piped --no-pictures --preset <(cat mine.json)");
    let mut shell = Command::new("bash");
    let ran = shell.args(["-c", &line]).current_dir(bench.path(""));
    Ran(ran.output().unwrap()).expect(0);
}

/// The processes that a process has started and that run.
fn children(of: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{of}/task")).unwrap();
    let lists =
        tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
    let words = |list: String| {
        list.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    lists.flat_map(words).collect()
}

#[test]
fn small_models_share_a_worker_process_which_ends_when_all_are_done() {
    let bench = Bench::new();
    for number in 0..20 {
        bench.write(&format!("hot/m{number}.glb"), &numbered_glb(number));
    }
    bench.write("half.json", br#"{"limits":{"faces":{"percentage":50}}}"#);
    let mut command = watch(&bench, &["--jobs", "1", "--quiet", "--preset", "half.json"]);
    command.args(["--preset", "Lossless Clean-Up"]);
    let mut running = command.stdout(Stdio::null()).spawn().unwrap();
    let mut seen = std::collections::BTreeSet::new();
    wait_until("all results", || {
        seen.extend(children(running.id()));
        results(&bench).len() == 40
    });
    // A process ends after 32 tasks; without sharing there would be 40.
    assert!((1..=2).contains(&seen.len()), "{seen:?}");
    wait_until("no process", || children(running.id()).is_empty());
    kill(&mut running);
}

#[test]
fn a_model_that_fails_is_no_harm_to_the_others_of_its_worker() {
    let bench = Bench::new();
    for number in 0..6 {
        let mut bytes = numbered_glb(number);
        if number % 2 == 1 {
            // The JSON is as long as before, and none any more.
            bytes[20] = b'#';
        }
        bench.write(&format!("hot/m{number}.glb"), &bytes);
    }
    once(&bench, &["--jobs", "1"]).expect(1);
    let names: Vec<String> = results(&bench).into_keys().collect();
    let failed = |number| format!("m{number}.failed.txt");
    let expected = ["m0", &failed(1), "m2", &failed(3), "m4", &failed(5)];
    assert_eq!(names, expected);
    for number in [1, 3, 5] {
        let text = fs::read_to_string(bench.path("done").join(failed(number))).unwrap();
        assert!(
            text.contains(&format!("m{number}.glb")) && text.contains("JSON"),
            "{text}"
        );
    }
}

fn from_environment(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// `WATCH_MODELS=100 WATCH_KILLS=50` for the long form.
#[test]
fn killed_at_random_moments_each_result_comes_out_once() {
    let models = from_environment("WATCH_MODELS", 12);
    let kills = from_environment("WATCH_KILLS", 8);
    let bench = Bench::new();
    fs::create_dir(bench.path("hot")).unwrap();
    let hot = bench.path("hot");
    let dropping = thread::spawn(move || {
        for number in 0..models {
            let whole = numbered_glb(number);
            let path = hot.join(format!("m{number}.glb"));
            // In two parts, as a copy over a slow line.
            fs::write(&path, &whole[..100]).unwrap();
            thread::sleep(Duration::from_millis(30));
            fs::write(&path, &whole).unwrap();
        }
    });
    // Inodes of results that a kill left: a result that is made again has another one.
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let mut random = 0x9e37_79b9_u64;
    for _ in 0..kills {
        let mut child = start(&bench);
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        thread::sleep(Duration::from_millis(150 + (random >> 33) % 900));
        kill(&mut child);
        for (name, inode) in results(&bench) {
            assert_eq!(
                *seen.entry(name.clone()).or_insert(inode),
                inode,
                "{name} was made twice"
            );
        }
    }
    dropping.join().unwrap();
    let mut last = start(&bench);
    wait_within(
        Duration::from_secs(120 + 5 * models as u64),
        "all results",
        || results(&bench).len() == models,
    );
    thread::sleep(Duration::from_millis(500));
    kill(&mut last);
    let all = results(&bench);
    assert_eq!(all.len(), models, "{all:?}");
    for (name, inode) in &all {
        assert_eq!(
            seen.get(name).unwrap_or(inode),
            inode,
            "{name} was made twice"
        );
        assert!(
            has_glb(&bench.path("done").join(name)),
            "{name} is not whole"
        );
    }
    once(&bench, &[]).expect(0);
    assert_eq!(results(&bench), all);
    let left: Vec<String> = bench.names("done/.assetfs-watch");
    assert_eq!(left, ["lock", "records.log"], "unfinished results stay");
}

fn has_glb(folder: &Path) -> bool {
    let name = folder.file_name().unwrap().to_str().unwrap();
    fs::read(folder.join(format!("{name}.glb"))).is_ok_and(|bytes| bytes.starts_with(b"glTF"))
}

#[test]
fn a_wrong_preset_ends_watch_at_the_start_and_its_file_is_named() {
    let bench = Bench::new();
    bench.write("hot/a.glb", &numbered_glb(1));
    for (text, why) in [
        (&br#"{"limitz":{"faces":{"count":10}}}"#[..], "limitz"),
        (br#"{"limits":{"faces":{"count":"many"}}}"#, "count"),
        (br#"{"preset":"Nope"}"#, "Nope"),
        (b"{", "is not JSON"),
    ] {
        bench.write("wrong.json", text);
        let ran = Ran(watch(&bench, &["--preset", "wrong.json"]).output().unwrap()).expect(2);
        let said = ran.err();
        assert!(said.contains("wrong.json") && said.contains(why), "{said}");
        assert!(!bench.path("done/a.failed.txt").exists());
    }
}

#[test]
fn a_preset_that_changes_while_watch_runs_is_read_again_and_a_wrong_one_is_named() {
    let bench = Bench::new();
    bench.write("mine.json", br#"{"limits":{"faces":{"percentage":90}}}"#);
    bench.write("hot/a.glb", &numbered_glb(1));
    let log = fs::File::create(bench.path("log")).unwrap();
    let mut command = watch(&bench, &["--json", "--preset", "mine.json"]);
    let mut program = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let result = |name: &str| results(&bench).get(name).copied();
    wait_until("the first result", || result("a").is_some());
    let first = result("a");
    bench.write("mine.json", br#"{"limitz":{"faces":{"count":10}}}"#);
    bench.write("hot/b.glb", &numbered_glb(2));
    wait_until("the wrong preset is named", || {
        let said = fs::read_to_string(bench.path("log")).unwrap();
        said.contains("mine.json is not valid") && said.contains("limitz")
    });
    wait_until("the earlier text is used", || result("b").is_some());
    assert_eq!(result("a"), first);
    bench.write("mine.json", br#"{"limits":{"faces":{"percentage":95}}}"#);
    bench.write("hot/c.glb", &numbered_glb(3));
    wait_until("the new text is used", || result("a") != first);
    kill(&mut program);
}

#[test]
fn a_name_that_is_not_utf8_is_named_once_and_not_passed_over() {
    let bench = Bench::new();
    bench.write("hot/a.glb", &numbered_glb(1));
    let name = OsStr::from_bytes(b"b\xe9.glb");
    fs::write(bench.path("hot").join(name), numbered_glb(2)).unwrap();
    let ran = once(&bench, &["--json"]).expect(1);
    let said = ran.err();
    assert_eq!(said.matches("its name is not UTF-8").count(), 1, "{said}");
    let lines = lines(&ran);
    assert!(
        lines.iter().any(|line| line["state"] == "done"),
        "{lines:?}"
    );
    let failed = lines.iter().find(|line| line["state"] == "failed");
    let path = failed.unwrap()["path"].as_str().unwrap();
    assert!(path.ends_with("b\u{fffd}.glb"), "{path}");
}

#[test]
fn links_out_of_the_watched_folder_are_left_out_and_named() {
    use std::os::unix::fs::symlink;

    let bench = Bench::new();
    bench.write("secret/s.glb", &numbered_glb(7));
    bench.write("hot/own/b.glb", &numbered_glb(1));
    for (target, name) in [
        ("../secret/s.glb", "secfile.glb"),
        ("../secret", "sec"),
        (".", "loop"),
        ("own/b.glb", "inside.glb"),
        ("../../secret/s.glb", "own/s.glb"),
    ] {
        symlink(target, bench.path("hot").join(name)).unwrap();
    }
    let ran = once(&bench, &[]).expect(1);
    let names: Vec<String> = results(&bench).into_keys().collect();
    assert_eq!(names, ["inside", "own"], "{}", ran.err());
    let said = ran.err();
    for name in ["secfile.glb", "sec", "own/s.glb"] {
        let is_named = |line: &str| line.contains(&format!("hot/{name} is left out"));
        let line = said.lines().find(|line| is_named(line)).unwrap();
        assert!(line.contains("copy what it leads to"), "{line}");
    }
    assert!(said.contains("hot/loop is left out"), "{said}");
}
