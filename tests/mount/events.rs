//! Change events: `/.assetfs/events` and `assetfs events`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::needs_fuse;
use crate::square_glb::numbered_glb;
use crate::support::{
    ASSETFS, Fixture, PATIENCE, assetfs, post_json, run, shell, text, wait_until,
};

/// A running program that prints events.
struct Events {
    program: Child,
    lines: Receiver<String>,
    seen: Vec<Value>,
}

impl Events {
    /// Starts a program; returns when it has opened the stream.
    fn of(command: &mut Command) -> Events {
        let mut program = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let out: ChildStdout = program.stdout.take().expect("piped");
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let files = format!("/proc/{}/fd", program.id());
        wait_until("the stream is open", || {
            let mut files = fs::read_dir(&files).expect("it runs").flatten();
            files.any(|file| {
                let target = fs::read_link(file.path()).unwrap_or_default();
                target.ends_with(".assetfs/events")
            })
        });
        Events {
            program,
            lines,
            seen: Vec::new(),
        }
    }

    fn cat(fixture: &Fixture) -> Events {
        Events::of(Command::new("cat").arg(fixture.path(".assetfs/events")))
    }

    /// Waits for an event with these values.
    fn until(&mut self, what: &[(&str, &str)]) -> Value {
        let end = Instant::now() + PATIENCE;
        let has = |event: &Value| what.iter().all(|(key, value)| event[*key] == *value);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("no event {what:?} after {:#?}", self.seen);
            };
            let event: Value = serde_json::from_str(&line).expect("each line is JSON");
            self.seen.push(event.clone());
            if has(&event) {
                return event;
            }
        }
    }

    fn kinds_of(&self, path: &str) -> Vec<&str> {
        let about = self.seen.iter().filter(|event| event["path"] == path);
        about.map(|event| event["kind"].as_str().unwrap()).collect()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

#[test]
fn every_step_of_a_model_and_its_optimization_is_an_event_until_it_is_deleted() {
    needs_fuse!();
    let fixture = Fixture::new();
    let mut events = Events::cat(&fixture);
    fs::create_dir(fixture.path("rawmodels/square")).unwrap();
    fs::write(fixture.path("rawmodels/square/square.glb"), numbered_glb(1)).unwrap();
    let square = "/rawmodels/square";
    events.until(&[("kind", "created"), ("path", square), ("item", "model")]);
    let complete = events.until(&[("kind", "state"), ("path", square), ("state", "complete")]);
    assert_eq!(complete["status"], "complete");
    assert!(complete["id"].as_u64().is_some_and(|id| id > 0));
    assert!(complete["time"].as_str().unwrap().ends_with('Z'));
    let seen: Vec<_> = events.seen.iter().map(|event| &event["state"]).collect();
    assert!(seen.iter().any(|state| *state == "importing"), "{seen:?}");
    let preset = fixture.path("presets/factory/Web Viewer.json");
    fixture.copy_in(preset, "rawmodels/square/optimize/web.json");
    let web = "/rawmodels/square/optimize/web.json";
    events.until(&[("kind", "created"), ("item", "rapid_model")]);
    events.until(&[("path", web), ("item", "job"), ("state", "done")]);
    run(Command::new("rm")
        .arg("-r")
        .arg(fixture.path("rawmodels/square")));
    events.until(&[("kind", "removed"), ("path", square)]);
    let numbers = events
        .seen
        .iter()
        .map(|event| event["seq"].as_u64().unwrap());
    assert!(numbers.collect::<Vec<_>>().is_sorted_by(|a, b| a + 1 == *b));
    assert_eq!(
        events
            .kinds_of(square)
            .iter()
            .filter(|kind| **kind == "created")
            .count(),
        1
    );
}

#[test]
fn what_another_machine_does_arrives_within_the_refresh_time_without_a_look() {
    needs_fuse!();
    let fixture = Fixture::new();
    let elsewhere = fixture.second_machine();
    let mut events = Events::cat(&fixture);
    // What is listed when the stream is opened is not new.
    let listed = || fs::read_dir(fixture.path("rawmodels")).unwrap().count();
    assert_eq!(listed(), 0);
    fs::write(
        elsewhere.root().join("rawmodels/square.glb"),
        numbered_glb(1),
    )
    .unwrap();
    let square = "/rawmodels/square";
    let created = events.until(&[("kind", "created"), ("path", square)]);
    if created["state"] != "complete" {
        events.until(&[("path", square), ("state", "complete")]);
    }
    let preset = fs::read(elsewhere.root().join("presets/factory/Web Viewer.json")).unwrap();
    fs::write(elsewhere.root().join("presets/mine.json"), preset).unwrap();
    events.until(&[("kind", "created"), ("path", "/presets/mine.json")]);
    run(assetfs("wait", elsewhere.root().join("rawmodels/square")));
    run(Command::new("setfattr")
        .args(["-n", "user.xdg.tags", "-v", "oak"])
        .arg(elsewhere.root().join("rawmodels/square")));
    events.until(&[("kind", "changed"), ("path", square)]);
    run(Command::new("rm")
        .arg("-r")
        .arg(elsewhere.root().join("rawmodels/square")));
    events.until(&[("kind", "removed"), ("path", square)]);
}

#[test]
fn a_path_that_comes_later_is_waited_for_and_the_user_is_told() {
    needs_fuse!();
    let fixture = Fixture::new();
    let said = fixture.scratch.path().join("said");
    let stderr = fs::File::create(&said).unwrap();
    let chair = fixture.path("rawmodels/chair");
    let mut events = Events::of(assetfs("events", &chair).stderr(stderr));
    let text = fs::read_to_string(&said).unwrap();
    assert!(text.contains("chair does not exist"), "{text}");
    fixture.copy_chair();
    events.until(&[("path", "/rawmodels/chair"), ("kind", "created")]);
    // Of a path that exists nothing is said.
    let stderr = fs::File::create(&said).unwrap();
    drop(Events::of(assetfs("events", &chair).stderr(stderr)));
    assert_eq!(fs::read_to_string(&said).unwrap(), "");
}

#[test]
fn a_failure_has_its_reason_and_a_rename_its_old_path() {
    needs_fuse!();
    let fixture = Fixture::new();
    let mut events = Events::of(&mut assetfs("events", fixture.path("rawmodels")));
    fs::create_dir(fixture.path("rawmodels/a")).unwrap();
    events.until(&[("kind", "created"), ("path", "/rawmodels/a")]);
    fs::rename(fixture.path("rawmodels/a"), fixture.path("rawmodels/b")).unwrap();
    let renamed = events.until(&[("kind", "renamed"), ("path", "/rawmodels/b")]);
    assert_eq!(renamed["from"], "/rawmodels/a");
    let mut broken = numbered_glb(1);
    let json_end = broken.len() / 2;
    broken[30..json_end].fill(b' ');
    fs::write(fixture.path("rawmodels/b/b.glb"), broken).unwrap();
    assetfs("commit --force", fixture.path("rawmodels/b"))
        .output()
        .unwrap();
    let failed = events.until(&[("path", "/rawmodels/b"), ("state", "failed")]);
    assert!(
        failed["reason"].as_str().is_some_and(|why| !why.is_empty()),
        "{failed}"
    );
}

#[test]
fn a_reader_ends_by_ctrl_c_by_a_handled_signal_and_with_the_drive() {
    needs_fuse!();
    let fixture = Fixture::new();
    let interrupt = |pid: u32| run(Command::new("kill").args(["-INT", &pid.to_string()]));
    for command in [
        &mut Command::new(ASSETFS).arg("events").arg(fixture.root()),
        &mut Command::new("cat").arg(fixture.path(".assetfs/events")),
        // A signal that the program handles is not fatal, but it wakes the program.
        Command::new("python3")
            .args(["-c", HANDLES_THE_SIGNAL])
            .arg(fixture.path(".assetfs/events")),
    ] {
        let mut events = Events::of(command);
        // Python opens the stream after it has its handler; the others have theirs from the start.
        interrupt(events.program.id());
        let began = Instant::now();
        let status = events.program.wait().unwrap();
        assert!(began.elapsed() < Duration::from_secs(5), "{command:?}");
        assert_ne!(status.code(), Some(1), "{command:?}");
    }
    let mut events = Events::of(Command::new(ASSETFS).arg("events").arg(fixture.root()));
    let unmounted = assetfs("unmount", fixture.root()).output().unwrap();
    assert!(unmounted.status.success(), "{}", text(&unmounted.stderr));
    assert!(events.program.wait().unwrap().success());
}

const HANDLES_THE_SIGNAL: &str = "
import signal, sys
def stop(*_):
    sys.exit(7)
signal.signal(signal.SIGINT, stop)
open(sys.argv[1], 'rb', buffering=0).read(100)
";

#[test]
fn the_stream_can_be_polled_and_read_without_waiting_and_is_hidden() {
    needs_fuse!();
    let fixture = Fixture::new();
    let out = shell(
        fixture.scratch.path(),
        r#"
        ls -a mnt | grep -c assetfs || true
        ls mnt/.assetfs | grep -x events
        python3 - <<'PY'
import os, select
fd = os.open("mnt/.assetfs/events", os.O_RDONLY | os.O_NONBLOCK)
poller = select.poll()
poller.register(fd, select.POLLIN)
assert poller.poll(100) == [], "nothing happened yet"
try:
    os.read(fd, 4096)
    raise SystemExit("a read without an event must not return")
except BlockingIOError:
    pass
os.mkdir("mnt/rawmodels/a")
assert poller.poll(60000), "the poll is woken"
print(os.read(fd, 4096).decode().splitlines()[0])
# An ordinary file is always ready.
plain = os.open("mnt/.assetfs/status.json", os.O_RDONLY)
poller = select.poll()
poller.register(plain, select.POLLIN)
assert poller.poll(0)
PY
        "#,
    );
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[..2], ["0", "events"]);
    let event: Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!(event["path"], "/rawmodels/a");
}

#[test]
fn readers_that_do_not_read_hold_nothing_up() {
    needs_fuse!();
    let fixture = Fixture::new();
    let idle: Vec<_> = (0..20)
        .map(|_| File::open(fixture.path(".assetfs/events")).unwrap())
        .collect();
    let waiting: Vec<_> = (0..20).map(|_| Events::cat(&fixture)).collect();
    fixture.add_chair();
    for mut events in waiting {
        events.until(&[("path", "/rawmodels/chair"), ("state", "complete")]);
    }
    drop(idle);
}

#[test]
fn each_of_many_models_that_appear_at_once_is_an_event() {
    needs_fuse!();
    const MODELS: usize = 150;
    let fixture = Fixture::new();
    let mut events = Events::cat(&fixture);
    let url = format!(
        "{}api/v2/rawmodel/api-upload/start",
        fixture.service.base_url
    );
    for number in 0..MODELS {
        let body = json!({"model_name": format!("m{number}"), "filenames": ["x.glb"]});
        post_json(&url, &fixture.service.token(), &body);
    }
    let mut seen = BTreeSet::new();
    while seen.len() < MODELS {
        let created = events.until(&[("kind", "created"), ("item", "model")]);
        seen.insert(created["path"].to_string());
    }
}
