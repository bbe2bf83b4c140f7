//! Assets that were uploaded as one zip, which the service returns unchanged: the contents of the zip are shown
//! instead, and read from it.

use std::fs::File;
use std::future;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;

use crate::drive::archive::{ArchiveError, Directory, MemberFile, OpenMember, ZipSource};
use crate::drive::catalog::maps::file_map;
use crate::drive::catalog::maps::store::store_names;
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::urls::remote_file;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::failures::{OperationKind, Outcome};
use crate::drive::reading::RemoteFile;
use crate::drive::values::filemap::FileMap;
use crate::drive::values::names::shown_path;
use crate::drive::values::node::{Model, RemoteFolder};
use crate::drive::values::sizes::{ContentTable, ReportedSize};
use crate::outbox::is_junk_path;
use crate::wire::{AssetId, SignedUrl};
use assetfs_formats::zip::Method;

/// The folder whose files are shown in an asset's own folder: the uploaded files, or the contents of the one
/// zip.
pub async fn files_folder(catalog: &Arc<Catalog>, asset: AssetId) -> DriveResult<RemoteFolder> {
    let files = RemoteFolder::AssetFiles(asset);
    let map = file_map(catalog, files).await?;
    if zip_in(&map).is_none() {
        return Ok(files);
    }
    let members = RemoteFolder::AssetMembers(asset);
    match file_map(catalog, members).await {
        // An unusable zip is shown as a file.
        Ok(map) if map.is_empty() => Ok(files),
        Ok(_) => Ok(members),
        Err(error) => Err(error),
    }
}

/// Reads the directory of an asset's zip and stores names, sizes and times.
pub(super) async fn fetch_members(catalog: &Arc<Catalog>, asset: AssetId) -> DriveResult<()> {
    let folder = RemoteFolder::AssetMembers(asset);
    let directory = match zip_directory(catalog, asset).await {
        Ok((_, directory)) => directory,
        Err(error @ DriveError::Invalid(_)) => {
            tracing::warn!(asset = %asset, error = %error, "a zip is shown as it is");
            note_unusable(catalog, asset, &error).await?;
            Arc::default()
        }
        Err(error) => return Err(error),
    };
    let map = store_names(catalog, folder, shown_names(&directory), true);
    let sizes = map.files().filter_map(|(path, source)| {
        let member = directory.member(&source.service_name)?;
        Some(ReportedSize {
            path: Arc::clone(path),
            size: member.size,
            etag: Some(format!("\"crc-{:08x}\"", member.crc)),
            modified: member.modified,
        })
    });
    catalog.contents.store_all(folder, sizes);
    Ok(())
}

/// Names in a zip that are shown. Junk that file managers create is hidden, as in drafts.
pub(super) fn shown_names(directory: &Directory) -> Vec<(String, Option<SignedUrl>)> {
    let mut names: Vec<&str> = directory
        .members()
        .map(|member| member.name.as_str())
        .filter(|name| !is_junk_path(name))
        .collect();
    // Sorted: the order decides which of two clashing names is changed, and must be the same on every machine.
    names.sort_unstable();
    let names = names.into_iter().map(|name| (name.to_owned(), None));
    names.collect()
}

/// A file in a zip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZippedFile {
    pub path: String,
    pub size: u64,
    /// CRC-32 of its bytes.
    pub crc: u32,
}

/// The files in a zip on the local disk, under the paths at which a model that is made of the zip shows them.
pub fn files_of_zip(zip: &File) -> DriveResult<Vec<ZippedFile>> {
    let failed = |error: std::io::Error| ArchiveError::Refused(error.to_string());
    let size = zip.metadata().map_err(failed)?.len();
    let read = |offset, len: u64| {
        let mut bytes = BytesMut::zeroed(usize::try_from(len).unwrap_or(0));
        let read = zip.read_exact_at(&mut bytes, offset).map_err(failed);
        future::ready(read.map(|()| -> Bytes { bytes.freeze() }))
    };
    let directory = Directory::read(size, read).now_or_never();
    let directory = directory.expect("each read is ready")?;
    let map = FileMap::arrange(shown_names(&directory), 0);
    let files = map.files().filter_map(|(path, source)| {
        let member = directory.member(&source.service_name)?;
        Some(ZippedFile {
            path: path.to_string(),
            size: member.size,
            crc: member.crc,
        })
    });
    Ok(files.collect())
}

/// Stores the reason at the zip's own path: the model may have failed for another reason.
async fn note_unusable(
    catalog: &Arc<Catalog>,
    asset: AssetId,
    error: &DriveError,
) -> DriveResult<()> {
    let map = file_map(catalog, RemoteFolder::AssetFiles(asset)).await?;
    let home = catalog.home_of(asset);
    let zip = zip_in(&map).ok_or(DriveError::NotFound)?;
    let path = format!("{}/{zip}", catalog.home_path(home));
    catalog.failures.note(
        (&path, Some(Model::Raw(home))),
        OperationKind::BackgroundWork,
        Outcome::Failed,
        &error.to_string(),
    );
    Ok(())
}

/// Opens a file in an asset's zip by its name there.
pub async fn open_member(
    catalog: &Arc<Catalog>,
    asset: AssetId,
    name: &str,
) -> DriveResult<MemberFile> {
    let (zip, directory) = zip_directory(catalog, asset).await?;
    let member = directory.member(name).cloned().ok_or_else(|| {
        DriveError::Unreachable(format!(
            "the zip that the service holds has no {name}; copy the model in again"
        ))
    })?;
    let object_name = ContentTable::object_name(RemoteFolder::AssetMembers(asset), name);
    let version = format!("{object_name} {:08x} {:?}", member.crc, zip.key());
    let path = catalog.home_path(catalog.home_of(asset));
    let verify_once = catalog.archives.verify_once(&version);
    // Without a version, the content may have changed when the file is opened again.
    if member.method == Method::Stored && zip.key().etag.is_some() {
        catalog.archives.remember(&verify_once);
    }
    let open = OpenMember {
        zip_name: format!("the zip of {}", shown_path(&path)),
        verify_once,
        spool_dir: catalog.config.staging_dir.clone(),
        zip: ZipSource::Remote(Box::new(zip)),
        member,
        object_name,
    };
    Ok(MemberFile::new(open, &catalog.cache)?)
}

/// Opens a file in an asset's zip by the path that it is shown under.
pub async fn open_member_at(
    catalog: &Arc<Catalog>,
    asset: AssetId,
    path: &str,
) -> DriveResult<MemberFile> {
    let map = file_map(catalog, RemoteFolder::AssetMembers(asset)).await?;
    let source = map.file(path).ok_or(DriveError::NotFound)?;
    open_member(catalog, asset, &source.service_name).await
}

async fn zip_directory(
    catalog: &Arc<Catalog>,
    asset: AssetId,
) -> DriveResult<(RemoteFile, Arc<Directory>)> {
    let files = RemoteFolder::AssetFiles(asset);
    let map = file_map(catalog, files).await?;
    let path = zip_in(&map).ok_or(DriveError::NotFound)?;
    let zip = remote_file(catalog, files, path).await?;
    let version = format!("{} {:?}", zip.size(), zip.key().etag);
    if let Some(directory) = catalog.archives.get(asset, &version) {
        return Ok((zip, directory));
    }
    let read = |offset, len| {
        let zip = &zip;
        async move { Ok(zip.read(offset, len).await?) }
    };
    let directory = Arc::new(Directory::read(zip.size(), read).await?);
    catalog.archives.put(asset, version, Arc::clone(&directory));
    Ok((zip, directory))
}

/// The only file of the asset, if that is a zip.
pub fn zip_in(map: &FileMap) -> Option<&Arc<str>> {
    let mut files = map.files();
    let (path, source) = files.next()?;
    let is_zip = source.service_name.to_ascii_lowercase().ends_with(".zip");
    (files.next().is_none() && is_zip).then_some(path)
}

impl From<ArchiveError> for DriveError {
    fn from(error: ArchiveError) -> DriveError {
        let why = error.to_string();
        match error {
            ArchiveError::Refused(_) => DriveError::Invalid(why),
            ArchiveError::Spool { is_full: true, .. } => DriveError::NoSpace(why),
            ArchiveError::Damaged { .. } | ArchiveError::Spool { .. } => DriveError::Local(why),
            ArchiveError::Unreadable { .. } => DriveError::Unsupported(why),
            ArchiveError::Changed(_) => DriveError::Stale(why),
            ArchiveError::Read(error) => error.into(),
        }
    }
}
