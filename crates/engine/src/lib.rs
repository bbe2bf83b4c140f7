//! The 3D engine: import, clean, simplify, textures, export, render, compare. Knows no HTTP, no async, no database.
//!
//! The entry point is [`job::run`]: it takes a task as plain data and writes files into a folder.

pub mod analyse;
pub mod clean;
pub mod compare;
pub mod document;
pub mod error;
pub mod export;
pub mod import;
pub mod intake;
pub mod job;
mod keyframes;
pub mod library_memory;
pub mod manipulate;
pub mod pictures;
pub mod rebake;
pub mod render;
pub mod sample;
pub mod scene;
pub mod settings;
pub mod simplify;
mod srgb;
pub mod surface;
pub mod textures;
mod unwrap;

pub use error::EngineError;
