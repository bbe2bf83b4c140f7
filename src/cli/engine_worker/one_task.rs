//! One job of the 3D engine in a separate process. Reads the task as JSON from standard input. Writes progress as JSON
//! lines to standard output, and finally the report or the error. Started by the process that has the job, which
//! limits its memory and time; what it may read and write, it limits itself before it opens the model.

use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::disk_room::is_disk_full;
use crate::service::{DISK_FULL, OUT_OF_MEMORY, Sandbox};
use assetfs_engine::EngineError;
use assetfs_engine::job::{self, Pictures, Progress, Report, Task};

use super::super::allocator;
use super::super::exit::{Exit, sentence};

pub(super) fn run(pictures: Pictures) -> Result<Exit> {
    allocator::exit_without_memory();
    let mut text = String::new();
    io::stdin()
        .lock()
        .read_to_string(&mut text)
        .context("cannot read the task")?;
    let task: Task = serde_json::from_str(&text).context("cannot parse the task")?;
    let mut out = io::stdout().lock();
    keep_scratch_in(task.output_dir());
    let _sandbox = Sandbox::enter(&task);
    let result = job::run_with(&task, pictures, &mut |progress| show(&mut out, &progress));
    Ok(answer(&mut out, result))
}

pub(super) fn show(out: &mut impl Write, progress: &Progress) {
    say(out, &json!({ "progress": progress }));
}

/// Reports the result of a task. Some failures are the exit code of the process, which then ends here.
pub(super) fn answer(out: &mut impl Write, result: Result<Report, EngineError>) -> Exit {
    match result {
        Ok(report) => {
            say(out, &json!({ "report": report }));
            Exit::Done
        }
        // The service knows the limit, and says it.
        Err(EngineError::OutOfMemory) => std::process::exit(OUT_OF_MEMORY),
        Err(error) if is_disk_full(&error) => std::process::exit(DISK_FULL),
        Err(error) => {
            let sentence = sentence(&anyhow::Error::new(error));
            say(out, &json!({ "error": sentence }));
            Exit::Failed
        }
    }
}

/// Archives are unpacked next to the results, so that the service removes both if it kills this process. It is also
/// the only folder that this process can write to.
pub(super) fn keep_scratch_in(output_dir: &Path) {
    if std::fs::create_dir_all(output_dir).is_ok() {
        // If another folder was already set, that one is used.
        let _ = tempfile::env::override_temp_dir(output_dir);
    }
}

/// If nothing reads the output, the service has ended, so the process exits.
fn say(out: &mut impl Write, line: &serde_json::Value) {
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}
