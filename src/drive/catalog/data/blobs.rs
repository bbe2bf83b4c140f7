//! Small files that the service generates on request: their names, and the latest ones in memory.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use crate::drive::values::node::Bundle;
use crate::locks::Locked;
use crate::wire::{PresetId, RapidId};

/// Maximum number of files in memory, used if the cache accepts nothing.
const MAX_HELD: usize = 8;

/// A small file that the service generates.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Blob {
    /// The report of one format of a rapid model.
    Report(RapidId, Arc<str>),
    /// The preset of a rapid model.
    PresetOf(RapidId),
    /// A preset, with a checksum of its text.
    Preset(Bundle, PresetId, u64),
}

/// Stable: cached objects and stored sizes have this name.
impl fmt::Display for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blob::Report(rapid, format) => write!(f, "rapid/{rapid}/report/{format}"),
            Blob::PresetOf(rapid) => write!(f, "rapid/{rapid}/preset.zip"),
            Blob::Preset(bundle, preset, text) => {
                write!(f, "presets/{preset}/{}/{text:x}", bundle.name())
            }
        }
    }
}

/// The small files in memory, newest last.
#[derive(Default)]
pub struct Blobs {
    held: Mutex<VecDeque<(Blob, Bytes)>>,
}

impl Blobs {
    pub(in crate::drive::catalog) fn get(&self, blob: &Blob) -> Option<Bytes> {
        let held = self.held.locked();
        let found = held.iter().find(|(of, _)| of == blob);
        found.map(|(_, bytes)| bytes.clone())
    }

    pub(in crate::drive::catalog) fn put(&self, blob: Blob, bytes: Bytes) {
        let mut held = self.held.locked();
        held.retain(|(of, _)| *of != blob);
        if held.len() >= MAX_HELD {
            held.pop_front();
        }
        held.push_back((blob, bytes));
    }

    /// Forgets the files whose names begin with `prefix`.
    pub(in crate::drive::catalog) fn forget(&self, prefix: &str) {
        let mut held = self.held.locked();
        held.retain(|(blob, _)| !blob.to_string().starts_with(prefix));
    }
}
