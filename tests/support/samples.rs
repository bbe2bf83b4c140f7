//! Where the sample models are, on machines that have them. Needs `skip` beside it.

use std::path::{Path, PathBuf};

/// The folder of the sample models, where it is; says loudly when it is not.
pub fn samples() -> Option<PathBuf> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/samples");
    if !samples.is_dir() {
        super::skip::skipped("there are no sample models beside the project");
        return None;
    }
    Some(samples)
}
