//! The files of a model on the local disk, as the drive would send them: those that it would not send are left out.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail};

use crate::cli::files::{self, FileBelow, checksum, read_through};
use crate::fuse::shell_quoted;
use crate::given_files;
use crate::outbox::{has_references, is_never_sent, service_folder_of, source_hash};
use assetfs_formats::references;
use assetfs_formats::resolve::{Found, ModelFiles};

/// The files of a model on the local disk that are sent.
pub(in crate::cli) struct NewFiles {
    root: PathBuf,
    files: Vec<SourceFile>,
}

pub(in crate::cli) struct SourceFile {
    pub(in crate::cli) at: PathBuf,
    /// Its path in the model.
    pub(in crate::cli) place: PathBuf,
    pub(in crate::cli) len: u64,
    /// Computed at its first use and kept, because a model is compared several times.
    checksum: OnceLock<String>,
}

impl SourceFile {
    fn new(root: &Path, file: &FileBelow) -> SourceFile {
        SourceFile {
            at: files::at(root, file),
            place: match file.path.as_os_str().is_empty() {
                true => root.file_name().unwrap_or_default().into(),
                false => file.path.clone(),
            },
            len: file.len,
            checksum: OnceLock::new(),
        }
    }

    /// Reads the file once.
    pub(in crate::cli) fn checksum(&self) -> Result<&str> {
        if let Some(known) = self.checksum.get() {
            return Ok(known);
        }
        let read = checksum(|take| read_through(&self.at, take))?;
        Ok(self.checksum.get_or_init(|| read))
    }
}

impl NewFiles {
    /// The files of a folder, or the one file, of a model.
    pub(in crate::cli) fn open(root: &Path) -> Result<NewFiles> {
        let below = files::below_with(root, |path, kind| match kind.is_symlink() {
            // A model with links would be incomplete.
            true => bail!(
                "{} is a symbolic link; put the file itself there",
                shell_quoted(&root.join(path))
            ),
            false => Ok(true),
        })?;
        NewFiles::of(root, root, &below)
    }

    /// A model file together with the files that it names: paths below `root`.
    pub(in crate::cli) fn of_file(file: &Path, root: &Path, paths: &[PathBuf]) -> Result<NewFiles> {
        let below = paths.iter().map(|path| {
            let at = root.join(path);
            let status = fs::metadata(&at).with_context(|| at.display().to_string())?;
            let (path, len) = (path.clone(), status.len());
            Ok(FileBelow { path, len })
        });
        NewFiles::of(file, root, &below.collect::<Result<Vec<_>>>()?)
    }

    fn of(named: &Path, root: &Path, below: &[FileBelow]) -> Result<NewFiles> {
        let referred = referred_folders(root, below)?;
        let files: Vec<SourceFile> = below
            .iter()
            .filter(|file| is_sent(&file.path.to_string_lossy(), &referred))
            .map(|file| SourceFile::new(root, file))
            .collect();
        if files.is_empty() {
            bail!("{} contains no file that can be sent", shell_quoted(named));
        }
        Ok(NewFiles {
            root: named.to_owned(),
            files,
        })
    }

    /// What was named as the source.
    pub(in crate::cli) fn root(&self) -> &Path {
        &self.root
    }

    pub(in crate::cli) fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The name of the source, if it is one file.
    pub(in crate::cli) fn file_name(&self) -> Option<&Path> {
        match self.files.as_slice() {
            [file] if file.at == self.root => Some(&file.place),
            _ => None,
        }
    }

    /// The checksum over its names and contents, as a drive notes it on the model.
    pub(in crate::cli) fn source_hash(&self) -> Result<String> {
        let mut files = BTreeSet::new();
        for file in &self.files {
            let path = file.place.to_string_lossy().into_owned();
            files.insert((path, file.len, file.checksum()?.to_owned()));
        }
        Ok(source_hash(&files).to_string())
    }

    /// The path in `rawmodels/` of the loose file that a model was made of, if the source is a file of that name.
    pub(in crate::cli) fn loose_file_of(&self, model: &Path) -> Option<PathBuf> {
        let name = self.file_name()?;
        let loose = model.parent()?.join(name);
        let (there, within) = (
            fs::metadata(&loose).ok()?,
            fs::metadata(model.join(name)).ok()?,
        );
        (there.is_file() && there.ino() == within.ino()).then_some(loose)
    }
}

fn is_sent(path: &str, referred: &BTreeSet<String>) -> bool {
    let in_service_folder = service_folder_of(path);
    !is_never_sent(path) && in_service_folder.is_none_or(|folder| referred.contains(folder))
}

/// The folders of a source with the name of a service folder that a model outside of them refers to.
fn referred_folders(root: &Path, files: &[FileBelow]) -> Result<BTreeSet<String>> {
    let path_of = |file: &FileBelow| file.path.to_string_lossy().into_owned();
    let mut referred = BTreeSet::new();
    if !files
        .iter()
        .any(|file| service_folder_of(&path_of(file)).is_some())
    {
        return Ok(referred);
    }
    let all = ModelFiles::new(files.iter().map(path_of));
    for file in files {
        let path = path_of(file);
        if is_never_sent(&path) || service_folder_of(&path).is_some() || !has_references(&path) {
            continue;
        }
        let at = files::at(root, file);
        let found = given_files::open(&at).and_then(|open| references::find(&path, &open));
        let found = found.with_context(|| at.display().to_string())?;
        let found = found.files.iter().filter_map(|it| match it.find_in(&all) {
            Found::File(path) => service_folder_of(path),
            Found::Several(_) | Found::Nothing => None,
        });
        referred.extend(found.map(str::to_owned));
    }
    Ok(referred)
}
