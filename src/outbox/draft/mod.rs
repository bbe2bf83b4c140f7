//! Drafts: their tree ([`tree`]) and the rules about names ([`names`]), which are pure, and what the
//! drive does to them ([`ops`], [`rename`], [`attributes`]).

mod attributes;
pub mod names;
mod ops;
mod remove;
mod rename;
pub mod tree;
