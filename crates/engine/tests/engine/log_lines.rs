//! Warnings as the lines of `warning.log`, which tests compare.

use assetfs_engine::Warning;

pub trait LogLines {
    fn lines(&self) -> Vec<String>;
}

impl LogLines for [Warning] {
    fn lines(&self) -> Vec<String> {
        self.iter().map(Warning::to_string).collect()
    }
}
