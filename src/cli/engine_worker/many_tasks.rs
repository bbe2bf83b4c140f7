//! Many small jobs of the 3D engine in one separate process. Each line of standard input is JSON: first the folders of all
//! tasks, then one task after another. The answer to each is as that of a single task. After a task that failed the
//! process ends, because what it did to the process is not known.

use std::io::{self, BufRead as _};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::service::{KeptTask, Sandbox, TaskFolders};
use assetfs_engine::job::{Pictures, Progress, TaskRunner};

use super::super::allocator;
use super::super::exit::Exit;
use super::one_task::{answer, keep_scratch_in, show};

/// Shortest time between two lines of progress. The parent process wakes for each line, which takes longer than a step of a small
/// task.
const PERIOD: Duration = Duration::from_millis(50);
/// A line is written at once if the memory in use has changed by this many bytes since the last line.
const MEMORY_STEP_BYTES: u64 = 64 << 20;

pub(super) fn run(pictures: Pictures) -> Result<Exit> {
    allocator::exit_without_memory();
    let mut lines = io::stdin().lock().lines();
    let Some(first) = lines.next() else {
        return Ok(Exit::Done);
    };
    let folders: TaskFolders =
        serde_json::from_str(&first.context("cannot read the folders of the tasks")?)
            .context("cannot parse the folders of the tasks")?;
    let mut out = io::stdout().lock();
    keep_scratch_in(&folders.output_dir);
    let _sandbox = Sandbox::enter_folders(&folders);
    let mut runner = TaskRunner::default();
    let mut last = LastSaid::default();
    for line in lines {
        let task: KeptTask = serde_json::from_str(&line.context("cannot read the task")?)
            .context("cannot parse the task")?;
        let source = task.source.as_deref();
        let result = runner.run(&task.task, source, pictures, &mut |progress| {
            if last.is_news(&progress) {
                show(&mut out, &progress);
            }
        });
        match answer(&mut out, result) {
            Exit::Done => {}
            failed => return Ok(failed),
        }
    }
    Ok(Exit::Done)
}

/// The last progress that was written.
struct LastSaid {
    at: Instant,
    memory_bytes: u64,
}

impl Default for LastSaid {
    fn default() -> LastSaid {
        LastSaid {
            at: Instant::now(),
            memory_bytes: 0,
        }
    }
}

impl LastSaid {
    /// Whether this progress is to be written. If true, it counts as written.
    fn is_news(&mut self, progress: &Progress) -> bool {
        let is_other = progress.memory_bytes.abs_diff(self.memory_bytes) >= MEMORY_STEP_BYTES;
        let is_news = is_other || self.at.elapsed() >= PERIOD;
        if is_news {
            self.at = Instant::now();
            self.memory_bytes = progress.memory_bytes;
        }
        is_news
    }
}
