//! Listing folders. An open folder shows the rows of the moment it is read from its beginning, so that positions stay
//! valid while `rm -r` removes entries. A long listing that is not known yet is appended page by page.

use std::sync::Arc;

use crate::drive::catalog::{begin_first_listing, learn_folders, subscribe_to_pages, was_listed};
use crate::drive::deletions::ListedRow;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::files::folder::{Arriving, DOTS, OpenFolder, Rest};
use crate::drive::mount::Mount;
use crate::drive::ops::lookup::look;
use crate::drive::places::{Node, Removal, Row, own_rows, rows_after};
use crate::drive::posix::{Caller, DirEntry, Fh, FileKind, Ino};
use crate::drive::tree::Tree;

pub async fn open_dir(mount: &Arc<Mount>, ino: Ino, caller: &Caller) -> DriveResult<Fh> {
    let _waits = mount.remover_waits(caller);
    let as_of = mount.outbox().last_change();
    let node = mount.node(ino)?;
    look(mount, &node);
    if let Some(model) = node.model_folder() {
        learn_folders(mount.catalog(), model).await;
    }
    let (rows, rest) = match arriving(mount, &node).await {
        Some((arriving, None)) => (own_rows(mount, arriving.listing), Rest::Arrives(arriving)),
        Some((_, Some(Err(error)))) => known(mount, &node, error)?,
        Some((_, Some(Ok(())))) | None => rows_of(mount, &node).await?,
    };
    if let Some(folder) = node.service_folder() {
        was_listed(mount.catalog(), folder);
    }
    let (rows, listed) = described(mount, &node, ino, rows);
    let folder = OpenFolder::new((node, ino), caller.pid, (rows, as_of), rest);
    let fh = mount.handles().insert_folder(folder);
    if let Some(listed) = listed {
        mount.deletions().was_listed(caller.pid, (ino, fh), listed);
    }
    Ok(fh)
}

/// All rows, or those that are known.
async fn rows_of(mount: &Arc<Mount>, node: &Node) -> DriveResult<(Vec<Row>, Rest)> {
    match node.rows(mount).await {
        Ok(rows) => Ok((rows, Rest::Nothing)),
        Err(error) => known(mount, node, error),
    }
}

/// The rows that are known, followed by the error: whoever copies or compares the folder has to hear that they are not all.
fn known(mount: &Mount, node: &Node, error: DriveError) -> DriveResult<(Vec<Row>, Rest)> {
    let rows = node.known_rows(mount);
    match rows.is_empty() {
        true => Err(error),
        false => Ok((rows, Rest::Unknown(error))),
    }
}

/// The rows with their inode numbers and, in a folder of a model, what is remembered of them for when it is removed.
fn described(
    mount: &Mount,
    node: &Node,
    ino: Ino,
    rows: Vec<Row>,
) -> (Vec<DirEntry>, Option<Vec<ListedRow>>) {
    let is_of_model = node.model_folder().or_else(|| node.owner(mount)).is_some();
    let can_vanish: Vec<bool> = rows.iter().map(|row| can_vanish(&row.node)).collect();
    let rows = numbered(mount, ino, rows);
    let listed = rows.iter().skip(DOTS).zip(can_vanish);
    let listed = listed.map(|(row, can_vanish)| {
        let name = row.name.to_str().unwrap_or_default();
        ListedRow::new(row.ino, name, row.kind, can_vanish)
    });
    let listed = is_of_model.then(|| listed.collect());
    (rows, listed)
}

/// True for what may go without a user's action: everything but the user's own files and texts.
fn can_vanish(node: &Node) -> bool {
    !matches!(node.removal(), Removal::Entry(_) | Removal::Job(..))
}

/// The next rows of an open folder; waits for them while there may be more.
pub async fn read_dir(mount: &Arc<Mount>, fh: Fh, offset: u64) -> DriveResult<Vec<DirEntry>> {
    let folder = mount.handles().folder(fh)?;
    let from = usize::try_from(offset)
        .map_err(|_| DriveError::Invalid("no such position in the folder".into()))?;
    if from == 0 && folder.begin(mount.outbox().last_change()) {
        describe_again(mount, &folder, fh).await;
    }
    loop {
        let (rows, rest) = folder.after(from);
        if !rows.is_empty() {
            return Ok(rows);
        }
        let arriving = match rest {
            Rest::Nothing => return Ok(rows),
            Rest::Unknown(error) => return Err(error),
            Rest::Arrives(arriving) => arriving,
        };
        let mut news = subscribe_to_pages(mount.catalog());
        if append(mount, &folder) {
            continue;
        }
        tokio::select! {
            outcome = arriving.fetch_end => {
                outcome?;
                let rows = folder.node().rows(mount).await?;
                folder.complete(numbered(mount, folder.ino(), rows));
            }
            _ = news.changed() => {}
        }
    }
}

/// Gives an open folder its present rows. It keeps those that it has if nothing is known now, as while the service does not
/// answer.
async fn describe_again(mount: &Arc<Mount>, folder: &OpenFolder, fh: Fh) {
    let as_of = mount.outbox().last_change();
    let Ok((rows, rest)) = rows_of(mount, folder.node()).await else {
        return;
    };
    let (rows, listed) = described(mount, folder.node(), folder.ino(), rows);
    if let Some(listed) = listed {
        let at = (folder.ino(), fh);
        mount.deletions().was_listed(folder.opener(), at, listed);
    }
    folder.replace((rows, as_of), rest);
}

/// The listing that a folder shows, if it is not known yet: returns after its first page, or with its end.
async fn arriving(tree: &Arc<Tree>, node: &Node) -> Option<(Arriving, Option<DriveResult<()>>)> {
    let which = node.listing()?;
    let mut news = subscribe_to_pages(tree.catalog());
    let fetch_end = begin_first_listing(tree.catalog(), which)?;
    let outcome = tokio::select! {
        biased;
        outcome = fetch_end.clone() => Some(outcome),
        _ = news.changed() => None,
    };
    Some((Arriving::new(which, fetch_end), outcome))
}

/// Appends the rows that have arrived; true if there are any.
fn append(mount: &Mount, folder: &OpenFolder) -> bool {
    folder.append(|listing, highest| {
        let (highest, rows) = rows_after(mount, listing, highest);
        (highest, numbered(mount, folder.ino(), rows))
    })
}

/// The rows with their inode numbers, after `.` and `..`.
fn numbered(mount: &Mount, folder: Ino, rows: Vec<Row>) -> Vec<DirEntry> {
    let numbers = mount.inodes().numbers(rows.iter().map(|row| &row.node));
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
