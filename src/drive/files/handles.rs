//! The table of open files and folders.
//!
//! Invariant: a handle serves the same content from open to release, even if its name changes. Numbers are
//! never reused.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;

use super::control::ControlBuffer;
use super::folder::OpenFolder;
use super::overwrite::Overwrite;
use super::recopy::RecopyCheck;
use super::text::TextBuffer;
use crate::drive::archive::MemberFile;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::events::EventReader;
use crate::drive::posix::{Caller, Fh, Ino, OpenFlags};
use crate::drive::reading::{RemoteFile, Spool};
use crate::drive::values::local::TextTarget;
use crate::locks::Locked;
use crate::outbox::StagedFile;

pub struct OpenFile {
    pub ino: Ino,
    pub flags: OpenFlags,
    pub body: Body,
    pub opened_by: Caller,
    pub opened_at: Instant,
}

/// Where the bytes of an open file are.
pub enum Body {
    /// Staged on local disk by the outbox.
    Staged(StagedFile),
    /// On the service, read through the cache.
    Remote(Arc<RemoteFile>),
    /// In a zip on the service, read through the cache.
    Member(Box<MemberFile>),
    /// Being downloaded, in the order that the service sends.
    Spool(Spool),
    /// In memory: a snapshot made at open.
    Snapshot(Bytes),
    /// A text that is sent at close.
    Text(TextBuffer),
    /// A `ctl` file.
    Control(ControlBuffer),
    /// The stream of change events.
    Events(EventReader),
    /// A file of an asset that is written again and compared.
    Again(Box<RecopyCheck>),
    /// A loose file of an asset, whose new content is the next version of the model; and what a handle for reading and writing
    /// reads until the file is emptied.
    Overwrite(Box<Overwrite>, Option<Box<Body>>),
}

impl OpenFile {
    /// The staged file behind the handle.
    pub fn staged(&self) -> Option<&StagedFile> {
        match &self.body {
            Body::Staged(staged) => Some(staged),
            Body::Overwrite(of, _) => of.file(),
            _ => None,
        }
    }

    /// The size of a text or of a file of an asset that is written in place, for its writer, until it is saved.
    fn unsaved_size(&self) -> Option<u64> {
        match &self.body {
            Body::Text(text) => text.unsaved_len(),
            Body::Overwrite(of, _) => of.file().map(StagedFile::size),
            _ => None,
        }
    }

    /// True if bytes may have been written through the handle. Of a staged file, a text and a `ctl` file it is not known.
    pub fn may_have_written(&self) -> bool {
        self.flags.access.writes()
            && match &self.body {
                Body::Staged(_) | Body::Text(_) | Body::Control(_) => true,
                Body::Again(same) => same.has_equal_bytes(),
                Body::Overwrite(of, _) => of.next().is_some() || of.check.has_equal_bytes(),
                Body::Remote(_)
                | Body::Member(_)
                | Body::Spool(_)
                | Body::Snapshot(_)
                | Body::Events(_) => false,
            }
    }
}

#[derive(Default)]
pub struct Handles {
    last: AtomicU64,
    files: Mutex<HashMap<Fh, Arc<OpenFile>>>,
    /// The open files that are written in place, in the order in which they were opened. The drive takes over their content when
    /// they are closed.
    in_place: Mutex<Vec<(Fh, Arc<OpenFile>)>>,
    folders: Mutex<HashMap<Fh, Arc<OpenFolder>>>,
}

impl Handles {
    pub fn insert_file(&self, file: OpenFile) -> Fh {
        let fh = self.next();
        let file = Arc::new(file);
        if matches!(file.body, Body::Text(_) | Body::Overwrite(..)) {
            self.in_place.locked().push((fh, Arc::clone(&file)));
        }
        self.files.locked().insert(fh, file);
        fh
    }

    pub fn insert_folder(&self, folder: OpenFolder) -> Fh {
        let fh = self.next();
        self.folders.locked().insert(fh, Arc::new(folder));
        fh
    }

    pub fn file(&self, fh: Fh) -> DriveResult<Arc<OpenFile>> {
        self.files
            .locked()
            .get(&fh)
            .cloned()
            .ok_or(DriveError::BadHandle)
    }

    pub fn folder(&self, fh: Fh) -> DriveResult<Arc<OpenFolder>> {
        self.folders
            .locked()
            .get(&fh)
            .cloned()
            .ok_or(DriveError::BadHandle)
    }

    /// Any handle of the inode: a removed file exists until it is closed.
    pub fn file_of(&self, ino: Ino) -> Option<Arc<OpenFile>> {
        self.files
            .locked()
            .values()
            .find(|file| file.ino == ino)
            .cloned()
    }

    /// The file that was opened last to be written in place.
    pub fn writer_of(&self, ino: Ino) -> Option<Arc<OpenFile>> {
        let in_place = self.in_place.locked();
        let mut newest_first = in_place.iter().rev().map(|(_, file)| file);
        newest_first.find(|file| file.ino == ino).cloned()
    }

    /// The size of a file that is written in place and not saved yet. A program that asks for the size of its own file may go on
    /// writing there, and the kernel keeps the latest answer to any process as the size for all of them.
    pub fn unsaved_size(&self, ino: Ino) -> Option<u64> {
        let in_place = self.in_place.locked();
        let newest_first = in_place.iter().rev().map(|(_, file)| file);
        let mut of_inode = newest_first.filter(|file| file.ino == ino);
        of_inode.find_map(|file| file.unsaved_size())
    }

    /// True while a folder is open: it exists until it is closed, too.
    pub fn has_folder(&self, ino: Ino) -> bool {
        self.folders
            .locked()
            .values()
            .any(|folder| folder.ino() == ino)
    }

    pub fn remove_file(&self, fh: Fh) -> Option<Arc<OpenFile>> {
        self.in_place.locked().retain(|(other, _)| *other != fh);
        self.files.locked().remove(&fh)
    }

    pub fn remove_folder(&self, fh: Fh) {
        self.folders.locked().remove(&fh);
    }

    /// A text was renamed: its open handles continue under the new name.
    pub fn rename_text(&self, from: &TextTarget, to: &TextTarget) {
        for file in self.files.locked().values() {
            if let Body::Text(text) = &file.body {
                text.rename(from, to);
            }
        }
    }

    /// True while a text is open for writing.
    pub fn is_text_open(&self, target: &TextTarget) -> bool {
        self.files
            .locked()
            .values()
            .any(|file| matches!(&file.body, Body::Text(text) if text.is(target)))
    }

    /// Number of open files and folders.
    pub fn len(&self) -> usize {
        self.files.locked().len() + self.folders.locked().len()
    }

    fn next(&self) -> Fh {
        Fh(self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
