//! The summary of a run, as text or as JSON.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::before_after::{rows, score_row};
use super::super::result_facts::ResultFacts;
use super::super::table::{bytes, counted, grouped, table};
use super::output::WARNING_LOG;
use assetfs_engine::WarningKind;
use assetfs_engine::job::{BEFORE_AFTER_NAME, ExportedFile, Report};

/// Maximum number of shown warnings. The log contains all of them.
const SHOWN_WARNINGS: usize = 5;

/// A successful run.
pub(super) struct Finished<'a> {
    pub(super) input: &'a Path,
    pub(super) out: &'a Path,
    pub(super) preset: &'a str,
    pub(super) report: &'a Report,
    /// The new files in OUT.
    pub(super) files: &'a [String],
    pub(super) facts: &'a ResultFacts,
    /// What of its budget the result exceeds.
    pub(super) exceeded: &'a [String],
    pub(super) elapsed: Duration,
}

impl Finished<'_> {
    pub(super) fn text(&self) -> String {
        let mut lines = rows(&self.report.source, &self.report.result);
        let first = self.report.exports.first();
        if let Some(quality) = first.and_then(|export| export.quality) {
            lines.push(score_row(quality.avg_score, quality.min_score));
        }
        let seconds = format!("{:.1} s", self.elapsed.as_secs_f64());
        lines.push(vec!["time".to_owned(), String::new(), seconds]);
        let mut text = table(&lines);
        if self.report.exports.len() > 1 {
            text.push('\n');
            text.push_str(&table(&self.export_rows()));
        }
        text.push_str(&format!("\n{}", self.where_to_look()));
        text
    }

    fn export_rows(&self) -> Vec<Vec<String>> {
        let head = ["file", "bytes", "triangles", "similarity", "worst view"];
        let score =
            |score: Option<f64>| score.map_or("–".to_owned(), |score| format!("{score:.1}"));
        let row = |export: &ExportedFile| {
            vec![
                export.name.clone(),
                self.size_of(export),
                export.triangles.map_or("–".to_owned(), grouped),
                score(export.quality.map(|quality| quality.avg_score)),
                score(export.quality.and_then(|quality| quality.min_score)),
            ]
        };
        let head = head.map(str::to_owned).to_vec();
        std::iter::once(head)
            .chain(self.report.exports.iter().map(row))
            .collect()
    }

    /// The size, marked if it is larger than the source.
    fn size_of(&self, export: &ExportedFile) -> String {
        let size = bytes(export.size_bytes);
        match export.size_bytes > self.report.source.bytes {
            true => format!("{size} (larger than the source)"),
            false => size,
        }
    }

    fn where_to_look(&self) -> String {
        let names: Vec<&str> = self
            .report
            .exports
            .iter()
            .map(|export| export.name.as_str())
            .collect();
        let mut text = format!("{}: {}\n", self.out.display(), names.join(", "));
        if let Some(picture) = self.path_of(BEFORE_AFTER_NAME) {
            text.push_str(&format!("Source and result side by side: {picture}\n"));
        }
        let warnings = &self.report.warnings;
        if !warnings.is_empty() {
            let log = self.out.join(WARNING_LOG);
            let count = counted(warnings.len() as u64, "warning");
            text.push_str(&format!("{count} ({}):\n", log.display()));
            for warning in warnings.iter().take(SHOWN_WARNINGS) {
                text.push_str(&format!("  {warning}\n"));
            }
            if warnings.len() > SHOWN_WARNINGS {
                text.push_str(&format!(
                    "  … and {} more\n",
                    warnings.len() - SHOWN_WARNINGS
                ));
            }
        }
        text
    }

    fn path_of(&self, name: &str) -> Option<String> {
        let is_there = self.files.iter().any(|file| file == name);
        is_there.then(|| self.out.join(name).display().to_string())
    }

    pub(super) fn json(&self) -> Value {
        let exports = self.report.exports.iter().map(|export| {
            json!({
                "format": export.format,
                "name": export.name,
                "files": export.parts,
                "bytes": export.size_bytes,
                "triangles": export.triangles,
                "similarity": export.quality.map(|quality| json!({
                    "average": quality.avg_score,
                    "worst_view": quality.min_score,
                    "best_view": quality.max_score,
                    "worst_tile": quality.worst_tile,
                })),
            })
        });
        let is_within = self.exceeded.is_empty();
        let mut line = json!({
            "path": self.out.to_string_lossy(),
            "state": if is_within { "done" } else { "failed" },
            "exit": u8::from(!is_within),
            "bytes": self.facts.bytes,
            "similarity": self.facts.similarity,
            "input": self.input.to_string_lossy(),
            "preset": self.preset,
            "out": self.out.to_string_lossy(),
            "before": self.report.source,
            "after": self.report.result,
            "exports": exports.collect::<Vec<_>>(),
            "files": self.files,
            "picture": self.path_of(BEFORE_AFTER_NAME),
            "warnings": self.report.warnings,
            "warning_codes": WarningKind::codes(self.report.warnings.iter().map(|it| it.kind)),
            "warning_log": self.path_of(WARNING_LOG),
            "seconds": (self.elapsed.as_secs_f64() * 1000.0).round() / 1000.0,
        });
        if !is_within {
            line["reason"] = self.exceeded.join("; ").into();
        }
        line
    }
}
