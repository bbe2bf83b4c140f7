//! What is refused before anything is begun: a source that cannot become the model.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{ReplaceArgs, steps, wrong_use};
use crate::fuse::shell_quoted;
use crate::given_files;
use crate::outbox::model_of_loose_file;
use assetfs_formats::input_files::{InputFiles, UriTarget};
use assetfs_formats::references;

/// How many names a message shows.
const NAMES_SHOWN: usize = 3;

/// The path of the source without links.
pub(super) fn existing(source: &Path) -> Result<PathBuf> {
    source.canonicalize().map_err(|error| {
        let path = shell_quoted(source);
        wrong_use(match error.kind() {
            std::io::ErrorKind::NotFound => format!("{path} does not exist"),
            _ => format!("cannot read {path}: {error}"),
        })
    })
}

/// Refuses a source that belongs to the model: its folder, its loose file, or the draft of its new version, which would
/// be removed before it is read.
pub(super) fn check_is_not_model(source: &Path, model: &Path, args: &ReplaceArgs) -> Result<()> {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let is_loose = source.parent() == model.parent()
        && model_of_loose_file(&name).is_some_and(|stem| model.ends_with(stem));
    let version = steps::version_path(model);
    if is_loose || source.starts_with(model) || source.starts_with(version) {
        return Err(wrong_use(format!(
            "{} belongs to {} itself; give the new files from another folder",
            shell_quoted(&args.source),
            shell_quoted(&args.model)
        )));
    }
    Ok(())
}

/// Refuses one file of a model whose other files lie beside it: they would be missing.
pub(super) fn check_stands_alone(source: &Path) -> Result<()> {
    let (Some(folder), Some(name)) = (source.parent(), source.file_name()) else {
        return Ok(());
    };
    if !source.is_file() {
        return Ok(());
    }
    let shown = || source.display().to_string();
    let file = given_files::open(source).with_context(shown)?;
    let named = references::find(&name.to_string_lossy(), &file).with_context(shown)?;
    let files = InputFiles::new(folder);
    let beside: Vec<String> = named
        .files
        .iter()
        .filter_map(|it| match files.find(&it.from, &it.paths) {
            UriTarget::File(path) => {
                let path = path.strip_prefix(folder).unwrap_or(&path);
                Some(path.display().to_string())
            }
            _ => None,
        })
        .collect();
    if beside.is_empty() {
        return Ok(());
    }
    let more = match beside.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Err(wrong_use(format!(
        "{} needs {}{more}, which would not be sent with it; give the folder {}, or one with only these files",
        shell_quoted(source),
        beside[..beside.len().min(NAMES_SHOWN)].join(", "),
        shell_quoted(folder)
    )))
}
