//! Detects a reader that reads files in order. Pure: times are passed in.
//!
//! A walk starts when a second file of a folder is read soon after a preceding one. It continues as long as the
//! opened files are those that were fetched ahead. Another file starts a new walk.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::drive::reading::RemoteFile;
use crate::drive::values::node::RemoteFolder;

/// A file of the service: its folder and its path there.
pub(super) type FileAt = (RemoteFolder, Arc<str>);

/// Maximum time between the first two files of a walk.
const SOON: Duration = Duration::from_secs(2);

/// The latest walk through files.
pub(super) struct Walk<H = RemoteFile> {
    last: Option<(FileAt, Instant)>,
    number: u64,
    is_over: bool,
    /// Files that were fetched ahead and not opened yet; kept open so that opening them is fast.
    ahead: HashMap<FileAt, Option<H>>,
}

// A derived impl would require `H: Default`.
impl<H> Default for Walk<H> {
    fn default() -> Walk<H> {
        Walk {
            last: None,
            number: 0,
            is_over: false,
            ahead: HashMap::new(),
        }
    }
}

impl<H> Walk<H> {
    /// A file that was not fetched ahead is read. Returns the number of the walk that starts with it.
    pub(super) fn read(&mut self, file: &FileAt, now: Instant) -> Option<u64> {
        let last = self.last.replace((file.clone(), now));
        let ((folder, path), then) = last?;
        if folder != file.0 || *path >= *file.1 || now - then > SOON {
            return None;
        }
        self.number += 1;
        self.is_over = false;
        self.ahead.clear();
        Some(self.number)
    }

    /// A file is opened. Returns what was fetched ahead of it.
    pub(super) fn opened(&mut self, file: &FileAt, now: Instant) -> Option<Option<H>> {
        let held = self.ahead.remove(file)?;
        self.last = Some((file.clone(), now));
        Some(held)
    }

    /// Number of files that were fetched ahead and not opened yet; `None` if the walk has ended.
    pub(super) fn waiting(&self, number: u64) -> Option<usize> {
        self.is_on(number).then_some(self.ahead.len())
    }

    /// Registers a file that will be fetched ahead; false if the walk has ended.
    pub(super) fn expect(&mut self, number: u64, file: &FileAt) -> bool {
        if self.is_on(number) {
            self.ahead.insert(file.clone(), None);
        }
        self.is_on(number)
    }

    /// Holds a fetched file until it is opened.
    pub(super) fn hold(&mut self, number: u64, file: &FileAt, held: H) {
        if self.is_on(number)
            && let Some(place) = self.ahead.get_mut(file)
        {
            *place = Some(held);
        }
    }

    /// Ends the walk.
    pub(super) fn end(&mut self, number: u64) {
        if self.is_on(number) {
            self.is_over = true;
            self.ahead.clear();
        }
    }

    fn is_on(&self, number: u64) -> bool {
        self.number == number && !self.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::AssetId;

    fn file(asset: u64, path: &str) -> FileAt {
        (RemoteFolder::AssetFiles(AssetId(asset)), path.into())
    }

    #[test]
    fn the_second_file_in_order_begins_a_walk_and_what_is_expected_goes_on_with_it() {
        let (mut walk, now) = (Walk::<u8>::default(), Instant::now());
        assert_eq!(walk.read(&file(1, "a"), now), None);
        let number = walk.read(&file(1, "b"), now).unwrap();
        assert!(walk.expect(number, &file(1, "c")) && walk.expect(number, &file(2, "a")));
        walk.hold(number, &file(2, "a"), 7);
        assert_eq!(walk.waiting(number), Some(2));
        assert_eq!(walk.opened(&file(1, "c"), now), Some(None));
        assert_eq!(walk.opened(&file(2, "a"), now), Some(Some(7)));
        assert_eq!(walk.opened(&file(2, "x"), now), None);
        assert_eq!(walk.waiting(number), Some(0));
    }

    #[test]
    fn files_far_apart_backwards_or_in_different_folders_are_no_walk() {
        let (mut walk, now) = (Walk::<u8>::default(), Instant::now());
        walk.read(&file(1, "b"), now);
        assert_eq!(walk.read(&file(1, "a"), now), None);
        assert_eq!(walk.read(&file(2, "b"), now), None);
        assert_eq!(walk.read(&file(2, "c"), now + SOON * 2), None);
    }

    #[test]
    fn a_new_walk_ends_the_one_before() {
        let (mut walk, now) = (Walk::<u8>::default(), Instant::now());
        walk.read(&file(1, "a"), now);
        let first = walk.read(&file(1, "b"), now).unwrap();
        walk.expect(first, &file(1, "c"));
        let second = walk.read(&file(1, "k"), now).unwrap();
        assert!(!walk.expect(first, &file(1, "d")));
        assert_eq!((walk.waiting(first), walk.waiting(second)), (None, Some(0)));
        walk.end(second);
        assert_eq!(walk.waiting(second), None);
    }
}
