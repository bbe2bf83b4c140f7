//! The presets folder: texts that are held here ([`book`]), what the drive does to them ([`ops`]), and
//! saving them on the service ([`save`]).

pub mod book;
mod ops;
pub mod save;
