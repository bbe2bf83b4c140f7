//! The 3D engine: import, clean, simplify, textures, export. Knows no HTTP, no async, no database.

pub mod sample;
