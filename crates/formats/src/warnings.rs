//! The kinds of warnings about a model or a result. A line of `warning.log` ends with the code of its kind in brackets, so
//! that scripts can tell kinds apart while the sentences change.

use super::rows::rows;

/// The code of a kind of warnings, and what it means.
#[derive(Debug, Clone, Copy)]
pub struct WarningRow {
    /// The code: lower case, words joined by `-`.
    pub name: &'static str,
    /// What the warnings of this kind say, in a line.
    pub meaning: &'static str,
}

rows! {
    /// A kind of warnings.
    pub enum WarningKind: WarningRow {
        MissingFile { name: "missing-file", meaning: "a file that the model names was not sent" }
        TextureLeftOut { name: "texture-left-out", meaning: "a texture cannot be read, or nothing can show it" }
        NotRead { name: "not-read", meaning: "the source has something that the engine does not read" }
        Repaired { name: "repaired", meaning: "something in the source is damaged, and was left out or replaced" }
        NotHeld { name: "not-held", meaning: "the written format cannot hold something that the source has" }
        Setting { name: "setting-ignored", meaning: "a key of the configuration is unknown, or has no effect here" }
        LimitMissed { name: "limit-missed", meaning: "a limit is not met, or only by harming the shape" }
        NotRebaked { name: "not-rebaked", meaning: "rebaking was asked for and not done, or left something out" }
        NoGain { name: "no-gain", meaning: "the result is hardly smaller than its source" }
        NotChecked { name: "not-checked", meaning: "a written file could not be read again or compared" }
        OtherModels { name: "other-models", meaning: "the upload has several models, and one was taken" }
        Profile { name: "profile", meaning: "a file breaks a rule of the profile that it was asked to follow" }
        /// The line has no code: another service has written it.
        Other { name: "other", meaning: "a warning without a code, of a service that gives none" }
    }
}

impl WarningKind {
    /// The kind with this code.
    pub fn of_code(code: &str) -> Option<WarningKind> {
        WarningKind::ALL
            .iter()
            .copied()
            .find(|kind| kind.name() == code)
    }

    /// The kind of a line of `warning.log`.
    pub fn of_line(line: &str) -> WarningKind {
        let in_brackets = line.trim_end().strip_suffix(']');
        in_brackets
            .and_then(|rest| rest.rsplit_once(" ["))
            .and_then(|(_, code)| WarningKind::of_code(code))
            .unwrap_or(WarningKind::Other)
    }

    /// The line of a warning of this kind.
    pub fn line(self, text: &str) -> String {
        format!("{text} [{}]", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_line_is_its_code_at_the_end() {
        for &kind in WarningKind::ALL {
            assert_eq!(WarningKind::of_line(&kind.line("a sentence")), kind);
            assert_eq!(WarningKind::of_code(kind.name()), Some(kind));
        }
        for line in [
            "",
            "a sentence",
            "a [thing]",
            "no-gain",
            "[no-gain]",
            "x [no-gain] y",
        ] {
            assert_eq!(WarningKind::of_line(line), WarningKind::Other, "{line}");
        }
    }
}
