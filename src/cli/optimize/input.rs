//! Resolves IN: the folder that the engine may read, and the possible model files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::super::exit::WrongUse;
use crate::given_files;

/// Maximum number of files; more usually means that a whole disk was named by mistake.
const MAX_FILES: usize = 50_000;

#[derive(Debug, Clone)]
pub(in crate::cli) struct Model {
    /// The folder that holds its files.
    pub(in crate::cli) dir: PathBuf,
    /// The files that may be the model, relative to `dir`, with `/` as separator.
    pub(in crate::cli) files: Vec<String>,
    /// The name of the results.
    pub(super) name: String,
    /// The argument, for messages.
    pub(in crate::cli) shown: String,
}

impl Model {
    /// Resolves `input`. Excludes `out` if it is inside of it.
    pub(in crate::cli) fn find(input: &Path, out: &Path) -> Result<Model> {
        let shown = input.display().to_string();
        let wrong = |reason: String| WrongUse(reason).into();
        let path = match fs::canonicalize(input) {
            Ok(path) => path,
            Err(error) => return Err(wrong(format!("cannot read {shown}: {error}"))),
        };
        let out = fs::canonicalize(out).unwrap_or(std::path::absolute(out)?);
        let is_dir = path.is_dir();
        let dir = match path.parent() {
            Some(parent) if !is_dir => parent.to_owned(),
            _ => path.clone(),
        };
        if out == dir {
            return Err(wrong(format!(
                "{} is the folder of the source; choose another one, so that no source file is replaced",
                out.display()
            )));
        }
        let name = if is_dir {
            path.file_name()
        } else {
            path.file_stem()
        };
        let name = name.map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into());
        let files = if is_dir {
            let found = FolderFiles::below(&path, &out);
            let found = found.with_context(|| format!("cannot read {shown}"))?;
            if found.files.is_empty() {
                bail!("{shown} contains no files{}", found.left_out());
            }
            found.files
        } else if path.is_file() {
            given_files::open(&path).with_context(|| format!("cannot read {shown}"))?;
            vec![own_name(&path, &shown)?]
        } else {
            return Err(wrong(format!("{shown} is neither a file nor a folder")));
        };
        Ok(Model {
            dir,
            files,
            name,
            shown,
        })
    }

    /// Leaves out the files whose links lead outside of `folder`. Like the folder of the model, it is a path without symbolic links.
    ///
    /// # Errors
    /// If the model itself is outside.
    pub(in crate::cli) fn within(mut self, folder: &Path) -> Result<Model> {
        if !self.dir.starts_with(folder) {
            bail!(
                "{} is a link that leads out of {}",
                self.shown,
                folder.display()
            );
        }
        // Linked folders inside the model were skipped, so only a file itself can be a link.
        let is_within = |path: PathBuf| {
            !path.is_symlink()
                || fs::canonicalize(path).is_ok_and(|whole| whole.starts_with(folder))
        };
        self.files.retain(|file| is_within(self.dir.join(file)));
        Ok(self)
    }
}

fn own_name(path: &Path, shown: &str) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    match name {
        Some(name) => Ok(name.to_owned()),
        None => Err(WrongUse(format!("the name of {shown} is not UTF-8; rename it")).into()),
    }
}

/// The files of a folder, and how many entries of it were left out.
#[derive(Debug, Default)]
struct FolderFiles {
    /// Relative to the folder, in order.
    files: Vec<String>,
    /// Names that are not UTF-8: the engine knows files by text.
    not_text: usize,
    hidden: usize,
    /// Links to folders could lead in circles; others lead nowhere.
    links: usize,
    /// Pipes, sockets and devices.
    special: usize,
}

impl FolderFiles {
    /// Reads the folder `dir` with its folders, without `out`.
    fn below(dir: &Path, out: &Path) -> Result<FolderFiles> {
        let mut found = FolderFiles::default();
        let mut waiting = vec![(dir.to_owned(), String::new())];
        while let Some((folder, prefix)) = waiting.pop() {
            let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
            for entry in entries {
                let entry = entry.with_context(|| folder.display().to_string())?;
                let path = entry.path();
                if path == *out {
                    continue;
                }
                let Ok(name) = entry.file_name().into_string() else {
                    found.not_text += 1;
                    continue;
                };
                let kind = entry.file_type()?;
                let relative = format!("{prefix}{name}");
                if name.starts_with('.') {
                    found.hidden += 1;
                } else if kind.is_dir() {
                    waiting.push((path, format!("{relative}/")));
                } else if path.is_file() {
                    found.files.push(relative);
                } else if kind.is_symlink() {
                    found.links += 1;
                } else {
                    found.special += 1;
                }
            }
            if found.files.len() > MAX_FILES {
                return Err(WrongUse(format!(
                    "{} contains more than {MAX_FILES} files; name the file or folder of the model",
                    dir.display()
                ))
                .into());
            }
        }
        found.files.sort();
        Ok(found)
    }

    /// The end of a sentence that says what was left out and what to do; empty if nothing was.
    fn left_out(&self) -> String {
        let kinds = [
            (
                self.not_text,
                "name that is not UTF-8",
                "names that are not UTF-8",
                " (rename)",
            ),
            (self.hidden, "hidden entry", "hidden entries", ""),
            (
                self.links,
                "link to a folder or to nothing",
                "links to folders or to nothing",
                " (copy what they lead to)",
            ),
            (
                self.special,
                "pipe, socket or device",
                "pipes, sockets or devices",
                "",
            ),
        ];
        let said: Vec<String> = kinds
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, one, many, advice)| {
                let thing = if count == 1 { one } else { many };
                format!("{count} {thing}{advice}")
            })
            .collect();
        match said.is_empty() {
            true => String::new(),
            false => format!("; left out: {}", said.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_gives_its_files_without_the_results() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["chair.obj", "tex/wood.png", ".git/x", "out/chair.glb"] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"x").unwrap();
        }
        let model = Model::find(dir.path(), &dir.path().join("out")).unwrap();
        assert_eq!(model.files, ["chair.obj", "tex/wood.png"]);
        let one = Model::find(&dir.path().join("chair.obj"), Path::new("out")).unwrap();
        assert_eq!(
            (one.files, one.name.as_str()),
            (vec!["chair.obj".to_owned()], "chair")
        );
        let own = Model::find(&dir.path().join("chair.obj"), dir.path()).unwrap_err();
        assert!(own.to_string().contains("folder of the source"), "{own}");
    }

    #[test]
    fn a_folder_without_files_says_what_was_left_out() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;

        let dir = tempfile::tempdir().unwrap();
        let input = dir.path().join("scan");
        fs::create_dir(&input).unwrap();
        let find = || {
            let error = Model::find(&input, &dir.path().join("out")).unwrap_err();
            error
                .to_string()
                .split_once("contains ")
                .unwrap()
                .1
                .to_owned()
        };
        assert_eq!(find(), "no files");
        fs::write(input.join(OsStr::from_bytes(b"ch\xe4ir.glb")), b"x").unwrap();
        std::os::unix::fs::symlink(dir.path(), input.join("more")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, input.join("pipe"), 0o600.into()).unwrap();
        assert_eq!(
            find(),
            "no files; left out: 1 name that is not UTF-8 (rename), 1 link to a folder or to nothing \
             (copy what they lead to), 1 pipe, socket or device"
        );
    }
}
