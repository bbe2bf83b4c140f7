//! The presets folder: texts that are held here ([`book`], folded from the journal's records), what to do next ([`plan`]),
//! saving them on the service ([`save`]), how long a written text is shown in place of the service's ([`written`]), and
//! which names the files may have ([`file_name`]). [`Presets`] is the face.

mod book;
mod file_name;
mod info;
mod memory;
mod ops;
mod parts;
mod plan;
mod save;
mod written;

pub use book::{HeldPreset, PresetBook, PresetRecord};
pub use info::{PresetFile, PresetOverlay, PresetState, SavedPreset};
pub use memory::PresetsMemory;
pub use ops::Presets;
pub use parts::{PresetParts, PresetTools};
pub use save::{SaveOutcome, run};
