//! Drop folders: what their files ask for ([`text`]), what became of each ([`book`]), sending exactly
//! once ([`send`], [`sender`], [`request`], [`resolve`], [`search`]), following what runs ([`follow`]), what the files
//! show ([`show`]), and what the drive does to them ([`ops`]).

pub mod book;
pub mod follow;
pub mod info;
mod log;
mod ops;
mod plan;
mod request;
mod resolve;
mod search;
pub mod send;
mod sender;
mod show;
pub mod text;

pub use log::reason_in_log;
pub use ops::check_length;
