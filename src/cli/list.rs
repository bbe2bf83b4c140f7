//! `assetfs list`: all models and results of a mounted drive, as a table or as lines of JSON.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::exit::Exit;
use super::mounted::MountedDrive;
use super::table::{self, bytes, cut_inside};

/// The widest name in a table.
const NAME_COLUMNS: usize = 40;

/// List the models and results of a mounted drive
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs list ~/assets\n\
    Example: assetfs list --results --json | jq -r 'select(.similarity < 90) | .path'\n\
    The lines of --json are the files rawmodels/.assetfs/models.jsonl and rapidmodels/.assetfs/results.jsonl.")]
pub(super) struct ListArgs {
    /// The drive, or a folder in it [default: the only one that you mounted]
    mount: Option<PathBuf>,
    /// Only source models and drafts
    #[arg(long, conflicts_with = "results")]
    models: bool,
    /// Only optimized models
    #[arg(long)]
    results: bool,
    /// Print a line of JSON for each, as the drive has it
    #[arg(long, visible_alias = "jsonl")]
    json: bool,
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
    #[serde(default)]
    formats: Vec<String>,
}

pub(super) fn list(args: &ListArgs) -> Result<Exit> {
    let drive = MountedDrive::at_or_only(args.mount.as_deref(), "list")?;
    if !args.results {
        show(
            args,
            &drive,
            "rawmodels/.assetfs/models.jsonl",
            &["model", "state", "bytes", "format"],
            |line| vec![size(&line), line.format.unwrap_or_default()],
        )?;
    }
    if !args.results && !args.models && !args.json {
        println!();
    }
    if !args.models {
        show(
            args,
            &drive,
            "rapidmodels/.assetfs/results.jsonl",
            &[
                "result",
                "state",
                "bytes",
                "formats",
                "similarity",
                "source",
                "preset",
            ],
            |line| {
                vec![
                    size(&line),
                    line.formats.join(" "),
                    line.similarity
                        .map_or_else(String::new, |score| format!("{score:.1}")),
                    cut_inside(&line.source.unwrap_or_default(), NAME_COLUMNS),
                    line.preset.unwrap_or_default(),
                ]
            },
        )?;
    }
    Ok(Exit::Done)
}

/// Prints a file of lines; `more` gives the columns behind name and state.
fn show(
    args: &ListArgs,
    drive: &MountedDrive,
    file: &str,
    head: &[&str],
    more: impl Fn(Line) -> Vec<String>,
) -> Result<()> {
    let path = drive.root().join(file);
    let text = fs::read_to_string(&path).map_err(|error| drive.explain(error))?;
    if args.json {
        print!("{text}");
        return Ok(());
    }
    let lines = text.lines().map(serde_json::from_str);
    let lines: Vec<Line> = lines
        .collect::<Result<_, _>>()
        .with_context(|| format!("cannot understand {}", path.display()))?;
    let rows = lines.into_iter().map(|line| {
        let state = match line.percent {
            Some(percent) if percent < 100 => format!("{} {percent}%", line.state),
            _ => line.state.clone(),
        };
        let mut row = vec![cut_inside(&line.name, NAME_COLUMNS), state];
        row.extend(more(line));
        row
    });
    print!("{}", table::table_below(head, rows));
    Ok(())
}

fn size(line: &Line) -> String {
    line.bytes.map_or_else(String::new, bytes)
}
