//! A drive without a kernel over the real local service, and functions that read, write and list it by path, like a
//! program on a mounted drive.

#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod account;
pub mod tree;
