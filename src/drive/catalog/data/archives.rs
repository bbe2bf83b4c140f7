//! Keeps parsed zip directories in memory, and remembers which members were verified.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};

use crate::drive::archive::{Directory, VerifyOnce};
use crate::locks::Locked;
use crate::wire::AssetId;

/// Maximum number of directories in memory. Others are read again, mostly from the cache.
const MAX_KEPT: usize = 16;
/// Maximum number of stored members whose verification is remembered.
const MAX_REMEMBERED: usize = 1024;

#[derive(Default)]
pub struct Archives {
    kept: Mutex<HashMap<AssetId, (String, Arc<Directory>)>>,
    /// Verification state of open members, by object name and version.
    verifications: Mutex<HashMap<String, Weak<VerifyOnce>>>,
    /// Verified stored members, which are not verified again.
    remembered: Mutex<VecDeque<Arc<VerifyOnce>>>,
}

impl Archives {
    pub(in crate::drive::catalog) fn get(
        &self,
        asset: AssetId,
        version: &str,
    ) -> Option<Arc<Directory>> {
        let kept = self.kept.locked();
        let (of, directory) = kept.get(&asset)?;
        (of == version).then(|| Arc::clone(directory))
    }

    pub(in crate::drive::catalog) fn put(
        &self,
        asset: AssetId,
        version: String,
        directory: Arc<Directory>,
    ) {
        let mut kept = self.kept.locked();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(asset, (version, directory));
    }

    /// The verification state of a member, shared by all its handles.
    pub(in crate::drive::catalog) fn verify_once(&self, member: &str) -> Arc<VerifyOnce> {
        let mut verifications = self.verifications.locked();
        if let Some(verify_once) = verifications.get(member).and_then(Weak::upgrade) {
            return verify_once;
        }
        verifications.retain(|_, verify_once| verify_once.strong_count() > 0);
        let verify_once = Arc::new(VerifyOnce::new());
        verifications.insert(member.to_owned(), Arc::downgrade(&verify_once));
        verify_once
    }

    /// Remembers the verification of a member after its last handle is closed.
    pub(in crate::drive::catalog) fn remember(&self, verify_once: &Arc<VerifyOnce>) {
        let mut kept = self.remembered.locked();
        if kept.iter().any(|known| Arc::ptr_eq(known, verify_once)) {
            return;
        }
        if kept.len() >= MAX_REMEMBERED {
            kept.pop_front();
        }
        kept.push_back(Arc::clone(verify_once));
    }
}
