//! inotify: what others change is reported to programs that watch folders of the drive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use notify::event::{CreateKind, EventKind, ModifyKind, RemoveKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::needs_fuse;
use crate::square_glb::numbered_glb;
use crate::support::{Fixture, PATIENCE, assetfs, run, wait_until};

/// A program that watches folders of the drive: this one.
struct Watcher {
    _inotify: RecommendedWatcher,
    events: Receiver<notify::Result<notify::Event>>,
    seen: Vec<(EventKind, PathBuf)>,
}

impl Watcher {
    /// Watches a folder; returns when the drive knows of it, which the helper's look at `/proc` takes some time for.
    fn of(fixture: &Fixture, folder: &str) -> Watcher {
        let (send, events) = mpsc::channel();
        let watched = |fixture: &Fixture| fixture.status()["inotify_folders"].as_u64();
        let before = watched(fixture);
        let mut inotify = notify::recommended_watcher(send).unwrap();
        let path = fixture.path(folder);
        inotify.watch(&path, RecursiveMode::NonRecursive).unwrap();
        wait_until("the drive knows of the watch", || watched(fixture) > before);
        Watcher {
            _inotify: inotify,
            events,
            seen: Vec::new(),
        }
    }

    fn until(&mut self, path: &Path, is_it: impl Fn(&EventKind) -> bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(event) = self.events.recv_timeout(left) else {
                panic!("no event for {} among {:#?}", path.display(), self.seen);
            };
            let event = event.unwrap();
            for at in &event.paths {
                self.seen.push((event.kind, at.clone()));
            }
            if event.paths.iter().any(|at| at == path) && is_it(&event.kind) {
                return;
            }
        }
    }

    fn until_folder_appears(&mut self, path: &Path) {
        self.until(path, |kind| *kind == EventKind::Create(CreateKind::Folder));
    }

    fn until_folder_goes(&mut self, path: &Path) {
        self.until(path, |kind| *kind == EventKind::Remove(RemoveKind::Folder));
    }

    fn until_changed(&mut self, path: &Path) {
        self.until(path, |kind| {
            matches!(
                kind,
                EventKind::Modify(ModifyKind::Metadata(_) | ModifyKind::Data(_))
            )
        });
    }
}

#[test]
fn a_model_of_another_machine_appears_changes_and_goes_for_a_watcher() {
    needs_fuse!();
    let fixture = Fixture::new();
    let elsewhere = fixture.second_machine();
    let mut watcher = Watcher::of(&fixture, "rawmodels");
    fs::write(
        elsewhere.root().join("rawmodels/square.glb"),
        numbered_glb(1),
    )
    .unwrap();
    let square = fixture.path("rawmodels/square");
    watcher.until_folder_appears(&square);
    run(assetfs("wait", elsewhere.root().join("rawmodels/square")));
    run(Command::new("setfattr")
        .args(["-n", "user.xdg.tags", "-v", "oak"])
        .arg(elsewhere.root().join("rawmodels/square")));
    watcher.until_changed(&square);
    // The folder is the real one.
    assert_eq!(
        fs::read(square.join("square.glb")).unwrap(),
        numbered_glb(1)
    );
    run(Command::new("rm")
        .arg("-r")
        .arg(elsewhere.root().join("rawmodels/square")));
    watcher.until_folder_goes(&square);
    assert!(!square.exists());
    assert_eq!(fixture.service.assets().len(), 0);
    // Nothing that was made for the watcher became a draft.
    assert_eq!(fixture.status()["drafts"].as_array().unwrap().len(), 0);
}

#[test]
fn a_result_and_its_status_appear_for_watchers_and_own_work_is_reported_once() {
    needs_fuse!();
    let fixture = Fixture::new();
    let mut watcher = Watcher::of(&fixture, "rawmodels");
    fs::create_dir(fixture.path("rawmodels/square")).unwrap();
    fs::write(fixture.path("rawmodels/square/square.glb"), numbered_glb(1)).unwrap();
    let square = fixture.path("rawmodels/square");
    watcher.until_folder_appears(&square);
    fixture.wait("rawmodels/square");
    let mut results = Watcher::of(&fixture, "rapidmodels");
    let mut jobs = Watcher::of(&fixture, "rawmodels/square/optimize");
    let preset = fixture.path("presets/factory/Web Viewer.json");
    fixture.copy_in(preset, "rawmodels/square/optimize/web.json");
    results.until_folder_appears(&fixture.path("rapidmodels/square"));
    jobs.until(&fixture.path("rawmodels/square/optimize/web"), |kind| {
        matches!(kind, EventKind::Create(_))
    });
    let made = watcher.events.try_iter().flatten().filter(|event| {
        event.kind == EventKind::Create(CreateKind::Folder) && event.paths.contains(&square)
    });
    assert_eq!(
        made.count(),
        0,
        "the own mkdir was reported by the kernel already"
    );
    assert_eq!(fixture.service.assets().len(), 1);
}

#[test]
fn folders_that_are_made_on_a_slow_disk_are_reported_once_each() {
    needs_fuse!();
    const FOLDERS: usize = 8;
    let mut fixture = Fixture::unmounted(&[]);
    // The drive lists a new draft at once, but `mkdir` returns only after the slow sync of its record.
    fixture.mount_with(&[], &[("ASSETFS_SLOW_SYNC_MS", "400")]);
    let mut watcher = Watcher::of(&fixture, "rawmodels");
    let path = |number: usize| fixture.path(&format!("rawmodels/n{number}"));
    for number in 0..FOLDERS {
        fs::create_dir(path(number)).unwrap();
    }
    watcher.until_folder_appears(&path(FOLDERS - 1));
    std::thread::sleep(Duration::from_secs(1));
    let is_made = |kind: &EventKind| *kind == EventKind::Create(CreateKind::Folder);
    let seen = watcher.seen.iter().filter(|(kind, _)| is_made(kind));
    let later = watcher.events.try_iter().flatten();
    let later = later.filter(|event| is_made(&event.kind)).count();
    assert_eq!((seen.count(), later), (FOLDERS, 0));
}

/// Makes many models elsewhere at once: uploads that were only begun, which are folders without files.
fn begin_many(fixture: &Fixture, count: usize) {
    let url = format!(
        "{}api/v2/rawmodel/api-upload/start",
        fixture.service.base_url
    );
    let token = fixture.service.token();
    let script = r#"
import json, sys, urllib.request
from concurrent.futures import ThreadPoolExecutor
url, token, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
def begin(n):
    body = json.dumps({"model_name": f"model-{n}", "filenames": ["model.glb"]}).encode()
    request = urllib.request.Request(url, body, {"Authorization": "Bearer " + token, "Accept": "application/json", "Content-Type": "application/json"})
    urllib.request.urlopen(request).read()
with ThreadPoolExecutor(4) as pool:
    list(pool.map(begin, range(count)))
"#;
    run(Command::new("python3").args(["-c", script, &url, token.as_str(), &count.to_string()]));
}

#[test]
fn a_thousand_models_at_once_arrive_at_a_watcher_and_the_drive_answers_meanwhile() {
    needs_fuse!();
    const COUNT: usize = 1000;
    let fixture = Fixture::new();
    let mut watcher = Watcher::of(&fixture, "rawmodels");
    begin_many(&fixture, COUNT);
    let mut slowest = Duration::ZERO;
    let end = Instant::now() + PATIENCE;
    let mut made = std::collections::BTreeSet::new();
    while made.len() < COUNT {
        assert!(Instant::now() < end, "{} of {COUNT} arrived", made.len());
        let began = Instant::now();
        fixture.path("rawmodels").symlink_metadata().unwrap();
        slowest = slowest.max(began.elapsed());
        while let Ok(event) = watcher.events.recv_timeout(Duration::from_millis(50)) {
            let event = event.unwrap();
            if event.kind == EventKind::Create(CreateKind::Folder) {
                made.extend(event.paths);
            }
        }
    }
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    watcher.seen.clear();
    let listed = fs::read_dir(fixture.path("rawmodels")).unwrap().count();
    assert_eq!(listed, COUNT);
}

#[test]
fn a_drive_that_is_killed_or_unmounted_while_it_reports_ends_and_leaves_no_helper() {
    needs_fuse!();
    for ending in ["kill", "unmount", "detach"] {
        let mut fixture = Fixture::new();
        let watcher = Watcher::of(&fixture, "rawmodels");
        let pid = fixture.pid();
        std::thread::scope(|scope| {
            let making = scope.spawn(|| begin_many(&fixture, 300));
            // In the middle: some have arrived.
            watcher.events.recv_timeout(PATIENCE).unwrap().unwrap();
            match ending {
                "kill" => fixture.kill_mount(),
                "unmount" => {
                    drop(Command::new("true").status());
                    run(assetfs("unmount --now", fixture.root()));
                }
                _ => drop(run(Command::new("umount").arg("-l").arg(fixture.root()))),
            }
            making.join().unwrap();
        });
        drop(watcher);
        wait_until("no helper is left", || {
            let line = format!("inotify-helper\0{}", fixture.root().display());
            !processes().any(|command| command.contains(&line))
        });
        if ending != "detach" {
            wait_until("the process has ended", || {
                !Path::new(&format!("/proc/{pid}/exe")).exists()
            });
        }
        fixture.mount(&[]);
        // Right after the mount it may still show the list that it had stored before it was killed.
        wait_until("the models are listed", || {
            fs::read_dir(fixture.path("rawmodels")).unwrap().count() >= 1
        });
    }
}

/// The command lines of all processes.
fn processes() -> impl Iterator<Item = String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).into_owned())
}

#[test]
fn without_a_watcher_or_with_no_inotify_there_is_no_helper() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--no-inotify"]);
    let (send, events) = mpsc::channel();
    let mut inotify = notify::recommended_watcher(send).unwrap();
    let folder = fixture.path("rawmodels");
    inotify.watch(&folder, RecursiveMode::NonRecursive).unwrap();
    begin_many(&fixture, 1);
    wait_until("the model is listed", || {
        fs::read_dir(&folder).unwrap().count() == 1
    });
    // Longer than a drive takes to find a watcher and to report.
    std::thread::sleep(Duration::from_secs(4));
    let is_made = |event: &notify::Event| matches!(event.kind, EventKind::Create(_));
    assert!(!events.try_iter().flatten().any(|event| is_made(&event)));
    assert_eq!(fixture.status()["inotify_folders"], 0);
}
