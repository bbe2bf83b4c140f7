//! Compares what watched folders show with what the kernel was told, and has the helper repeat the differences.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::inotify::{Expected, HelperOperation, InotifyHelper, Own};
use crate::drive::mount::Mount;
use crate::drive::ops::attributes::{NAME_TTL, time_to_live};
use crate::drive::places::{Node, Vanished, is_hidden};
use crate::drive::posix::{Attributes, Entry, FileKind, Ino};

/// How often a used drive looks for watchers.
const LOOKING: Duration = Duration::from_secs(2);
/// Maximum number of watched folders that are compared.
const MAX_FOLDERS: usize = 64;
/// Maximum number of names in a folder that are reported in one round. The others are found by listing it.
const MAX_IN_A_ROUND: usize = 4096;
/// Changes of this time are reported together.
const PAUSE: Duration = Duration::from_millis(50);
/// At most one part in this many of the time is spent on comparing.
const SHARE_OF_TIME: u32 = 20;
/// How long the rows of a folder may take.
const ROWS_DEADLINE: Duration = Duration::from_secs(10);
/// How long an unmount may take.
const UNMOUNTING: Duration = Duration::from_secs(5);
/// How often a name that the kernel has cached is tried again.
const TRIES: usize = 3;

/// The names of a folder that the kernel was told of, with their nodes.
type Names = BTreeMap<String, (FileKind, Node)>;

/// The task that reports to inotify watchers.
pub async fn report_to_inotify(mount: Arc<Mount>) {
    let inotify = mount.inotify();
    while inotify.helper().is_none() {
        inotify.changed().await;
    }
    let Some(helper) = inotify.helper().cloned() else {
        return;
    };
    let mut folders: HashMap<Ino, Names> = HashMap::new();
    let mut looked: Option<Instant> = None;
    loop {
        let is_due = looked.is_none_or(|looked| looked.elapsed() >= LOOKING);
        if is_due && (inotify.take_used() || !folders.is_empty()) {
            looked = Some(Instant::now());
            look_for_watchers(&mount, &*helper, &mut folders).await;
        }
        let began = Instant::now();
        let watched: Vec<Ino> = folders.keys().copied().collect();
        for folder in watched {
            compare(&mount, &*helper, folder, &mut folders).await;
        }
        for (folder, item) in inotify.take_touched() {
            touch(&mount, &*helper, &folders, (&folder, &item)).await;
        }
        tokio::time::sleep(PAUSE.max(began.elapsed() * SHARE_OF_TIME)).await;
        tokio::select! {
            () = inotify.changed() => {}
            () = tokio::time::sleep(LOOKING.min(mount.config().refresh)) => {}
        }
    }
}

async fn look_for_watchers(
    mount: &Mount,
    helper: &dyn InotifyHelper,
    folders: &mut HashMap<Ino, Names>,
) {
    let mut watched = match helper.watched().await {
        Ok(watched) => watched,
        Err(error) => {
            tracing::debug!(%error, "cannot look for inotify watchers");
            return;
        }
    };
    let is_folder = |ino: &Ino| {
        let node = mount.node(*ino);
        node.is_ok_and(|node| node.kind() != Some(FileKind::File))
    };
    watched.retain(is_folder);
    watched.sort_unstable();
    watched.dedup();
    watched.truncate(MAX_FOLDERS);
    folders.retain(|folder, _| watched.contains(folder));
    mount.inotify().watch(&watched);
    for folder in &watched {
        if folders.contains_key(folder) {
            continue;
        }
        mount.inotify().take_own(*folder);
        if let Some(names) = names_in(mount, *folder).await {
            folders.insert(*folder, names);
        }
    }
    if watched.is_empty() {
        helper.stop();
    }
}

/// What a folder shows; `None` if it cannot be listed now.
async fn names_in(mount: &Mount, folder: Ino) -> Option<Names> {
    let node = mount.node(folder).ok()?;
    let rows = tokio::time::timeout(ROWS_DEADLINE, node.rows(mount)).await;
    let rows = rows.ok()?.ok()?;
    let shown = rows.into_iter().filter(|row| !is_hidden(mount, &row.node));
    Some(shown.map(|row| (row.name, (row.kind, row.node))).collect())
}

async fn compare(
    mount: &Arc<Mount>,
    helper: &dyn InotifyHelper,
    folder: Ino,
    folders: &mut HashMap<Ino, Names>,
) {
    let inotify = mount.inotify();
    // These changes are taken first, so that the list of the folder, which is made next, contains all of them.
    let own = inotify.take_own(folder);
    let mut names = names_in(mount, folder).await;
    let mut known = folders.remove(&folder).unwrap_or_default();
    for (name, done) in own {
        match (done, &names) {
            // With the kind that it has now: only a name that is still there counts.
            (Own::Made, Some(names)) => {
                let now = names.get(&name).cloned();
                known.extend(now.map(|now| (name, now)));
            }
            // The folder cannot be listed now, and is compared later.
            (Own::Made, None) => inotify.own(folder, Some(&name), done),
            (Own::Removed, _) => drop(known.remove(&name)),
        }
    }
    if let Some(names) = &mut names {
        // Names that may have changed while the folder was listed are compared in the next round.
        for name in inotify.unsettled(folder) {
            match known.get(&name) {
                Some(before) => drop(names.insert(name, before.clone())),
                None => drop(names.remove(&name)),
            }
        }
        report(mount, helper, folder, (&known, names)).await;
    }
    folders.insert(folder, names.unwrap_or(known));
}

/// Lets the helper repeat each difference between two lists of names, so that watchers get an event for it.
async fn report(
    mount: &Arc<Mount>,
    helper: &dyn InotifyHelper,
    folder: Ino,
    (known, names): (&Names, &Names),
) {
    let kind_in = |names: &Names, name: &str| names.get(name).map(|(kind, _)| *kind);
    let gone = known
        .iter()
        .filter(|(name, (kind, _))| kind_in(names, name) != Some(*kind));
    for (name, (kind, _)) in gone.take(MAX_IN_A_ROUND) {
        remove(mount, helper, folder, name, *kind).await;
    }
    let new = names
        .iter()
        .filter(|(name, (kind, _))| kind_in(known, name) != Some(*kind));
    for (name, (kind, node)) in new.take(MAX_IN_A_ROUND) {
        make(mount, helper, folder, (name, *kind, node)).await;
    }
}

async fn make(
    mount: &Arc<Mount>,
    helper: &dyn InotifyHelper,
    folder: Ino,
    (name, kind, node): (&str, FileKind, &Node),
) {
    let (Ok(parent), Ok(attributes)) = (mount.node(folder), node.attributes(mount).await) else {
        return;
    };
    let path = format!("{}/{name}", parent.path(mount));
    let operation = match kind {
        FileKind::Folder => HelperOperation::MakeFolder(path),
        FileKind::File => HelperOperation::MakeFile(path),
        FileKind::Link => HelperOperation::MakeLink(path),
    };
    for _ in 0..TRIES {
        let expected = Expected::Made {
            parent: folder,
            name: name.to_owned(),
            node: node.clone(),
            entry: Entry {
                attributes,
                ttl: time_to_live(node),
            },
        };
        match repeat(mount, helper, expected, operation.clone()).await {
            // A program has looked it up, so the kernel has the name for a moment.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                tokio::time::sleep(PAUSE.max(NAME_TTL)).await;
            }
            _ => return,
        }
    }
}

async fn remove(
    mount: &Arc<Mount>,
    helper: &dyn InotifyHelper,
    folder: Ino,
    name: &str,
    kind: FileKind,
) {
    let Ok(parent) = mount.node(folder) else {
        return;
    };
    let path = format!("{}/{name}", parent.path(mount));
    let node = Node::from(Vanished {
        folder: parent,
        name: name.into(),
        kind,
    });
    let Ok(attributes) = node.attributes(mount).await else {
        return;
    };
    let expected = Expected::Removed {
        parent: folder,
        name: name.to_owned(),
        node,
        entry: Entry {
            attributes,
            ttl: Duration::ZERO,
        },
    };
    let operation = match kind {
        FileKind::Folder => HelperOperation::RemoveFolder(path),
        FileKind::File | FileKind::Link => HelperOperation::RemoveFile(path),
    };
    let _ = repeat(mount, helper, expected, operation).await;
}

async fn touch(
    mount: &Arc<Mount>,
    helper: &dyn InotifyHelper,
    folders: &HashMap<Ino, Names>,
    (folder, item): (&Node, &Node),
) {
    let parent = mount.inodes().number(folder);
    let is_shown = folders.get(&parent).is_some_and(|names| {
        let mut nodes = names.values();
        nodes.any(|(_, node)| node == item)
    });
    if !is_shown {
        return;
    }
    let Ok(attributes) = item.attributes(mount).await else {
        return;
    };
    let ino = mount.inodes().number(item);
    let expected = Expected::Touched {
        ino,
        entry: Entry {
            attributes: Attributes { ino, ..attributes },
            ttl: time_to_live(item),
        },
    };
    let path = item.path(mount);
    let operation = match item.kind() {
        Some(FileKind::File) => HelperOperation::Content(path),
        _ => HelperOperation::Attributes(path),
    };
    let _ = repeat(mount, helper, expected, operation).await;
}

/// Has the helper make an operation.
async fn repeat(
    mount: &Mount,
    helper: &dyn InotifyHelper,
    expected: Expected<Node>,
    operation: HelperOperation,
) -> io::Result<()> {
    // The helper would keep a drive in use that is being unmounted.
    if mount.events().ended_within(UNMOUNTING) {
        return Ok(());
    }
    mount.inotify().expect(Some(expected));
    let result = helper.run(operation.clone()).await;
    mount.inotify().expect(None);
    if let Err(error) = &result {
        tracing::debug!(%error, ?operation, "a change could not be reported to inotify");
    }
    result
}

/// The answer to a lookup of the helper, if it is about the expected name.
pub fn lookup_of_helper(mount: &Mount, parent: Ino, name: &OsStr) -> Option<DriveResult<Entry>> {
    match mount.inotify().expected()? {
        Expected::Made {
            parent: at,
            name: made,
            ..
        } if at == parent && name == made.as_str() => Some(Err(DriveError::NotFound)),
        Expected::Removed {
            parent: at,
            name: removed,
            node,
            entry,
        } if at == parent && name == removed.as_str() => Some(Ok(referred(mount, &node, entry))),
        _ => None,
    }
}

/// The answer to the helper that makes a name.
pub fn make_of_helper(mount: &Mount, parent: Ino, name: &OsStr) -> DriveResult<Entry> {
    match mount.inotify().expected() {
        Some(Expected::Made {
            parent: at,
            name: made,
            node,
            entry,
        }) if at == parent && name == made.as_str() => Ok(referred(mount, &node, entry)),
        _ => Err(not_expected()),
    }
}

/// The answer to the helper that removes a name.
pub fn remove_of_helper(mount: &Mount, parent: Ino, name: &OsStr) -> DriveResult<()> {
    match mount.inotify().expected() {
        Some(Expected::Removed {
            parent: at,
            name: removed,
            ..
        }) if at == parent && name == removed.as_str() => Ok(()),
        _ => Err(not_expected()),
    }
}

/// The answer to the helper that sets times.
pub fn touch_of_helper(mount: &Mount, ino: Ino) -> DriveResult<Entry> {
    match mount.inotify().expected() {
        Some(Expected::Touched { ino: at, entry }) if at == ino => Ok(entry),
        _ => Err(not_expected()),
    }
}

fn referred(mount: &Mount, node: &Node, entry: Entry) -> Entry {
    let ino = mount.inodes().refer(node);
    Entry {
        attributes: Attributes {
            ino,
            ..entry.attributes
        },
        ..entry
    }
}

fn not_expected() -> DriveError {
    DriveError::NotPermitted("the helper for inotify changes nothing".into())
}
