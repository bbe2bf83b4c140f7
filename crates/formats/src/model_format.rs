//! A row of the table of formats.

use super::written::FileFormat;

/// A format of 3D models. The order of [`MODELS`](super::MODELS) is the rank: of two models in one folder the one with the earlier
/// format is chosen.
#[derive(Debug)]
pub struct ModelFormat {
    /// In lower case, without the dot. It is also the name of the format.
    pub extension: &'static str,
    /// If one is registered or in common use.
    pub media_type: Option<&'static str>,
    pub kind: Kind,
    /// Whether the engine reads it; [`FileFormat`] has what it writes.
    pub import: Import,
    /// How a model of this format is spread over files.
    pub parts: Parts,
}

/// The purpose of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// For the exchange of meshes; its materials are plain.
    Exchange,
    /// A whole scene for authoring programs, with their materials, in a format that other programs read.
    Scene,
    /// Surfaces of a CAD program instead of triangles.
    Cad,
    /// The scene of an authoring program, with materials of its render engines.
    Authoring,
    /// Contains a model.
    Archive,
}

/// Whether the engine reads a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Import {
    Read,
    Unread,
}

/// How a model is spread over files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// One file can be the whole model. Other files that it names are optional or not checked.
    OneFile,
    /// One file can be the whole model, and we can read which other files it names.
    OneFileOrNamed,
    /// It needs other files, and we can read which ones.
    Named,
    /// We cannot tell whether it needs other files.
    Unknown,
}

impl ModelFormat {
    /// Whether authoring programs save scenes in it: an upload of one is converted to other formats at once, and its
    /// materials are translated.
    pub fn is_scene(&self) -> bool {
        matches!(self.kind, Kind::Scene | Kind::Authoring)
    }

    /// Whether the engine imports it.
    pub fn is_read(&self) -> bool {
        self.import == Import::Read
    }

    /// Whether the engine exports it.
    pub fn is_written(&self) -> bool {
        FileFormat::from_name(self.extension).is_some()
    }

    /// Whether a single file can be a whole model.
    pub fn can_stand_alone(&self) -> bool {
        matches!(self.parts, Parts::OneFile | Parts::OneFileOrNamed)
    }

    /// Whether we can read which other files a file of this format names.
    pub fn names_its_files(&self) -> bool {
        matches!(self.parts, Parts::Named | Parts::OneFileOrNamed)
    }
}
