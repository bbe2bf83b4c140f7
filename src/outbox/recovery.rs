//! Opens the state of an account without losing staged bytes: replays the journal, and moves files that it does not
//! refer to into a dated folder next to it. `assetfs recover` copies them back.
//!
//! Invariant: a start removes only empty files, contents that an undamaged journal marks as unused, and what a killed
//! process had begun to write: see [`is_unacknowledged`].

use std::collections::{BTreeSet, HashMap};
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::durable::{DurableError, recorder, sync_dir, write_atomic};
use crate::outbox::boot;
use crate::outbox::drafts::{Draft, DraftKind, DraftRecord, Target, UploadRecord};
use crate::outbox::error::{OutboxError, OutboxResult, journal_error, staging_error};
use crate::outbox::ids::EntryId;
use crate::outbox::jobs::{JobRecord, Wanted};
use crate::outbox::journal::{FoundJournal, Journal};
use crate::outbox::moment::Moment;
use crate::outbox::presets::HeldPreset;
use crate::outbox::staging::{ContentId, Leftover, Staging};
use crate::outbox::state::{Record, State};

/// The prefix of the names of folders with recovered files.
const FOLDER_PREFIX: &str = "recovered-";
/// The description of a folder of recovered files.
const ABOUT: &str = "about.json";
/// The subfolder of the files.
const FILES: &str = "files";
/// The folder of the files whose names are lost.
const UNNAMED: &str = "unnamed";
/// Maximum depth of listed files.
const DEPTH_MAX: usize = 64;

/// A folder of files that the journal did not refer to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// Its name, which contains the time.
    pub name: String,
    pub path: PathBuf,
    /// Why it was made, as a sentence.
    pub reason: String,
    /// Its files, by path.
    pub files: Vec<RecoveredFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveredFile {
    /// Its path below the folder: the draft's name first, if it is known.
    pub path: String,
    pub bytes: u64,
}

impl RecoveredFile {
    /// False if nothing says which draft it belongs to, and under which name.
    pub fn is_named(&self) -> bool {
        !Path::new(&self.path).starts_with(UNNAMED)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct About {
    reason: String,
}

/// The opened state of an account.
pub struct Opened {
    /// The journal, whose records give `state`.
    pub journal: Journal,
    pub state: State,
    pub staging: Staging,
}

/// Opens the state below `dir`.
pub fn open(dir: &Path) -> OutboxResult<Opened> {
    let (records, whole) = match Journal::open::<Record>(dir)? {
        FoundJournal::Whole(journal, records) => match State::replay(&records) {
            Ok(state) => (records, Ok((journal, state))),
            Err(error) => {
                let reason = format!("the journal does not fit together ({error})");
                (records, Err(reason))
            }
        },
        FoundJournal::Damaged { records, reason } => (records, Err(reason)),
    };
    let (journal, mut state, damage) = match whole {
        Ok((journal, state)) => (Some(*journal), state, None),
        Err(reason) => {
            let mut state = State::replay_what_fits(&records);
            hold(&mut state, &reason);
            (None, state, Some(reason))
        }
    };
    let above = ContentId(state.drafts.last_content);
    let (staging, leftovers) =
        Staging::open(&dir.join("staging"), &state.drafts.kept_contents(), above)?;
    let was_killed = boot::note(dir);
    state.drafts.fit_to_disk(|content| {
        let about = fs::metadata(staging.path(content));
        about.ok().map(|about| about.len())
    });
    let freed = std::mem::take(&mut state.drafts.freed);
    let mut unused = Vec::new();
    if damage.is_none() {
        unused.clone_from(&freed);
        if was_killed && !records.is_empty() {
            let begun = leftovers.iter().filter(|it| is_unacknowledged(it, above));
            unused.extend(begun.map(|it| it.content));
        }
    }
    for content in &unused {
        staging.remove(*content);
    }
    let leftovers: Vec<ContentId> = leftovers
        .iter()
        .map(|leftover| leftover.content)
        .filter(|content| !unused.contains(content))
        .collect();
    if damage.is_some() || !leftovers.is_empty() {
        let is_sound = damage.is_none();
        let reason = damage.unwrap_or_else(|| match records.is_empty() {
            true => "the journal was missing or empty".to_owned(),
            false => "the journal does not name these files".to_owned(),
        });
        match set_aside(dir, &staging, &leftovers, &names(&records), &reason) {
            // The bytes stay where they are. A later start with enough disk space moves them.
            Err(error @ OutboxError::StagingFull { .. }) if is_sound => {
                tracing::warn!(%error, "files that are not in the journal stay in the staging folder");
            }
            other => other?,
        }
    }
    let journal = match journal {
        Some(journal) => journal,
        None => Journal::begin_anew(dir, &state)?,
    };
    Ok(Opened {
        journal,
        state,
        staging,
    })
}

/// Whether a leftover was being written when the process was killed, so that no call has returned that its bytes are safe.
/// Then the journal has no record of it, and its file has the mode of unacknowledged files. The mode is checked too,
/// because somebody may have put back an older journal.
fn is_unacknowledged(leftover: &Leftover, last_named: ContentId) -> bool {
    !leftover.was_acknowledged && leftover.content > last_named
}

/// True if the state below `dir` has anything that the service does not have: staged bytes, drafts (also of empty
/// files), texts of jobs and presets. Changes nothing; what cannot be read counts.
pub fn holds_unsent(dir: &Path) -> bool {
    let staged = fs::read_dir(dir.join("staging")).into_iter().flatten();
    let mut lengths = staged.flatten().map(|file| file.metadata());
    if lengths.any(|about| about.map_or(true, |about| about.len() > 0)) {
        return true;
    }
    let Some(records) = Journal::read::<Record>(dir) else {
        return true;
    };
    let state = State::replay_what_fits(&records);
    let mut jobs = state.jobs.files.values();
    let mut presets = state.presets.held.values();
    !state.drafts.drafts.is_empty()
        || jobs.any(|job| job.submission.is_none())
        || presets.any(HeldPreset::is_local)
}

/// With a damaged journal, unsent drafts and jobs may have been sent already: the user decides.
fn hold(state: &mut State, reason: &str) {
    let unsent = state
        .drafts
        .drafts
        .iter()
        .filter(|(_, draft)| draft.attempt.is_none());
    let drafts = unsent.map(|(draft, _)| {
        Record::from(UploadRecord::Failed {
            draft: *draft,
            reason: format!(
                "{reason}, so it may have been sent before: look for it in rawmodels, then send it with `assetfs retry` or remove it"
            ),
        })
    });
    let unpaid = state.jobs.files.iter();
    let unpaid = unpaid.filter(|(_, file)| file.wanted != Wanted::No);
    let jobs = unpaid.map(|(job, _)| {
        Record::from(JobRecord::Held {
            job: job.clone(),
            reason: format!(
                "{reason}, so it may have been sent before: look for its result, then send it with `assetfs run` or remove it"
            ),
        })
    });
    let records: Vec<Record> = drafts.chain(jobs).collect();
    for record in &records {
        state.apply(record).expect("the draft or the job exists");
    }
}

/// The last known path of each content in the records, below its draft's name.
fn names(records: &[Record]) -> HashMap<ContentId, String> {
    let mut state = State::default();
    let mut names = HashMap::new();
    for record in records {
        let _ = state.apply(record);
        match record {
            Record::Snapshot(snapshot) => {
                for draft in snapshot.drafts.drafts.values() {
                    for (_, entry, node) in draft.tree.walk() {
                        if let Some(file) = node.file() {
                            names.insert(file.content, path_in(draft, entry));
                        }
                    }
                }
            }
            Record::Draft(DraftRecord::FileMade {
                draft,
                entry,
                name,
                content,
                ..
            }) => {
                let found = state.drafts.drafts.get(draft);
                let found = found.filter(|found| found.tree.node(*entry).is_some());
                let path = found.map_or_else(|| name.clone(), |found| path_in(found, *entry));
                names.insert(*content, path);
            }
            Record::Draft(DraftRecord::Moved {
                draft, entry, to, ..
            }) => {
                let home = match to {
                    Target::Top { draft, .. } | Target::In { draft, .. } => draft,
                };
                for draft in [draft, home] {
                    let Some(found) = state.drafts.drafts.get(draft) else {
                        continue;
                    };
                    if let Some(file) = found.tree.node(*entry).and_then(|node| node.file()) {
                        names.insert(file.content, path_in(found, *entry));
                    }
                }
            }
            _ => {}
        }
    }
    names
}

/// The path of a file below `rawmodels/`.
fn path_in(draft: &Draft, entry: EntryId) -> String {
    let path = draft.tree.path(entry);
    match draft.kind {
        DraftKind::Folder => format!("{}/{path}", draft.name),
        DraftKind::LooseFile => path,
    }
}

/// Moves files that the journal does not refer to into a new dated folder, with a copy of the journal.
fn set_aside(
    dir: &Path,
    staging: &Staging,
    contents: &[ContentId],
    names: &HashMap<ContentId, String>,
    reason: &str,
) -> OutboxResult<()> {
    let folder = new_folder(dir).map_err(staging_error("making a folder for recovered files"))?;
    let kept = fill_folder(&folder, dir, staging, contents, names, reason);
    if kept.is_err() && !folder.join(FILES).exists() {
        // Nothing was moved into it yet. If it cannot be removed, an empty folder remains.
        let _ = fs::remove_dir_all(&folder);
    }
    kept
}

fn fill_folder(
    folder: &Path,
    dir: &Path,
    staging: &Staging,
    contents: &[ContentId],
    names: &HashMap<ContentId, String>,
    reason: &str,
) -> OutboxResult<()> {
    let about = serde_json::to_vec(&About {
        reason: reason.to_owned(),
    })
    .expect("about.json is plain data");
    let failed = |error: DurableError| match error.io_error().filter(|_| error.is_disk_full()) {
        Some(full) => OutboxError::StagingFull {
            what: "keeping files that are not in the journal".to_owned(),
            dir: dir.display().to_string(),
            source: full.kind().into(),
        },
        None => journal_error(dir)(error),
    };
    write_atomic(folder.join(ABOUT), &about).map_err(failed)?;
    let journal = dir.join("journal");
    if journal.exists() {
        fs::copy(&journal, folder.join("journal"))
            .and_then(|_| fs::File::open(folder.join("journal"))?.sync_all())
            .map_err(staging_error("keeping the damaged journal"))?;
    }
    let mut folders = BTreeSet::from([folder.to_owned(), folder.join(FILES)]);
    for content in contents {
        let unnamed = || format!("{UNNAMED}/{content}{}", kind_of(&staging.path(*content)));
        let name = names.get(content).filter(|name| is_plain(name));
        let to = free_path(
            &folder
                .join(FILES)
                .join(name.cloned().unwrap_or_else(unnamed)),
        );
        let from = staging.path(*content);
        move_to(&from, &to).map_err(staging_error(format!("keeping {}", to.display())))?;
        folders.extend(
            to.ancestors()
                .skip(1)
                .map(Path::to_owned)
                .take_while(|above| above != folder),
        );
    }
    for changed in folders.iter().filter(|folder| folder.is_dir()) {
        sync_dir(changed).map_err(failed)?;
    }
    sync_dir(dir.join("staging")).map_err(failed)?;
    sync_dir(dir).map_err(failed)?;
    tracing::warn!(
        folder = %folder.display(),
        files = contents.len(),
        reason,
        "kept files that are not in the journal; `assetfs recover` restores them"
    );
    Ok(())
}

fn new_folder(dir: &Path) -> io::Result<PathBuf> {
    let now = jiff::Timestamp::try_from(SystemTime::from(Moment::now())).map_or_else(
        |_| String::new(),
        |now| now.strftime("%Y-%m-%dT%H-%M-%SZ").to_string(),
    );
    let mut number = 1;
    loop {
        let name = match number {
            1 => format!("{FOLDER_PREFIX}{now}"),
            number => format!("{FOLDER_PREFIX}{now}-{number}"),
        };
        let folder = dir.join(name);
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::rename(from, to)?;
    recorder::renamed(from, to);
    Ok(())
}

/// True for a path that stays below the folder to which it is joined.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The path, or a similar unused one.
fn free_path(path: &Path) -> PathBuf {
    let mut free = path.to_owned();
    let mut number = 2;
    while free.symlink_metadata().is_ok() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        free.set_file_name(format!("{name}~{number}"));
        number += 1;
    }
    free
}

/// The extension for the first bytes of a file, with its dot.
fn kind_of(path: &Path) -> &'static str {
    const KINDS: &[(&[u8], &str)] = &[
        (b"glTF", ".glb"),
        (b"PK\x03\x04", ".zip"),
        (b"\x89PNG", ".png"),
        (b"\xFF\xD8\xFF", ".jpg"),
        (b"Kaydara FBX", ".fbx"),
        (b"ply\n", ".ply"),
        (b"solid ", ".stl"),
        (b"{", ".json"),
    ];
    let mut head = [0; 16];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut head));
    let head = &head[..read.unwrap_or(0)];
    let kind = KINDS.iter().find(|(start, _)| head.starts_with(start));
    kind.map_or("", |(_, extension)| extension)
}

/// The folders of recovered files in the state directory of an account, oldest first.
pub fn recovered_in(dir: &Path) -> io::Result<Vec<Recovered>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(FOLDER_PREFIX) || !entry.file_type()?.is_dir() {
            continue;
        }
        let path = entry.path();
        let about = fs::read(path.join(ABOUT)).ok();
        let about: Option<About> = about.and_then(|text| serde_json::from_slice(&text).ok());
        let mut files = Vec::new();
        list_files(&path.join(FILES), "", 0, &mut files)?;
        files.sort_by(|one, other| one.path.cmp(&other.path));
        found.push(Recovered {
            name,
            path,
            reason: about.map_or_else(String::new, |about| about.reason),
            files,
        });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

fn list_files(
    folder: &Path,
    prefix: &str,
    depth: usize,
    found: &mut Vec<RecoveredFile>,
) -> io::Result<()> {
    if depth > DEPTH_MAX || !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let meta = entry.metadata()?;
        if meta.is_dir() {
            list_files(&entry.path(), &format!("{path}/"), depth + 1, found)?;
        } else if meta.is_file() {
            let bytes = meta.len();
            found.push(RecoveredFile { path, bytes });
        }
    }
    Ok(())
}

impl Recovered {
    /// The path of a file in it.
    pub fn path_of(&self, file: &RecoveredFile) -> PathBuf {
        self.path.join(FILES).join(&file.path)
    }

    /// All bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}
