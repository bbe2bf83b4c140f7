//! Import: from the files of an upload to a [`Scene`].
//!
//! [`import`] finds the model among the files and hands it to the importer of its format. What can
//! be read with a loss is read, and the loss is said in the warnings; what cannot is refused.

mod error;
mod gltf;
pub mod images;

use std::path::{Path, PathBuf};

pub use error::ImportError;

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

/// Finds the model among `files` in `dir` and reads it.
///
/// # Errors
/// When there is no model, or it cannot be read.
pub fn import(dir: &Path, files: &[String]) -> Result<Imported, ImportError> {
    let model = find_model(files)?;
    match extension(&model).as_str() {
        "glb" => gltf::import(dir, &model, "glb"),
        _ => gltf::import(dir, &model, "gltf"),
    }
}

/// The formats that we read, best first: when an upload holds several models of different kinds, the
/// richer one is taken.
const READ: &[&str] = &["glb", "gltf"];

fn find_model(files: &[String]) -> Result<PathBuf, ImportError> {
    let mut candidates: Vec<&String> = files
        .iter()
        .filter(|file| READ.contains(&extension(Path::new(file)).as_str()))
        .collect();
    // The one nearest to the top, then by format, then by name, so that the choice is the same each time.
    candidates.sort_by_key(|file| {
        let rank = READ
            .iter()
            .position(|read| *read == extension(Path::new(file)));
        (file.matches('/').count(), rank, file.as_str())
    });
    match candidates.first() {
        Some(file) => Ok(PathBuf::from(file)),
        None => Err(refusal(files)),
    }
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
            "{file}: this format is not supported. Export the model as glTF, GLB, OBJ, STL, PLY or FBX"
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
