//! Files that a reader will want next are fetched before it asks: the small ones that follow, for
//! whoever reads a folder one after the other (`cp -r`, an importer), into the next folders too; and
//! the buffers and images that a glTF names, for whoever reads it.
//!
//! Nothing is fetched for a file that was only opened or looked at. What is fetched ahead is bounded in
//! files, bytes and requests, and stops when the reader does something else. Failures are silent:
//! whoever reads the file learns of them.

mod walk;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore};

use super::parts::Tree;
use super::reading::RemoteFile;
use super::values::node::{Home, Model, RemoteFolder};
use super::values::sizes::ContentTable;
use crate::drive::catalog::{
    content_of, file_map, first_block_landing, known_content, known_map, learn_folders, remote_file,
};
use crate::drive::error::DriveResult;
use crate::formats::references::named_by_gltf;
use crate::wire::ModelId;
use walk::{FileAt, Walk};

/// A file up to here is fetched whole before it is asked for.
const SMALL_BYTES: u64 = 256 << 10;
/// So many files are there before they are asked for.
const FILES_AHEAD: usize = 64;
const REQUESTS_AT_ONCE: usize = 32;
/// Folders whose files' names are asked for at once.
const FOLDERS_AHEAD: usize = 8;
/// A reader that opened nothing for so long has ended.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest glTF that is looked into.
const GLTF_MAX_BYTES: u64 = 8 << 20;
/// What one glTF may make fetched.
const NAMED_MAX_BYTES: u64 = 64 << 20;

/// What is fetched ahead of readers of many files.
pub(super) struct Ahead {
    walk: Mutex<Walk>,
    moved: Notify,
    requests: Arc<Semaphore>,
}

impl Ahead {
    pub(super) fn new() -> Ahead {
        Ahead {
            walk: Mutex::default(),
            moved: Notify::new(),
            requests: Arc::new(Semaphore::new(REQUESTS_AT_ONCE)),
        }
    }

    fn walk(&self) -> MutexGuard<'_, Walk> {
        self.walk.lock().expect("no panic while a walk is held")
    }

    /// Waits until more may be fetched for a walk; false when it is over.
    async fn has_room(&self, number: u64) -> bool {
        loop {
            let moved = self.moved.notified();
            match self.walk().waiting(number) {
                None => return false,
                Some(waiting) if waiting < FILES_AHEAD => return true,
                Some(_) => {}
            }
            if tokio::time::timeout(PATIENCE, moved).await.is_err() {
                self.walk().end(number);
                return false;
            }
        }
    }
}

/// A remote file was opened: if it was fetched ahead, the reader goes on as was thought.
pub(super) fn opened_ahead(tree: &Tree, file: &RemoteFile) {
    let Some(at) = place_of(file) else { return };
    let held = tree.ahead.walk().opened(&at, Instant::now());
    if held.is_some() {
        tree.ahead.moved.notify_waiters();
    }
}

/// The first read of an open remote file.
pub(super) fn read_began(tree: &Arc<Tree>, file: &RemoteFile) {
    let Some(at) = place_of(file) else { return };
    let extension = at.1.rsplit_once('.').map_or("", |(_, extension)| extension);
    if extension.eq_ignore_ascii_case("gltf") && file.size() <= GLTF_MAX_BYTES {
        let (shared, at) = (Arc::clone(tree), at.clone());
        tree.background.spawn(async move {
            if let Err(error) = fetch_named(&shared, &at).await {
                tracing::debug!(path = &*at.1, %error, "what a glTF names is not fetched ahead");
            }
        });
    }
    if file.size() > SMALL_BYTES {
        return;
    }
    let begun = tree.ahead.walk().read(&at, Instant::now());
    if let Some(number) = begun {
        let shared = Arc::clone(tree);
        tree.background
            .spawn(async move { go_ahead(&shared, number, at).await });
    }
}

/// Fetches what follows a file, for as long as somebody follows.
async fn go_ahead(tree: &Arc<Tree>, number: u64, from: FileAt) {
    let mut files = files_after(tree, &from);
    let mut folders = folders_after(tree, from.0);
    while tree.ahead.has_room(number).await {
        let Some(file) = files.pop_front() else {
            match folders.pop_front() {
                Some(folder) => {
                    for next in folders.iter().take(FOLDERS_AHEAD) {
                        learn_names(tree, *next);
                    }
                    files = files_of(tree, folder).await;
                    continue;
                }
                None => return,
            }
        };
        if !is_small(tree, &file) || !tree.ahead.walk().expect(number, &file) {
            continue;
        }
        let Ok(permit) = Arc::clone(&tree.ahead.requests).acquire_owned().await else {
            return;
        };
        let shared = Arc::clone(tree);
        tree.background.spawn(async move {
            match fetch_small(&shared, &file).await {
                Ok(held) => shared.ahead.walk().hold(number, &file, held),
                Err(error) => {
                    tracing::debug!(path = &*file.1, %error, "a file is not fetched ahead");
                }
            }
            drop(permit);
        });
    }
}

/// As far as is known: a file of unknown length is asked for its first block, which tells it.
fn is_small(tree: &Tree, file: &FileAt) -> bool {
    known_content(&tree.catalog, file.0, &file.1).is_none_or(|content| content.size <= SMALL_BYTES)
}

async fn fetch_small(tree: &Arc<Tree>, (folder, path): &FileAt) -> DriveResult<RemoteFile> {
    if known_content(&tree.catalog, *folder, path).is_none() {
        first_block_landing(&tree.catalog, *folder, Arc::clone(path)).await?;
    }
    let file = remote_file(&tree.catalog, *folder, path).await?;
    if file.size() <= SMALL_BYTES {
        file.fetch_first(file.size()).await?;
    }
    Ok(file)
}

/// The files behind one, in its folder.
fn files_after(tree: &Tree, (folder, path): &FileAt) -> VecDeque<FileAt> {
    let map = known_map(&tree.catalog, *folder).unwrap_or_default();
    map.files()
        .filter(|(other, _)| *other > path)
        .map(|(other, _)| (*folder, Arc::clone(other)))
        .collect()
}

async fn files_of(tree: &Arc<Tree>, folder: RemoteFolder) -> VecDeque<FileAt> {
    let map = file_map(&tree.catalog, folder).await.unwrap_or_default();
    map.files()
        .map(|(path, _)| (folder, Arc::clone(path)))
        .collect()
}

/// The folders that follow one in the listing.
fn folders_after(tree: &Tree, folder: RemoteFolder) -> VecDeque<RemoteFolder> {
    let known = tree.catalog.known();
    match folder {
        RemoteFolder::AssetFiles(asset) => {
            let behind = known.assets.rows().skip_while(|row| row.id != asset);
            let models = behind.skip(1).map(|row| row.id);
            models.map(RemoteFolder::AssetFiles).collect()
        }
        RemoteFolder::RapidFiles(rapid) => {
            let behind = known.rapids.rows().skip_while(|row| row.id != rapid);
            let models = behind.skip(1).map(|row| row.id);
            models.map(RemoteFolder::RapidFiles).collect()
        }
        _ => VecDeque::new(),
    }
}

fn learn_names(tree: &Arc<Tree>, folder: RemoteFolder) {
    if known_map(&tree.catalog, folder).is_some() {
        return;
    }
    let (shared, model) = (Arc::clone(tree), model_of(folder));
    tree.background.spawn(async move {
        // Who needs the names learns of a failure.
        let _ = file_map(&shared.catalog, folder).await;
        // Listing the model asks for it, too.
        learn_folders(&shared.catalog, model).await;
    });
}

/// Fetches the files that a glTF names, the first of them first.
async fn fetch_named(tree: &Arc<Tree>, (folder, path): &FileAt) -> DriveResult<()> {
    let gltf = remote_file(&tree.catalog, *folder, path).await?;
    let text = gltf.read(0, GLTF_MAX_BYTES).await?;
    let map = file_map(&tree.catalog, *folder).await?;
    let mut left = NAMED_MAX_BYTES;
    let mut tasks = tokio::task::JoinSet::new();
    for paths in named_by_gltf(path, &text) {
        let Some(named) = paths.iter().find_map(|named| map.path_of(named)).cloned() else {
            continue;
        };
        let size = content_of(&tree.catalog, *folder, &named).await?.size;
        let wanted = size.min(left);
        left -= wanted;
        if wanted == 0 {
            break;
        }
        let file = remote_file(&tree.catalog, *folder, &named).await?;
        let requests = Arc::clone(&tree.ahead.requests);
        tasks.spawn(async move {
            let _permit = requests.acquire_owned().await;
            file.fetch_first(wanted).await
        });
    }
    while let Some(fetched) = tasks.join_next().await {
        if let Ok(Err(error)) = fetched {
            return Err(error.into());
        }
    }
    Ok(())
}

fn model_of(folder: RemoteFolder) -> Model {
    match folder.subject() {
        ModelId::Asset(asset) => Model::Raw(Home::Found(asset)),
        ModelId::Rapid(rapid) => Model::Rapid(rapid),
    }
}

fn place_of(file: &RemoteFile) -> Option<FileAt> {
    ContentTable::place_of(&file.key().name)
}
