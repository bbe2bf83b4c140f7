//! Two machines that send the same models at the same moment: one asset for both, whatever brings it in, and wherever one
//! of them is killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assetfs::outbox::Failpoint;
use serde_json::Value;

use crate::needs_fuse;
use crate::square_glb::numbered_glb;
use crate::support::{
    ASSETFS, Fixture, PATIENCE, SecondMachine, assert_same_files, assetfs, names_in, post_json,
    put_file, read, request, run, small_chair, text, wait_until,
};

/// Rounds of copies at the same moment.
const ROUNDS: usize = 12;

/// Two drives of one account, each with a home folder.
struct Machines {
    fixture: Fixture,
    second: SecondMachine,
}

impl Machines {
    fn new() -> Machines {
        let fixture = Fixture::new();
        let second = fixture.second_machine();
        Machines { fixture, second }
    }

    fn roots(&self) -> [PathBuf; 2] {
        [self.fixture.root(), self.second.root()]
    }

    /// The folder for what both have besides the drive, as `models`.
    fn shared(&self, name: &str) -> PathBuf {
        let path = self.fixture.scratch.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Runs a command on both machines at the same moment. Both must succeed.
    fn on_both(&self, command: impl Fn(&Path, &Path) -> Command) {
        let running = self.roots().map(|root| {
            let home = root.parent().unwrap().join("home");
            fs::create_dir_all(&home).unwrap();
            let mut command = command(&root, &home);
            command
                .env("HOME", &home)
                .env_remove("XDG_STATE_HOME")
                .env_remove("GITHUB_ACTIONS")
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped());
            command.spawn().unwrap()
        });
        for child in running {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
    }

    fn assets(&self) -> Vec<Value> {
        self.fixture.service.assets()
    }

    fn results(&self) -> usize {
        let page = self
            .fixture
            .service
            .get("api/v2/rapidmodel?itemsPerPage=50");
        page["data"].as_array().unwrap().len()
    }

    /// Both drives show these models and no others.
    #[track_caller]
    fn both_show(&self, names: &[&str]) {
        for root in self.roots() {
            let mut shown = Vec::new();
            let begun = Instant::now();
            while shown != names {
                shown = names_in(&root.join("rawmodels"));
                assert!(
                    begun.elapsed() < PATIENCE,
                    "{} shows {shown:?} instead of {names:?}; the service has {:?}",
                    root.display(),
                    self.assets()
                );
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

fn copy(source: &Path, target: &Path) -> Command {
    let mut command = Command::new("cp");
    command.arg("-r").args([source, target]);
    command
}

#[test]
fn two_machines_that_copy_the_same_new_models_make_one_of_each() {
    needs_fuse!();
    let machines = Machines::new();
    let sources = machines.shared("sources");
    let mut names = Vec::new();
    for round in 0..ROUNDS {
        // A folder, and a loose file.
        let (folder, file) = (format!("folder{round:02}"), format!("loose{round:02}"));
        let [in_folder, loose] = [&folder, &format!("{file}.glb")].map(|name| sources.join(name));
        fs::create_dir(&in_folder).unwrap();
        fs::write(in_folder.join("a.glb"), numbered_glb(2 * round)).unwrap();
        fs::write(&loose, numbered_glb(2 * round + 1)).unwrap();
        for source in [&in_folder, &loose] {
            let name = source.file_name().unwrap();
            machines.on_both(|root, _| copy(source, &root.join("rawmodels").join(name)));
        }
        names.extend([folder, file]);
    }
    for root in machines.roots() {
        run(assetfs("wait", &root));
    }
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    machines.both_show(&names);
    assert_eq!(machines.assets().len(), 2 * ROUNDS);
    for (at, root) in names
        .iter()
        .flat_map(|name| machines.roots().map(|root| (name, root)))
    {
        let model = root.join("rawmodels").join(at);
        let files = names_in(&model);
        assert!(
            files
                .iter()
                .any(|file| file.to_string_lossy().ends_with(".glb")),
            "{files:?}"
        );
    }
}

#[test]
fn two_machines_that_sync_the_same_folder_at_once_make_and_pay_each_model_once() {
    needs_fuse!();
    let machines = Machines::new();
    let models = machines.shared("models");
    for number in 0..6 {
        fs::write(models.join(format!("m{number}.glb")), numbered_glb(number)).unwrap();
    }
    let sync = |root: &Path, _: &Path| {
        let mut command = Command::new(ASSETFS);
        command.arg("sync").args([&models, root]);
        command.args(["--preset", "Lossless Clean-Up"]);
        command
    };
    machines.on_both(sync);
    for root in machines.roots() {
        run(assetfs("wait", &root));
    }
    let names = ["m0", "m1", "m2", "m3", "m4", "m5"];
    machines.both_show(&names);
    assert_eq!((machines.assets().len(), machines.results()), (6, 6));
    // A changed model is one new version of both.
    fs::write(models.join("m3.glb"), numbered_glb(99)).unwrap();
    machines.on_both(sync);
    assert_eq!(machines.assets().len(), 7);
    for root in machines.roots() {
        wait_until("the new version has the name", || {
            read(root.join("rawmodels/m3/m3.glb")) == numbered_glb(99)
        });
        run(assetfs("wait", &root));
    }
    assert_eq!(machines.results(), 7);
}

#[test]
fn two_machines_that_replace_a_model_at_once_make_one_version() {
    needs_fuse!();
    let machines = Machines::new();
    let sources = machines.shared("sources");
    let [old, new] = ["old", "new"].map(|name| sources.join(name).join("chair.glb"));
    for (path, number) in [(&old, 1), (&new, 2)] {
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(path, numbered_glb(number)).unwrap();
    }
    let replace = |source: &Path, root: &Path| {
        let mut command = Command::new(ASSETFS);
        command.arg("replace").arg(source);
        command.arg(root.join("rawmodels/chair"));
        command
    };
    machines.on_both(|root, _| replace(&old, root));
    machines.both_show(&["chair"]);
    let first = machines.assets()[0]["id"].clone();
    machines.on_both(|root, _| replace(&new, root));
    machines.both_show(&["chair", &format!("chair~{first}")]);
    assert_eq!(machines.assets().len(), 2);
    for root in machines.roots() {
        assert_eq!(
            read(root.join("rawmodels/chair/chair.glb")),
            numbered_glb(2)
        );
    }
}

#[test]
fn replace_waits_for_another_machine_that_uploads_the_model() {
    needs_fuse!();
    let fixture = Fixture::new();
    let (url, token) = (&fixture.service.base_url, fixture.service.token());
    let source = fixture.scratch.path().join("chair.glb");
    fs::write(&source, numbered_glb(1)).unwrap();
    let start = serde_json::json!({"model_name": "chair", "filenames": ["chair.glb"]});
    let started = post_json(
        &format!("{url}api/v2/rawmodel/api-upload/start"),
        &token,
        &start,
    );
    let model = fixture.path("rawmodels/chair");
    wait_until("the drive shows it", || {
        status(&model).starts_with("uploading")
    });
    let mut replace = Command::new(ASSETFS);
    replace.arg("replace").arg(&source).arg(&model);
    let replace = replace.stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    // The other machine goes on.
    let put = started["links"]["s3_upload_urls"]["chair.glb"].as_str();
    put_file(put.unwrap(), numbered_glb(1));
    let complete = started["links"]["complete_upload"].as_str().unwrap();
    request(reqwest::Method::GET, complete, &token);
    let replaced = replace.wait_with_output().unwrap();
    assert!(replaced.status.success());
    let said = text(&replaced.stdout);
    assert!(said.contains("has these files already"), "{said}");
    assert_eq!(fixture.service.assets().len(), 1);
    assert_eq!(names_in(&fixture.path("rawmodels")), ["chair"]);
}

#[test]
fn two_machines_that_build_at_once_make_and_pay_each_model_once() {
    needs_fuse!();
    let machines = Machines::new();
    let project = |home: &Path| {
        let dir = home.join("project");
        fs::create_dir_all(dir.join("models")).unwrap();
        let file = "models = 'models'\n[presets]\nhalf = 'half.json'\n";
        fs::write(dir.join("assetfs.toml"), file).unwrap();
        let config = r#"{"limits":{"faces":{"percentage":50}}}"#;
        fs::write(dir.join("half.json"), config).unwrap();
        for number in 0..4 {
            let path = dir.join(format!("models/m{number}.glb"));
            fs::write(path, numbered_glb(number)).unwrap();
        }
        dir
    };
    machines.on_both(|root, home| {
        let mut command = Command::new(ASSETFS);
        command.current_dir(project(home));
        command.args(["build", "--drive"]).arg(root);
        command
    });
    assert_eq!((machines.assets().len(), machines.results()), (4, 4));
    machines.both_show(&["m0", "m1", "m2", "m3"]);
    let [first, second] = machines
        .roots()
        .map(|root| root.parent().unwrap().to_owned());
    let dist = "home/project/dist";
    assert_same_files(&first.join(dist), &second.join(dist));
}

#[test]
fn two_machines_that_convert_a_model_at_once_have_its_formats() {
    needs_fuse!();
    let machines = Machines::new();
    machines.fixture.add_chair();
    machines.both_show(&["chair"]);
    for formats in [["obj", "stl"], ["stl", "ply"], ["usdz", "glb"]] {
        machines.on_both(|root, _| {
            let mut convert = assetfs("convert", root.join("rawmodels/chair"));
            convert.args(formats);
            convert
        });
        for root in machines.roots() {
            let names = names_in(&root.join("rawmodels/chair/converted"));
            for format in formats {
                let is_there = |name: &&std::ffi::OsString| {
                    Path::new(name).extension().is_some_and(|it| it == format)
                };
                assert_eq!(names.iter().filter(is_there).count(), 1, "{names:?}");
            }
        }
    }
}

/// The steps of an upload at which one of the machines is killed.
const STEPS: [Failpoint; 9] = [
    Failpoint::BeforeStart,
    Failpoint::AfterStart,
    Failpoint::BeforePuts,
    Failpoint::AfterPut,
    Failpoint::AfterPuts,
    Failpoint::BeforeComplete,
    Failpoint::AfterComplete,
    Failpoint::AfterAccepted,
    Failpoint::AfterImport,
];

/// Copies at the same moment.
fn copy_at_once(source: &Path, targets: &[PathBuf; 2]) {
    std::thread::scope(|scope| {
        for target in targets {
            let mut copy = copy(source, target);
            scope.spawn(move || copy.output().unwrap());
        }
    });
}

fn is_dead(fixture: &Fixture) -> bool {
    const ENOTCONN: i32 = 107;
    let asked = fs::read(fixture.path(".assetfs/status.json"));
    asked.is_err_and(|error| error.raw_os_error() == Some(ENOTCONN))
}

fn status(model: &Path) -> String {
    let status = fs::read(model.join(".assetfs/status"));
    status.map_or(String::new(), |status| text(&status))
}

#[test]
fn one_of_two_machines_that_is_killed_at_any_step_ends_with_the_same_asset() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    let source = small_chair(fixture.scratch.path());
    let second = fixture.second_machine();
    let mut kills = 0;
    for (done, point) in STEPS.into_iter().enumerate() {
        let name = format!("rawmodels/{}", point.name());
        fixture.mount_with(&[], &[("ASSETFS_FAILPOINT", point.name())]);
        let targets = [fixture.path(&name), second.root().join(&name)];
        copy_at_once(&source, &targets);
        // If the other machine completes the upload, this one does not come to each step.
        wait_until("it is killed, or done", || {
            is_dead(&fixture) || status(&targets[0]).starts_with("complete")
        });
        if is_dead(&fixture) {
            kills += 1;
            fixture.mount(&[]);
        }
        if !targets[0].exists() {
            run(copy(&source, &targets[0]));
        }
        for target in &targets {
            run(assetfs("wait", target));
            assert_same_files(&source, target);
        }
        assert_eq!(fixture.service.assets().len(), done + 1, "{}", point.name());
        run(assetfs("unmount", fixture.root()));
    }
    assert!(kills >= 4, "killed {kills} times");
}

#[test]
fn what_one_machine_cancels_stays_for_the_other_that_sends_the_same() {
    needs_fuse!();
    let slow = "[[rule]]\nmethod = \"PUT\"\nfault = { kind = \"latency\", ms = 4000 }\n";
    for cancels in [0, 1] {
        let mut fixture = Fixture::unmounted_with_chaos(slow, &[]);
        fixture.mount(&[]);
        let source = small_chair(fixture.scratch.path());
        let second = fixture.second_machine();
        let models = [fixture.root(), second.root()].map(|root| root.join("rawmodels/chair"));
        copy_at_once(&source, &models);
        for model in &models {
            wait_until("both send", || status(model).starts_with("uploading"));
        }
        wait_until("the service knows one model", || {
            fixture.service.assets().len() == 1
        });
        // It is listed while the drafts have its name.
        for root in [fixture.root(), second.root()] {
            fs::write(root.join(".assetfs/ctl"), "refresh\n").unwrap();
        }
        run(assetfs("cancel", &models[cancels]));
        let other = &models[1 - cancels];
        run(assetfs("wait", other));
        let asset = fixture.only_asset();
        assert_eq!(asset["upload_status"], "complete", "{asset}");
        assert_same_files(&source, other);
        // The model is that of both machines now.
        wait_until("the machine that cancelled shows it", || {
            models[cancels].join("chair.gltf").exists()
        });
    }
}
