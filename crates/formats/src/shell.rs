//! Quotes paths for commands that a message suggests to the user.

use crate::printable::is_control;

/// Quotes a path or an option for a shell, if that is necessary.
pub fn shell_quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        return path.to_owned();
    }
    if path.chars().any(is_control) {
        return escaped(path);
    }
    // Inside single quotes a shell reads every character as it is, except the quote itself.
    format!("'{}'", path.replace('\'', r"'\''"))
}

/// A text with control characters, as bash, zsh and ksh read it: as it is, it would control the terminal that shows it.
fn escaped(text: &str) -> String {
    let mut quoted = "$'".to_owned();
    for letter in text.chars() {
        match letter {
            '\'' | '\\' => quoted.extend(['\\', letter]),
            _ if is_control(letter) => {
                let mut bytes = [0; 4];
                for byte in letter.encode_utf8(&mut bytes).bytes() {
                    quoted.push_str(&format!("\\x{byte:02x}"));
                }
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('\'');
    quoted
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
            "/mnt/a\u{1b}[31m'\\b\u{202e}c",
            "",
            "/mnt/übung",
        ] {
            let line = format!("printf %s {}", shell_quoted(path));
            // Escapes are not read by every sh.
            let shell = match path.chars().any(is_control) {
                true => "bash",
                false => "sh",
            };
            let output = Command::new(shell).args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), path);
        }
        assert_eq!(shell_quoted("/mnt/assets"), "/mnt/assets");
        assert_eq!(shell_quoted("a\u{1b}b\n"), r"$'a\x1bb\x0a'");
    }
}
