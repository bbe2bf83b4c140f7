//! A loose file of an asset that is open for writing in place. Once it has been emptied, what is written goes to a file of its
//! own, which becomes the next version of the model when it is closed. Until then writes are compared with what was sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use super::recopy::RecopyCheck;
use crate::outbox::StagedFile;

pub struct Overwrite {
    /// The name of the file in `rawmodels/`.
    pub name: String,
    pub check: RecopyCheck,
    /// Held while the file is emptied, and while the new one takes the name.
    pub turn: Mutex<()>,
    next: OnceLock<NextFile>,
}

/// The new content, a draft with a temporary name until it is closed.
pub struct NextFile {
    pub file: StagedFile,
    pub temporary_name: String,
    /// The draft has the name of the file.
    is_placed: AtomicBool,
    /// A program has set the modification time. If the bytes are the same, the uploaded file gets this time.
    is_time_set: AtomicBool,
}

impl Overwrite {
    pub fn new(name: String, check: RecopyCheck) -> Overwrite {
        Overwrite {
            name,
            check,
            turn: Mutex::new(()),
            next: OnceLock::new(),
        }
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

    pub fn is_time_set(&self) -> bool {
        self.is_time_set.load(Ordering::Acquire)
    }

    pub fn time_was_set(&self) {
        self.is_time_set.store(true, Ordering::Release);
    }
}
