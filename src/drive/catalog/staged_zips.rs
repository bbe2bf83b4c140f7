//! Drafts that are one zip: its members are shown under the paths that it will have when the service has the model,
//! and read out of the staged file.

use std::sync::Arc;

use crate::drive::archive::{Directory, LocalZip, MemberFile, OpenMember, ZipSource};
use crate::drive::catalog::archives::{open_member_at, shown_names};
use crate::drive::catalog::data::staged_zips::StagedZip;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::failures::{OperationKind, Outcome};
use crate::drive::values::filemap::FileMap;
use crate::drive::values::names::shown_path;
use crate::drive::values::node::{Home, Model};
use crate::outbox::{Caller, DraftId, LoneZip, OpenMode};

/// The content of the zip that is the only file of a draft; `None` while the draft is anything else, and for a zip that
/// cannot be used, which is shown as the file that it is.
pub async fn staged_zip(catalog: &Arc<Catalog>, draft: DraftId) -> Option<Arc<StagedZip>> {
    let zip = catalog.outbox.entries().lone_zip(draft)?;
    if let Some(found) = catalog.staged_zips.get(draft, &zip) {
        return found;
    }
    let found = match read_zip(catalog, draft, &zip).await {
        // An earlier content of the zip may have been unusable.
        Ok(found) => {
            let path = zip_path(catalog, draft, &zip);
            catalog.failures.clear_background_work(&path);
            (!found.map.is_empty()).then(|| Arc::new(found))
        }
        Err(DriveError::Invalid(why)) => {
            catalog.failures.note(
                (
                    &zip_path(catalog, draft, &zip),
                    Some(Model::Raw(Home::Made(draft))),
                ),
                OperationKind::BackgroundWork,
                Outcome::Failed,
                &why,
            );
            None
        }
        Err(error) => {
            tracing::debug!(draft = %draft, error = %error, "a staged zip could not be read");
            return None;
        }
    };
    catalog.staged_zips.put(draft, zip, found.clone());
    found
}

/// The path of the zip itself.
fn zip_path(catalog: &Catalog, draft: DraftId, zip: &LoneZip) -> String {
    let home = catalog.home_path(Home::Made(draft));
    match home.ends_with(&format!("/{}", zip.name)) {
        true => home,
        false => format!("{home}/{}", zip.name),
    }
}

async fn read_zip(catalog: &Arc<Catalog>, draft: DraftId, zip: &LoneZip) -> DriveResult<StagedZip> {
    let local = open_local(catalog, draft, zip)?;
    let directory = {
        let read = |offset, len| local.read(offset, len);
        Directory::read(local.size, read).await?
    };
    let map = FileMap::arrange(shown_names(&directory), draft.0);
    Ok(StagedZip {
        zip: zip.clone(),
        directory,
        map,
    })
}

/// Opens a file in the zip of a draft, by the path that it is shown under.
pub async fn open_staged_member(
    catalog: &Arc<Catalog>,
    draft: DraftId,
    path: &str,
) -> DriveResult<MemberFile> {
    let Some(staged) = staged_zip(catalog, draft).await else {
        let asset = catalog.asset_of_draft(draft).ok_or(DriveError::NotFound)?;
        return open_member_at(catalog, asset, path).await;
    };
    let source = staged.map.file(path).ok_or(DriveError::NotFound)?;
    let member = staged.directory.member(&source.service_name);
    let member = member.cloned().ok_or(DriveError::NotFound)?;
    let object_name = format!("draft/{draft}/{}/{}", staged.zip.hash, source.service_name);
    let open = OpenMember {
        zip_name: shown_path(&catalog.home_path(Home::Made(draft))).to_owned(),
        verify_once: catalog.archives.verify_once(&object_name),
        spool_dir: catalog.config.staging_dir.clone(),
        zip: ZipSource::Local(open_local(catalog, draft, &staged.zip)?),
        member,
        object_name,
    };
    Ok(MemberFile::new(open, &catalog.cache)?)
}

fn open_local(catalog: &Arc<Catalog>, draft: DraftId, zip: &LoneZip) -> DriveResult<LocalZip> {
    let no_process = Caller {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let entries = catalog.outbox.entries().clone();
    let staged = entries.open(draft, zip.entry, OpenMode::Read, &no_process)?;
    let opened = zip.clone();
    Ok(LocalZip {
        name: zip.name.clone(),
        file: staged.file(),
        size: zip.size,
        is_unchanged: Arc::new(move || entries.is_unchanged(draft, &opened)),
    })
}
