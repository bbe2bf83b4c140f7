//! A file of an asset that is open for writing in place: a loose file, or a file of a model whose import failed. As soon as the
//! file is emptied, new bytes go to a temporary file. When the temporary file is closed, it replaces the old one. Before the file
//! is emptied, writes are compared with the bytes that were sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use super::recopy::RecopyCheck;
use crate::drive::places::DraftEntry;
use crate::drive::posix::Caller;
use crate::outbox::StagedFile;

pub struct Overwrite {
    pub target: OverwriteTarget,
    pub check: RecopyCheck,
    /// Held while the file is emptied, and while the new one takes the name.
    pub turn: Mutex<()>,
    /// The process that opened it.
    opener: u32,
    next: OnceLock<NextFile>,
}

/// The file that the new content replaces.
pub enum OverwriteTarget {
    /// The loose file with this name in `rawmodels/`. The new content becomes the next version of its model.
    Loose(String),
    /// A file of a draft whose import failed. The model is sent again.
    Failed(DraftEntry),
}

/// The new content, a draft with a temporary name until it is closed.
pub struct NextFile {
    pub file: StagedFile,
    pub temporary_name: String,
    /// The draft has the name of the file.
    is_placed: AtomicBool,
    /// The program has closed the file with something in it.
    is_closed: AtomicBool,
    /// A program has set the modification time. If the bytes are the same, the uploaded file gets this time.
    is_time_set: AtomicBool,
}

impl Overwrite {
    pub fn new(target: OverwriteTarget, check: RecopyCheck, caller: &Caller) -> Overwrite {
        Overwrite {
            target,
            check,
            turn: Mutex::new(()),
            opener: caller.process(),
            next: OnceLock::new(),
        }
    }

    /// True if the process that opened it calls, or one that is not known. A program that it has started has a copy of the
    /// descriptor, and may close it long before.
    pub fn is_opener(&self, caller: &Caller) -> bool {
        caller.may_be_of(self.opener)
    }

    /// The new content, once the file has been emptied.
    pub fn next(&self) -> Option<&NextFile> {
        self.next.get()
    }

    /// The new content without what else is known of it.
    pub fn file(&self) -> Option<&StagedFile> {
        self.next().map(|next| &next.file)
    }

    /// From now on writes go to `file`. Call it with `turn` held, and once.
    pub fn begin(&self, file: StagedFile, temporary_name: String) {
        let next = NextFile {
            file,
            temporary_name,
            is_placed: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            is_time_set: AtomicBool::new(false),
        };
        let is_first = self.next.set(next).is_ok();
        debug_assert!(is_first, "the file was emptied already");
    }
}

impl NextFile {
    pub fn is_placed(&self) -> bool {
        self.is_placed.load(Ordering::Acquire)
    }

    pub fn placed(&self) {
        self.is_placed.store(true, Ordering::Release);
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub fn closed(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    pub fn is_time_set(&self) -> bool {
        self.is_time_set.load(Ordering::Acquire)
    }

    pub fn time_was_set(&self) {
        self.is_time_set.store(true, Ordering::Release);
    }
}
