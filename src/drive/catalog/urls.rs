//! Opens files of the service: their versions and signed URLs.

use std::sync::{Arc, Weak};

use crate::cache::ObjectKey;
use crate::drive::catalog::maps::url_of;
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::sizes::content_of;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::reading::{RemoteFile, SignedUrls, UrlFuture};
use crate::drive::values::node::RemoteFolder;
use crate::drive::values::sizes::ContentTable;

/// Opens the present version of a file.
pub async fn remote_file(
    catalog: &Arc<Catalog>,
    folder: RemoteFolder,
    path: &Arc<str>,
) -> DriveResult<RemoteFile> {
    let content = content_of(catalog, folder, path).await?;
    let key = ObjectKey {
        name: ContentTable::object_name(folder, path),
        size: content.size,
        etag: content.etag,
    };
    let urls = FileUrls {
        shared: Arc::downgrade(catalog),
        folder,
        path: Arc::clone(path),
    };
    Ok(catalog.reading.open(&key, Arc::new(urls)))
}

/// The signed URLs of one file.
struct FileUrls {
    /// Weak, because open files belong to the drive.
    shared: Weak<Catalog>,
    folder: RemoteFolder,
    path: Arc<str>,
}

impl SignedUrls for FileUrls {
    fn url(&self, renew: bool) -> UrlFuture<'_> {
        Box::pin(async move {
            let shared = self.shared.upgrade();
            let shared = shared
                .ok_or_else(|| DriveError::Unreachable("the drive is shutting down".into()))?;
            url_of(&shared, self.folder, &self.path, renew).await
        })
    }
}
