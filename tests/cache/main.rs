//! The block cache through its public interface, compared with a naive model: even if its files are damaged, a read
//! returns exactly the bytes of the object's version, or nothing.

mod model;
mod objects;
mod races;
mod room;
#[path = "../support/s3.rs"]
mod s3;
mod shared;
#[path = "../support/skip.rs"]
mod skip;
mod support;
#[path = "../support/tmpfs.rs"]
mod tmpfs;
mod upkeep;
