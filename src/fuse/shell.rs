//! Paths of this machine in commands that a message tells the user to type.

use std::path::Path;

/// A path for use in a shell, quoted if necessary.
pub fn shell_quoted(path: &Path) -> String {
    assetfs_formats::shell::shell_quoted(&path.to_string_lossy())
}
