//! New versions of models: `assetfs replace`, and tools that rename a new file over a loose one.

mod changing;
mod deletes;
mod failing;
mod refused;
mod together;
mod versions;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::NamedTempFile;

use super::models::triangle_glb;
use crate::support::{ASSETFS, Fixture, names_in, read, run, status_of, text, wait_until};

/// A drive with the model `chair`, which is complete.
pub struct Chair {
    pub fixture: Fixture,
    /// The folder that the model was copied from.
    pub first: PathBuf,
    pub model: PathBuf,
    /// The id of the model.
    pub old: u64,
}

impl Chair {
    /// Mounts with these options.
    pub fn mounted(options: &[&str]) -> Chair {
        Chair::on(Fixture::with(&[], options))
    }

    /// The same over a service whose faults can be changed.
    pub fn with_faults() -> Chair {
        let mut fixture = Fixture::unmounted_with_chaos("", &[]);
        fixture.mount(&[]);
        Chair::on(fixture)
    }

    pub fn on(fixture: Fixture) -> Chair {
        let first = fixture.add_chair();
        let model = fixture.path("rawmodels/chair");
        let old = id(&model);
        Chair {
            fixture,
            first,
            model,
            old,
        }
    }
}

/// Changes the faults of a service, and waits until it has them.
pub fn set_faults(fixture: &Fixture, rules: &str) {
    let plan = fixture.scratch.path().join("chaos.toml");
    let probe = format!("/probe-{}", fixture.chaos_fired());
    let is_set = format!(
        "[[rule]]\npath = \"{probe}\"\nfault = {{ kind = \"status\", status = 418 }}\n{rules}"
    );
    fs::write(&plan, is_set).unwrap();
    fixture.service.hang_up();
    let url = format!("{}{}", fixture.service.base_url, &probe[1..]);
    wait_until("the service has its faults", || {
        status_of(&url, &fixture.service.token()) == 418
    });
}

/// A copy of a model's folder with another generator.
pub fn version_of(source: &Path, mark: &str) -> PathBuf {
    let version = source.with_file_name(format!("version-{mark}"));
    run(Command::new("cp").arg("-rT").args([source, &version]));
    let model = version.join("chair.gltf");
    let mut document: Value = serde_json::from_slice(&read(&model)).unwrap();
    document["asset"]["generator"] = mark.into();
    fs::write(&model, document.to_string()).unwrap();
    version
}

/// The same with a file that takes some seconds to upload with `--limit-up 64K`.
pub fn large_version_of(source: &Path, mark: &str) -> PathBuf {
    let version = version_of(source, mark);
    fs::write(version.join("more.bin"), mark.repeat(600_000)).unwrap();
    version
}

/// What a killed command leaves: a draft that is marked as a new version of `chair`, with a model that looks whole.
pub fn left_version(fixture: &Fixture, model: &Path) -> PathBuf {
    let version = fixture.path("rawmodels/chair~new");
    fs::create_dir(&version).unwrap();
    fs::write(model.join(".assetfs/ctl"), "replace chair~new\n").unwrap();
    fs::write(version.join("one.glb"), triangle_glb("one")).unwrap();
    version
}

pub fn replace(source: &Path, model: &Path) -> Command {
    let mut command = Command::new(ASSETFS);
    command.arg("replace").args([source, model]);
    command
}

/// The service's id of a model.
pub fn id(path: &Path) -> u64 {
    let mut value = [0; 32];
    let len = rustix::fs::getxattr(path, "user.assetfs.id", &mut value[..]).unwrap();
    text(&value[..len]).parse().unwrap()
}

pub fn listed(fixture: &Fixture) -> Vec<String> {
    let names = names_in(&fixture.path("rawmodels")).into_iter();
    names.map(|name| name.into_string().unwrap()).collect()
}

/// How many assets of the account are more than begun.
pub fn uploaded(fixture: &Fixture) -> usize {
    let assets = fixture.service.assets().into_iter();
    assets
        .filter(|asset| asset["upload_status"] != "incomplete")
        .count()
}

/// The drafts of a drive.
pub fn drafts(fixture: &Fixture) -> Vec<Value> {
    fixture.status()["drafts"].as_array().unwrap().clone()
}

/// The first draft; null if there is none.
pub fn first_draft(fixture: &Fixture) -> Value {
    drafts(fixture).into_iter().next().unwrap_or_default()
}

/// A command that runs beside the test; drop kills it.
pub struct Running {
    child: Option<Child>,
    pid: u32,
    /// Its standard error.
    said: NamedTempFile,
}

impl Running {
    pub fn start(command: &mut Command) -> Running {
        let said = NamedTempFile::new().unwrap();
        let stderr = File::create(said.path()).unwrap();
        let child = command.stdout(Stdio::piped()).stderr(stderr);
        let child = child.spawn().unwrap();
        Running {
            pid: child.id(),
            child: Some(child),
            said,
        }
    }

    pub fn said(&self) -> String {
        text(&read(self.said.path()))
    }

    fn has_open(&self, path: &Path) -> bool {
        self.open_paths().iter().any(|open| open == path)
    }

    fn open_paths(&self) -> Vec<PathBuf> {
        let Ok(numbers) = fs::read_dir(format!("/proc/{}/fd", self.pid)) else {
            return Vec::new();
        };
        let links = numbers.filter_map(|number| fs::read_link(number.ok()?.path()).ok());
        links.collect()
    }

    /// Stops it as soon as it has all of these open. False if it ended or closed one of them before that; it runs on.
    #[must_use]
    pub fn stop_with_open(&mut self, paths: &[&Path]) -> bool {
        let has_all = |running: &Running| paths.iter().all(|path| running.has_open(path));
        while !has_all(self) {
            if self.has_ended() {
                return false;
            }
        }
        self.stop();
        let is_stopped = has_all(self);
        if !is_stopped {
            self.go_on();
        }
        is_stopped
    }

    /// Stops it if it has nothing at or below this path open; else it runs on.
    #[must_use]
    pub fn stop_without_open(&self, path: &Path) -> bool {
        self.stop();
        let open = self.open_paths();
        let is_stopped = !open.iter().any(|open| open.starts_with(path));
        if !is_stopped {
            self.go_on();
        }
        is_stopped
    }

    fn stop(&self) {
        self.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.pid);
        wait_until("it stands still", || {
            let stat = text(&read(&stat));
            let state = stat.rsplit_once(") ").unwrap().1;
            state.starts_with(['T', 'Z'])
        });
    }

    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    pub fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut().expect("it was not waited for");
        child.try_wait().unwrap().is_some()
    }

    /// Waits for its end; what it wrote to standard error comes with the output.
    pub fn end(mut self) -> Output {
        let child = self.child.take().expect("it was not waited for");
        let output = child.wait_with_output().unwrap();
        Output {
            stderr: read(self.said.path()),
            ..output
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid.cast_signed()).expect("it has a number");
        // Not the program `kill`: starting it takes longer than what is to be stopped.
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
