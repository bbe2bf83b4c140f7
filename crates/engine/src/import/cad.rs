//! Imports CAD files (STEP, IGES, BREP): the program `assetfs-cad` turns their surfaces into triangles and writes a GLB,
//! which is then read like any other. It is a package of its own (folder `cad`), because it needs Open CASCADE.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::scene::Scene;
use super::super::settings::Tessellation;
use super::error::ImportError;
use super::gltf;
use super::imported::Imported;
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::{Warning, WarningKind};
use assetfs_formats::wholeness::{self, Wholeness};

const PROGRAM: &str = "assetfs-cad";

/// Timeout of the check that the program starts. It prints its usage in less than a second.
const CHECK_LIMIT: Duration = Duration::from_secs(15);

/// Maximum number of bytes of the errors that are read, and the time for them after the program has ended.
const MAX_STDERR_BYTES: u64 = 1 << 16;
const STDERR_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Exit codes of the program.
const USAGE: i32 = 2;
const OUT_OF_MEMORY: i32 = 3;
const NO_SURFACES: i32 = 4;

/// Reads the file `model` in `dir`.
pub(super) fn import(
    dir: &Path,
    model: &Path,
    format: &'static str,
    tessellation: Tessellation,
) -> Result<Imported, ImportError> {
    const WRITTEN: &str = "model.glb";
    let file = model.display().to_string();
    let failed = |source: io::Error| ImportError::Damaged {
        file: file.clone(),
        what: format!("the program {PROGRAM} could not be used: {source}"),
    };
    let unreadable = |source: io::Error| ImportError::Damaged {
        file: file.clone(),
        what: format!("it cannot be read: {source}"),
    };
    if is_cut_off(&dir.join(model)).map_err(unreadable)? {
        return Err(ImportError::Damaged {
            file,
            what: "it is cut off: its end is missing. Copy it again, or export it again from the CAD program"
                .to_owned(),
        });
    }
    let program = reader().ok_or_else(|| not_installed(&file))?;
    let scratch = tempfile::tempdir().map_err(failed)?;
    let (deflection, angle) = precision(tessellation);
    // Not `-`: the path is absolute.
    let input = std::path::absolute(dir.join(model)).map_err(failed)?;
    let output = Command::new(program)
        .arg(&input)
        .arg(scratch.path().join(WRITTEN))
        .args([deflection.to_string(), angle.to_string()])
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .output()
        .map_err(failed)?;
    if !output.status.success() {
        return Err(failure(&file, &output));
    }
    let mut imported = gltf::import(scratch.path(), Path::new(WRITTEN), format)?;
    set_finish(&mut imported.scene);
    imported.model = model.to_owned();
    imported.size_bytes = fs::metadata(&input).map_err(failed)?.len();
    imported.warnings.extend(lost_surfaces(&file, &output));
    let unread = unread(&output).into_iter();
    let unread = unread.map(|line| Warning::new(WarningKind::NotRead, format!("{file}: {line}")));
    imported.warnings.extend(unread);
    Ok(imported)
}

/// The reader takes what is there: of a file that was cut off, it would read a part of the model.
fn is_cut_off(path: &Path) -> io::Result<bool> {
    let file = fs::File::open(path)?;
    let size = file.metadata()?.len();
    let wholeness = wholeness::judge(&path.to_string_lossy(), &file, size)?;
    Ok(wholeness != Wholeness::Whole)
}

/// CAD files have colours only, and some parts have none. Without numbers for metal and roughness, glTF takes a material
/// for pure metal.
fn set_finish(scene: &mut Scene) {
    let plain = scene.list("materials").len();
    let primitives = scene
        .meshes
        .iter_mut()
        .flat_map(|mesh| &mut mesh.primitives);
    let mut is_needed = false;
    for primitive in primitives.filter(|primitive| primitive.material.is_none()) {
        primitive.material = Some(plain);
        is_needed = true;
    }
    if is_needed {
        let grey = json!({
            "name": "no colour",
            "pbrMetallicRoughness": { "baseColorFactor": [0.6, 0.6, 0.6, 1.0] },
            "doubleSided": true,
        });
        let materials = scene.json.entry("materials").or_insert_with(|| json!([]));
        if let Some(materials) = materials.as_array_mut() {
            materials.push(grey);
        }
    }
    let materials = scene
        .json
        .get_mut("materials")
        .and_then(Value::as_array_mut);
    for material in materials.into_iter().flatten() {
        // Writing by index would panic where a damaged file has something else than an object.
        let finish = material
            .get_mut("pbrMetallicRoughness")
            .and_then(Value::as_object_mut);
        let Some(finish) = finish else { continue };
        finish.entry("metallicFactor").or_insert_with(|| 0.into());
        finish
            .entry("roughnessFactor")
            .or_insert_with(|| 0.5.into());
    }
}

/// The largest distance of triangles from a surface, as a share of the diagonal of the model, and the largest angle
/// between neighbouring triangles of a curved surface in degrees.
fn precision(tessellation: Tessellation) -> (f64, f64) {
    match tessellation {
        Tessellation::Coarse => (0.002, 25.0),
        Tessellation::Medium => (0.0005, 12.0),
        Tessellation::Fine => (0.0002, 5.0),
    }
}

/// The program that reads CAD files, if it is installed: next to assetfs, where its package installs it, or else in
/// `PATH`.
pub fn reader() -> Option<PathBuf> {
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.parent().unwrap_or(Path::new("/"));
    let mut folders = vec![beside.to_owned(), beside.join("../lib/assetfs")];
    if let Some(path) = std::env::var_os("PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    let mut places = folders.into_iter().map(|folder| folder.join(PROGRAM));
    places.find(|path| path.is_file())
}

/// Whether the program can be started by this thread; if not, what it or the system says. Its environment is that of a
/// worker.
///
/// # Errors
/// One line of text, such as the library that is missing, or that the program did not end in time.
pub fn check_reader(program: &Path) -> Result<(), String> {
    check_within(program, CHECK_LIMIT)
}

fn check_within(program: &Path, limit: Duration) -> Result<(), String> {
    let mut child = Command::new(program)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let errors = child.stderr.take().map(read_stderr);
    let Some(status) = ended_within(&mut child, limit).map_err(|error| error.to_string())? else {
        return Err(format!(
            "it did not end within {} seconds",
            limit.as_secs_f64()
        ));
    };
    // Without arguments it only says how it is used.
    if status.code() == Some(USAGE) {
        return Ok(());
    }
    // A process that it has left may hold the pipe open.
    let said = errors.and_then(|errors| errors.recv_timeout(STDERR_DRAIN_TIMEOUT).ok());
    let said = said.unwrap_or_default();
    Err(match String::from_utf8_lossy(&said).lines().last() {
        Some(line) => line.trim().to_owned(),
        None => status.to_string(),
    })
}

/// Reads what a process prints to the end, so that it does not wait for a full pipe, and sends the beginning.
fn read_stderr(mut errors: ChildStderr) -> Receiver<Vec<u8>> {
    let (sender, said) = mpsc::channel();
    thread::spawn(move || {
        let mut beginning = Vec::new();
        let read = errors
            .by_ref()
            .take(MAX_STDERR_BYTES)
            .read_to_end(&mut beginning);
        let read = read.and_then(|_| io::copy(&mut errors, &mut io::sink()));
        // Without a reader, or after an error, the exit status says enough.
        if read.is_ok() {
            let _ = sender.send(beginning);
        }
    });
    said
}

/// How a process ended; `None` if it did not within the time, and then it is killed.
fn ended_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn not_installed(file: &str) -> ImportError {
    ImportError::Unsupported(format!(
        "{file}: CAD files are read by the program {PROGRAM}, which is not installed. Install the package {PROGRAM}, \
         or export the part as a mesh (glTF, OBJ or STL) from the CAD program"
    ))
}

fn failure(file: &str, output: &Output) -> ImportError {
    let file = file.to_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said.lines().last().unwrap_or_default().trim();
    match output.status.code() {
        Some(OUT_OF_MEMORY) => ImportError::TooLarge {
            file,
            what: "its surfaces need more memory than a job may use".to_owned(),
        },
        Some(NO_SURFACES) => ImportError::Damaged {
            file,
            what: [
                vec!["it has no surfaces, so there is nothing to show".to_owned()],
                unread(output),
            ]
            .concat()
            .join("; "),
        },
        Some(_) if !reason.is_empty() => ImportError::Damaged {
            file,
            what: reason.to_owned(),
        },
        _ => ImportError::Damaged {
            file,
            what: format!(
                "{PROGRAM} ended while it read the file ({}); the file is probably damaged",
                output.status
            ),
        },
    }
}

/// What the program does not read: the lines after the first.
fn unread(output: &Output) -> Vec<String> {
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().skip(1).map(str::to_owned).collect()
}

/// A warning if the program could not turn all surfaces into triangles. Its first line has three numbers: surfaces,
/// surfaces without triangles, triangles.
fn lost_surfaces(file: &str, output: &Output) -> Option<Warning> {
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().next()?;
    let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>());
    let (all, lost) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (lost > 0).then(|| {
        let text = format!(
            "{file}: {} of {} surfaces could not be turned into triangles and are left out",
            grouped(lost),
            grouped(all)
        );
        Warning::new(WarningKind::Damaged, text)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn output(code: i32, stdout: &str, stderr: &str) -> Output {
        Output {
            status: ExitStatus::from_raw(code),
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }

    #[test]
    fn every_failure_of_the_reader_is_a_sentence() {
        for (output, expected) in [
            (
                output(1 << 8, "", "a\nit is damaged\n"),
                "part.step: it is damaged",
            ),
            (
                output(3 << 8, "", "not enough memory\n"),
                "part.step is too large: its surfaces need more memory",
            ),
            (output(4 << 8, "", ""), "part.step: it has no surfaces"),
            (
                output(11, "", ""),
                "part.step: assetfs-cad ended while it read the file",
            ),
        ] {
            let sentence = failure("part.step", &output).to_string();
            assert!(sentence.starts_with(expected), "{sentence}");
        }
    }

    #[test]
    fn reader_that_does_not_end_is_reported_and_killed() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("assetfs-cad");
        let check = |script: &str, limit| {
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
            check_within(&program, limit)
        };
        let long = Duration::from_secs(600);
        assert_eq!(check("exit 2", long), Ok(()));
        let missing = "echo one >&2; echo library.so is missing >&2; exit 127";
        assert_eq!(
            check(missing, long),
            Err("library.so is missing".to_owned())
        );
        // More than a pipe holds, and a process that keeps the pipe open.
        let talks = "yes | head -c 200000 >&2; sleep 30 & exit 2";
        assert_eq!(check(talks, long), Ok(()));
        let pid = dir.path().join("pid");
        let waits = format!("echo $$ > {}; exec sleep 1000", pid.display());
        assert_eq!(
            check(&waits, Duration::from_secs(2)),
            Err("it did not end within 2 seconds".to_owned())
        );
        let pid = fs::read_to_string(pid).unwrap();
        assert!(!Path::new("/proc").join(pid.trim()).exists());
    }

    #[test]
    fn only_materials_that_are_objects_get_a_finish() {
        let json = json!({ "materials": ["red", null, { "pbrMetallicRoughness": 1 }, { "pbrMetallicRoughness": {} }] });
        let mut scene = Scene {
            json: json.as_object().unwrap().clone(),
            ..Scene::default()
        };
        set_finish(&mut scene);
        let finish = json!({ "metallicFactor": 0, "roughnessFactor": 0.5 });
        let expected =
            json!(["red", null, { "pbrMetallicRoughness": 1 }, { "pbrMetallicRoughness": finish }]);
        assert_eq!(scene.json["materials"], expected);
    }

    #[test]
    fn surfaces_without_triangles_are_a_warning() {
        assert_eq!(lost_surfaces("a.step", &output(0, "96 0 6532\n", "")), None);
        let warning = lost_surfaces("a.step", &output(0, "1200 3 6532\n", "")).unwrap();
        assert!(
            warning.text.starts_with("a.step: 3 of 1,200 surfaces"),
            "{warning}"
        );
    }
}
