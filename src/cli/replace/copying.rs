//! Copies the files of a new version into the drive.

use std::fs::{File, FileTimes};
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context, Result};

use super::claim::Claim;
use crate::cli::files::percent;
use crate::cli::models_of_folder::{NewFiles, SourceFile};
use crate::cli::progress::{Progress, Task};
use crate::fuse::shell_quoted;
use crate::given_files;

/// Copies all files of a source into what was claimed, with their times.
pub(super) fn copy_into(source: &NewFiles, claim: &Claim, quiet: bool) -> Result<()> {
    let mut copy = Copy::new(source, quiet);
    for file in source.files() {
        let (named, target) = claim.target(&file.place);
        let target = target.with_context(|| named.display().to_string())?;
        copy.file(file, target, &named)?;
    }
    copy.end();
    Ok(())
}

/// A copy into the drive, with its progress.
struct Copy {
    task: Task,
    done: u64,
    total: u64,
}

impl Copy {
    fn new(source: &NewFiles, quiet: bool) -> Copy {
        Copy {
            task: Progress::new(quiet).task(shell_quoted(source.root())),
            done: 0,
            total: source.files().iter().map(|file| file.len).sum(),
        }
    }

    /// `named` is what errors call the target.
    fn file(&mut self, from: &SourceFile, mut target: File, named: &Path) -> Result<()> {
        let read = || from.at.display().to_string();
        let written = || named.display().to_string();
        let mut source = given_files::open(&from.at).with_context(read)?;
        let status = source.metadata()?;
        let mut part = vec![0; 1 << 20];
        loop {
            let len = source.read(&mut part).with_context(read)?;
            if len == 0 {
                break;
            }
            target.write_all(&part[..len]).with_context(written)?;
            self.done += len as u64;
            let percent = percent(self.done, self.total);
            if self.task.is_watched() {
                self.task.show(&format!("copying {percent}%"));
            }
        }
        let times = FileTimes::new().set_modified(status.modified()?);
        target.set_times(times).with_context(written)?;
        // `close` reports errors to nobody here.
        target.sync_all().with_context(written)
    }

    fn end(self) {
        self.task.finish("copied");
    }
}
