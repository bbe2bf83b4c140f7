//! Budgets of results: options of `optimize`, `wait` and `build`, and keys of `assetfs.toml`. A result that exceeds its budget
//! is kept, and the command fails.

use std::str::FromStr;

use assetfs_formats::warnings::WarningKind;
use clap_complete::engine::ArgValueCandidates;
use serde::Deserialize;
use serde_with::DeserializeFromStr;

use super::completers;
use super::result_facts::ResultFacts;
use super::settings::ByteSize;
use super::table::{bytes, grouped};

/// Limits of a result. What is not given is not limited.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Budget {
    /// Fail if a result has more triangles
    #[arg(long, value_name = "COUNT")]
    pub(super) max_triangles: Option<u64>,
    /// Fail if the files of a result have more bytes
    #[arg(long, value_name = "SIZE")]
    pub(super) max_bytes: Option<ByteSize>,
    /// Fail if the mean similarity of a result to its source is lower (0 to 100)
    #[arg(long, value_name = "SCORE")]
    pub(super) min_similarity: Option<Score>,
    /// Fail if a result has a warning of this kind; can be given several times. docs/engine.md lists the codes
    #[arg(long, value_name = "CODE", add = ArgValueCandidates::new(completers::warning_codes))]
    pub(super) deny: Vec<DeniedWarning>,
}

/// A similarity, 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Score(f64);

impl TryFrom<f64> for Score {
    type Error = String;

    fn try_from(score: f64) -> Result<Score, String> {
        match (0.0..=100.0).contains(&score) {
            true => Ok(Score(score)),
            false => Err(format!(
                "a similarity is a number from 0 to 100, not {score}"
            )),
        }
    }
}

impl FromStr for Score {
    type Err = String;

    fn from_str(text: &str) -> Result<Score, String> {
        let wrong = |_| format!("a similarity is a number from 0 to 100, not `{text}`");
        text.trim().parse::<f64>().map_err(wrong)?.try_into()
    }
}

/// A kind of warnings that a result must not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeserializeFromStr)]
pub(super) struct DeniedWarning(WarningKind);

impl FromStr for DeniedWarning {
    type Err = String;

    fn from_str(text: &str) -> Result<DeniedWarning, String> {
        WarningKind::of_code(text)
            .map(DeniedWarning)
            .ok_or_else(|| {
                let known = WarningKind::NAMES.join(", ");
                format!("`{text}` is no code of a warning; these are: {known}")
            })
    }
}

impl Budget {
    /// True if nothing is limited.
    pub(super) fn is_empty(&self) -> bool {
        *self == Budget::default()
    }

    /// This budget, where it says something, else `general`. Denied warnings are those of both.
    pub(super) fn or(&self, general: &Budget) -> Budget {
        Budget {
            max_triangles: self.max_triangles.or(general.max_triangles),
            max_bytes: self.max_bytes.or(general.max_bytes),
            min_similarity: self.min_similarity.or(general.min_similarity),
            deny: [general.deny.as_slice(), &self.deny].concat(),
        }
    }

    /// What of the budget a result exceeds, a sentence each. What nobody measured is exceeded: a budget that is not checked
    /// would be none.
    pub(super) fn exceeded_by(&self, facts: &ResultFacts) -> Vec<String> {
        let mut exceeded = Vec::new();
        match (self.max_triangles, facts.triangles) {
            (Some(max), Some(count)) if count > max => exceeded.push(format!(
                "{} triangles, more than the budget of {}",
                grouped(count),
                grouped(max)
            )),
            (Some(_), None) => exceeded.push("its triangles were not counted".to_owned()),
            _ => {}
        }
        if let Some(ByteSize(max)) = self.max_bytes.filter(|max| facts.bytes > max.0) {
            exceeded.push(format!(
                "{}, more than the budget of {}",
                exactly(facts.bytes, max),
                bytes(max)
            ));
        }
        match (self.min_similarity, facts.similarity) {
            (Some(Score(min)), Some(score)) if score < min => {
                exceeded.push(format!(
                    "a similarity of {score:.1}, less than the budget of {min}"
                ));
            }
            (Some(_), None) => exceeded
                .push("its similarity was not measured: make it again with pictures".to_owned()),
            _ => {}
        }
        for line in &facts.warnings {
            let kind = WarningKind::of_line(line);
            if self.deny.contains(&DeniedWarning(kind)) {
                exceeded.push(format!("a warning that is denied: {line}"));
            }
        }
        exceeded
    }
}

/// A size in words; exact where it would read like the limit.
fn exactly(size: u64, limit: u64) -> String {
    match bytes(size) == bytes(limit) {
        true => format!("{} bytes", grouped(size)),
        false => bytes(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> ResultFacts {
        ResultFacts {
            bytes: 2_000_000,
            triangles: Some(12_000),
            similarity: Some(91.26),
            warnings: vec![WarningKind::MissingFile.line("wood.png was not sent")],
        }
    }

    fn budget(text: &str) -> Budget {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_result_within_its_budget_exceeds_nothing() {
        let within = budget(
            "max-triangles = 12000\nmax-bytes = 2000000\nmin-similarity = 91.26\ndeny = ['no-gain']",
        );
        assert_eq!(within.exceeded_by(&facts()), Vec::<String>::new());
        assert!(Budget::default().is_empty() && !within.is_empty());
    }

    #[test]
    fn each_limit_is_checked_and_says_both_numbers() {
        for (text, said) in [
            (
                "max-triangles = 11999",
                "12,000 triangles, more than the budget of 11,999",
            ),
            ("max-bytes = '1M'", "2.0 MB, more than the budget of 1.0 MB"),
            (
                "max-bytes = 1999999",
                "2,000,000 bytes, more than the budget of 2.0 MB",
            ),
            (
                "min-similarity = 92",
                "a similarity of 91.3, less than the budget of 92",
            ),
            (
                "deny = ['missing-file']",
                "a warning that is denied: wood.png was not sent [missing-file]",
            ),
        ] {
            assert_eq!(budget(text).exceeded_by(&facts()), [said], "{text}");
        }
    }

    #[test]
    fn what_nobody_measured_is_no_success() {
        let unknown = ResultFacts::default();
        let said = budget("max-triangles = 1\nmin-similarity = 1").exceeded_by(&unknown);
        assert_eq!(said.len(), 2, "{said:?}");
    }

    #[test]
    fn a_budget_that_cannot_be_meant_is_refused_with_what_is_possible() {
        for (text, why) in [
            ("min-similarity = 101", "from 0 to 100"),
            ("min-similarity = nan", "from 0 to 100"),
            ("max-triangles = -1", "invalid value"),
            ("max-bytes = 'lots'", "write it like 500M"),
            ("deny = ['nonsense']", "no-gain"),
            ("max-polygons = 1", "max-triangles"),
        ] {
            let said = toml::from_str::<Budget>(text).unwrap_err().to_string();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn the_budget_of_a_preset_comes_before_the_general_one() {
        let general = budget("max-triangles = 1\nmax-bytes = 2\ndeny = ['no-gain']");
        let own = budget("max-bytes = 3\ndeny = ['not-read']");
        let both = own.or(&general);
        assert_eq!(
            both,
            budget("max-triangles = 1\nmax-bytes = 3\ndeny = ['no-gain', 'not-read']")
        );
    }
}
