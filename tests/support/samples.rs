//! Where the sample models are, on machines that have them.

use std::path::{Path, PathBuf};

/// The folder of the sample models, where it is; says loudly when it is not.
pub fn samples() -> Option<PathBuf> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/samples");
    if !samples.is_dir() {
        eprintln!(
            "SKIPPED: there are no sample models at {}",
            samples.display()
        );
        return None;
    }
    Some(samples)
}
