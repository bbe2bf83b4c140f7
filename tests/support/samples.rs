//! The folder of the sample models, on machines that have them. Needs the module `skip`.

use std::path::{Path, PathBuf};

/// The folder of the sample models. If it is missing, the test is reported as skipped.
pub fn samples() -> Option<PathBuf> {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let project = folders
        .find(|folder| folder.join("Cargo.lock").is_file())
        .expect("the tests run in a checkout");
    let samples = project.join("../shared/samples");
    if !samples.is_dir() {
        super::skip::skipped("there are no sample models beside the project");
        return None;
    }
    Some(samples)
}
