//! Listing folders. A folder that is open shows the rows of the moment it was opened, so that
//! positions stay true while `rm -r` removes what it has read. A long listing that was never told
//! goes on at the end of them, page by page as it comes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::drive::catalog::{FlightEnd, first_listing, learn_folders, news_of_pages, was_listed};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::ops::lookup::look;
use crate::drive::parts::Tree;
use crate::drive::places::{Node, Row, own_rows, rows_after, rows_at_hand};
use crate::drive::posix::{Caller, DirEntry, Fh, FileKind, Ino};
use crate::drive::values::node::ListingKind;

/// Rows given out at a time.
const ROWS_AT_ONCE: usize = 1024;

/// An open folder.
pub(in crate::drive) struct OpenFolder {
    node: Node,
    ino: Ino,
    state: Mutex<FolderState>,
}

struct FolderState {
    rows: Vec<DirEntry>,
    arriving: Option<Arriving>,
}

/// A long listing that comes in page by page.
#[derive(Clone)]
struct Arriving {
    which: ListingKind,
    landing: FlightEnd,
    /// The highest id that was taken in by its page.
    highest: u64,
    /// The rows of this machine alone, of which a page may tell too.
    our_own: Arc<HashSet<Ino>>,
}

/// Opens a folder.
pub(in crate::drive) async fn open_dir(
    tree: &Arc<Tree>,
    ino: Ino,
    caller: &Caller,
) -> DriveResult<Fh> {
    let node = tree.node(ino)?;
    look(tree, &node);
    if let Some(model) = node.model_folder() {
        learn_folders(&tree.catalog, model).await;
    }
    let (rows, arriving) = match arriving(tree, &node).await {
        Some((arriving, None)) => (own_rows(tree, arriving.which), Some(arriving)),
        Some((arriving, Some(Err(error)))) => {
            // Drafts are shown even where nothing of the service is known.
            let rows = rows_at_hand(tree, arriving.which);
            if rows.is_empty() {
                return Err(error);
            }
            (rows, None)
        }
        Some((_, Some(Ok(())))) | None => (node.rows(tree).await?, None),
    };
    if let Some(folder) = node.service_folder() {
        was_listed(&tree.catalog, folder);
    }
    let rows = numbered(tree, ino, rows);
    if node.model_folder().or_else(|| node.owner(tree)).is_some() {
        let shown = rows.iter().skip(DOTS).map(|row| row.ino).collect();
        tree.deletions().was_listed(caller.pid, ino, shown);
    }
    let arriving = arriving.map(|arriving| Arriving {
        our_own: Arc::new(rows.iter().map(|row| row.ino).collect()),
        ..arriving
    });
    let state = Mutex::new(FolderState { rows, arriving });
    Ok(tree.handles.insert_folder(OpenFolder { node, ino, state }))
}

/// The next rows of an open folder; waits for them while there may be more.
pub(in crate::drive) async fn read_dir(
    tree: &Arc<Tree>,
    fh: Fh,
    offset: u64,
) -> DriveResult<Vec<DirEntry>> {
    let folder = tree.handles.folder(fh)?;
    let from = usize::try_from(offset)
        .map_err(|_| DriveError::Invalid("no such position in the folder".into()))?;
    loop {
        let (rows, arriving) = folder.after(from);
        let Some(arriving) = arriving.filter(|_| rows.is_empty()) else {
            return Ok(rows);
        };
        let mut news = news_of_pages(&tree.catalog);
        if take_in(tree, &folder) {
            continue;
        }
        tokio::select! {
            landed = arriving.landing => {
                landed?;
                let rows = folder.node.rows(tree).await?;
                folder.complete(numbered(tree, folder.ino, rows));
            }
            _ = news.changed() => {}
        }
    }
}

/// The listing that a folder shows, when it was never told: once its first page is there, or with
/// its end.
async fn arriving(tree: &Arc<Tree>, node: &Node) -> Option<(Arriving, Option<DriveResult<()>>)> {
    let which = node.listing()?;
    let mut news = news_of_pages(&tree.catalog);
    let landing = first_listing(&tree.catalog, which)?;
    let landed = tokio::select! {
        biased;
        landed = landing.clone() => Some(landed),
        _ = news.changed() => None,
    };
    let arriving = Arriving {
        which,
        landing,
        highest: 0,
        our_own: Arc::default(),
    };
    Some((arriving, landed))
}

/// Takes in what came since; true when that was something.
fn take_in(tree: &Tree, folder: &OpenFolder) -> bool {
    let mut state = folder.state();
    let FolderState { rows, arriving } = &mut *state;
    let Some(arriving) = arriving else {
        return true;
    };
    let (highest, new) = rows_after(tree, arriving.which, arriving.highest);
    arriving.highest = highest;
    let before = rows.len();
    for row in numbered(tree, folder.ino, new).into_iter().skip(DOTS) {
        if !arriving.our_own.contains(&row.ino) {
            rows.push(at_the_end(row, rows.len()));
        }
    }
    rows.len() > before
}

/// The rows with their numbers, after the two that every folder has.
fn numbered(tree: &Tree, folder: Ino, rows: Vec<Row>) -> Vec<DirEntry> {
    let numbers = tree.inodes.numbers(rows.iter().map(|row| &row.node));
    let dots = [".", ".."].map(|name| (name.to_owned(), folder, FileKind::Folder));
    let rows = rows
        .into_iter()
        .zip(numbers)
        .map(|(row, ino)| (row.name, ino, row.kind));
    dots.into_iter()
        .chain(rows)
        .zip(1u64..)
        .map(|((name, ino, kind), offset)| DirEntry {
            ino,
            name: name.into(),
            kind,
            offset,
        })
        .collect()
}

/// The rows that every folder has: itself and the one above.
const DOTS: usize = 2;

/// A row as it stands behind `before` others.
fn at_the_end(row: DirEntry, before: usize) -> DirEntry {
    DirEntry {
        offset: before as u64 + 1,
        ..row
    }
}

impl OpenFolder {
    fn state(&self) -> MutexGuard<'_, FolderState> {
        self.state.lock().expect("no panic while rows are held")
    }

    /// The rows from a position on, and what is on its way behind the last.
    fn after(&self, from: usize) -> (Vec<DirEntry>, Option<Arriving>) {
        let state = self.state();
        let rows = state.rows.iter().skip(from).take(ROWS_AT_ONCE);
        (rows.cloned().collect(), state.arriving.clone())
    }

    /// All of the listing came: what no page brought goes to the end.
    fn complete(&self, all: Vec<DirEntry>) {
        let mut state = self.state();
        if state.arriving.take().is_none() {
            return;
        }
        let given: HashSet<Ino> = state.rows.iter().map(|row| row.ino).collect();
        for row in all.into_iter().skip(DOTS) {
            if !given.contains(&row.ino) {
                let before = state.rows.len();
                state.rows.push(at_the_end(row, before));
            }
        }
    }
}
