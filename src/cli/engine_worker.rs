//! `assetfs engine-worker`: one job of the 3D engine, in a process of its own. Reads the task as JSON
//! from standard input, writes progress as JSON lines on standard output, and last the report or the
//! reason of the failure. Started by the local service, which limits its memory and time.

use std::io::{self, Read, Write};

use anyhow::{Context, Result};
use serde_json::json;

use crate::engine::job::{self, Pictures, Progress, Task};

use super::Exit;

/// Do one job of the 3D engine (started by the local service)
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Draw neither thumbnail nor views, and compare nothing
    #[arg(long)]
    no_pictures: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    let mut text = String::new();
    io::stdin()
        .lock()
        .read_to_string(&mut text)
        .context("cannot read the task")?;
    let task: Task = serde_json::from_str(&text).context("the task is not understood")?;
    let mut out = io::stdout().lock();
    let pictures = if args.no_pictures {
        Pictures::Skipped
    } else {
        Pictures::Drawn
    };
    let result = job::run_with(&task, pictures, &mut |progress: Progress| {
        say(&mut out, &json!({ "progress": progress }));
    });
    match result {
        Ok(report) => {
            say(&mut out, &json!({ "report": report }));
            Ok(Exit::Done)
        }
        Err(error) => {
            let sentence = super::sentence(&anyhow::Error::new(error));
            say(&mut out, &json!({ "error": sentence }));
            Ok(Exit::Failed)
        }
    }
}

/// When nobody listens any more, the service is gone and ends this process.
fn say(out: &mut impl Write, line: &serde_json::Value) {
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}
