//! Mutated files: whatever the bytes, an importer answers with a model or a reason, soon and within its
//! memory; and what it lets through, the rest of the engine bears.
//!
//! Each test starts this program again as a child with limits, which tries a row of seeds; a child that
//! dies or stands still names its seed. `ASSETFS_MUTATIONS=100000` tries more than the few hundred of an
//! ordinary run, `ASSETFS_MUTATIONS_FROM` starts at another seed; a bad input is left in
//! `target/mutations`.

#![allow(clippy::print_stdout, reason = "children report on standard output")]

mod corpus;
mod mutate;

use std::io::{BufRead, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use assetfs_engine::analyse::rpd_info;
use assetfs_engine::clean;
use assetfs_engine::export::gltf::write_glb;
use assetfs_engine::import::import;
use assetfs_engine::rebake::{RebakeOptions, bake_on_charts, rebake};
use assetfs_engine::scene::Scene;
use assetfs_engine::settings::{MeshCompression, Settings};
use assetfs_engine::simplify::{Limits, simplify};
use assetfs_engine::textures;

use corpus::Target;
use mutate::{Dice, mutated, number_of};

/// A child may map so much; what it uses is far less.
const MEMORY_LIMIT_BYTES: u64 = 2 << 30;
/// One small file may take so long.
const TIME_LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 10 });
/// A child tries so many files.
const BATCH: u64 = 2_000;

/// Tries the seeds of this run on one importer and panics with the seeds that are not borne.
fn try_all(target: Target) {
    // Baking a model takes a second in a debug build.
    let usual = if matches!(target, Target::Rebake) {
        50
    } else {
        300
    };
    let count = number_of("ASSETFS_MUTATIONS", usual);
    let from = number_of("ASSETFS_MUTATIONS_FROM", 0);
    let mut next = from;
    let (mut read, mut peak, mut bad) = (0, 0, Vec::new());
    let mut without_memory = 0;
    while next < from + count && bad.len() < 20 {
        let end = (next + BATCH).min(from + count);
        let outcome = run_child(target, next, end);
        read += outcome.read;
        peak = peak.max(outcome.peak_kib);
        bad.extend(outcome.panics);
        match outcome.died_at {
            // The next child goes on behind the seed that ended this one.
            Some((seed, Death::NoMemory)) if target.may_end_without_memory() => {
                without_memory += 1;
                next = seed + 1;
            }
            Some((seed, why)) => {
                bad.push(format!("seed {seed}: {why}"));
                next = seed + 1;
            }
            None => next = end,
        }
    }
    println!(
        "{}: {} mutated files tried, {read} of them read, {without_memory} ended for lack of memory, peak memory {} MiB, {} not borne",
        target.name(),
        next - from,
        peak >> 10,
        bad.len()
    );
    assert!(bad.is_empty(), "{}:\n{}", target.name(), bad.join("\n"));
}

#[derive(Default)]
struct Outcome {
    read: u64,
    peak_kib: u64,
    panics: Vec<String>,
    died_at: Option<(u64, Death)>,
}

/// How a child ended before its time.
enum Death {
    /// An allocation failed. In a worker this is an exit code, and the user reads that there was not enough memory.
    NoMemory,
    Other(String),
}

impl std::fmt::Display for Death {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Death::NoMemory => out.write_str("an allocation failed"),
            Death::Other(why) => out.write_str(why),
        }
    }
}

fn run_child(target: Target, from: u64, to: u64) -> Outcome {
    let mut errors = tempfile::tempfile().unwrap();
    let programs = tempfile::tempdir().unwrap();
    write_cad_reader(programs.path());
    let path = std::env::var("PATH").unwrap_or_default();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "child_tries_a_row_of_seeds",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("MUTATION_CHILD", format!("{} {from} {to}", target.name()))
        .env("RAYON_NUM_THREADS", "2")
        .env("PATH", format!("{}:{path}", programs.path().display()))
        .stdout(Stdio::piped())
        .stderr(errors.try_clone().unwrap())
        .spawn()
        .unwrap();
    let mut outcome = Outcome::default();
    let (mut last, mut is_done) = (from, false);
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let Ok(line) = line else { break };
        let mut words = line.splitn(3, ' ');
        let word = words.next().unwrap_or_default();
        let number = words.next().and_then(|text| text.parse::<u64>().ok());
        let rest = words.next().unwrap_or_default();
        match (word, number) {
            ("at", Some(seed)) => last = seed,
            ("read", Some(count)) => outcome.read = count,
            ("peak", Some(kib)) => outcome.peak_kib = kib,
            ("panic", Some(seed)) => outcome.panics.push(format!("seed {seed}: panic: {rest}")),
            ("hang", Some(seed)) => {
                outcome.died_at = Some((seed, Death::Other("stands still".to_owned())));
            }
            ("done", _) => is_done = true,
            _ => {}
        }
    }
    let status = child.wait().unwrap();
    if !is_done && outcome.died_at.is_none() {
        let mut said = String::new();
        errors.rewind().unwrap();
        let _ = errors.read_to_string(&mut said);
        outcome.died_at = Some((
            last,
            match said.contains("memory allocation of") {
                true => Death::NoMemory,
                false => Death::Other(format!("the process ended with {status}")),
            },
        ));
    }
    outcome
}

/// A program in place of the one for CAD files: its input is the glb that it hands over.
fn write_cad_reader(folder: &Path) {
    let program = folder.join("assetfs-cad");
    std::fs::write(&program, "#!/bin/sh\ncp \"$1\" \"$2\" && echo 1 0 1\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
}

static PANICKED_AT: Mutex<String> = Mutex::new(String::new());

/// The seed at work, for the watch that ends a child standing still.
static AT: AtomicU64 = AtomicU64::new(0);

#[test]
#[ignore = "started by the other tests, with limits"]
fn child_tries_a_row_of_seeds() {
    let Ok(row) = std::env::var("MUTATION_CHILD") else {
        return;
    };
    let mut words = row.split(' ');
    let name = words.next().unwrap();
    let target = Target::ALL
        .into_iter()
        .find(|target| target.name() == name)
        .unwrap();
    let [from, to] = [words.next(), words.next()].map(|word| word.unwrap().parse::<u64>().unwrap());
    limit_memory();
    AT.store(from, Ordering::SeqCst);
    std::thread::spawn(watch);
    // The place of a panic is known here alone; the text comes with the panic itself.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string);
        *PANICKED_AT.lock().unwrap() = place.unwrap_or_default();
    }));
    let bench = Bench::new(target);
    // The test runner has begun a line.
    println!();
    let mut read = 0;
    if from == to {
        read = bench.samples_read();
    }
    for seed in from..to {
        AT.store(seed, Ordering::SeqCst);
        println!("at {seed}");
        let bytes = mutated(&bench.samples, bench.is_json, &mut Dice::new(seed));
        // Kept where it can be found when this process does not survive it.
        std::fs::write(&bench.file, &bytes).unwrap();
        match catch_unwind(AssertUnwindSafe(|| bench.is_read(&bytes))) {
            Ok(is_read) => read += u64::from(is_read),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text =
                    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                let place = PANICKED_AT.lock().unwrap().clone();
                let text = text.unwrap_or_default().replace('\n', " ");
                println!("panic {seed} {place}: {text}");
                keep(target, seed, &bytes);
            }
        }
    }
    println!("read {read}");
    println!("peak {}", peak_kib());
    println!("done {to}");
    let _ = std::io::stdout().flush();
}

fn limit_memory() {
    let limit = rustix::process::Rlimit {
        current: Some(MEMORY_LIMIT_BYTES),
        maximum: Some(MEMORY_LIMIT_BYTES),
    };
    rustix::process::setrlimit(rustix::process::Resource::As, limit).unwrap();
}

/// Ends the process when one seed takes too long.
fn watch() {
    let mut before = u64::MAX;
    loop {
        std::thread::sleep(TIME_LIMIT / 2);
        let now = AT.load(Ordering::SeqCst);
        if now == before {
            println!("hang {now}");
            let _ = std::io::stdout().flush();
            std::process::exit(3);
        }
        before = now;
    }
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

fn keep(target: Target, seed: u64, bytes: &[u8]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutations");
    let _ = std::fs::create_dir_all(&folder);
    let _ = std::fs::write(
        folder.join(format!("{}-{seed}-{}", target.name(), target.file())),
        bytes,
    );
}

/// What the trials of one importer share.
struct Bench {
    target: Target,
    samples: Vec<Vec<u8>>,
    is_json: bool,
    dir: tempfile::TempDir,
    file: PathBuf,
    names: Vec<String>,
}

impl Bench {
    fn new(target: Target) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let mut names = vec![target.file().to_owned()];
        for (name, bytes) in target.beside() {
            std::fs::write(dir.path().join(name), bytes).unwrap();
            names.push(name.to_owned());
        }
        Bench {
            target,
            samples: target.samples(),
            is_json: matches!(target, Target::Gltf | Target::Settings),
            file: dir.path().join(target.file()),
            dir,
            names,
        }
    }

    /// How many samples are read as they are.
    fn samples_read(&self) -> u64 {
        let read = self.samples.iter().filter(|sample| {
            std::fs::write(&self.file, sample).unwrap();
            self.is_read(sample)
        });
        read.count() as u64
    }

    fn is_read(&self, bytes: &[u8]) -> bool {
        if self.target == Target::Settings {
            let config = serde_json::from_slice(bytes).unwrap_or_default();
            return Settings::read(&config).is_ok();
        }
        if matches!(self.target, Target::Ktx2 | Target::Webp | Target::Avif) {
            let _ = (textures::dimensions(bytes), textures::channels(bytes));
            return textures::decode(bytes).is_ok();
        }
        let Ok(imported) = import(self.dir.path(), &self.names) else {
            return false;
        };
        match self.target {
            Target::Rebake => bake(imported.scene),
            _ => work_on(imported.scene),
        }
        true
    }
}

/// What every job does with a model.
fn work_on(mut scene: Scene) {
    let _ = (scene.bounds(), rpd_info(&scene, "m", "glb", 1));
    let before = scene.drawn_triangles();
    clean::clean(&mut scene);
    let limits = Limits::of_triangles(before / 2);
    let done = simplify(&mut scene, &limits);
    assert!(done.after <= done.before, "{done:?}");
    clean::finish(&mut scene);
    clean::prune(&mut scene);
    let written = write_glb(&scene, MeshCompression::None).expect("small enough");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("again.glb"), written).unwrap();
    // What is wrong in a file and let through is written as it was read, and may be refused then.
    if let Ok(again) = import(dir.path(), &["again.glb".to_owned()]) {
        assert_eq!(again.scene.drawn_triangles(), scene.drawn_triangles());
    }
}

/// Rebakes a model, and bakes maps into the texture coordinates that it has. Both may be refused.
fn bake(mut scene: Scene) {
    clean::clean(&mut scene);
    let limits = Limits::of_triangles(scene.drawn_triangles() / 2);
    let options = RebakeOptions {
        normal_map: true,
        occlusion_map: true,
        ..RebakeOptions::fast(32)
    };
    if let Ok(mut baked) = rebake(&scene, &limits, &options) {
        clean::finish(&mut baked.scene);
        let written = write_glb(&baked.scene, MeshCompression::None).expect("small enough");
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("baked.glb"), written).unwrap();
        let again = import(dir.path(), &["baked.glb".to_owned()]).expect("what we write is read");
        assert_eq!(again.scene.drawn_triangles(), baked.scene.drawn_triangles());
    }
    let mut result = scene.clone();
    let done = simplify(&mut result, &limits);
    let _ = bake_on_charts(&scene, &mut result, done.error, &options);
    assert!(write_glb(&result, MeshCompression::None).is_ok());
}

macro_rules! mutated_files_are_borne {
    ($($test:ident $target:ident)*) => {
        $(
            #[test]
            fn $test() {
                try_all(Target::$target);
            }
        )*
    };
}

mutated_files_are_borne! {
    mutated_glb_files_are_read_or_refused Glb
    mutated_gltf_files_are_read_or_refused Gltf
    mutated_draco_data_is_read_or_refused Draco
    mutated_meshopt_data_is_read_or_refused Meshopt
    mutated_obj_files_are_read_or_refused Obj
    mutated_mtl_files_are_read_or_refused Mtl
    mutated_stl_files_are_read_or_refused Stl
    mutated_ply_files_are_read_or_refused Ply
    mutated_fbx_files_are_read_or_refused Fbx
    mutated_usda_layers_are_read_or_refused Usda
    mutated_usdc_layers_are_read_or_refused Usdc
    mutated_usdz_packages_are_read_or_refused Usdz
    mutated_zip_files_are_read_or_refused Zip
    mutated_ktx2_images_are_read_or_refused Ktx2
    mutated_webp_images_are_read_or_refused Webp
    mutated_avif_images_are_read_or_refused Avif
    mutated_models_of_the_cad_reader_are_read_or_refused Cad
    mutated_models_are_rebaked_or_refused Rebake
    mutated_settings_are_read_or_refused Settings
}

#[test]
fn every_sample_itself_is_read() {
    for target in Target::ALL {
        let outcome = run_child(target, 0, 0);
        let name = target.name();
        assert_eq!(outcome.panics, Vec::<String>::new(), "{name}");
        assert!(outcome.died_at.is_none(), "{name}");
        assert_eq!(outcome.read, target.samples().len() as u64, "{name}");
    }
}

#[test]
#[ignore = "writes the samples as the first corpus of the fuzz targets"]
fn write_the_corpus() {
    for target in Target::ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fuzz/corpus")
            .join(target.name());
        std::fs::create_dir_all(&folder).unwrap();
        for (place, sample) in target.samples().into_iter().enumerate() {
            std::fs::write(folder.join(format!("sample-{place}")), sample).unwrap();
        }
    }
}
