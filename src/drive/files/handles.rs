//! What is open: files with the place their bytes come from, folders with their rows.
//!
//! The invariant: a handle serves the same thing from open to release, whatever happens to its name
//! meanwhile. Numbers are never used twice.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::control::ControlBuffer;
use super::folder::OpenFolder;
use super::recopy::RecopyCheck;
use super::text::TextBuffer;
use crate::drive::archive::MemberFile;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::{Fh, Ino, OpenFlags};
use crate::drive::reading::{RemoteFile, Spool};
use crate::drive::values::local::TextTarget;
use crate::outbox::StagedFile;

/// An open file.
pub(in crate::drive) struct OpenFile {
    /// What was opened.
    pub(in crate::drive) ino: Ino,
    pub(in crate::drive) flags: OpenFlags,
    pub(in crate::drive) body: Body,
}

/// Where the bytes of an open file are.
pub(in crate::drive) enum Body {
    /// On local disk, in the outbox.
    Staged(StagedFile),
    /// Elsewhere, through the cache.
    Remote(Arc<RemoteFile>),
    /// Inside a zip elsewhere, through the cache.
    Member(Box<MemberFile>),
    /// On their way, in an order that the service decides.
    Spool(Spool),
    /// In memory, as they were at open.
    Snapshot(Bytes),
    /// A text that goes out when it is closed.
    Text(TextBuffer),
    /// A file that takes commands.
    Control(ControlBuffer),
    /// A file of an asset that is copied in once more.
    Again(Box<RecopyCheck>),
}

/// Everything that is open.
#[derive(Default)]
pub(in crate::drive) struct Handles {
    last: AtomicU64,
    files: Mutex<HashMap<Fh, Arc<OpenFile>>>,
    folders: Mutex<HashMap<Fh, Arc<OpenFolder>>>,
}

impl Handles {
    /// Opens a file.
    pub(in crate::drive) fn insert_file(&self, file: OpenFile) -> Fh {
        let fh = self.next();
        self.files().insert(fh, Arc::new(file));
        fh
    }

    /// Opens a folder.
    pub(in crate::drive) fn insert_folder(&self, folder: OpenFolder) -> Fh {
        let fh = self.next();
        self.folders().insert(fh, Arc::new(folder));
        fh
    }

    /// An open file.
    pub(in crate::drive) fn file(&self, fh: Fh) -> DriveResult<Arc<OpenFile>> {
        self.files().get(&fh).cloned().ok_or(DriveError::BadHandle)
    }

    /// An open folder.
    pub(in crate::drive) fn folder(&self, fh: Fh) -> DriveResult<Arc<OpenFolder>> {
        self.folders()
            .get(&fh)
            .cloned()
            .ok_or(DriveError::BadHandle)
    }

    /// Any open file of a thing: what was removed is still there for who has it open.
    pub(in crate::drive) fn file_of(&self, ino: Ino) -> Option<Arc<OpenFile>> {
        self.files().values().find(|file| file.ino == ino).cloned()
    }

    /// Closes a file.
    pub(in crate::drive) fn remove_file(&self, fh: Fh) -> Option<Arc<OpenFile>> {
        self.files().remove(&fh)
    }

    /// Closes a folder.
    pub(in crate::drive) fn remove_folder(&self, fh: Fh) {
        self.folders().remove(&fh);
    }

    /// A text was renamed: whoever has it open goes on under the new name.
    pub(in crate::drive) fn rename_text(&self, from: &TextTarget, to: &TextTarget) {
        for file in self.files().values() {
            if let Body::Text(text) = &file.body {
                text.rename(from, to);
            }
        }
    }

    /// True while someone has a text open for writing.
    pub(in crate::drive) fn is_text_open(&self, target: &TextTarget) -> bool {
        self.files()
            .values()
            .any(|file| matches!(&file.body, Body::Text(text) if text.is(target)))
    }

    /// How many are open.
    pub(in crate::drive) fn len(&self) -> usize {
        self.files().len() + self.folders().len()
    }

    fn next(&self) -> Fh {
        Fh(self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn files(&self) -> std::sync::MutexGuard<'_, HashMap<Fh, Arc<OpenFile>>> {
        self.files.lock().expect("no panic while handles are held")
    }

    fn folders(&self) -> std::sync::MutexGuard<'_, HashMap<Fh, Arc<OpenFolder>>> {
        self.folders
            .lock()
            .expect("no panic while handles are held")
    }
}
