//! The service's language: every shape has a golden sample, and what we write we can read.

mod golden;
mod make;
mod roundtrip;
mod tolerance;
