//! Paths in commands that a message tells the user to type.

use std::path::Path;

/// A path for use in a shell, quoted if necessary.
pub fn shell_quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    // Inside single quotes a shell reads every character as it is, except the quote itself.
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_path_can_be_pasted_into_a_shell() {
        for path in [
            "/mnt/assets",
            "/mnt/my assets",
            "/mnt/it's",
            "/mnt/$HOME`x`\\\"",
            "/mnt/a\nb",
            "",
            "/mnt/übung",
        ] {
            let line = format!("printf %s {}", shell_quoted(Path::new(path)));
            let output = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), path);
        }
        assert_eq!(shell_quoted(Path::new("/mnt/assets")), "/mnt/assets");
    }
}
