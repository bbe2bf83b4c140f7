//! The names that files in the presets folder may have.

use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::names;
use crate::outbox::texts::is_sendable_name;

/// Refuses names that are neither those of presets nor those that editors and copy tools give to temporary files: such
/// a file would stay here and never become a preset.
pub fn check_preset_name(name: &str) -> OutboxResult<()> {
    /// Backups and texts that are not finished.
    const PASSING: &[&str] = &["bak", "new", "old", "orig", "save", "tmp", "temp"];
    names::check_new(name)?;
    let extension = names::extension(name);
    let looks_like_a_type =
        (2..=5).contains(&extension.len()) && extension.bytes().all(|it| it.is_ascii_alphabetic());
    let is_passing = PASSING.contains(&extension.as_str())
        || names::judge_file(name) != names::FileName::Plain
        || name.starts_with(['.', '#'])
        || name.to_ascii_lowercase().contains(".json");
    if is_sendable_name(name) || is_passing || !looks_like_a_type {
        return Ok(());
    }
    Err(OutboxError::Invalid(format!(
        "{name} cannot be a preset, and only presets are kept here: name it {}.json, with an optimizer configuration in it",
        names::stem(name)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_the_passing_names_of_editors_are_taken_and_other_files_refused() {
        let taken = [
            "web.json",
            "Web.JSON",
            "web.json~",
            "#web.json#",
            ".web.json.swp",
            "4913",
            "web.bak",
            "web.json.bak",
            "web.tmp",
            "tmpa8b3",
            "sedXq12aB",
            ".goutputstream-AB12CD",
            "web.json.part",
            "web.json.Xa3fG9",
            ".web.json.Xa3fG9",
            "web",
            "web.rpdx",
        ];
        for name in taken {
            assert!(check_preset_name(name).is_ok(), "{name}");
        }
        for name in ["notes.txt", "chair.glb", "README.md", "page.html"] {
            let refused = check_preset_name(name).unwrap_err();
            assert!(matches!(refused, OutboxError::Invalid(_)), "{name}");
        }
    }
}
