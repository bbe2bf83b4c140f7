//! Quotes local paths for commands that a message suggests to the user.

use std::path::Path;

/// A path for use in a shell, quoted if necessary.
pub fn shell_quoted(path: &Path) -> String {
    assetfs_formats::shell::shell_quoted(&path.to_string_lossy())
}
