//! The folder of the sample models, on machines that have them. Needs the module `skip`.

use std::path::{Path, PathBuf};

/// The folder of the sample models. If it is missing, the test is reported as skipped.
pub fn samples() -> Option<PathBuf> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/samples");
    if !samples.is_dir() {
        super::skip::skipped("there are no sample models beside the project");
        return None;
    }
    Some(samples)
}
