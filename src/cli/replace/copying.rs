//! The files of a new version: compared with those of a model, and copied into the drive.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::cli::files::{self, FileBelow, percent, read_through};
use crate::cli::mounted::own_checksum;
use crate::cli::progress::Progress;
use crate::fuse::shell_quoted;
use crate::outbox::{ContentHasher, is_junk_path, is_service_folder};

/// A file in a draft that is being copied. It has a temporary name, so the draft is not sent by itself.
pub(super) const UNFINISHED: &str = ".assetfs-replace.copies";

/// A model on the local disk.
pub(super) struct NewFiles {
    root: PathBuf,
    files: Vec<FileBelow>,
}

impl NewFiles {
    pub(super) fn open(root: &Path) -> Result<NewFiles> {
        refuse_links(root)?;
        let files = files::below(root)?;
        if files.is_empty() {
            bail!("{} contains no file", shell_quoted(root));
        }
        Ok(NewFiles {
            root: root.to_owned(),
            files,
        })
    }

    fn is_file(&self) -> bool {
        self.files[0].path.as_os_str().is_empty()
    }

    /// Where a file lies in the model.
    fn place(&self, file: &FileBelow) -> PathBuf {
        match self.is_file() {
            true => self.root.file_name().unwrap_or_default().into(),
            false => file.path.clone(),
        }
    }

    /// True if the files of a model were copied in on this machine, and are those of the source.
    pub(super) fn equals_model(&self, model: &Path) -> Result<bool> {
        let mut left = own_files(model, &self.places())?;
        for file in &self.files {
            let place = self.place(file);
            if is_junk_path(&place.to_string_lossy()) {
                continue;
            }
            // The zip of a model that is shown as its content is not listed.
            let listed = left.remove(&place);
            let there = match listed {
                Some(checksum) => Some(checksum),
                None => checksum_at(&model.join(&place))?,
            };
            if there.is_none() || there != Some(checksum(&files::at(&self.root, file))?) {
                return Ok(false);
            }
        }
        Ok(left.is_empty())
    }

    /// The same for a draft or an upload, whose bytes are on the local disk.
    pub(super) fn equals_staged(&self, draft: &Path) -> Result<bool> {
        if !draft.is_file() {
            return self.equals_model(draft);
        }
        let there = checksum_at(draft)?;
        Ok(self.is_file() && there == Some(checksum(&self.root)?))
    }

    fn places(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| self.place(file)).collect()
    }

    /// The path in `rawmodels/` of the loose file that a model was made of, if the source is a file of that name.
    pub(super) fn loose_file_of(&self, model: &Path) -> Result<Option<PathBuf>> {
        let (Some(top), Some(name)) = (model.parent(), self.root.file_name()) else {
            return Ok(None);
        };
        let loose = top.join(name);
        let (Ok(there), Ok(within)) = (fs::metadata(&loose), fs::metadata(model.join(name))) else {
            return Ok(None);
        };
        let is_it = self.is_file() && there.is_file() && there.ino() == within.ino();
        Ok(is_it.then_some(loose))
    }

    /// Copies a file next to a loose file, under a name that is not sent.
    pub(super) fn copy_beside(&self, loose: &Path, quiet: bool) -> Result<PathBuf> {
        let name = loose.file_name().unwrap_or_default().to_string_lossy();
        let temporary = loose.with_file_name(format!(".{name}.copies"));
        // Left by a command that was interrupted.
        let _ = fs::remove_file(&temporary);
        let mut copy = Copy::new(self, quiet);
        copy.file(&self.root, &temporary)?;
        copy.end();
        Ok(temporary)
    }

    /// Copies all files into a folder, with their times.
    pub(super) fn copy_to(&self, folder: &Path, quiet: bool) -> Result<()> {
        let mut copy = Copy::new(self, quiet);
        for file in &self.files {
            let to = folder.join(self.place(file));
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
            }
            copy.file(&files::at(&self.root, file), &to)?;
        }
        copy.end();
        Ok(())
    }
}

/// A copy into the drive, with its progress.
struct Copy {
    task: crate::cli::progress::Task,
    done: u64,
    total: u64,
}

impl Copy {
    fn new(source: &NewFiles, quiet: bool) -> Copy {
        Copy {
            task: Progress::new(quiet).task(shell_quoted(&source.root)),
            done: 0,
            total: source.files.iter().map(|file| file.len).sum(),
        }
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<()> {
        let named = || to.display().to_string();
        let mut source = File::open(from).with_context(|| from.display().to_string())?;
        let status = source.metadata()?;
        let mut target = File::create(to).with_context(named)?;
        let mut part = vec![0; 1 << 20];
        loop {
            let len = source
                .read(&mut part)
                .with_context(|| from.display().to_string())?;
            if len == 0 {
                break;
            }
            std::io::Write::write_all(&mut target, &part[..len]).with_context(named)?;
            self.done += len as u64;
            let percent = percent(self.done, self.total);
            if self.task.is_watched() {
                self.task.show(&format!("copying {percent}%"));
            }
        }
        let times = FileTimes::new().set_modified(status.modified()?);
        target.set_times(times).with_context(named)?;
        // `close` reports errors to nobody here.
        target.sync_all().with_context(named)
    }

    fn end(self) {
        self.task.finish("copied");
    }
}

/// Links are not copied, so a model with links would be incomplete.
fn refuse_links(root: &Path) -> Result<()> {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let entry = entry.with_context(|| folder.display().to_string())?;
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                let path = entry.path();
                bail!(
                    "{} is a symbolic link; put the file itself there",
                    shell_quoted(&path)
                );
            }
            if kind.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

/// The files of a model that were copied in on this machine, with their checksums. Folders of the service are not
/// read, unless one of `places` is in a folder of that name.
fn own_files(model: &Path, places: &[PathBuf]) -> Result<BTreeMap<PathBuf, String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let dir = model.join(&folder);
        let entries = fs::read_dir(&dir).with_context(|| dir.display().to_string())?;
        for entry in entries {
            let entry = entry.with_context(|| dir.display().to_string())?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                let name = path.to_string_lossy();
                let is_own = places.iter().any(|place| place.starts_with(&path));
                if is_own || !is_service_folder(name.trim_end_matches('@')) {
                    folders.push(path);
                }
            } else if kind.is_file()
                && !is_junk_path(&path.to_string_lossy())
                && let Some(checksum) = own_checksum(&entry.path())?
            {
                found.insert(path, checksum);
            }
        }
    }
    Ok(found)
}

fn checksum_at(path: &Path) -> Result<Option<String>> {
    match path.exists() {
        true => own_checksum(path),
        false => Ok(None),
    }
}

fn checksum(path: &Path) -> Result<String> {
    let mut hasher = ContentHasher::default();
    read_through(path, |part| {
        hasher.update(part);
        true
    })?;
    Ok(hasher.digest().to_string())
}
