//! Files of the service: the folders of a model that the service fills (`analysis/`, `renders/`, …), their
//! contents, and files directly in the model's folder.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::attributes::{created, file};
use super::hiding::without_hidden;
use super::node::{Node, Row};
use super::place::{Contents, Place, Removal, Text};
use super::refusals;
use super::zip_origin::ZipOrigin;
use crate::drive::catalog::{
    content_count, content_of, file_map, model_path, read_blob, report_at, shown_as,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::{Attributes, FileKind, OpenFlags};
use crate::drive::tree::Tree;
use crate::drive::values::filemap::{Arranged, FileMap};
use crate::drive::values::node::{Model, RemoteFolder};
use crate::drive::values::sizes::ContentTable;
use crate::wire::ModelId;

/// A folder whose files the service lists, or a subfolder of it.
pub struct ServiceFolder {
    pub folder: RemoteFolder,
    /// The path of the subfolder, else empty.
    pub path: Arc<str>,
    /// The staged zip that it was a folder of.
    pub origin: Option<ZipOrigin>,
}

#[async_trait]
impl Place for ServiceFolder {
    fn identity(&self) -> String {
        match (&*self.path, &self.origin) {
            ("", _) => format!("remote/{}", self.folder),
            (path, None) => format!("remote/{}/folder/{path}", self.folder),
            (path, Some(origin)) => origin.folder_identity(path),
        }
    }

    fn path(&self, tree: &Tree) -> String {
        path_in(tree, self.folder, &self.path)
    }

    fn modified(&self, tree: &Tree) -> SystemTime {
        created(tree, self.folder.subject())
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        rows_in(tree, self.folder, &self.path).await
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        let path = match &*self.path {
            "" => name.to_owned(),
            path => format!("{path}/{name}"),
        };
        find_in(tree, self.folder, path).await
    }

    fn owner(&self, tree: &Tree) -> Option<Model> {
        Some(shown_as(tree.catalog(), self.folder.subject()))
    }

    fn service_folder(&self) -> Option<RemoteFolder> {
        Some(self.folder)
    }

    fn removal(&self) -> Removal {
        Removal::Part
    }

    fn cache_name(&self, _: &Tree) -> DriveResult<String> {
        Ok(match &*self.path {
            "" => self.folder.to_string(),
            path => ContentTable::object_name(self.folder, path),
        })
    }
}

impl ServiceFolder {
    pub fn top(folder: RemoteFolder) -> ServiceFolder {
        ServiceFolder {
            folder,
            path: "".into(),
            origin: None,
        }
    }

    /// The row of its model.
    pub(super) fn row(self) -> Row {
        Row::new(self.folder.name().unwrap_or_default(), self)
    }
}

/// A file in it. `content` counts the contents that the file has had.
pub struct ServiceFile {
    pub folder: RemoteFolder,
    pub path: Arc<str>,
    pub content: u32,
    /// The staged zip that it was a member of.
    pub origin: Option<ZipOrigin>,
}

#[async_trait]
impl Place for ServiceFile {
    fn identity(&self) -> String {
        match &self.origin {
            // Its first content is that of the staged zip.
            Some(origin) if self.content == 0 => origin.file_identity(&self.path),
            _ => format!("remote/{}/{}/{}", self.folder, self.content, self.path),
        }
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        path_in(tree, self.folder, &self.path)
    }

    async fn attributes(&self, tree: &Arc<Tree>) -> DriveResult<Attributes> {
        let content = content_of(tree.catalog(), self.folder, &self.path).await?;
        let created = || created(tree, self.folder.subject());
        let modified = content.modified.unwrap_or_else(created);
        Ok(file(tree, content.size, modified))
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        let RemoteFolder::RapidQc(rapid) = self.folder else {
            return Err(DriveError::IsAFolder);
        };
        Ok(Text {
            bytes: read_blob(tree.catalog(), &report_at(rapid, &self.path)).await?,
            modified: tree.opened(),
        })
    }

    fn owner(&self, tree: &Tree) -> Option<Model> {
        Some(shown_as(tree.catalog(), self.folder.subject()))
    }

    fn service_file(&self) -> Option<(RemoteFolder, Arc<str>)> {
        Some((self.folder, Arc::clone(&self.path)))
    }

    fn contents(&self, _: &Tree) -> DriveResult<Contents> {
        Ok(match self.folder {
            RemoteFolder::AssetMembers(asset) => Contents::Member(asset, Arc::clone(&self.path)),
            RemoteFolder::RapidQc(_) => Contents::Snapshot,
            folder => Contents::Remote(folder, Arc::clone(&self.path)),
        })
    }

    fn check_writable(&self, _: &Tree, _: OpenFlags) -> DriveResult<()> {
        Err(match self.folder.subject() {
            ModelId::Asset(_) => refusals::frozen_asset(&self.path),
            ModelId::Rapid(_) => refusals::made_by_service(&self.path),
        })
    }

    fn removal(&self) -> Removal {
        Removal::Part
    }

    fn cache_name(&self, _: &Tree) -> DriveResult<String> {
        Ok(ContentTable::object_name(self.folder, &self.path))
    }
}

/// The path of a content that is read through the cache; `None` for one that is not a file of the service.
pub(super) fn path_of_content(tree: &Tree, name: &str) -> Option<String> {
    let (folder, path) = ContentTable::place_of(name)?;
    Some(path_in(tree, folder, &path))
}

/// The path of a file of the service; of its folder if `path` is empty.
pub fn path_in(tree: &Tree, folder: RemoteFolder, path: &str) -> String {
    let model = model_path(tree.catalog(), shown_as(tree.catalog(), folder.subject()));
    let parts = [
        Some(model.as_str()),
        folder.name(),
        Some(path).filter(|path| !path.is_empty()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("/")
}

async fn rows_in(tree: &Arc<Tree>, folder: RemoteFolder, path: &str) -> DriveResult<Vec<Row>> {
    let map = file_map(tree.catalog(), folder).await?;
    if !path.is_empty() && map.find(path) != Some(Arranged::Folder(path.into())) {
        return Err(DriveError::NotFound);
    }
    let mut rows = map_rows(tree, folder, &map, path);
    without_hidden(tree, &mut rows, shown_as(tree.catalog(), folder.subject()));
    Ok(rows)
}

pub(super) async fn find_in(
    tree: &Arc<Tree>,
    folder: RemoteFolder,
    path: String,
) -> DriveResult<Node> {
    let map = file_map(tree.catalog(), folder).await?;
    let found = map.find(&path).ok_or(DriveError::NotFound)?;
    let origin = ZipOrigin::of(tree.outbox().uploads(), folder);
    Ok(arranged_row(tree, folder, origin, (path, found)).node)
}

pub(super) fn map_rows(tree: &Tree, folder: RemoteFolder, map: &FileMap, path: &str) -> Vec<Row> {
    let origin = ZipOrigin::of(tree.outbox().uploads(), folder);
    let rows = map.rows(path).into_iter();
    rows.map(|named| arranged_row(tree, folder, origin.clone(), named))
        .collect()
}

fn arranged_row(
    tree: &Tree,
    folder: RemoteFolder,
    origin: Option<ZipOrigin>,
    (name, arranged): (String, Arranged),
) -> Row {
    match arranged {
        Arranged::File(path) => {
            let content = content_count(tree.catalog(), folder, &path);
            let file = ServiceFile {
                folder,
                path,
                content,
                origin,
            };
            Row::new(name, file)
        }
        Arranged::Folder(path) => {
            let subfolder = ServiceFolder {
                folder,
                path,
                origin,
            };
            Row::new(name, subfolder)
        }
    }
}
