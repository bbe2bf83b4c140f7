//! Warnings about a model or a result. A line of `warning.log` ends with the code of its kind in brackets, so that scripts can
//! tell kinds apart while the sentences change.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

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
        MissingFile { name: "missing-file", meaning: "a file that the model names was not sent, or its name leads to none of the files" }
        BadTexture { name: "bad-texture", meaning: "a texture cannot be read, or its mesh has no coordinates for it; it is left out, not shown or not changed" }
        NotRead { name: "not-read", meaning: "the source has something that the engine does not read, or reads in a simpler form" }
        Damaged { name: "damaged", meaning: "something in the source is damaged, and was left out or replaced" }
        OtherModels { name: "other-models", meaning: "the upload has several models, and one was taken" }
        NotHeld { name: "not-held", meaning: "the written format cannot hold something that the source has" }
        SettingIgnored { name: "setting-ignored", meaning: "a setting is unknown, or has no effect or another one here" }
        LimitMissed { name: "limit-missed", meaning: "a limit is not met, or only by harming the shape" }
        NotBaked { name: "not-baked", meaning: "rebaking or baked maps were asked for and not made, or they lack something of the source" }
        NoGain { name: "no-gain", meaning: "the result is not clearly smaller than its source" }
        LooksDifferent { name: "looks-different", meaning: "a part of the result looks different from the source, or its surface is far away" }
        NotChecked { name: "not-checked", meaning: "a written file could not be read again, so it was not compared" }
        Profile { name: "profile", meaning: "a file breaks a rule of the profile that it was asked to follow" }
        Other { name: "other", meaning: "a line without a code: of another service or an older version, or the number of lines that a long log leaves out" }
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
        split(line).0
    }

    /// The codes of these kinds, each once, in the order of the table.
    pub fn codes(kinds: impl IntoIterator<Item = WarningKind>) -> Vec<&'static str> {
        let kinds: BTreeSet<WarningKind> = kinds.into_iter().collect();
        kinds.into_iter().map(WarningKind::name).collect()
    }

    /// The line of a warning of this kind.
    pub fn line(self, text: &str) -> String {
        match self {
            WarningKind::Other => text.to_owned(),
            kind => format!("{text} [{}]", kind.name()),
        }
    }
}

/// The kind of a line, and the text before its code.
fn split(line: &str) -> (WarningKind, &str) {
    let line = line.trim_end();
    let code = line.strip_suffix(']').and_then(|it| it.rsplit_once(" ["));
    match code.map(|(text, code)| (WarningKind::of_code(code), text)) {
        Some((Some(kind), text)) => (kind, text),
        _ => (WarningKind::Other, line),
    }
}

/// A warning about a model or a result. As text and in JSON it is its line in `warning.log`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct Warning {
    pub kind: WarningKind,
    /// A sentence for people, without the code.
    pub text: String,
}

impl Warning {
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Warning {
        let text = text.into();
        Warning { kind, text }
    }

    /// The same with its subject, such as a file, before the sentence.
    pub fn of(self, subject: impl fmt::Display) -> Warning {
        Warning::new(self.kind, format!("{subject}: {}", self.text))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind.line(&self.text))
    }
}

impl From<Warning> for String {
    fn from(warning: Warning) -> String {
        warning.to_string()
    }
}

impl From<String> for Warning {
    fn from(line: String) -> Warning {
        let (kind, text) = split(&line);
        Warning::new(kind, text)
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
            "x [no-such-code]",
        ] {
            assert_eq!(WarningKind::of_line(line), WarningKind::Other, "{line}");
        }
    }

    #[test]
    fn a_warning_is_its_line_in_json_and_lines_without_code_stay_as_they_are() {
        for line in ["a.obj: b [c] d [not-read]", "of another service", "x [y]"] {
            let warning: Warning = serde_json::from_value(line.into()).unwrap();
            assert_eq!(warning.to_string(), line);
            assert_eq!(serde_json::to_value(&warning).unwrap(), line);
            assert_eq!(warning.kind, WarningKind::of_line(line));
        }
        let twice = ["a [damaged]", "b [not-read]", "c", "d [damaged]"];
        let codes = WarningKind::codes(twice.map(WarningKind::of_line));
        assert_eq!(codes, ["not-read", "damaged", "other"]);
        let warning = Warning::new(WarningKind::Damaged, "it ends early").of("a.obj");
        assert_eq!(warning.to_string(), "a.obj: it ends early [damaged]");
    }
}
