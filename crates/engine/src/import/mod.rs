//! Import: from the files of an upload to a [`Scene`].
//!
//! [`import`] finds the model among the files and calls the importer of its format. A file that can be read in part is
//! read, and warnings name what is missing; any other file is refused.

mod animated;
mod cad;
mod channels;
mod colors;
mod coordinates;
mod error;
mod far;
mod fbx;
mod file_names;
mod gltf;
mod images;
mod imported;
mod lines;
mod normals;
mod obj;
mod ply;
mod polygon;
mod scene_builder;
mod stl;
mod usd;

use std::fs;
use std::path::{Path, PathBuf};

pub use cad::{check_reader as check_cad_reader, reader as cad_reader};
pub use error::ImportError;
pub(crate) use images::plain_image;
pub use imported::Imported;

use super::intake::{ZipError, ZipLimits, unpack};
use super::settings::{Tessellation, UsdPurpose};
use assetfs_formats::junk::is_system_path;
use assetfs_formats::printable::printable_path;
use assetfs_formats::warnings::{Warning, WarningKind};
use assetfs_formats::{self as formats, Kind};
use error::gaussian_splat;

/// Finds the model among `files` in `dir` and reads it. Archives among the files are unpacked into a temporary folder,
/// which is deleted afterwards.
///
/// # Errors
/// When there is no model, or it cannot be read.
pub fn import(dir: &Path, files: &[String]) -> Result<Imported, ImportError> {
    import_as(dir, files, ImportOptions::default())
}

/// What a configuration can ask of importers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// For CAD files.
    pub tessellation: Tessellation,
    /// For USD.
    pub purpose: UsdPurpose,
}

/// The same, with options.
///
/// # Errors
/// When there is no model, or it cannot be read.
pub fn import_as(
    dir: &Path,
    files: &[String],
    options: ImportOptions,
) -> Result<Imported, ImportError> {
    let candidates = candidates(dir, files);
    let has_mesh = candidates.first().is_some_and(|model| {
        let format = formats::of_name(&model.to_string_lossy());
        format.is_some_and(|format| format.kind != Kind::Cad)
    });
    if !has_mesh
        && let Some(archive) = files
            .iter()
            .find(|file| !is_system_path(Path::new(file)) && is_archive(file))
    {
        return import_archive(dir, archive, options);
    }
    import_files(dir, files, options)
}

/// Unpacks into the system's folder for temporary files (`TMPDIR`).
fn import_archive(
    dir: &Path,
    archive: &str,
    options: ImportOptions,
) -> Result<Imported, ImportError> {
    let scratch = tempfile::tempdir().map_err(|source| ZipError::Io {
        path: std::env::temp_dir(),
        source,
    })?;
    let files = unpack(&dir.join(archive), scratch.path(), &ZipLimits::default())?;
    let mut imported = import_files(scratch.path(), &files, options)?;
    imported.model = Path::new(archive).join(&imported.model);
    Ok(imported)
}

fn import_files(
    dir: &Path,
    files: &[String],
    options: ImportOptions,
) -> Result<Imported, ImportError> {
    let candidates = candidates(dir, files);
    let Some((model, others)) = candidates.split_first() else {
        return Err(refusal(files));
    };
    if fs::metadata(dir.join(model)).is_ok_and(|found| found.len() == 0) {
        return Err(ImportError::Damaged {
            file: model.display().to_string(),
            what: "the file is empty".to_owned(),
        });
    }
    let mut imported = match formats::extension(&model.to_string_lossy()).as_str() {
        "glb" => gltf::import(dir, model, "glb"),
        "gltf" => gltf::import(dir, model, "gltf"),
        "fbx" => fbx::import(dir, model),
        "obj" => obj::import(dir, model),
        "stl" => stl::import(dir, model),
        "ply" => ply::import(dir, model),
        "usdz" => usd::import(dir, model, "usdz", options.purpose),
        "usdc" => usd::import(dir, model, "usdc", options.purpose),
        "usda" => usd::import(dir, model, "usda", options.purpose),
        "usd" => usd::import(dir, model, "usd", options.purpose),
        "step" | "stp" => cad::import(dir, model, "step", options.tessellation),
        "iges" | "igs" => cad::import(dir, model, "iges", options.tessellation),
        "brep" => cad::import(dir, model, "brep", options.tessellation),
        other => unreachable!("the table of formats lists {other}, which has no importer"),
    }?;
    let removed = coordinates::remove_unreadable_textures(&mut imported.scene);
    imported.warnings.extend(removed);
    imported.scene.choose_origin();
    if !others.is_empty() {
        let names: Vec<String> = others
            .iter()
            .take(5)
            .map(|path| path.display().to_string())
            .collect();
        imported.warnings.push(Warning::new(
            WarningKind::OtherModels,
            format!(
                "the upload holds {} models; {} is taken, {} left out",
                candidates.len(),
                model.display(),
                names.join(", ")
            ),
        ));
    }
    Ok(imported)
}

/// The readable models among the files; the first is the one to import.
fn candidates(dir: &Path, files: &[String]) -> Vec<PathBuf> {
    let files = files.iter().map(String::as_str);
    let wanted = files.filter(|file| !is_system_path(Path::new(file)));
    let sized = wanted.map(|file| {
        let size = fs::metadata(dir.join(file)).map_or(0, |metadata| metadata.len());
        (file, size)
    });
    formats::rank_models(sized)
        .into_iter()
        .filter(|file| formats::of_name(file).is_some_and(|format| format.is_read()))
        .map(PathBuf::from)
        .collect()
}

fn is_archive(file: &str) -> bool {
    formats::of_name(file).is_some_and(|format| format.kind == Kind::Archive)
}

/// Formats that hold nothing but Gaussian splats.
const SPLATS: &[&str] = &["splat", "ksplat", "spz", "sog"];
/// Archives that are never opened.
const OTHER_ARCHIVES: &[&str] = &["7z", "rar", "tar", "gz", "tgz"];

fn refusal(files: &[String]) -> ImportError {
    let of_kind = |kinds: &[Kind]| {
        let is_one = |format: &formats::ModelFormat| kinds.contains(&format.kind);
        files
            .iter()
            .find(|file| formats::of_name(file).is_some_and(is_one))
    };
    if let Some(file) = of_kind(&[Kind::Cad]) {
        return ImportError::Unsupported(format!(
            "{file}: this format of CAD files is not supported. Export the part as STEP, or as a mesh (glTF, OBJ or STL), from the CAD program"
        ));
    }
    if let Some(file) = of_kind(&[Kind::Exchange, Kind::Scene, Kind::Authoring]) {
        return ImportError::Unsupported(format!(
            "{file}: this format is not supported. Export the model as one of {}",
            formats::read().collect::<Vec<_>>().join(", ")
        ));
    }
    let is_splat = |file: &&String| SPLATS.contains(&formats::extension(file).as_str());
    if let Some(file) = files.iter().find(is_splat) {
        return gaussian_splat(file);
    }
    let is_packed = |file: &&String| {
        is_archive(file) || OTHER_ARCHIVES.contains(&formats::extension(file).as_str())
    };
    if let Some(file) = files.iter().find(is_packed) {
        return ImportError::Unsupported(format!(
            "{file}: archives in archives are not read, and zip is the only supported kind; upload the files themselves or one zip"
        ));
    }
    let shown: Vec<String> = files.iter().take(5).map(|it| printable_path(it)).collect();
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
