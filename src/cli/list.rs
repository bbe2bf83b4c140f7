//! `assetfs list`: all models and results of a mounted drive, as a table or as lines of JSON.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use assetfs_formats::printable::printable;
use clap_complete::engine::ArgValueCompleter;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::completers;
use super::exit::Exit;
use super::mounted::{self, MountedDrive};
use super::output;
use super::table::{self, bytes, cut_inside};

/// The widest text in a table.
const CELL_COLUMNS: usize = 40;

/// List the models and results of a mounted drive
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs list ~/assets\n\
    Example: assetfs list --results --json | jq -r 'select(.similarity < 90) | .path'\n\
    Example: assetfs list --results --json | jq -r 'select(.made_by == \"anna@farm3\") | .path'\n\
    The lines of --json are the files rawmodels/.assetfs/models.jsonl and rapidmodels/.assetfs/results.jsonl.")]
pub(super) struct ListArgs {
    /// The drive, or a folder in it [default: the only one that you mounted]
    #[arg(add = ArgValueCompleter::new(completers::models))]
    mount: Option<PathBuf>,
    /// Only source models and drafts
    #[arg(long, conflicts_with = "results")]
    models: bool,
    /// Only optimized models
    #[arg(long)]
    results: bool,
}

/// What the table shows of a line.
#[derive(Debug, Deserialize)]
struct Line {
    name: String,
    state: String,
    percent: Option<u8>,
    bytes: Option<u64>,
    format: Option<String>,
    source: Option<String>,
    preset: Option<String>,
    similarity: Option<f64>,
    stale: Option<String>,
    #[serde(default)]
    warnings: Vec<LineWarning>,
    made_by: Option<String>,
    #[serde(default)]
    formats: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct LineWarning {
    code: String,
}

impl Line {
    /// The codes of its warnings, each once: `no-gain` is a result that is not clearly smaller than its source.
    fn warning_codes(&self) -> String {
        let mut codes: Vec<&str> = Vec::new();
        for warning in &self.warnings {
            if !codes.contains(&warning.code.as_str()) {
                codes.push(&warning.code);
            }
        }
        codes.join(" ")
    }
}

pub(super) fn list(args: &ListArgs) -> Result<Exit> {
    output::about(args.mount.as_deref(), list_drive(args))
}

fn list_drive(args: &ListArgs) -> Result<Exit> {
    let drive = MountedDrive::at_or_only(args.mount.as_deref(), "list")?;
    if let Some(path) = &args.mount {
        mounted::check_exists(path)?;
    }
    if !args.results {
        show(
            &drive,
            "rawmodels/.assetfs/models.jsonl",
            &["models", "state", "bytes", "format", "made by"],
            |line| {
                vec![
                    size(&line),
                    cell(&line.format.unwrap_or_default()),
                    cell(&line.made_by.unwrap_or_default()),
                ]
            },
        )?;
    }
    if !args.results && !args.models && !output::is_json() {
        println!();
    }
    if !args.models {
        let head = [
            "results",
            "state",
            "bytes",
            "formats",
            "similarity",
            "source",
            // The name of the text in `optimize/`, which need not be that of a preset.
            "text",
            "stale",
            "warnings",
            "made by",
        ];
        show(
            &drive,
            "rapidmodels/.assetfs/results.jsonl",
            &head,
            |line| {
                let similarity = line.similarity.map(|score| format!("{score:.1}"));
                let warnings = line.warning_codes();
                vec![
                    size(&line),
                    cell(&line.formats.join(" ")),
                    similarity.unwrap_or_default(),
                    cell(&line.source.unwrap_or_default()),
                    cell(&line.preset.unwrap_or_default()),
                    cell(&line.stale.unwrap_or_default()),
                    cell(&warnings),
                    cell(&line.made_by.unwrap_or_default()),
                ]
            },
        )?;
    }
    Ok(Exit::Done)
}

/// Prints a file of lines; `more` gives the columns behind name and state.
fn show(
    drive: &MountedDrive,
    file: &str,
    head: &[&str],
    more: impl Fn(Line) -> Vec<String>,
) -> Result<()> {
    let path = drive.root().join(file);
    let text = fs::read_to_string(&path).map_err(|error| mounted::explain_at(&path, error))?;
    if output::is_json() {
        output::is_list();
        for line in parsed::<serde_json::Value>(&text, &path)? {
            output::line(line);
        }
        return Ok(());
    }
    let lines: Vec<Line> = parsed(&text, &path)?;
    if lines.is_empty() {
        println!("{}: none yet", head[0]);
        return Ok(());
    }
    let rows = lines.into_iter().map(|line| {
        let state = match line.percent {
            Some(percent) if percent < 100 => format!("{} {percent}%", line.state),
            _ => line.state.clone(),
        };
        let mut row = vec![cell(&line.name), cell(&state)];
        row.extend(more(line));
        row
    });
    print!("{}", table::table_below(head, rows));
    Ok(())
}

fn parsed<T: DeserializeOwned>(text: &str, path: &Path) -> Result<Vec<T>> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().with_context(|| {
        format!(
            "a line of {} cannot be read; was the drive mounted with another version of assetfs? Unmount it and mount it \
             again",
            path.display()
        )
    })
}

/// A text of the service, as it can be shown.
fn cell(text: &str) -> String {
    cut_inside(&printable(text), CELL_COLUMNS)
}

fn size(line: &Line) -> String {
    line.bytes.map_or_else(String::new, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_marked_with_the_codes_of_its_warnings() {
        let of = |warnings: serde_json::Value| {
            let line = serde_json::json!({ "name": "a", "state": "done", "warnings": warnings });
            serde_json::from_value::<Line>(line)
                .unwrap()
                .warning_codes()
        };
        let warning = |code: &str| serde_json::json!({ "code": code, "text": "x" });
        assert_eq!(
            of([warning("no-gain"), warning("other"), warning("no-gain")].into()),
            "no-gain other"
        );
        let without = serde_json::from_str::<Line>(r#"{"name":"a","state":"done"}"#).unwrap();
        assert_eq!(without.warning_codes(), "");
    }
}
