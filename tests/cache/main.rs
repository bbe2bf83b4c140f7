//! The block cache through its public interface, compared with a naive model: whatever happens to its files, a
//! read returns exactly the bytes of the object's version, or nothing.

#![expect(clippy::print_stderr, reason = "a skipped test is reported")]

mod model;
mod objects;
mod races;
mod room;
mod support;
mod upkeep;
