//! The presets folder: texts that are held here ([`book`]), what the drive does to them ([`ops`]), and
//! saving them on the service ([`save`]).

pub mod book;
pub mod info;
mod ops;
pub mod plan;
pub mod save;
