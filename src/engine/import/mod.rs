//! Import: from the files of an upload to a [`Scene`].
//!
//! [`import`] finds the model among the files and hands it to the importer of its format. What can
//! be read with a loss is read, and the loss is said in the warnings; what cannot is refused.

mod error;
mod fbx;
mod gltf;
pub mod images;
mod lines;
mod make;
mod normals;
mod obj;
mod ply;
mod stl;

use std::fs;
use std::path::{Path, PathBuf};

pub use error::ImportError;

use super::intake::{ZipError, ZipLimits, is_junk, unpack};
use super::scene::Scene;

/// An imported model.
#[derive(Debug)]
pub struct Imported {
    /// The model.
    pub scene: Scene,
    /// The model's own file, relative to the input folder.
    pub model: PathBuf,
    /// `glb`, `gltf`, …
    pub format: &'static str,
    /// Bytes of the model's file and all that it refers to.
    pub size_bytes: u64,
    /// What could not be read as it stands.
    pub warnings: Vec<String>,
}

/// Extensions of CAD files, which hold surfaces instead of triangles.
const CAD: &[&str] = &[
    "step",
    "stp",
    "iges",
    "igs",
    "jt",
    "x_t",
    "x_b",
    "sldprt",
    "sldasm",
    "catpart",
    "catproduct",
    "prt",
    "ipt",
    "iam",
    "3dm",
    "sat",
    "brep",
    "dwg",
];

/// Extensions of 3D files that we know and do not read.
const UNREAD: &[&str] = &[
    "blend", "max", "ma", "mb", "c4d", "usd", "usda", "usdc", "usdz", "dae", "3ds", "abc", "ztl",
    "skp", "x3d", "wrl", "lwo", "3mf",
];

/// Finds the model among `files` in `dir` and reads it. Archives among the files are unpacked into a
/// folder of their own, which is gone afterwards.
///
/// # Errors
/// When there is no model, or it cannot be read.
pub fn import(dir: &Path, files: &[String]) -> Result<Imported, ImportError> {
    if candidates(dir, files).is_empty()
        && let Some(archive) = files
            .iter()
            .find(|file| extension(Path::new(file)) == "zip")
    {
        return import_archive(dir, archive);
    }
    import_files(dir, files)
}

/// Unpacks next to the archive's own kind of place: the system's folder for such, which the process
/// may name by `TMPDIR`.
fn import_archive(dir: &Path, archive: &str) -> Result<Imported, ImportError> {
    let scratch = tempfile::tempdir().map_err(|source| ZipError::Io {
        path: std::env::temp_dir(),
        source,
    })?;
    let files = unpack(&dir.join(archive), scratch.path(), &ZipLimits::default())?;
    let mut imported = import_files(scratch.path(), &files)?;
    imported.model = Path::new(archive).join(&imported.model);
    Ok(imported)
}

fn import_files(dir: &Path, files: &[String]) -> Result<Imported, ImportError> {
    let candidates = candidates(dir, files);
    let Some((model, others)) = candidates.split_first() else {
        return Err(refusal(files));
    };
    let mut imported = match extension(model).as_str() {
        "glb" => gltf::import(dir, model, "glb"),
        "fbx" => fbx::import(dir, model),
        "obj" => obj::import(dir, model),
        "stl" => stl::import(dir, model),
        "ply" => ply::import(dir, model),
        _ => gltf::import(dir, model, "gltf"),
    }?;
    if !others.is_empty() {
        let names: Vec<String> = others
            .iter()
            .take(5)
            .map(|path| path.display().to_string())
            .collect();
        imported.warnings.push(format!(
            "the upload holds {} models; {} is taken, {} left out",
            candidates.len(),
            model.display(),
            names.join(", ")
        ));
    }
    Ok(imported)
}

/// The formats that we read, best first: when an upload holds several models of different kinds, the
/// richer one is taken.
const READ: &[&str] = &["glb", "gltf", "fbx", "obj", "ply", "stl"];

/// The models among the files, the one to take first: nearest to the top, then by format, then the
/// largest, then by name, so that the choice is the same each time.
fn candidates(dir: &Path, files: &[String]) -> Vec<PathBuf> {
    let rank = |file: &str| {
        let extension = extension(Path::new(file));
        READ.iter().position(|read| *read == extension)
    };
    let mut found: Vec<_> = files
        .iter()
        .filter(|file| !is_junk(Path::new(file)))
        .filter_map(|file| {
            let rank = rank(file)?;
            let size = fs::metadata(dir.join(file)).map_or(0, |metadata| metadata.len());
            Some((
                file.matches('/').count(),
                rank,
                std::cmp::Reverse(size),
                file,
            ))
        })
        .collect();
    found.sort();
    found
        .into_iter()
        .map(|(.., file)| PathBuf::from(file))
        .collect()
}

fn refusal(files: &[String]) -> ImportError {
    let named = |list: &[&str]| {
        files
            .iter()
            .find(|file| list.contains(&extension(Path::new(file)).as_str()))
    };
    if let Some(file) = named(CAD) {
        return ImportError::Unsupported(format!(
            "{file}: CAD files are not supported. Export the part as a mesh (glTF, OBJ or STL) from the CAD program"
        ));
    }
    if let Some(file) = named(UNREAD) {
        return ImportError::Unsupported(format!(
            "{file}: this format is not supported. Export the model as glTF, GLB, FBX, OBJ, STL or PLY"
        ));
    }
    if let Some(file) = named(&["zip", "7z", "rar", "tar", "gz", "tgz"]) {
        return ImportError::Unsupported(format!(
            "{file}: archives in archives are not read, and zip is the only kind; send the files themselves or one zip"
        ));
    }
    let shown: Vec<&str> = files.iter().take(5).map(String::as_str).collect();
    let more = files.len().saturating_sub(shown.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    ImportError::NoModel(if files.is_empty() {
        "the upload is empty".to_owned()
    } else {
        format!("the upload holds only {}{more}", shown.join(", "))
    })
}

fn extension(path: &Path) -> String {
    path.extension()
        .map(|extension| extension.to_string_lossy().to_lowercase())
        .unwrap_or_default()
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Finds a file that a model names: as written, or by its last part, since such references are often
/// absolute paths of another machine.
fn find_file(dir: &Path, base: &Path, name: &str) -> Option<PathBuf> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    [name, last].into_iter().find_map(
        |name| match super::document::uri::resolve(dir, base, name) {
            super::document::uri::Target::File(path) => Some(path),
            _ => None,
        },
    )
}
