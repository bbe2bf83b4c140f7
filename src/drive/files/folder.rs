//! An open folder: the rows of the moment it was read from its beginning, so that positions stay valid while `rm -r`
//! removes what it has read. A long listing that is not known yet is appended page by page.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::drive::catalog::FlightEnd;
use crate::drive::error::DriveError;
use crate::drive::places::Node;
use crate::drive::posix::{DirEntry, Ino};
use crate::drive::values::node::ListingKind;
use crate::locks::Locked;
use crate::outbox::Ticket;

/// Rows given out at a time.
const ROWS_AT_ONCE: usize = 1024;
/// The rows that every folder begins with: itself and its parent.
pub const DOTS: usize = 2;
/// A program that opens a folder and reads it within this time gets the rows of the moment it was opened, unless something
/// changed here. `ls` does, so its rows are described once.
const FRESH_FOR: Duration = Duration::from_millis(10);

/// An open folder. Its rows begin with `.` and `..`.
pub struct OpenFolder {
    node: Node,
    ino: Ino,
    /// The thread that opened it.
    opener: u32,
    state: Mutex<FolderState>,
}

struct FolderState {
    rows: Vec<DirEntry>,
    /// When the rows were described, and which change of the outbox was the last then.
    described: (Instant, Ticket),
    /// It was read from its beginning since.
    is_begun: bool,
    rest: Rest,
}

/// What follows the rows of an open folder.
#[derive(Clone)]
pub enum Rest {
    Nothing,
    /// More rows.
    Arrives(Arriving),
    /// Perhaps more rows: it could not be found out.
    Unknown(DriveError),
}

/// A long listing that comes in page by page.
#[derive(Clone)]
pub struct Arriving {
    pub listing: ListingKind,
    pub fetch_end: FlightEnd,
    /// The highest id that was appended.
    highest: u64,
    /// The rows that the folder was opened with, which a page may contain too.
    first_rows: Arc<HashSet<Ino>>,
}

impl Arriving {
    pub fn new(listing: ListingKind, fetch_end: FlightEnd) -> Arriving {
        Arriving {
            listing,
            fetch_end,
            highest: 0,
            first_rows: Arc::default(),
        }
    }
}

impl OpenFolder {
    /// `rows` were described after the outbox's change `as_of`; `rest` follows them.
    pub fn new(
        (node, ino): (Node, Ino),
        opener: u32,
        (rows, as_of): (Vec<DirEntry>, Ticket),
        rest: Rest,
    ) -> OpenFolder {
        let rest = match rest {
            Rest::Arrives(arriving) => Rest::Arrives(Arriving {
                first_rows: Arc::new(rows.iter().map(|row| row.ino).collect()),
                ..arriving
            }),
            rest => rest,
        };
        let state = Mutex::new(FolderState {
            rows,
            described: (Instant::now(), as_of),
            is_begun: false,
            rest,
        });
        OpenFolder {
            node,
            ino,
            opener,
            state,
        }
    }

    pub fn opener(&self) -> u32 {
        self.opener
    }

    /// Notes that it is read from its beginning. True if the rows have to be described again first: after `rewinddir`,
    /// and if something may have changed since it was opened.
    pub fn begin(&self, last: Ticket) -> bool {
        let mut state = self.state.locked();
        let (at, as_of) = state.described;
        let is_again = std::mem::replace(&mut state.is_begun, true);
        let arrives = matches!(state.rest, Rest::Arrives(_));
        !arrives && (is_again || as_of != last || at.elapsed() > FRESH_FOR)
    }

    /// The rows of now, described after the outbox's change `as_of`.
    pub fn replace(&self, (rows, as_of): (Vec<DirEntry>, Ticket), rest: Rest) {
        let mut state = self.state.locked();
        state.rows = rows;
        state.rest = rest;
        state.described = (Instant::now(), as_of);
    }

    pub fn node(&self) -> &Node {
        &self.node
    }

    pub fn ino(&self) -> Ino {
        self.ino
    }

    /// The rows from a position on, and what follows them.
    pub fn after(&self, from: usize) -> (Vec<DirEntry>, Rest) {
        let state = self.state.locked();
        let rows = state.rows.iter().skip(from).take(ROWS_AT_ONCE);
        (rows.cloned().collect(), state.rest.clone())
    }

    /// Appends what came since. `rows_after` gives the highest id that came and the rows above the given id.
    /// True when there are new rows, or nothing more will come.
    pub fn append(
        &self,
        rows_after: impl FnOnce(ListingKind, u64) -> (u64, Vec<DirEntry>),
    ) -> bool {
        let mut state = self.state.locked();
        let FolderState { rows, rest, .. } = &mut *state;
        let Rest::Arrives(arriving) = rest else {
            return true;
        };
        let (highest, new) = rows_after(arriving.listing, arriving.highest);
        arriving.highest = highest;
        let before = rows.len();
        for row in new.into_iter().skip(DOTS) {
            if !arriving.first_rows.contains(&row.ino) {
                rows.push(at_the_end(row, rows.len()));
            }
        }
        rows.len() > before
    }

    /// The whole listing came: rows that no page brought are appended.
    pub fn complete(&self, all: Vec<DirEntry>) {
        let mut state = self.state.locked();
        if !matches!(state.rest, Rest::Arrives(_)) {
            return;
        }
        state.rest = Rest::Nothing;
        let given: HashSet<Ino> = state.rows.iter().map(|row| row.ino).collect();
        for row in all.into_iter().skip(DOTS) {
            if !given.contains(&row.ino) {
                let before = state.rows.len();
                state.rows.push(at_the_end(row, before));
            }
        }
    }
}

/// A row behind `before` others.
fn at_the_end(row: DirEntry, before: usize) -> DirEntry {
    DirEntry {
        offset: before as u64 + 1,
        ..row
    }
}
