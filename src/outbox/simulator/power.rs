//! Power cuts. The operations on the disk are recorded. For each prefix of them a disk is built as a power cut may
//! leave it: changes that were not synced are present, lost, torn or reordered. The next start must find everything
//! that was acknowledged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::client::{Client, ClientConfig};
use crate::durable::recorder;
use crate::durable::recorder::DiskOp;
use crate::outbox::drafts::{FileState, OpenMode, Place};
use crate::outbox::ids::{EntryId, JobFolder};
use crate::outbox::simulator::goals::ME;
use crate::outbox::simulator::hook;
use crate::outbox::simulator::hook::{below, chance};
use crate::outbox::simulator::network::SimulatedService;
use crate::outbox::simulator::service::BASE_URL;
use crate::outbox::{Outbox, OutboxConfig, OutboxResult};

/// What the outbox acknowledged to the user: files by draft and path, texts by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Promised {
    folders: Vec<String>,
    files: BTreeMap<(String, String), Vec<u8>>,
    jobs: BTreeMap<String, Vec<u8>>,
}

/// A disk: what is certainly durable, and what may be.
#[derive(Debug, Clone, Default)]
struct Disk {
    files: Vec<DiskFile>,
    /// The present names; `synced_names` are those that certainly survive a power cut.
    names: BTreeMap<PathBuf, usize>,
    synced_names: BTreeMap<PathBuf, usize>,
}

#[derive(Debug, Clone, Default)]
struct DiskFile {
    synced: Vec<u8>,
    waiting: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(u64, Vec<u8>),
    SetLen(u64),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Write(offset, data) => {
                let at = *offset as usize;
                bytes.resize(bytes.len().max(at + data.len()), 0);
                bytes[at..at + data.len()].copy_from_slice(data);
            }
            Change::SetLen(len) => bytes.resize(*len as usize, 0),
        }
    }

    /// The same change, cut off at a random place.
    fn torn(&self) -> Change {
        match self {
            Change::Write(offset, data) => {
                let len = below(data.len() as u64) as usize;
                Change::Write(*offset, data[..len].to_vec())
            }
            Change::SetLen(len) => Change::SetLen(*len),
        }
    }
}

impl Disk {
    fn file(&mut self, path: &Path) -> &mut DiskFile {
        let at = self.names[path];
        &mut self.files[at]
    }

    fn apply(&mut self, op: &DiskOp) {
        match op {
            DiskOp::Create(path) => {
                self.names.insert(path.clone(), self.files.len());
                self.files.push(DiskFile::default());
            }
            DiskOp::Write(path, offset, bytes) => {
                let change = Change::Write(*offset, bytes.clone());
                self.file(path).waiting.push(change);
            }
            DiskOp::SetLen(path, len) => self.file(path).waiting.push(Change::SetLen(*len)),
            DiskOp::Sync(path) => {
                let file = self.file(path);
                for change in std::mem::take(&mut file.waiting) {
                    change.apply(&mut file.synced);
                }
            }
            DiskOp::SyncAll(_) => {
                for file in &mut self.files {
                    for change in std::mem::take(&mut file.waiting) {
                        change.apply(&mut file.synced);
                    }
                }
                self.synced_names.clone_from(&self.names);
            }
            DiskOp::Rename(from, to) => {
                let at = self.names.remove(from).expect("a file that has the name");
                self.names.insert(to.clone(), at);
            }
            DiskOp::Remove(path) => drop(self.names.remove(path)),
            DiskOp::SyncDir(dir) => {
                let inside = |path: &Path| path.parent() == Some(dir);
                self.synced_names.retain(|path, _| !inside(path));
                let now = self.names.iter().filter(|(path, _)| inside(path));
                self.synced_names
                    .extend(now.map(|(path, at)| (path.clone(), *at)));
            }
        }
    }

    /// The files as a power cut may leave them.
    fn after_a_cut(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut names = self.synced_names.clone();
        // Each change of a name may have become durable without the others.
        for (path, at) in &self.names {
            if self.synced_names.get(path) != Some(at) && chance(50) {
                names.insert(path.clone(), *at);
            }
        }
        for path in self.synced_names.keys() {
            if !self.names.contains_key(path) && chance(50) {
                names.remove(path);
            }
        }
        names
            .into_iter()
            .map(|(path, at)| (path, self.files[at].after_a_cut()))
            .collect()
    }
}

impl DiskFile {
    fn after_a_cut(&self) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        let fate = below(4);
        for change in &self.waiting {
            match fate {
                0 => {}
                1 => change.apply(&mut bytes),
                2 if chance(50) => change.apply(&mut bytes),
                2 => {}
                _ if chance(50) => change.torn().apply(&mut bytes),
                _ => change.apply(&mut bytes),
            }
        }
        bytes
    }
}

fn open(dir: &Path) -> OutboxResult<Outbox> {
    let config = ClientConfig::new(BASE_URL).unwrap();
    let client = Client::scripted(config, std::sync::Arc::new(SimulatedService::new()));
    let config = OutboxConfig {
        paused: true,
        ..OutboxConfig::new(dir)
    };
    Outbox::open(config, client).map(|(outbox, _)| outbox)
}

/// Does one random operation of the user and adds what it acknowledges to `promised`.
fn act(outbox: &Outbox, promised: &mut Promised) -> OutboxResult<()> {
    let drafts = promised.folders.clone();
    let some = |names: &[String]| names.get(below(names.len() as u64) as usize).cloned();
    let content: Vec<u8> = (0..1 + below(2000)).map(|_| below(256) as u8).collect();
    match (below(10), some(&drafts)) {
        (0, _) | (_, None) => {
            let name = format!("d{}", below(1000));
            if outbox.drafts().find(&name).is_none() {
                outbox.drafts().create(&name, 0o755, &ME)?;
                promised.folders.push(name);
            }
        }
        (1, Some(name)) => {
            let to = format!("d{}", below(1000));
            if !drafts.contains(&to) {
                let (from, into) = (Place::Top(name.clone()), Place::Top(to.clone()));
                outbox.drafts().rename(&from, &into, true, &ME)?;
                promised.folders.retain(|it| *it != name);
                promised.folders.push(to.clone());
                let files = std::mem::take(&mut promised.files).into_iter();
                let moved = files.map(|((draft, path), bytes)| match draft == name {
                    true => ((to.clone(), path), bytes),
                    false => ((draft, path), bytes),
                });
                promised.files = moved.collect();
            }
        }
        (2, Some(name)) if chance(40) => {
            let draft = outbox.drafts().find(&name).expect("it was promised").id;
            outbox.drafts().remove(draft)?;
            promised.folders.retain(|it| *it != name);
            promised.files.retain(|(draft, _), _| *draft != name);
        }
        (3, _) => {
            let name = format!("j{}.json", below(3));
            outbox.jobs().write(&JobFolder::Multi, &name, &content)?;
            promised.jobs.insert(name, content);
        }
        (_, Some(name)) => {
            let path = format!("f{}.bin", below(4));
            let draft = outbox.drafts().find(&name).expect("it was promised").id;
            let file = match outbox.entries().child(draft, EntryId::ROOT, &path) {
                Some(found) => outbox
                    .entries()
                    .open(draft, found.id, OpenMode::Truncate, &ME)?,
                None => {
                    outbox
                        .entries()
                        .create_file(draft, EntryId::ROOT, &path, 0o644, &ME)?
                        .1
                }
            };
            let half = content.len() / 2;
            file.write_at(&content[half..], half as u64)?;
            file.write_at(&content[..half], 0)?;
            file.flush()?;
            promised.files.insert((name, path), content);
        }
    }
    Ok(())
}

/// The content of an outbox after its start, without incomplete files.
fn found(outbox: &Outbox, dir: &Path) -> Promised {
    let machines = &outbox.owner.machines;
    let mut found = Promised::default();
    for draft in machines.drafts.memory().state.drafts.values() {
        found.folders.push(draft.name.clone());
        for (path, _, node) in draft.tree.walk() {
            let Some(file) = node.file() else { continue };
            let bytes = fs::read(dir.join("staging").join(file.content.to_string()));
            if file.state == FileState::Flushed {
                let bytes = bytes.unwrap_or_default();
                found.files.insert((draft.name.clone(), path), bytes);
            }
        }
    }
    for (key, file) in &machines.jobs.memory().book.files {
        found.jobs.insert(key.name.clone(), file.text.0.clone());
    }
    found
}

/// The differences between what was promised and what is found, except for items that were being changed.
fn broken(promised: &Promised, next: &Promised, found: &Promised) -> Vec<String> {
    let mut broken = Vec::new();
    for name in promised
        .folders
        .iter()
        .filter(|name| next.folders.contains(name))
    {
        if !found.folders.contains(name) {
            broken.push(format!("the draft {name} is gone"));
        }
    }
    for (key, bytes) in &promised.files {
        if next.files.get(key) == Some(bytes) && found.files.get(key) != Some(bytes) {
            broken.push(format!("{key:?} is not what was written"));
        }
    }
    for (name, text) in &promised.jobs {
        if next.jobs.get(name) == Some(text) && found.jobs.get(name) != Some(text) {
            broken.push(format!("{name} is not what was written"));
        }
    }
    for name in &found.folders {
        if !promised.folders.contains(name) && !next.folders.contains(name) {
            broken.push(format!("the draft {name} is back"));
        }
    }
    broken
}

/// Cuts the power after each operation of a random run. `obeyed` selects the operations that the disk carries out.
fn cut_everywhere(seed: u64, acts: u64, obeyed: impl Fn(&DiskOp) -> bool) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let _inside = runtime.enter();
    hook::begin(seed);
    let dir = crate::outbox::simulator::scratch();
    let home = dir.path().join("outbox");
    recorder::begin();
    let mut stations = vec![(recorder::position(), Promised::default())];
    {
        let outbox = open(&home).unwrap();
        let mut promised = Promised::default();
        for _ in 0..acts {
            act(&outbox, &mut promised).unwrap();
            stations.push((recorder::position(), promised.clone()));
        }
    }
    let tape = recorder::end();
    let mut problems = Vec::new();
    let mut disk = Disk::default();
    for (at, op) in tape.iter().enumerate() {
        if obeyed(op) {
            disk.apply(op);
        }
        let acknowledged = stations.iter().rposition(|(upto, _)| *upto <= at + 1);
        let acknowledged = acknowledged.expect("the beginning");
        let next = stations
            .get(acknowledged + 1)
            .unwrap_or(&stations[acknowledged]);
        for _ in 0..3 {
            let left = disk.after_a_cut();
            let found = restart(&left, &home);
            let wrong = match found {
                Ok(found) => broken(&stations[acknowledged].1, &next.1, &found),
                Err(error) => vec![format!("cannot be opened: {error}")],
            };
            problems.extend(
                wrong
                    .into_iter()
                    .map(|it| format!("after {at} ({op:?}): {it}")),
            );
        }
    }
    hook::end();
    problems
}

/// Opens an outbox on the disk that a power cut left.
fn restart(left: &BTreeMap<PathBuf, Vec<u8>>, home: &Path) -> OutboxResult<Promised> {
    let dir = crate::outbox::simulator::scratch();
    let new_home = dir.path().join("outbox");
    fs::create_dir_all(new_home.join("staging")).unwrap();
    for (path, bytes) in left {
        let inside = path
            .strip_prefix(home)
            .expect("all files are below the outbox");
        fs::write(new_home.join(inside), bytes).unwrap();
    }
    let outbox = open(&new_home)?;
    Ok(found(&outbox, &new_home))
}

#[test]
fn a_power_cut_after_any_write_leaves_what_was_acknowledged() {
    for seed in 0..12 {
        let problems = cut_everywhere(seed, 25, |_| true);
        let first: Vec<&String> = problems.iter().take(5).collect();
        assert!(problems.is_empty(), "seed {seed}: {first:#?}");
    }
}

#[test]
fn a_disk_that_does_not_sync_is_noticed() {
    let is_staged = |path: &Path| path.parent().is_some_and(|dir| dir.ends_with("staging"));
    let disks: [&dyn Fn(&DiskOp) -> bool; 3] = [
        &|op| !matches!(op, DiskOp::Sync(path) if is_staged(path)),
        &|op| !matches!(op, DiskOp::Sync(path) if path.ends_with("journal")),
        &|op| !matches!(op, DiskOp::SyncDir(dir) if dir.ends_with("staging")),
    ];
    for (number, obeyed) in disks.iter().enumerate() {
        let problems = (0..3).flat_map(|seed| cut_everywhere(seed, 25, obeyed));
        assert!(problems.count() > 0, "{number}: nothing was noticed");
    }
}
