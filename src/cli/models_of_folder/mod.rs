//! The models of an ordinary folder, and what a drive has of them: for the commands that bring a folder into a drive
//! (`assetfs watch`, `assetfs sync`).

pub(super) mod content;
mod known_texts;
mod links;
mod new_files;
pub(super) mod on_drive;
mod presets;
mod source;

pub(super) use known_texts::KnownTexts;
pub(super) use links::{Links, left_out};
pub(super) use new_files::{NewFiles, SourceFile};
pub(super) use presets::ModelPreset;
pub(super) use source::{Source, scan};
