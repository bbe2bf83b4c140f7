//! Read-ahead across files: the small files that follow, for a reader that reads folders in order (`cp -r`, an
//! importer), also in the next folders; and the buffers and images that a glTF references.
//!
//! Opening or looking at a file starts nothing. Read-ahead is limited in files, bytes and requests, and stops
//! when the reader does something else. Its errors are ignored: a reader of the file gets its own.

mod walk;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore};

use crate::drive::background::Background;
use crate::drive::catalog::{
    Catalog, content_of, file_map, join_first_block_fetch, known_content, known_map, learn_folders,
    remote_file,
};
use crate::drive::error::DriveResult;
use crate::drive::reading::RemoteFile;
use crate::drive::values::node::{Home, Model, RemoteFolder};
use crate::drive::values::sizes::ContentTable;
use crate::locks::Locked;
use crate::wire::ModelId;
use assetfs_formats::references::named_by_gltf;
use assetfs_formats::resolve::{Found, ModelFiles};
use walk::{FileAt, Walk};

/// Files up to this size are fetched completely.
const SMALL_BYTES: u64 = 256 << 10;
/// Maximum number of files that are fetched and not opened yet.
const FILES_AHEAD: usize = 64;
const REQUESTS_AT_ONCE: usize = 32;
/// Folders whose file names are requested in advance.
const FOLDERS_AHEAD: usize = 8;
/// Read-ahead ends if the reader opens nothing for this time.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum size of a glTF that is parsed.
const GLTF_MAX_BYTES: u64 = 8 << 20;
/// Maximum number of bytes fetched for one glTF.
const NAMED_MAX_BYTES: u64 = 64 << 20;

/// Read-ahead of one mount.
pub struct ReadAhead {
    catalog: Arc<Catalog>,
    background: Background,
    walk: Mutex<Walk>,
    moved: Notify,
    requests: Arc<Semaphore>,
}

impl ReadAhead {
    pub fn new(catalog: &Arc<Catalog>, background: &Background) -> Arc<ReadAhead> {
        Arc::new(ReadAhead {
            catalog: Arc::clone(catalog),
            background: background.clone(),
            walk: Mutex::default(),
            moved: Notify::new(),
            requests: Arc::new(Semaphore::new(REQUESTS_AT_ONCE)),
        })
    }

    /// Notes that a remote file was opened, which continues the walk if it was fetched ahead.
    pub fn opened(&self, file: &RemoteFile) {
        let Some(at) = place_of(file) else { return };
        let held = self.walk.locked().opened(&at, Instant::now());
        if held.is_some() {
            self.moved.notify_waiters();
        }
    }

    /// Notes the first read of an open remote file, which may start read-ahead.
    pub fn read_began(self: &Arc<Self>, file: &RemoteFile) {
        let Some(at) = place_of(file) else { return };
        let extension = at.1.rsplit_once('.').map_or("", |(_, extension)| extension);
        if extension.eq_ignore_ascii_case("gltf") && file.size() <= GLTF_MAX_BYTES {
            let (shared, at) = (Arc::clone(self), at.clone());
            self.background.spawn(async move {
                if let Err(error) = fetch_named(&shared, &at).await {
                    tracing::debug!(path = &*at.1, %error, "files that a glTF refers to are not fetched ahead");
                }
            });
        }
        if file.size() > SMALL_BYTES {
            return;
        }
        let begun = self.walk.locked().read(&at, Instant::now());
        if let Some(number) = begun {
            let shared = Arc::clone(self);
            self.background
                .spawn(async move { go_ahead(&shared, number, at).await });
        }
    }

    /// Waits until the walk may fetch another file; false if the walk has ended.
    async fn has_room(&self, number: u64) -> bool {
        loop {
            let moved = self.moved.notified();
            match self.walk.locked().waiting(number) {
                None => return false,
                Some(waiting) if waiting < FILES_AHEAD => return true,
                Some(_) => {}
            }
            if tokio::time::timeout(PATIENCE, moved).await.is_err() {
                self.walk.locked().end(number);
                return false;
            }
        }
    }
}

/// Fetches the files that follow, until the walk ends.
async fn go_ahead(ahead: &Arc<ReadAhead>, number: u64, from: FileAt) {
    let mut files = files_after(ahead, &from);
    let mut folders = folders_after(ahead, from.0);
    while ahead.has_room(number).await {
        let Some(file) = files.pop_front() else {
            match folders.pop_front() {
                Some(folder) => {
                    for next in folders.iter().take(FOLDERS_AHEAD) {
                        learn_names(ahead, *next);
                    }
                    files = files_of(ahead, folder).await;
                    continue;
                }
                None => return,
            }
        };
        if !is_small(ahead, &file) || !ahead.walk.locked().expect(number, &file) {
            continue;
        }
        let Ok(permit) = Arc::clone(&ahead.requests).acquire_owned().await else {
            return;
        };
        let shared = Arc::clone(ahead);
        ahead.background.spawn(async move {
            match fetch_small(&shared, &file).await {
                Ok(held) => shared.walk.locked().hold(number, &file, held),
                Err(error) => {
                    tracing::debug!(path = &*file.1, %error, "a file is not fetched ahead");
                }
            }
            drop(permit);
        });
    }
}

/// A file of unknown size counts as small: its first block tells the size.
fn is_small(ahead: &ReadAhead, file: &FileAt) -> bool {
    known_content(&ahead.catalog, file.0, &file.1).is_none_or(|content| content.size <= SMALL_BYTES)
}

async fn fetch_small(ahead: &Arc<ReadAhead>, (folder, path): &FileAt) -> DriveResult<RemoteFile> {
    if known_content(&ahead.catalog, *folder, path).is_none() {
        join_first_block_fetch(&ahead.catalog, *folder, Arc::clone(path)).await?;
    }
    let file = remote_file(&ahead.catalog, *folder, path).await?;
    if file.size() <= SMALL_BYTES {
        file.fetch_first(file.size()).await?;
    }
    Ok(file)
}

/// The files that follow in the folder.
fn files_after(ahead: &ReadAhead, (folder, path): &FileAt) -> VecDeque<FileAt> {
    let map = known_map(&ahead.catalog, *folder).unwrap_or_default();
    map.files()
        .filter(|(other, _)| *other > path)
        .map(|(other, _)| (*folder, Arc::clone(other)))
        .collect()
}

async fn files_of(ahead: &Arc<ReadAhead>, folder: RemoteFolder) -> VecDeque<FileAt> {
    let map = file_map(&ahead.catalog, folder).await.unwrap_or_default();
    map.files()
        .map(|(path, _)| (folder, Arc::clone(path)))
        .collect()
}

/// The folders that follow one in the listing.
fn folders_after(ahead: &ReadAhead, folder: RemoteFolder) -> VecDeque<RemoteFolder> {
    let known = ahead.catalog.known();
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

fn learn_names(ahead: &Arc<ReadAhead>, folder: RemoteFolder) {
    if known_map(&ahead.catalog, folder).is_some() {
        return;
    }
    let (shared, model) = (Arc::clone(ahead), model_of(folder));
    ahead.background.spawn(async move {
        // A reader of the folder gets the error itself.
        let _ = file_map(&shared.catalog, folder).await;
        // Listing the model needs these folders too.
        learn_folders(&shared.catalog, model).await;
    });
}

/// Fetches the files that a glTF references, in order.
async fn fetch_named(ahead: &Arc<ReadAhead>, (folder, path): &FileAt) -> DriveResult<()> {
    let gltf = remote_file(&ahead.catalog, *folder, path).await?;
    let text = gltf.read(0, GLTF_MAX_BYTES).await?;
    let map = file_map(&ahead.catalog, *folder).await?;
    let mut left = NAMED_MAX_BYTES;
    let mut tasks = tokio::task::JoinSet::new();
    let files = ModelFiles::new(map.files().map(|(path, _)| &**path));
    for reference in named_by_gltf(path, &text) {
        let Found::File(named) = reference.find_in(&files) else {
            continue;
        };
        let named: Arc<str> = named.into();
        let size = content_of(&ahead.catalog, *folder, &named).await?.size;
        let wanted = size.min(left);
        left -= wanted;
        if wanted == 0 {
            break;
        }
        let file = remote_file(&ahead.catalog, *folder, &named).await?;
        let requests = Arc::clone(&ahead.requests);
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
