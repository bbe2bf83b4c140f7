//! The true size of every file, from the storage itself: asked for at most once for a file that
//! does not change, in parallel for a folder that was just listed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::Semaphore;

use super::FlightKey;
use crate::cache::{BLOCK_LEN_BYTES, ObjectKey};
use crate::client::{ClientError, RangeReply};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::{
    ModelFolder, Node, RapidFolder, ServiceFile, ServiceFolder, ServiceSubfolder,
};
use crate::drive::shared::Shared;
use crate::drive::tree::node::RemoteFolder;
use crate::drive::tree::sizes::{Content, ContentTable};
use crate::wire::ModelId;

/// Sizes of a listed folder that are asked for at once.
const AT_ONCE: usize = 32;
/// A folder counts as just listed for this long.
const LISTED_LATELY: Duration = Duration::from_secs(30);
/// More files than this are asked for only as they are looked at.
const MAX_AHEAD: usize = 2000;

impl Shared {
    /// What a file contains: its size, version and time. Waits where it is not known yet.
    pub(in crate::drive) async fn content_of(
        self: &Arc<Self>,
        folder: RemoteFolder,
        path: &Arc<str>,
    ) -> DriveResult<Content> {
        if let Some(content) = self.contents.get(folder, path) {
            return Ok(content);
        }
        if self.watched.was_listed(folder, LISTED_LATELY) {
            self.size_ahead(folder, path);
        }
        self.size_landing(folder, Arc::clone(path)).await?;
        self.contents.get(folder, path).ok_or(DriveError::NotFound)
    }

    /// A file was found changed under a reader: whoever opens it next sees the new content, under
    /// a new inode.
    pub(in crate::drive) async fn content_changed(
        self: &Arc<Self>,
        folder: RemoteFolder,
        path: &Arc<str>,
    ) {
        let count = self.contents.count(folder, path);
        if let Err(error) = self.size_landing(folder, Arc::clone(path)).await {
            tracing::warn!(path = &**path, error = %error, "a file changed and could not be looked at again");
            return;
        }
        if self.contents.count(folder, path) == count {
            return;
        }
        self.tell_content(ServiceFile {
            folder,
            path: Arc::clone(path),
            content: count,
        });
        let (parent, name) = self.folder_of(folder, path);
        self.tell_entry(parent, &name);
    }

    /// The folder that shows a file, and its name there.
    fn folder_of(&self, folder: RemoteFolder, path: &str) -> (Node, String) {
        if let Some((parent, name)) = path.rsplit_once('/') {
            let parent = ServiceSubfolder(folder, parent.into());
            return (parent.into(), name.to_owned());
        }
        let parent = match (folder.name(), folder.subject()) {
            (None, ModelId::Asset(asset)) => ModelFolder(self.home_of(asset)).into(),
            (None, ModelId::Rapid(rapid)) => RapidFolder(rapid).into(),
            _ => ServiceFolder(folder).into(),
        };
        (parent, path.to_owned())
    }

    fn size_landing(
        self: &Arc<Self>,
        folder: RemoteFolder,
        path: Arc<str>,
    ) -> impl Future<Output = DriveResult<()>> + Send + use<> {
        let shared = Arc::clone(self);
        let key = FlightKey::Size(folder, Arc::clone(&path));
        self.flights
            .join(key, || async move { shared.probe(folder, &path).await })
    }

    /// As a look at the size, but the first block comes along and is kept: for a small file that is
    /// all there is, in the same one request.
    pub(in crate::drive) fn first_block_landing(
        self: &Arc<Self>,
        folder: RemoteFolder,
        path: Arc<str>,
    ) -> impl Future<Output = DriveResult<()>> + Send + use<> {
        let shared = Arc::clone(self);
        let key = FlightKey::Size(folder, Arc::clone(&path));
        self.flights.join(key, || async move {
            match shared.take_first_block(folder, &path).await {
                Some(()) => Ok(()),
                None => shared.probe(folder, &path).await,
            }
        })
    }

    async fn take_first_block(self: &Arc<Self>, folder: RemoteFolder, path: &str) -> Option<()> {
        let url = self.url_of(folder, path, false).await.ok()?;
        let asked = self.client.get_range(&url, 0, Some(BLOCK_LEN_BYTES), None);
        let RangeReply {
            meta, mut stream, ..
        } = asked.await.ok()?;
        let size = meta.size?;
        let modified = meta.last_modified.map(Into::into);
        self.contents
            .told(folder, path, size, meta.etag.clone(), modified);
        let mut pieces = Vec::new();
        while let Some(Ok(piece)) = stream.next().await {
            pieces.push(piece);
        }
        let key = ObjectKey {
            name: ContentTable::object_name(folder, path),
            size,
            etag: meta.etag,
        };
        self.reading.keep_first(&key, &pieces);
        Some(())
    }

    async fn probe(self: Arc<Self>, folder: RemoteFolder, path: &Arc<str>) -> DriveResult<()> {
        match folder {
            // The directory of a zip tells the lengths of all its files at once.
            RemoteFolder::AssetMembers(_) => return self.fetch_map(folder).await,
            RemoteFolder::RapidQc(rapid) => return self.probe_report(rapid, path).await,
            _ => {}
        }
        let url = self.url_of(folder, path, false).await?;
        let mut told = self.client.probe(&url).await;
        if matches!(
            told,
            Err(ClientError::Expired { .. } | ClientError::Forbidden { .. })
        ) {
            let url = self.url_of(folder, path, true).await?;
            told = self.client.probe(&url).await;
        }
        let meta = self.asked(async { told }).await?;
        let size = meta.size.ok_or_else(|| {
            DriveError::Unreachable("the storage does not tell the size of the file".into())
        })?;
        self.contents.told(
            folder,
            path,
            size,
            meta.etag,
            meta.last_modified.map(Into::into),
        );
        Ok(())
    }

    /// Whoever lists a folder and looks at its first file will look at the others.
    fn size_ahead(self: &Arc<Self>, folder: RemoteFolder, asked: &Arc<str>) {
        if !self.watched.begin_sizing(folder) {
            return;
        }
        let Some(map) = self.known_map(folder) else {
            return;
        };
        let unknown: Vec<Arc<str>> = map
            .files()
            .map(|(path, _)| path)
            .filter(|path| *path != asked && self.contents.get(folder, path).is_none())
            .take(MAX_AHEAD)
            .cloned()
            .collect();
        let shared = Arc::clone(self);
        self.background.spawn(async move {
            let permits = Arc::new(Semaphore::new(AT_ONCE));
            let mut tasks = Vec::new();
            for path in unknown {
                let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
                    break;
                };
                let landing = shared.size_landing(folder, path);
                tasks.push(tokio::spawn(async move {
                    // Who looks at the file learns of a failure.
                    let _ = landing.await;
                    drop(permit);
                }));
            }
            for task in tasks {
                let _ = task.await;
            }
            shared.watched.end_sizing(folder);
        });
    }
}
