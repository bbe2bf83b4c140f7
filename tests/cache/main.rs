//! The block cache through its front door, against a naive model: whatever happens to its files,
//! a read gives exactly the bytes of the object's version, or nothing.

#![expect(clippy::print_stderr, reason = "a test says loudly what it skips")]

mod model;
mod objects;
mod races;
mod room;
mod support;
mod upkeep;
