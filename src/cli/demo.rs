//! `assetfs demo`: the whole workflow with a sample model, with the commands that a user would type: copy a model in,
//! drop a factory preset, copy the optimized model out, show a table that compares them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap_complete::engine::ArgValueCompleter;
use serde_json::Value;
use url::Url;

use assetfs_engine::job::BEFORE_AFTER_NAME;
use assetfs_engine::sample::{ChairFiles, write_chair};
use assetfs_engine::{Model, before_and_after};

use crate::fuse::shell_quoted;
use crate::web_url::base_url;

use super::before_after::{rows, score_row};
use super::completers;
use super::exit::Exit;
use super::exit::WrongUse;
use super::preset_names::unknown;
use super::settings;
use super::table::{counted, table};
use super::wait;

/// Marks a folder of the demo, which the next demo may empty.
const MARKER: &str = ".assetfs-demo";
const DEFAULT_PRESET: &str = "Web Viewer Light";
/// Timeout of the whole demo.
const PATIENCE: Duration = Duration::from_secs(600);

/// Show upload and optimization with a sample model; needs no account and no network
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs demo --keep")]
pub(super) struct DemoArgs {
    /// Leave the drive mounted, and show commands to try next
    #[arg(long)]
    keep: bool,
    /// Factory preset to use
    #[arg(long, add = ArgValueCompleter::new(completers::presets), default_value = DEFAULT_PRESET, value_name = "NAME")]
    preset: String,
    /// Folder for the demo's model, mount point and results; must be new, empty or an earlier demo's
    #[arg(long, default_value = "assetfs-demo", value_name = "DIR")]
    dir: PathBuf,
    /// Use the service at this address instead of a local one. The optimization costs a point
    #[arg(long, value_name = "URL", value_parser = base_url, requires = "token_file")]
    base_url: Option<Url>,
    /// File with only the token of that service
    #[arg(long, value_name = "FILE", requires = "base_url")]
    token_file: Option<PathBuf>,
}

pub(super) fn run(args: &DemoArgs) -> Result<Exit> {
    let demo = Demo::prepare(&args.dir)?;
    let before = demo.make_model()?;
    let mount = demo.mount(args)?;
    let ready = demo.copy_in()?;
    let optimized = demo.optimize(&args.preset)?;
    let after = demo.copy_out()?;
    let score = demo.score();
    println!("\n{}", summary(&before, &after, score, ready, optimized));
    println!("The optimized files are in {}", shell_quoted(&demo.out()));
    println!(
        "Source and result side by side: {}",
        shell_quoted(&demo.draw(&before, &after)?)
    );
    if args.keep {
        std::mem::forget(mount);
        demo.say_what_to_try();
    } else {
        demo.say(&format!("{} unmount mnt", demo.command));
        mount.unmount()?;
    }
    Ok(Exit::Done)
}

/// The folders of a demo.
struct Demo {
    dir: PathBuf,
    exe: PathBuf,
    /// The command that starts this program.
    command: String,
}

impl Demo {
    /// Creates the folders. Empties a folder of an earlier demo and refuses any other folder that is not empty.
    fn prepare(dir: &Path) -> Result<Demo> {
        let dir = std::path::absolute(dir)?;
        let exe = std::env::current_exe()?;
        let demo = Demo {
            command: typed(&exe),
            exe,
            dir,
        };
        if demo.dir.join(MARKER).exists() {
            demo.clear()
                .with_context(|| format!("cannot empty {}", demo.dir.display()))?;
        } else if fs::read_dir(&demo.dir).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(WrongUse(format!(
                "{} holds other files; choose a new folder with --dir",
                demo.dir.display()
            ))
            .into());
        }
        for dir in [demo.dir.clone(), demo.root(), demo.out()] {
            fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        fs::write(
            demo.dir.join(MARKER),
            "Made by `assetfs demo`; the next demo empties this folder.\n",
        )?;
        Ok(demo)
    }

    fn clear(&self) -> Result<()> {
        if crate::fuse::mounts()?.contains(&self.root()) {
            println!("An earlier demo is still mounted: unmounting it.");
            Mount {
                exe: self.exe.clone(),
                root: self.root(),
                done: false,
            }
            .unmount()?;
        }
        remove(fs::remove_file(self.picture()))?;
        for name in ["model", "mnt", "out", "state", "cache", "service"] {
            remove(fs::remove_dir_all(self.dir.join(name)))?;
        }
        Ok(())
    }

    fn root(&self) -> PathBuf {
        self.dir.join("mnt")
    }

    fn out(&self) -> PathBuf {
        self.dir.join("out")
    }

    fn picture(&self) -> PathBuf {
        self.dir.join(BEFORE_AFTER_NAME)
    }

    fn model(&self) -> PathBuf {
        self.dir.join("model/chair")
    }

    fn job(&self) -> PathBuf {
        self.root().join("rawmodels/chair/optimize/web.json")
    }

    fn make_model(&self) -> Result<Model> {
        let start = Instant::now();
        let ChairFiles {
            names, triangles, ..
        } = write_chair(&self.model())?;
        println!(
            "A model: a wooden chair of {} in {}, unpacked in {}",
            counted(triangles, "triangle"),
            counted(names.len() as u64, "file"),
            seconds(start.elapsed())
        );
        read(&self.model())
    }

    fn mount(&self, args: &DemoArgs) -> Result<Mount> {
        self.say(&format!("cd {}", shell_quoted(&self.dir)));
        let service: Vec<OsString> = match (&args.base_url, &args.token_file) {
            (Some(url), Some(token)) => vec![
                "--base-url".into(),
                url.as_str().into(),
                "--token-file".into(),
                std::path::absolute(token)?.into(),
            ],
            _ => vec!["--local".into(), "--data-dir".into(), "service".into()],
        };
        let mut words = vec![self.command.clone(), "mount mnt".to_owned()];
        words.extend(service.iter().map(|word| shell_quoted(Path::new(word))));
        words.push("--state-dir state --cache-dir cache".to_owned());
        self.say(&words.join(" "));
        let output = Command::new(&self.exe)
            .current_dir(&self.dir)
            .arg("mount")
            .arg(self.root())
            .args(service)
            .args(["--state-dir", "state", "--cache-dir", "cache"])
            .output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!(
                "{} (`assetfs doctor` says what is missing)",
                said.trim().trim_start_matches("assetfs: ")
            );
        }
        Ok(Mount {
            exe: self.exe.clone(),
            root: self.root(),
            done: false,
        })
    }

    /// Copies the model in and waits until the service has analysed it.
    fn copy_in(&self) -> Result<Duration> {
        let start = Instant::now();
        self.say("cp -r model/chair mnt/rawmodels/");
        let target = self.root().join("rawmodels/chair");
        copy_folder(&self.model(), &target)?;
        self.say(&format!("{} wait mnt/rawmodels/chair", self.command));
        wait_for(&target)?;
        Ok(start.elapsed())
    }

    fn optimize(&self, preset: &str) -> Result<Duration> {
        let start = Instant::now();
        let source = self
            .root()
            .join("presets/factory")
            .join(format!("{preset}.json"));
        self.say(&format!(
            "cp {} mnt/rawmodels/chair/optimize/web.json",
            shell_quoted(&Path::new("mnt/presets/factory").join(format!("{preset}.json")))
        ));
        if let Err(error) = fs::copy(&source, self.job()) {
            if error.kind() == io::ErrorKind::NotFound {
                let known = self.presets();
                return Err(unknown(preset, known.iter().map(String::as_str)).into());
            }
            return Err(error).with_context(|| format!("cannot drop {preset}"));
        }
        self.say(&format!(
            "{} wait mnt/rawmodels/chair/optimize/web.json",
            self.command
        ));
        wait_for(&self.job())?;
        Ok(start.elapsed())
    }

    fn presets(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root().join("presets/factory"))
            .into_iter()
            .flatten()
            .flatten();
        entries
            .map(|entry| {
                entry
                    .path()
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect()
    }

    fn copy_out(&self) -> Result<Model> {
        self.say("cp mnt/rawmodels/chair/optimize/web/*.* out/");
        copy_folder(&self.job().with_extension(""), &self.out())?;
        read(&self.out())
    }

    /// The similarity score in the service's record.
    fn score(&self) -> Option<f64> {
        let result = fs::canonicalize(self.job().with_extension("")).ok()?;
        let record = fs::read(result.join(".assetfs/detail.json")).ok()?;
        let record: Value = serde_json::from_slice(&record).ok()?;
        record["meta"]["qc"][0]["glb"]["avgScore"].as_f64()
    }

    fn draw(&self, before: &Model, after: &Model) -> Result<PathBuf> {
        before_and_after(before, after)?.write_png(&self.picture())?;
        Ok(self.picture())
    }

    fn say(&self, line: &str) {
        println!("$ {line}");
    }

    fn say_what_to_try(&self) {
        let below = |path: &str| shell_quoted(&self.root().join(path));
        let (root, command) = (shell_quoted(&self.root()), &self.command);
        println!(
            "\nThe drive stays mounted at {root}. Copy your own model in with `cp MODEL.glb {rawmodels}`.\n\
             Try:\n  \
             ls {chair} {rapid}\n  \
             echo '{{\"limits\": {{\"faces\": {{\"count\": 5000}}}}}}' > {mine}\n  \
             cp {mine} {jobs}\n  \
             {command} wait {jobs}\n  \
             {command} status {root}\n  \
             {command} unmount {root}",
            rawmodels = below("rawmodels/"),
            chair = below("rawmodels/chair"),
            rapid = below("rapidmodels/chair"),
            mine = below("presets/mine.json"),
            jobs = below("rawmodels/chair/optimize"),
        );
    }
}

/// The command that starts this program: its name if it is in `PATH`, otherwise its path.
fn typed(exe: &Path) -> String {
    match settings::program("assetfs").and_then(|found| found.canonicalize().ok()) {
        Some(found) if found == exe => "assetfs".to_owned(),
        _ => shell_quoted(exe),
    }
}

/// A mount that is unmounted on drop.
struct Mount {
    exe: PathBuf,
    root: PathBuf,
    done: bool,
}

impl Mount {
    fn unmount(mut self) -> Result<()> {
        self.done = true;
        let output = Command::new(&self.exe)
            .arg("unmount")
            .arg(&self.root)
            .output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim();
            bail!(
                "the demo is over, but its drive stays mounted: {}",
                said.strip_prefix("assetfs: ").unwrap_or(said)
            );
        }
        Ok(())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if !self.done {
            let _ = Command::new(&self.exe)
                .args(["unmount", "--now"])
                .arg(&self.root)
                .output();
        }
    }
}

/// Waits for one path with progress.
fn wait_for(path: &Path) -> Result<()> {
    let outcome = wait::wait_for(&[path.to_owned()], Some(PATIENCE), false)?;
    match outcome.states.into_iter().next() {
        Some((_, wait::State::Done(..))) => Ok(()),
        Some((path, wait::State::Failed(_, why) | wait::State::Going(_, why))) => {
            bail!("{}: {why}", path.display())
        }
        None => Ok(()),
    }
}

/// Copies the files of a folder, as `cp` does.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            fs::copy(&source, &target).with_context(|| {
                format!("cannot copy {} to {}", source.display(), target.display())
            })?;
        }
    }
    Ok(())
}

/// Ignores that the removed file is missing.
fn remove(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads a model with the engine.
fn read(dir: &Path) -> Result<Model> {
    Model::open(dir).with_context(|| format!("cannot read the model in {}", dir.display()))
}

fn summary(
    before: &Model,
    after: &Model,
    score: Option<f64>,
    ready: Duration,
    optimized: Duration,
) -> String {
    let mut rows = rows(&before.counts(), &after.counts());
    rows.extend(score.map(|score| score_row(score, None)));
    rows.push(vec![
        "time".to_owned(),
        format!("in {}", seconds(ready)),
        format!("optimized {}", seconds(optimized)),
    ]);
    table(&rows)
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
