//! The program that reads CAD files (STEP, IGES, BREP): without it these formats cannot be read.

pub use super::import::{cad_reader as reader, check_cad_reader as check_reader};
