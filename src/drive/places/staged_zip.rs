//! The members of a zip that is the only file of a draft. They are shown in the model's folder under the paths that
//! they have on every machine, and are read from the staged file. The zip itself is not listed there but keeps its
//! name; only the zip can be written, renamed and removed.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;

use super::attributes::file;
use super::entry::cache_name;
use super::hiding::without_hidden;
use super::node::{Node, Row};
use super::place::{Contents, Lifetime, Place, Removal};
use super::refusals;
use super::remote::find_in;
use super::zip_origin::{file_identity, folder_identity};
use crate::drive::catalog::{StagedZip, staged_zip};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::{Attributes, FileKind, OpenFlags};
use crate::drive::tree::Tree;
use crate::drive::values::filemap::Arranged;
use crate::drive::values::node::{Home, Model, RemoteFolder};
use crate::outbox::DraftId;

/// A folder in the zip.
pub struct StagedMemberFolder {
    pub draft: DraftId,
    pub path: Arc<str>,
}

#[async_trait]
impl Place for StagedMemberFolder {
    fn identity(&self) -> String {
        folder_identity(self.draft, &self.path)
    }

    fn path(&self, tree: &Tree) -> String {
        path_in(tree, self.draft, &self.path)
    }

    /// Not cached: a write to the zip changes its tree.
    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        let Some(zip) = staged_zip(tree.catalog(), self.draft).await else {
            return accepted(tree, self.draft, &self.path)
                .await?
                .rows(tree)
                .await;
        };
        if zip.map.find(&self.path) != Some(Arranged::Folder(Arc::clone(&self.path))) {
            return Err(DriveError::NotFound);
        }
        let mut rows = rows_in(&zip, self.draft, &self.path);
        without_hidden(tree, &mut rows, model_of(self.draft));
        Ok(rows)
    }

    async fn child(&self, tree: &Arc<Tree>, name: &str) -> DriveResult<Node> {
        let path = format!("{}/{name}", self.path);
        match staged_zip(tree.catalog(), self.draft).await {
            Some(zip) => {
                let found = zip.map.find(&path).ok_or(DriveError::NotFound)?;
                Ok(node_in(&zip, self.draft, found).into())
            }
            None => accepted(tree, self.draft, &path).await,
        }
    }

    fn owner(&self, _: &Tree) -> Option<Model> {
        Some(model_of(self.draft))
    }

    fn removal(&self) -> Removal {
        Removal::Part
    }

    fn check_may_make(&self, tree: &Tree) -> DriveResult<()> {
        Err(refusals::inside_zip(&self.path(tree)))
    }

    fn cache_name(&self, tree: &Tree) -> DriveResult<String> {
        cache_name(tree, Home::Made(self.draft))
    }
}

/// A file in the zip.
pub struct StagedMember {
    pub draft: DraftId,
    /// The checksum of the zip: with other bytes it is another file.
    pub version: Arc<str>,
    pub path: Arc<str>,
}

#[async_trait]
impl Place for StagedMember {
    fn identity(&self) -> String {
        file_identity(self.draft, &self.version, &self.path)
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        path_in(tree, self.draft, &self.path)
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    async fn attributes(&self, tree: &Arc<Tree>) -> DriveResult<Attributes> {
        let Some(zip) = staged_zip(tree.catalog(), self.draft).await else {
            return accepted(tree, self.draft, &self.path)
                .await?
                .attributes(tree)
                .await;
        };
        let source = zip.map.file(&self.path).ok_or(DriveError::NotFound)?;
        let member = zip.directory.member(&source.service_name);
        let member = member.ok_or(DriveError::NotFound)?;
        let modified: SystemTime = member.modified.unwrap_or(zip.zip.modified);
        Ok(file(tree, member.size, modified))
    }

    fn owner(&self, _: &Tree) -> Option<Model> {
        Some(model_of(self.draft))
    }

    fn contents(&self, _: &Tree) -> DriveResult<Contents> {
        Ok(Contents::StagedMember(self.draft, Arc::clone(&self.path)))
    }

    fn check_writable(&self, tree: &Tree, _: OpenFlags) -> DriveResult<()> {
        Err(match tree.catalog().asset_of_draft(self.draft) {
            Some(_) => refusals::frozen_asset(&self.path(tree)),
            None => refusals::inside_zip(&self.path(tree)),
        })
    }

    fn removal(&self) -> Removal {
        Removal::Part
    }

    fn cache_name(&self, tree: &Tree) -> DriveResult<String> {
        cache_name(tree, Home::Made(self.draft))
    }
}

/// The rows at the top of the zip that is all of a draft; `None` while it is anything else.
pub(super) async fn top_rows(tree: &Arc<Tree>, draft: DraftId) -> Option<Vec<Row>> {
    let zip = staged_zip(tree.catalog(), draft).await?;
    Some(rows_in(&zip, draft, ""))
}

/// The node of a name at the top of the zip; `None` while the draft is anything else.
pub(super) async fn top_child(
    tree: &Arc<Tree>,
    draft: DraftId,
    name: &str,
) -> Option<DriveResult<Node>> {
    let zip = staged_zip(tree.catalog(), draft).await?;
    let found = zip.map.find(name);
    let found = found.map(|found| node_in(&zip, draft, found).into());
    Some(found.ok_or(DriveError::NotFound))
}

fn rows_in(zip: &StagedZip, draft: DraftId, path: &str) -> Vec<Row> {
    let rows = zip.map.rows(path).into_iter();
    let row = |(name, found)| match node_in(zip, draft, found) {
        Inside::File(member) => Row::new(name, member),
        Inside::Folder(folder) => Row::new(name, folder),
    };
    rows.map(row).collect()
}

/// What is at a path of the zip.
enum Inside {
    File(StagedMember),
    Folder(StagedMemberFolder),
}

impl From<Inside> for Node {
    fn from(inside: Inside) -> Node {
        match inside {
            Inside::File(member) => member.into(),
            Inside::Folder(folder) => folder.into(),
        }
    }
}

fn node_in(zip: &StagedZip, draft: DraftId, found: Arranged) -> Inside {
    match found {
        Arranged::File(path) => Inside::File(StagedMember {
            draft,
            version: zip.zip.hash.as_str().into(),
            path,
        }),
        Arranged::Folder(path) => Inside::Folder(StagedMemberFolder { draft, path }),
    }
}

/// The same path of the model that was made from the zip: a program may have found a member just before its staged copy
/// went.
async fn accepted(tree: &Arc<Tree>, draft: DraftId, path: &str) -> DriveResult<Node> {
    let asset = tree.catalog().asset_of_draft(draft);
    let members = RemoteFolder::AssetMembers(asset.ok_or(DriveError::NotFound)?);
    find_in(tree, members, path.to_owned()).await
}

fn model_of(draft: DraftId) -> Model {
    Model::Raw(Home::Made(draft))
}

fn path_in(tree: &Tree, draft: DraftId, path: &str) -> String {
    let home = tree.catalog().home_path(Home::Made(draft));
    // The folder of a loose zip has the name of the model that it becomes.
    let folder = home.strip_suffix(".zip").unwrap_or(&home);
    format!("{folder}/{path}")
}
