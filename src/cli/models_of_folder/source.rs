//! The models in a folder: which entries are models, which files belong to each, whether they are whole, and what
//! identifies their content.
//!
//! A folder is one model. A file of a model format is one model together with the files that it names. Hidden names,
//! the folder of the results, names of no model format, and pipes, sockets and devices are left alone.
//!
//! A model whose names, sizes and times are those of the last scan is not opened again.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xxhash_rust::xxh3::Xxh3;

use super::links::{LinkRule, Links};
use crate::cli::files;
use crate::given_files;
use assetfs_formats::input_files::{InputFiles, UriTarget};
use assetfs_formats::references::{self, Need, Reference};
use assetfs_formats::wholeness::{self, Wholeness};
use assetfs_formats::{MODELS, extension, rank_models};

/// The most bytes of a small model.
const SMALL_BYTES: u64 = 8 << 20;

/// One model in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Source {
    /// The name of its entry in the folder.
    pub(in crate::cli) entry: String,
    /// The name without the extension of a file.
    pub(in crate::cli) stem: String,
    /// Its file or folder.
    pub(in crate::cli) path: PathBuf,
    /// The folder that `files` are relative to: the model's own, or the one of all models.
    pub(in crate::cli) root: PathBuf,
    /// The folder that its files have to be in after all links are resolved, if links may not lead out of it.
    within: Option<PathBuf>,
    /// Its files, sorted.
    pub(in crate::cli) files: Vec<PathBuf>,
    /// The missing files, in words.
    pub(in crate::cli) lacks: Vec<String>,
    /// It cannot be imported: a file of it is cut off, or a file with geometry is missing.
    is_incomplete: bool,
    /// Changes whenever a name, a size or a time of its files changes.
    pub(in crate::cli) stamp: String,
}

/// The models in `dir`, sorted by name; `out` is not looked into, and links that `links` forbids are left out. `known` has what the last scan found of an entry.
pub(in crate::cli) fn scan<'a>(
    dir: &Path,
    out: &Path,
    links: Links,
    known: impl Fn(&str) -> Option<&'a Source>,
) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    let cannot = || format!("cannot read {}", dir.display());
    let rule = LinkRule::new(dir, out, links).with_context(cannot)?;
    let entries = fs::read_dir(dir).with_context(cannot)?;
    for entry in entries {
        let entry = entry.with_context(cannot)?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = entry.path();
        // `left_out` names the links.
        if name.starts_with('.') || path == out || rule.forbids(&path).is_some() {
            continue;
        }
        if let Some(known) = known(&name)
            && known.is_as_before()
        {
            found.push(known.clone());
            continue;
        }
        match read_entry(dir, &path, name, rule.within()) {
            Ok(source) => found.extend(source),
            // It was removed or renamed while it was looked at; the next scan sees what is there then.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // `left_out` names it.
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        }
    }
    found.sort_by(|a, b| a.entry.cmp(&b.entry));
    Ok(found)
}

fn read_entry(
    dir: &Path,
    path: &Path,
    name: String,
    within: Option<&Path>,
) -> io::Result<Option<Source>> {
    let kind = fs::metadata(path)?.file_type();
    let is_model = |name: &str| {
        MODELS
            .iter()
            .any(|format| format.extension == extension(name))
    };
    let mut lacks = Lacks::default();
    let (root, files, stem) = if kind.is_dir() {
        let files = files_of_folder(path)?;
        let names = files.iter().filter_map(|file| file.to_str());
        if rank_models(names.map(|name| (name, 0))).is_empty() {
            return Ok(None);
        }
        add_lacking((path, within), &files, &mut lacks)?;
        (path, files, name.clone())
    } else if kind.is_file() && is_model(&name) {
        let files = files_of_model((dir, within), &name, &mut lacks)?;
        let stem = name
            .rsplit_once('.')
            .map_or(name.as_str(), |(stem, _)| stem)
            .to_owned();
        (dir, files, stem)
    } else {
        return Ok(None);
    };
    for file in &files {
        if let Some(rest) = cut_short((root, within), file)? {
            lacks.add(rest, Need::ForImport);
        }
    }
    Ok(Some(Source {
        stamp: stamp(root, &files, &lacks.files)?,
        entry: name,
        stem,
        path: path.to_owned(),
        root: root.to_owned(),
        within: within.map(Path::to_owned),
        files,
        lacks: lacks.files,
        is_incomplete: lacks.is_for_import,
    }))
}

/// What a model lacks.
#[derive(Default)]
struct Lacks {
    /// In words.
    files: Vec<String>,
    /// Without one of them it cannot be imported.
    is_for_import: bool,
}

impl Lacks {
    fn add(&mut self, file: String, need: Need) {
        self.files.push(file);
        self.is_for_import |= need == Need::ForImport;
    }
}

/// The files below a folder without hidden ones.
fn files_of_folder(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let below = files::below(folder).map_err(io::Error::other)?;
    let is_hidden = |path: &Path| {
        path.components()
            .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
    };
    let paths = below.into_iter().map(|file| file.path);
    Ok(paths.filter(|path| !is_hidden(path)).collect())
}

/// A model file and the files that it names, directly or through its material files.
fn files_of_model(
    (dir, within): (&Path, Option<&Path>),
    name: &str,
    lacks: &mut Lacks,
) -> io::Result<Vec<PathBuf>> {
    let mut found = BTreeSet::from([name.to_owned()]);
    let mut waiting = vec![name.to_owned()];
    let below = InputFiles::new(dir);
    while let Some(file) = waiting.pop() {
        for reference in named_by((dir, within), Path::new(&file))? {
            match found_in(&below, &reference) {
                Ok(path) => {
                    if found.insert(path.clone()) {
                        waiting.push(path);
                    }
                }
                Err(lacking) => lacks.add(lacking, reference.need),
            }
        }
    }
    Ok(found.into_iter().map(PathBuf::from).collect())
}

/// Adds the files that the files of a folder refer to and that do not exist.
fn add_lacking(
    (folder, within): (&Path, Option<&Path>),
    files: &[PathBuf],
    lacks: &mut Lacks,
) -> io::Result<()> {
    let below = InputFiles::new(folder);
    for file in files {
        for reference in named_by((folder, within), file)? {
            if let Err(lacking) = found_in(&below, &reference) {
                lacks.add(lacking, reference.need);
            }
        }
    }
    Ok(())
}

/// The path of the file that is meant, or what is missing, in words.
fn found_in(below: &InputFiles, reference: &Reference) -> Result<String, String> {
    let named = &reference.paths[0];
    match below.find(&reference.from, &reference.paths) {
        UriTarget::File(path) => {
            let path = path.strip_prefix(below).unwrap_or(&path);
            Ok(path.to_string_lossy().into_owned())
        }
        UriTarget::Several(files) => Err(format!("{named} (which of {}?)", files.join(", "))),
        UriTarget::Missing | UriTarget::Outside => Err(named.clone()),
    }
}

/// Opens a file of a model.
fn open((root, within): (&Path, Option<&Path>), file: &Path) -> io::Result<File> {
    let path = root.join(file);
    match within {
        Some(folder) => given_files::open_within(&path, folder),
        None => given_files::open(&path),
    }
}

fn named_by(root: (&Path, Option<&Path>), file: &Path) -> io::Result<Vec<Reference>> {
    let Some(name) = file.to_str() else {
        return Ok(Vec::new());
    };
    Ok(references::find(name, &open(root, file)?)?.files)
}

/// A sentence about a file that is shorter than its format says.
fn cut_short(root: (&Path, Option<&Path>), file: &Path) -> io::Result<Option<String>> {
    let open = open(root, file)?;
    let size = open.metadata()?.len();
    let shown = file.display();
    Ok(
        match wholeness::judge(&file.to_string_lossy(), &open, size)? {
            Wholeness::Whole => None,
            Wholeness::Short { .. } => Some(format!("the rest of {shown}")),
        },
    )
}

fn stamp(root: &Path, files: &[PathBuf], lacks: &[String]) -> io::Result<String> {
    let mut hash = Xxh3::new();
    for file in files {
        let status = fs::metadata(root.join(file))?;
        hash.update(file.as_os_str().as_encoded_bytes());
        for number in [
            status.ino() as i64,
            status.len() as i64,
            status.mtime(),
            status.mtime_nsec(),
            // A program such as `cp -p` can change bytes and restore their earlier mtime. No program can set ctime.
            status.ctime(),
            status.ctime_nsec(),
        ] {
            hash.update(&number.to_le_bytes());
        }
    }
    lacks.iter().for_each(|name| hash.update(name.as_bytes()));
    Ok(format!("{:032x}", hash.digest128()))
}

impl Source {
    /// True if names, sizes and times are those of the last scan. Opens no file. False for a model of a single file that
    /// lacks files: they may have come anywhere in the folder, so it has to be read again.
    fn is_as_before(&self) -> bool {
        let is_known = match self.root == self.path {
            true => files_of_folder(&self.path).is_ok_and(|files| files == self.files),
            false => self.lacks.is_empty(),
        };
        is_known
            && stamp(&self.root, &self.files, &self.lacks).is_ok_and(|stamp| stamp == self.stamp)
    }

    /// True for a small model that is not a folder. Such models may share a worker process.
    pub(in crate::cli) fn is_small(&self) -> bool {
        let size = |file| fs::metadata(self.root.join(file)).map_or(u64::MAX, |it| it.len());
        let mut sizes = self.files.iter().map(size);
        self.root != self.path && sizes.try_fold(SMALL_BYTES, u64::checked_sub).is_some()
    }

    /// Refuses a model that a drive would not send.
    pub(in crate::cli) fn check_can_be_imported(&self) -> Result<()> {
        if self.is_incomplete {
            bail!("it is not whole: {} is missing", self.lacks.join(", "));
        }
        Ok(())
    }

    /// Opens one of its files.
    pub(in crate::cli) fn open(&self, file: &Path) -> io::Result<File> {
        open((&self.root, self.within.as_deref()), file)
    }

    /// A hash of the names and bytes of all files. Reads all of them.
    pub(in crate::cli) fn content(&self) -> Result<String> {
        let mut hash = Xxh3::new();
        for file in &self.files {
            let name = file.as_os_str().as_encoded_bytes();
            hash.update(&(name.len() as u64).to_le_bytes());
            hash.update(name);
            let open = self
                .open(file)
                .with_context(|| file.display().to_string())?;
            files::read_parts(open, file, |part| {
                hash.update(&(part.len() as u64).to_le_bytes());
                hash.update(part);
                true
            })?;
        }
        Ok(format!("{:032x}", hash.digest128()))
    }

    /// True when nothing was changed, added or removed since the scan.
    pub(in crate::cli) fn is_unchanged(&self, dir: &Path) -> bool {
        let again = || {
            let within = self.within.as_deref();
            read_entry(dir, &self.path, self.entry.clone(), within)
        };
        self.is_as_before() || again().is_ok_and(|again| again.is_some_and(|again| again == *self))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        dir
    }

    fn names(dir: &Path) -> Vec<(String, usize, Vec<String>)> {
        let found = scan(dir, &dir.join("out"), Links::Inside, |_| None).unwrap();
        let row = |source: Source| (source.entry, source.files.len(), source.lacks);
        found.into_iter().map(row).collect()
    }

    #[test]
    fn models_are_files_with_what_they_name_and_folders() {
        let gltf = br#"{"asset":{"version":"2.0"},"buffers":[{"uri":"chair.bin","byteLength":4}]}"#;
        let dir = folder(&[
            ("chair.gltf", gltf),
            ("chair.bin", b"1234"),
            ("table/table.stl", b"solid a endsolid"),
            ("table/.hidden", b"x"),
            ("texts/readme.txt", b"x"),
            ("part.glb.part", b"x"),
            (".chair.glb", b"x"),
            ("out/chair.glb", b"x"),
        ]);
        let pipe = dir.path().join("pipe.glb");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        assert_eq!(
            names(dir.path()),
            [
                ("chair.gltf".to_owned(), 2, vec![]),
                ("table".to_owned(), 1, vec![])
            ]
        );
        fs::remove_file(dir.path().join("chair.bin")).unwrap();
        assert_eq!(
            names(dir.path())[0],
            ("chair.gltf".to_owned(), 1, vec!["chair.bin".to_owned()])
        );
    }

    #[test]
    fn a_link_that_is_exchanged_after_the_look_is_not_read() {
        let top = folder(&[
            ("hot/own/b.stl", b"solid b endsolid"),
            ("secret/b.stl", b"solid b endsolid"),
        ]);
        let dir = top.path().join("hot");
        let link = dir.join("link.stl");
        let put = |target: &str| {
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(target, &link).unwrap();
        };
        put("own/b.stl");
        let found = scan(&dir, &dir.join("out"), Links::Inside, |_| None).unwrap();
        assert!(found[0].content().is_ok(), "{found:?}");
        put("../secret/b.stl");
        assert!(found[0].content().is_err());
        assert!(found[0].open(Path::new("link.stl")).is_err());
    }

    #[test]
    fn a_copy_under_way_is_not_whole() {
        let mut glb = b"glTF\x02\0\0\0".to_vec();
        glb.extend(1000u32.to_le_bytes());
        let dir = folder(&[("a.glb", &glb)]);
        assert_eq!(names(dir.path())[0].2, ["the rest of a.glb"]);
    }

    #[test]
    fn a_model_that_is_as_before_is_not_opened_again() {
        let dir = folder(&[
            ("a.stl", b"solid a endsolid"),
            ("b/b.stl", b"solid b endsolid"),
        ]);
        let first = scan(dir.path(), Path::new("/x"), Links::Inside, |_| None).unwrap();
        let known = |name: &str| first.iter().find(|source| source.entry == name);
        assert_eq!(
            scan(dir.path(), Path::new("/x"), Links::Inside, known).unwrap(),
            first
        );
        assert!(first.iter().all(Source::is_as_before));
        fs::write(dir.path().join("b/wood.png"), b"x").unwrap();
        fs::write(dir.path().join("a.stl"), b"solid a changed endsolid").unwrap();
        assert!(!first.iter().any(Source::is_as_before));
        assert_ne!(
            scan(dir.path(), Path::new("/x"), Links::Inside, known).unwrap(),
            first
        );
    }

    #[test]
    fn content_is_the_same_for_the_same_bytes_and_a_stamp_changes_with_time() {
        let dir = folder(&[("a.stl", b"solid a endsolid")]);
        let read = || {
            let source = scan(dir.path(), Path::new("/x"), Links::Inside, |_| None)
                .unwrap()
                .remove(0);
            let content = source.content().unwrap();
            (source, content)
        };
        let (first, first_bytes) = read();
        fs::write(dir.path().join("b.tmp"), b"solid a endsolid").unwrap();
        fs::rename(dir.path().join("b.tmp"), dir.path().join("a.stl")).unwrap();
        let (second, second_bytes) = read();
        assert!(!first.is_unchanged(dir.path()));
        assert!(second.is_unchanged(dir.path()));
        assert_ne!(first.stamp, second.stamp);
        assert_eq!(first_bytes, second_bytes);
        fs::write(dir.path().join("a.stl"), b"solid b endsolid").unwrap();
        assert_ne!(read().1, first_bytes);
        let (before, time) = (read().0, fs::metadata(dir.path().join("a.stl")).unwrap());
        let mut file = fs::File::create(dir.path().join("a.stl")).unwrap();
        file.write_all(b"solid c endsolid").unwrap();
        file.set_modified(time.modified().unwrap()).unwrap();
        assert!(!before.is_unchanged(dir.path()), "the same length and time");
    }
}
