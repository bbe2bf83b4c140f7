//! The staged zip that a model was made from, and the identities of its members.

use std::sync::Arc;

use crate::drive::values::node::RemoteFolder;
use crate::outbox::{DraftId, Uploads};

/// The staged zip from which a model was made. Its members keep their identities when they are read from the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZipOrigin {
    draft: DraftId,
    /// The checksum of the zip.
    version: Arc<str>,
}

impl ZipOrigin {
    /// `None` for other folders, and for zips that this account did not copy in.
    pub fn of(uploads: &Uploads, folder: RemoteFolder) -> Option<ZipOrigin> {
        let RemoteFolder::AssetMembers(asset) = folder else {
            return None;
        };
        let sent = uploads.sent_record(asset)?;
        let version = sent.only_zip()?.hash.as_deref()?.into();
        Some(ZipOrigin {
            draft: sent.draft,
            version,
        })
    }

    pub(super) fn folder_identity(&self, path: &str) -> String {
        folder_identity(self.draft, path)
    }

    pub(super) fn file_identity(&self, path: &str) -> String {
        file_identity(self.draft, &self.version, path)
    }
}

pub(super) fn folder_identity(draft: DraftId, path: &str) -> String {
    format!("staged-zip/{draft}/folder/{path}")
}

pub(super) fn file_identity(draft: DraftId, version: &str, path: &str) -> String {
    format!("staged-zip/{draft}/{version}/{path}")
}
