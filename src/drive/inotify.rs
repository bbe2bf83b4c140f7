//! Reports changes that the kernel did not make to inotify watchers.
//!
//! The kernel reports to inotify only what a system call does: no notification of FUSE makes an event for a folder. So a
//! process of its own, the helper, makes the operation on the drive: `mkdir` of a model that appeared elsewhere, `rmdir`
//! of one that is gone. The drive recognizes the helper by its process id and answers from what is noted here, without
//! an effect. It refuses the helper every such call that it does not expect; the helper makes no others.
//!
//! The helper is another process because it waits for locks of the kernel as any program does: if the drive is killed,
//! its connection to the kernel ends, and with that the helper's calls.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::posix::{Entry, Ino};
use crate::locks::Locked;

/// Maximum number of noted changes of attributes, and of names that were made or removed here.
const MAX_NOTED: usize = 4096;

/// What the helper does on the drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HelperOperation {
    MakeFolder(String),
    MakeFile(String),
    MakeLink(String),
    RemoveFolder(String),
    /// A file or a link.
    RemoveFile(String),
    /// Sets both times.
    Attributes(String),
    /// Sets the modification time.
    Content(String),
}

/// Finds watchers, and makes operations on the drive in another process.
pub trait InotifyHelper: Send + Sync {
    /// The inodes of the drive that programs watch by inotify.
    fn watched(&self) -> BoxFuture<'_, io::Result<Vec<Ino>>>;
    /// Makes an operation; paths start with `/` at the top of the drive.
    fn run(&self, operation: HelperOperation) -> BoxFuture<'_, io::Result<()>>;
    /// The process that makes operations; 0 while there is none.
    fn pid(&self) -> u32;
    /// Ends that process, because nobody watches any more.
    fn stop(&self);
}

/// What the helper is about to ask, with the answer.
#[derive(Debug, Clone)]
pub(super) enum Expected<N> {
    /// A name that is to appear.
    Made {
        parent: Ino,
        name: String,
        node: N,
        entry: Entry,
    },
    /// A name that is to disappear; the node stands for it until then.
    Removed {
        parent: Ino,
        name: String,
        node: N,
        entry: Entry,
    },
    /// A change of attributes.
    Touched { ino: Ino, entry: Entry },
}

/// What a program did to a name through this mount: the kernel has reported that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    Made,
    Removed,
}

/// In the order in which they were done.
pub(super) type OwnNames = Vec<(String, Own)>;

/// A note that a program is making or removing a name. It ends when it is dropped.
pub(super) struct UnderWay<'a, N> {
    inotify: &'a Inotify<N>,
    /// `None` in a folder that nobody watches.
    of: Option<(Ino, String)>,
}

impl<N> Drop for UnderWay<'_, N> {
    fn drop(&mut self) {
        let Some(of) = &self.of else { return };
        let mut noted = self.inotify.noted.locked();
        if let Some(at) = noted.under_way.iter().position(|it| it == of) {
            noted.under_way.swap_remove(at);
        }
    }
}

pub(super) struct Inotify<N> {
    helper: OnceLock<Arc<dyn InotifyHelper>>,
    expected: Mutex<Option<Expected<N>>>,
    noted: Mutex<InotifyNotes<N>>,
    changed: Notify,
    /// Set by each request of a program, and cleared when the drive looks for watchers: only a program that sent a
    /// request can have started to watch.
    was_used: AtomicBool,
}

struct InotifyNotes<N> {
    /// Watched folders, with what was made in them here.
    folders: HashMap<Ino, OwnNames>,
    /// Names in them that programs make or remove now. The drive may list what the kernel has not reported yet.
    under_way: Vec<(Ino, String)>,
    /// Folder and item with changed attributes.
    touched: VecDeque<(N, N)>,
}

impl<N> Default for Inotify<N> {
    fn default() -> Inotify<N> {
        Inotify {
            helper: OnceLock::new(),
            expected: Mutex::default(),
            noted: Mutex::new(InotifyNotes {
                folders: HashMap::new(),
                under_way: Vec::new(),
                touched: VecDeque::new(),
            }),
            changed: Notify::new(),
            was_used: AtomicBool::new(false),
        }
    }
}

impl<N: Clone + PartialEq> Inotify<N> {
    /// Sets the helper, once.
    pub(super) fn attach(&self, helper: Arc<dyn InotifyHelper>) {
        let _ = self.helper.set(helper);
        self.changed.notify_one();
    }

    pub(super) fn helper(&self) -> Option<&Arc<dyn InotifyHelper>> {
        self.helper.get()
    }

    /// True for requests of the helper.
    pub(super) fn is_helper(&self, pid: u32) -> bool {
        pid != 0 && self.helper().is_some_and(|helper| helper.pid() == pid)
    }

    /// A program made a request.
    pub(super) fn was_used(&self) {
        // Written only once between two looks: this is called for each request.
        if !self.was_used.load(Ordering::Relaxed) {
            self.was_used.store(true, Ordering::Relaxed);
        }
    }

    /// True if a program made a request since the last call.
    pub(super) fn take_used(&self) -> bool {
        self.was_used.swap(false, Ordering::Relaxed)
    }

    /// Something changed, and the attributes of an item in a folder if it was that.
    pub(super) fn note(&self, touched: Option<(N, N)>) {
        let mut noted = self.noted.locked();
        if noted.folders.is_empty() {
            return;
        }
        if let Some(touched) = touched
            && noted.touched.len() < MAX_NOTED
            && !noted.touched.contains(&touched)
        {
            noted.touched.push_back(touched);
        }
        drop(noted);
        self.changed.notify_one();
    }

    /// Returns after the next change.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Sets which folders are watched.
    pub(super) fn watch(&self, folders: &[Ino]) {
        let mut noted = self.noted.locked();
        noted.folders.retain(|folder, _| folders.contains(folder));
        for folder in folders {
            noted.folders.entry(*folder).or_default();
        }
        if folders.is_empty() {
            noted.touched.clear();
        }
    }

    /// Notes that a program is making or removing a name, until the guard is dropped.
    pub(super) fn begin(&self, folder: Ino, name: &OsStr) -> UnderWay<'_, N> {
        let mut noted = self.noted.locked();
        let name = name
            .to_str()
            .filter(|_| noted.folders.contains_key(&folder));
        let of = name.map(|name| (folder, name.to_owned()));
        noted.under_way.extend(of.clone());
        UnderWay { inotify: self, of }
    }

    /// The names in a folder that programs are changing or have just changed. A list of the folder may be older than the change.
    pub(super) fn unsettled(&self, folder: Ino) -> BTreeSet<String> {
        let noted = self.noted.locked();
        let begun = noted.under_way.iter();
        let begun = begun.filter(|(at, _)| *at == folder).map(|(_, name)| name);
        let done = noted.folders.get(&folder).into_iter().flatten();
        begun.chain(done.map(|(name, _)| name)).cloned().collect()
    }

    /// A name was made or removed through this mount.
    pub(super) fn own(&self, folder: Ino, name: Option<&str>, done: Own) {
        let mut noted = self.noted.locked();
        if let (Some(names), Some(name)) = (noted.folders.get_mut(&folder), name)
            && names.len() < MAX_NOTED
        {
            names.push((name.to_owned(), done));
        }
    }

    /// A name was renamed through this mount. The kind is not known here, so the new name is taken as it is found.
    pub(super) fn own_rename(&self, from: (Ino, Option<&str>), to: (Ino, Option<&str>)) {
        self.own(from.0, from.1, Own::Removed);
        self.own(to.0, to.1, Own::Made);
    }

    pub(super) fn take_own(&self, folder: Ino) -> OwnNames {
        let mut noted = self.noted.locked();
        let names = noted.folders.get_mut(&folder);
        names.map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn take_touched(&self) -> VecDeque<(N, N)> {
        std::mem::take(&mut self.noted.locked().touched)
    }

    /// Number of watched folders.
    pub(super) fn count(&self) -> usize {
        self.noted.locked().folders.len()
    }

    /// Sets what the helper is about to ask.
    pub(super) fn expect(&self, expected: Option<Expected<N>>) {
        *self.expected.locked() = expected;
    }

    pub(super) fn expected(&self) -> Option<Expected<N>> {
        let expected = self.expected.locked();
        expected.clone()
    }
}
