//! Folders whose files the service lists; one kind for each request.
//!
//! The text of a folder is stable across versions: names of cached objects and stored sizes start with it.

use std::fmt;

use super::listing_kind::ListingKind;
use crate::wire::{AssetId, ModelId, RapidId};

/// The two kinds of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Source models.
    Raw,
    /// Optimized models.
    Rapid,
}

impl Family {
    /// The listing of its models.
    pub fn listing(self) -> ListingKind {
        match self {
            Family::Raw => ListingKind::Assets,
            Family::Rapid => ListingKind::Rapids,
        }
    }

    /// The model with an id.
    pub fn model(self, id: u64) -> ModelId {
        match self {
            Family::Raw => ModelId::Asset(AssetId(id)),
            Family::Rapid => ModelId::Rapid(RapidId(id)),
        }
    }

    /// The name of its folder. It is part of inode numbers.
    pub fn name(self) -> &'static str {
        match self {
            Family::Raw => "rawmodels",
            Family::Rapid => "rapidmodels",
        }
    }
}

/// A folder whose files the service lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RemoteFolder {
    /// The uploaded files, directly in the asset's folder.
    AssetFiles(AssetId),
    /// The contents of the zip that an asset was uploaded as, directly in the asset's folder.
    AssetMembers(AssetId),
    /// `analysis/` of an asset.
    AssetAnalysis(AssetId),
    /// `renders/` of an asset.
    AssetRenders(AssetId),
    /// `converted/` of an asset.
    AssetConverted(AssetId),
    /// `pbr/` of an asset.
    AssetPbr(AssetId),
    /// The optimized files, directly in the rapid model's folder.
    RapidFiles(RapidId),
    /// `analysis/` of a rapid model.
    RapidAnalysis(RapidId),
    /// `renders/` of a rapid model.
    RapidRenders(RapidId),
    /// `qc/` of a rapid model.
    RapidQc(RapidId),
}

impl RemoteFolder {
    /// The name of the folder; `None` for files directly in the model's folder.
    pub fn name(self) -> Option<&'static str> {
        match self {
            RemoteFolder::AssetFiles(_)
            | RemoteFolder::AssetMembers(_)
            | RemoteFolder::RapidFiles(_) => None,
            RemoteFolder::AssetAnalysis(_) | RemoteFolder::RapidAnalysis(_) => Some("analysis"),
            RemoteFolder::AssetRenders(_) | RemoteFolder::RapidRenders(_) => Some("renders"),
            RemoteFolder::AssetConverted(_) => Some("converted"),
            RemoteFolder::AssetPbr(_) => Some("pbr"),
            RemoteFolder::RapidQc(_) => Some("qc"),
        }
    }

    /// The model it belongs to.
    pub fn subject(self) -> ModelId {
        match self {
            RemoteFolder::AssetFiles(asset)
            | RemoteFolder::AssetMembers(asset)
            | RemoteFolder::AssetAnalysis(asset)
            | RemoteFolder::AssetRenders(asset)
            | RemoteFolder::AssetConverted(asset)
            | RemoteFolder::AssetPbr(asset) => ModelId::Asset(asset),
            RemoteFolder::RapidFiles(rapid)
            | RemoteFolder::RapidAnalysis(rapid)
            | RemoteFolder::RapidRenders(rapid)
            | RemoteFolder::RapidQc(rapid) => ModelId::Rapid(rapid),
        }
    }

    /// The part of the text after the model.
    fn word(self) -> &'static str {
        match self {
            RemoteFolder::AssetMembers(_) => "members",
            folder => folder.name().unwrap_or("files"),
        }
    }
}

impl fmt::Display for RemoteFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.subject(), self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_folder_is_what_earlier_versions_kept_things_under() {
        for (folder, text) in [
            (RemoteFolder::AssetFiles(AssetId(7)), "raw/7/files"),
            (RemoteFolder::AssetMembers(AssetId(7)), "raw/7/members"),
            (RemoteFolder::AssetAnalysis(AssetId(7)), "raw/7/analysis"),
            (RemoteFolder::AssetRenders(AssetId(7)), "raw/7/renders"),
            (RemoteFolder::AssetConverted(AssetId(7)), "raw/7/converted"),
            (RemoteFolder::RapidFiles(RapidId(7)), "rapid/7/files"),
            (RemoteFolder::RapidAnalysis(RapidId(7)), "rapid/7/analysis"),
            (RemoteFolder::RapidRenders(RapidId(7)), "rapid/7/renders"),
        ] {
            assert_eq!(folder.to_string(), text);
        }
    }
}
