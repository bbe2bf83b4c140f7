//! The directories of drafts that are one zip, in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::drive::archive::Directory;
use crate::drive::values::filemap::FileMap;
use crate::locks::Locked;
use crate::outbox::{DraftId, LoneZip};

/// Directories kept in memory; those that are not are read again.
const MAX_KEPT: usize = 64;

/// The content of the zip of a draft.
#[derive(Debug)]
pub struct StagedZip {
    pub zip: LoneZip,
    pub directory: Directory,
    /// Its files as they are shown.
    pub map: FileMap,
}

/// The directories that were read; none for a zip that cannot be used.
#[derive(Default)]
pub struct StagedZips {
    kept: Mutex<HashMap<DraftId, KeptZip>>,
}

/// A zip and its content; `None` if the zip cannot be used.
type KeptZip = (LoneZip, Option<Arc<StagedZip>>);

impl StagedZips {
    /// The content of that zip; the outer `None` if it was not read yet.
    pub(in crate::drive::catalog) fn get(
        &self,
        draft: DraftId,
        zip: &LoneZip,
    ) -> Option<Option<Arc<StagedZip>>> {
        let kept = self.kept.locked();
        let (of, found) = kept.get(&draft)?;
        (of == zip).then(|| found.clone())
    }

    pub(in crate::drive::catalog) fn put(
        &self,
        draft: DraftId,
        zip: LoneZip,
        found: Option<Arc<StagedZip>>,
    ) {
        let mut kept = self.kept.locked();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(draft, (zip, found));
    }
}
