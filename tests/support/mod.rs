//! A drive without a kernel over the real local service, and a walker that reads, writes and lists
//! it by path, as a program would on a mounted one.

#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod account;
pub mod tree;
