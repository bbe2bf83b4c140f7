//! Moves results to where they are wanted, and remembers which files there are ours.
//!
//! Invariants: a file that this build has not made is never replaced or removed. The record of a result names its files
//! before the first of them is moved, so after a kill at any moment the next run knows them. A file is moved by a rename,
//! so it is whole or not there.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::super::exported_files::exports;
use super::super::files;
use super::super::watch::Key;
use crate::durable::{sync_dir, write_atomic};
use crate::fuse::shell_quoted;
use crate::given_files;

/// The files of one result in the folder of results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Published {
    model: String,
    preset: String,
    files: Vec<PublishedFile>,
    /// Files of the version before, until they are removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    old: Vec<PublishedFile>,
    /// The inode of the folder that the files are moved from: an interrupted move goes on with the same one.
    from: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PublishedFile {
    /// Below the folder of results.
    path: PathBuf,
    /// Bytes.
    size: u64,
    /// Seconds and nanoseconds since 1970.
    modified: (i64, i64),
}

/// The records of what was published.
#[derive(Debug)]
pub(super) struct Publisher {
    out: PathBuf,
    records: PathBuf,
    known: BTreeMap<Key, Published>,
}

impl Publisher {
    /// Reads the records in the folder `records`; `out` is the folder of results.
    pub(super) fn open(out: &Path, records: &Path) -> Result<Publisher> {
        let mut known = BTreeMap::new();
        let entries = match fs::read_dir(records) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            entries => Some(entries.with_context(|| records.display().to_string())?),
        };
        for entry in entries.into_iter().flatten() {
            let path = entry?.path();
            if !files::is_json(&path) {
                continue;
            }
            let damaged = || {
                format!(
                    "the record {} cannot be read; remove it, and its result is made again",
                    path.display()
                )
            };
            let text = given_files::read(&path).with_context(damaged)?;
            let record: Published = serde_json::from_slice(&text).with_context(damaged)?;
            known.insert((record.model.clone(), record.preset.clone()), record);
        }
        Ok(Publisher {
            out: out.to_owned(),
            records: records.to_owned(),
            known,
        })
    }

    /// Whether every file of a result is where it was put, unchanged.
    pub(super) fn is_current(&self, key: &Key) -> bool {
        self.known.get(key).is_some_and(|record| {
            !record.files.is_empty()
                && record
                    .files
                    .iter()
                    .all(|file| file.is_at(&self.out.join(&file.path)))
        })
    }

    /// The files of a result, below the folder of results.
    pub(super) fn files(&self, key: &Key) -> Vec<PathBuf> {
        let files = self
            .known
            .get(key)
            .into_iter()
            .flat_map(|record| &record.files);
        files.map(|file| file.path.clone()).collect()
    }

    /// Whether a result was published and not removed since.
    pub(super) fn knows(&self, key: &Key) -> bool {
        self.known.contains_key(key)
    }

    /// The results that were published.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.known.keys().cloned().collect()
    }

    /// Moves the exports in `results` to `folder`, which is below the folder of results. Files of an earlier version that the
    /// new one does not have are removed. Does nothing if an interrupted move was already finished.
    ///
    /// # Errors
    /// If a file there is not ours or of another result, or it cannot be written.
    pub(super) fn publish(&mut self, key: &Key, results: &Path, folder: &Path) -> Result<()> {
        let from = fs::metadata(results)
            .with_context(|| results.display().to_string())?
            .ino();
        let exports = exports(results)?;
        let known = self.known.get(key);
        let record = match known.filter(|known| known.from == from) {
            Some(known) => known.clone(),
            None => {
                let of =
                    |below: &PathBuf| PublishedFile::of(&results.join(below), folder.join(below));
                let files: Vec<PublishedFile> = exports.iter().map(of).collect::<Result<_>>()?;
                let is_old = |old: &&PublishedFile| files.iter().all(|file| file.path != old.path);
                let before = known
                    .into_iter()
                    .flat_map(|known| known.files.iter().chain(&known.old));
                Published {
                    model: key.0.clone(),
                    preset: key.1.clone(),
                    old: before.filter(is_old).cloned().collect(),
                    files,
                    from,
                }
            }
        };
        if record.files.is_empty() {
            bail!("the result has no files");
        }
        for file in &record.files {
            self.check_free(key, &file.path)?;
        }
        self.put(record.clone())?;
        for below in &exports {
            move_file(&results.join(below), &self.out.join(folder).join(below))?;
        }
        for file in &record.old {
            self.remove(file)?;
        }
        self.put(Published {
            old: Vec::new(),
            ..record
        })
    }

    /// Removes the files of a result, and its record.
    pub(super) fn retract(&mut self, key: &Key) -> Result<()> {
        let Some(record) = self.known.get(key).cloned() else {
            return Ok(());
        };
        for file in record.files.iter().chain(&record.old) {
            self.remove(file)?;
        }
        fs::remove_file(self.record_of(key))?;
        sync_dir(&self.records)?;
        self.known.remove(key);
        Ok(())
    }

    /// Removes a file, unless somebody has changed it since. Folders that are empty then go with it.
    fn remove(&self, file: &PublishedFile) -> Result<()> {
        let path = self.out.join(&file.path);
        if !file.is_at(&path) {
            return Ok(());
        }
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        let folders = path
            .ancestors()
            .skip(1)
            .take_while(|folder| *folder != self.out);
        for folder in folders {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// # Errors
    /// If something is at `path` that this result may not replace.
    fn check_free(&self, key: &Key, path: &Path) -> Result<()> {
        let has = |record: &Published| {
            let mut files = record.files.iter().chain(&record.old);
            files.any(|file| file.path == path)
        };
        let owner = self.known.iter().find(|(_, record)| has(record));
        let whole = self.out.join(path);
        match owner {
            Some((owner, _)) if owner == key => Ok(()),
            Some(((model, preset), _)) => bail!(
                "{} is a file of {model} ({preset}); put more into `name` to tell them apart",
                whole.display()
            ),
            None if fs::symlink_metadata(&whole).is_ok() => bail!(
                "{} is there, and no build has made it; move it away, or change `name` or `out`",
                shell_quoted(&whole)
            ),
            None => Ok(()),
        }
    }

    fn put(&mut self, record: Published) -> Result<()> {
        let key = (record.model.clone(), record.preset.clone());
        if self.known.get(&key) == Some(&record) {
            return Ok(());
        }
        let path = self.record_of(&key);
        write_atomic(&path, &serde_json::to_vec(&record)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        self.known.insert(key, record);
        Ok(())
    }

    fn record_of(&self, (model, preset): &Key) -> PathBuf {
        let name = xxh3_128(format!("{model}\0{preset}").as_bytes());
        self.records.join(format!("{name:032x}.json"))
    }
}

impl PublishedFile {
    fn of(file: &Path, path: PathBuf) -> Result<PublishedFile> {
        let status = fs::metadata(file).with_context(|| file.display().to_string())?;
        Ok(PublishedFile {
            path,
            size: status.len(),
            modified: (status.mtime(), status.mtime_nsec()),
        })
    }

    /// Whether the file at `path` is this one, by its size and time.
    fn is_at(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|status| {
            status.is_file()
                && status.len() == self.size
                && (status.mtime(), status.mtime_nsec()) == self.modified
        })
    }
}

/// Whether a folder of results has exported files.
pub(super) fn has_exports(results: &Path) -> Result<bool> {
    Ok(!exports(results)?.is_empty())
}

fn move_file(from: &Path, to: &Path) -> Result<()> {
    let cannot = || format!("cannot write {}", to.display());
    let folder = to.parent().context("a file without a folder")?;
    fs::create_dir_all(folder).with_context(cannot)?;
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            bail!("{}: a folder has this name", cannot())
        }
        renamed => renamed.with_context(cannot)?,
    }
    Ok(sync_dir(folder)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        dir: tempfile::TempDir,
        publisher: Publisher,
    }

    fn key(model: &str) -> Key {
        (model.to_owned(), "web".to_owned())
    }

    impl Place {
        fn new() -> Place {
            let dir = tempfile::tempdir().unwrap();
            for folder in ["out", "records"] {
                fs::create_dir(dir.path().join(folder)).unwrap();
            }
            let publisher =
                Publisher::open(&dir.path().join("out"), &dir.path().join("records")).unwrap();
            Place { dir, publisher }
        }

        fn out(&self, name: &str) -> PathBuf {
            self.dir.path().join("out").join(name)
        }

        fn again(self) -> Place {
            let Place { dir, .. } = self;
            let publisher =
                Publisher::open(&dir.path().join("out"), &dir.path().join("records")).unwrap();
            Place { dir, publisher }
        }

        /// A folder of results with these files.
        fn results(&self, files: &[&str]) -> PathBuf {
            let results = tempfile::tempdir_in(self.dir.path()).unwrap().keep();
            for name in files
                .iter()
                .chain(&["analysis/warning.log", "before-after.png"])
            {
                let path = results.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, name).unwrap();
            }
            results
        }

        fn publish(&mut self, model: &str, files: &[&str]) -> Result<()> {
            let results = self.results(files);
            self.publisher
                .publish(&key(model), &results, Path::new("web"))
        }
    }

    #[test]
    fn a_new_version_replaces_the_files_of_the_old_one_and_removes_what_it_has_not() {
        let mut place = Place::new();
        place
            .publish("chair", &["chair.gltf", "chair.bin", "tex/wood.png"])
            .unwrap();
        assert!(place.publisher.is_current(&key("chair")));
        assert!(place.out("web/tex/wood.png").exists());
        assert!(!place.out("web/before-after.png").exists());
        place.publish("chair", &["chair.glb"]).unwrap();
        assert_eq!(
            place.publisher.files(&key("chair")),
            [PathBuf::from("web/chair.glb")]
        );
        assert!(!place.out("web/chair.bin").exists() && !place.out("web/tex").exists());
        let place = place.again();
        assert!(place.publisher.is_current(&key("chair")));
    }

    #[test]
    fn a_file_that_is_not_ours_is_never_replaced_nor_removed() {
        let mut place = Place::new();
        fs::create_dir(place.out("web")).unwrap();
        fs::write(place.out("web/chair.glb"), "mine").unwrap();
        let why = place
            .publish("chair", &["chair.glb"])
            .unwrap_err()
            .to_string();
        assert!(why.contains("no build has made it"), "{why}");
        assert_eq!(fs::read(place.out("web/chair.glb")).unwrap(), b"mine");
        place.publish("fox", &["fox.glb"]).unwrap();
        let why = place
            .publish("chair", &["fox.glb"])
            .unwrap_err()
            .to_string();
        assert!(why.contains("a file of fox (web)"), "{why}");
        fs::write(place.out("web/fox.glb"), "changed by hand").unwrap();
        assert!(!place.publisher.is_current(&key("fox")));
        place.publisher.retract(&key("fox")).unwrap();
        assert_eq!(
            fs::read(place.out("web/fox.glb")).unwrap(),
            b"changed by hand"
        );
        assert!(place.again().publisher.keys().is_empty());
    }

    #[test]
    fn a_move_that_was_interrupted_anywhere_is_finished() {
        for done in 0..=3_usize {
            let mut place = Place::new();
            place.publish("chair", &["old.glb"]).unwrap();
            let results = place.results(&["a.glb", "b.glb"]);
            // The steps of `publish`, up to a kill.
            let of =
                |name: &&str| PublishedFile::of(&results.join(name), Path::new("web").join(name));
            let record = Published {
                files: ["a.glb", "b.glb"]
                    .iter()
                    .map(of)
                    .collect::<Result<_>>()
                    .unwrap(),
                old: place.publisher.known[&key("chair")].files.clone(),
                from: fs::metadata(&results).unwrap().ino(),
                ..place.publisher.known[&key("chair")].clone()
            };
            if done > 0 {
                place.publisher.put(record).unwrap();
            }
            for name in ["a.glb", "b.glb"].iter().take(done.saturating_sub(1)) {
                move_file(&results.join(name), &place.out("web").join(name)).unwrap();
            }
            let mut place = place.again();
            place
                .publisher
                .publish(&key("chair"), &results, Path::new("web"))
                .unwrap();
            for name in ["web/a.glb", "web/b.glb"] {
                assert!(place.out(name).exists(), "{name} after a kill at {done}");
            }
            assert!(place.publisher.is_current(&key("chair")), "{done}");
            assert!(!place.out("web/old.glb").exists(), "{done}");
        }
    }

    #[test]
    fn a_result_without_files_is_no_result() {
        let mut place = Place::new();
        let why = place.publish("chair", &[]).unwrap_err().to_string();
        assert!(why.contains("has no files"), "{why}");
    }
}
