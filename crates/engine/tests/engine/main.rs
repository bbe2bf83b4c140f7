//! The engine: importers, the rasterizer, simplification, whole jobs; damaged files. One binary, because each links all of
//! the crate.

mod compare;
mod drawn;
mod gltf;
mod hidden;
mod hostile;
mod import;
mod job;
mod log_lines;
mod loose_pieces;
mod made;
mod minimal;
mod motion;
mod render;
mod rooms;
#[path = "../../../../tests/support/samples.rs"]
mod samples;
mod settings;
mod simplify;
#[path = "../../../../tests/support/skip.rs"]
mod skip;
#[path = "../../../../tests/support/square_glb.rs"]
mod square_glb;
mod topology;
#[path = "../../../../tests/support/validators.rs"]
mod validators;
mod warning_kinds;
mod whole_positions;
