//! The 3D engine: import, clean, simplify, textures, export. Knows no HTTP, no async, no database.
//!
//! [`job::run`] is the front door: it takes a task as plain data and leaves files in a folder.

pub mod compare;
pub mod document;
pub mod error;
pub mod import;
pub mod job;
pub mod pictures;
pub mod render;
pub mod sample;
pub mod scene;
mod words;

pub use error::EngineError;
