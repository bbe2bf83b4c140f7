//! A home folder with the program in its path, a service, and a drive at `~/assets`: what recipes expect.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use super::write;
use crate::square_glb::numbered_glb;
use crate::support::{ASSETFS, Fixture, MountPoint, run, text};

/// The number of models in the tests of recipes for many models.
pub const MODELS: usize = 30;

pub struct Workplace {
    // Unmounted before the service ends and its folders go.
    drive: Option<MountPoint>,
    pub fixture: Fixture,
}

impl Workplace {
    /// With a drive at `~/assets`.
    pub fn new() -> Workplace {
        let mut workplace = Workplace::unmounted();
        workplace.mount();
        workplace
    }

    /// Without a drive.
    pub fn unmounted() -> Workplace {
        let fixture = Fixture::unmounted(&[]);
        let place = |name: &str| fixture.scratch.path().join(name);
        for name in ["home", "work", "bin"] {
            fs::create_dir(place(name)).expect("made");
        }
        std::os::unix::fs::symlink(ASSETFS, place("bin/assetfs")).expect("made");
        Workplace {
            drive: None,
            fixture,
        }
    }

    pub fn mount(&mut self) {
        run(self.command("assetfs mount ~/assets"));
        self.drive = Some(MountPoint(self.home("assets")));
    }

    pub fn unmount(&mut self) {
        run(self.command("assetfs unmount ~/assets"));
        self.drive = None;
    }

    /// A path below the home folder.
    pub fn home(&self, below: &str) -> PathBuf {
        self.fixture.scratch.path().join("home").join(below)
    }

    /// A path below the folder in which the commands run.
    pub fn work(&self, below: &str) -> PathBuf {
        self.fixture.scratch.path().join("work").join(below)
    }

    /// A path on the drive.
    pub fn drive(&self, below: &str) -> PathBuf {
        self.home("assets").join(below)
    }

    /// Lines for bash in the folder of the work; the first that fails ends it.
    pub fn command(&self, lines: &str) -> Command {
        let mut command = Command::new("bash");
        command
            .args(["-euo", "pipefail", "-c", lines])
            .current_dir(self.work(""));
        self.at_home(&mut command);
        command
    }

    /// Gives a command the home folder, the program and the account.
    pub fn at_home(&self, command: &mut Command) {
        let path = std::env::var("PATH").expect("a path");
        let bin = self.fixture.scratch.path().join("bin");
        for (name, _) in std::env::vars() {
            if name.starts_with("XDG_") || name.starts_with("ASSETFS_") {
                command.env_remove(name);
            }
        }
        command
            .env("HOME", self.home(""))
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("ASSETFS_BASE_URL", &self.fixture.service.base_url)
            .env("ASSETFS_TOKEN", self.fixture.service.token())
            .env("ASSETFS_SETTLE", "300ms")
            .env("ASSETFS_REFRESH", "1s");
    }

    /// Runs lines that must succeed; returns what they print.
    pub fn run(&self, lines: &str) -> String {
        run(self.command(lines))
    }

    /// Runs lines that end with this exit code; returns their standard error.
    pub fn fails(&self, lines: &str, code: i32) -> String {
        let output: Output = self.command(lines).output().expect("bash runs");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{lines}: {said}");
        said
    }

    /// The command of a systemd unit, as systemd would run it for this user.
    pub fn exec(&self, unit: &str, key: &str) -> String {
        let mut lines = unit.lines();
        let command = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let command = command.unwrap_or_else(|| panic!("no {key} in {unit}"));
        let home = self.home("");
        let home = home.to_str().expect("a plain path").trim_end_matches('/');
        command
            .replace("%h", home)
            .replace("/usr/bin/assetfs", "assetfs")
    }

    /// The number of models and of optimized models that the service has.
    pub fn totals(&self) -> (usize, usize) {
        let count = |path: &str| {
            let list = self.fixture.service.get(path);
            list["meta"]["total"].as_u64().expect("a total") as usize
        };
        (count("api/v2/rawmodel"), count("api/v2/rapidmodel"))
    }

    /// Writes a model of its own for each number below the folder of the work.
    pub fn model(&self, below: &str, number: usize) {
        let path = self.work(below);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, numbered_glb(number)).expect("written");
    }

    /// Writes the models of a recipe for many, `m00.glb` and so on, below the folder of the work.
    pub fn models(&self, below: &str) {
        for number in 0..MODELS {
            self.model(&format!("{below}/m{number:02}.glb"), number);
        }
    }

    /// The models of `models/` on the drive, each optimized by `web.json`.
    pub fn optimized_models(&self) {
        self.models("models");
        self.preset("web.json", 50);
        self.run("assetfs sync models ~/assets --quiet --preset web.json");
        self.run("assetfs wait --quiet ~/assets");
    }

    /// A model `chair` on the drive, and the optimized one made from it.
    pub fn optimized_chair(&self) {
        self.model("chair.glb", 1);
        self.preset("web.json", 50);
        self.run(
            "cp chair.glb ~/assets/rawmodels/ && assetfs wait ~/assets/rawmodels/chair
             cp web.json ~/assets/rawmodels/chair/optimize/ && assetfs wait ~/assets/rawmodels/chair/optimize/web.json",
        );
    }

    /// Writes a preset below the folder of the work.
    pub fn preset(&self, below: &str, faces_percentage: u32) {
        let config = format!(r#"{{"limits":{{"faces":{{"percentage":{faces_percentage}}}}}}}"#);
        write(&self.work(below), &config);
    }
}
