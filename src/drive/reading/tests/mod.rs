//! Remote files against a server with faults: the bytes are always those of a local copy, and the
//! requests are as few and as small as promised.

mod endings;
mod faults;
mod requests;
mod shared;
mod versions;
mod world;
