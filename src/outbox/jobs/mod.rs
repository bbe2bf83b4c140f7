//! Drop folders: what their files ask for ([`text`]), what became of each ([`book`]), sending exactly
//! once ([`send`], [`resolve`], [`search`]), following what runs ([`follow`]), and what the drive does to the files ([`ops`]).

pub mod book;
pub mod follow;
mod ops;
mod resolve;
mod search;
pub mod send;
pub mod text;

pub use ops::check_length;
