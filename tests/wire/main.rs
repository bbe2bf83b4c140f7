//! The types of the API: every form has a golden sample, and written records can be read back.

mod golden;
mod make;
mod roundtrip;
mod tolerance;
