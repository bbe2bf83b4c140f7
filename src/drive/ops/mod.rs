//! The operations of the drive, one file each.

pub(super) mod again;
pub(super) mod attributes;
pub(super) mod cache;
mod command;
pub(super) mod control;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod events;
pub(super) mod history;
pub(super) mod inotify;
pub(super) mod list;
pub(super) mod lookup;
mod many;
mod mirror;
pub(super) mod open;
pub(super) mod read;
pub(super) mod remove;
pub(super) mod rename;
mod replace;
mod run_stale;
pub(super) mod setattr;
pub(super) mod statfs;
pub(super) mod sync;
pub(super) mod text;
pub(super) mod why;
pub(super) mod write;
pub(super) mod xattr;
