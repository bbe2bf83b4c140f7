//! Drafts: their tree ([`tree`]), what the drive does to them ([`ops`], [`rename`], [`attributes`]), when a copy has ended
//! ([`settle`]), and sending them ([`upload`]).

pub mod activity;
mod attributes;
pub mod info;
mod ops;
pub mod process;
pub mod record;
mod remove;
mod rename;
pub mod sent;
pub mod settle;
mod show;
pub mod staged_file;
pub mod tree;
pub mod upload;
