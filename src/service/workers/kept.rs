//! A worker process that is kept for many small tasks, because a process costs more than such a task.
//!
//! It enters its sandbox once, for the folders of all its tasks. Against a process for each task this is lost: a model
//! that takes over the process can falsify the results of the tasks after it. So a process is kept for a limited number
//! of tasks, time and memory, and never after a task that did not succeed. The caller keeps it for small models only, and
//! moves the results of a task out of its folder before the next one.

use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::output::{Line, next_line, read_tail};
use super::process::{
    Killed, LastMessages, Outcome, TIME_TO_END, WorkerError, Workers, end_of, group_of, kill,
    kill_the_rest,
};
use super::sandbox::TaskFolders;
use assetfs_engine::job::{Progress, Report, Task};

/// Maximum number of tasks of a process.
const MAX_TASKS: u32 = 512;

/// A process that needs so much more memory than at its start, as its tasks say, is not kept for other models.
const MAX_GROWTH_BYTES: u64 = 512 << 20;

/// A task of a kept worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeptTask {
    pub task: Task,
    /// Identifies the bytes of the model, whose pictures are drawn once for tasks with the same.
    pub source: Option<String>,
}

/// A running worker that waits for its next task; killed when dropped.
#[derive(Debug)]
pub struct KeptWorker {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: JoinHandle<String>,
    tasks: u32,
    /// How long it has worked.
    busy: Duration,
    /// The memory that its first task said it needs before it has read its model.
    first_memory_bytes: u64,
    /// The most memory that a task said it needs.
    memory_bytes: u64,
}

impl Workers {
    /// Starts a process for tasks in these folders. The command of these workers must be one of a kept worker, and their
    /// limit of processor time is that of all tasks of the process.
    ///
    /// # Errors
    /// If this machine cannot start a process.
    pub async fn start_kept(&self, folders: &TaskFolders) -> Result<KeptWorker, WorkerError> {
        let not_started = |source| WorkerError::NotStarted {
            program: self.program.clone(),
            source,
        };
        let mut child = self.spawner.spawn().await.map_err(not_started)?;
        let mut stdin = child.stdin.take().expect("the worker's input is a pipe");
        let stdout = child.stdout.take().expect("the worker's output is a pipe");
        let stderr = child.stderr.take().expect("the worker's errors are a pipe");
        // If it has ended already, its first task reports that.
        let _ = stdin.write_all(&line(folders)).await;
        Ok(KeptWorker {
            child,
            stdin,
            stdout: BufReader::new(stdout),
            stderr: tokio::spawn(read_tail(stderr)),
            tasks: 0,
            busy: Duration::ZERO,
            first_memory_bytes: 0,
            memory_bytes: 0,
        })
    }

    /// Runs a task, and returns the worker if it can have another one of the same model. `stop` ends it early.
    ///
    /// # Errors
    /// As [`Workers::run`].
    pub async fn run_kept(
        &self,
        mut worker: KeptWorker,
        task: &KeptTask,
        mut on_progress: impl FnMut(Progress),
        stop: &CancellationToken,
    ) -> Result<(Outcome, Option<KeptWorker>), WorkerError> {
        let begun = Instant::now();
        let group = worker.group();
        let mut said = LastMessages::default();
        let mut first_memory_bytes = worker.first_memory_bytes;
        let mut on_progress = |progress: Progress| {
            if first_memory_bytes == 0 {
                first_memory_bytes = progress.memory_bytes;
            }
            on_progress(progress);
        };
        let mut killed = None;
        let heard = {
            let KeptWorker {
                child,
                stdin,
                stdout,
                ..
            } = &mut worker;
            let talk = async {
                // A worker that has already exited does not read; its exit status is reported.
                let _ = stdin.write_all(&line(task)).await;
                answer(stdout, &mut said, &mut on_progress).await
            };
            let watching = self.kill_when_due(group, stop, |why| killed = Some(why));
            tokio::select! {
                heard = talk => heard,
                never = watching => match never {},
                never = kill_the_rest(child, group) => match never {},
            }
        };
        worker.tasks += 1;
        worker.first_memory_bytes = first_memory_bytes;
        worker.busy += begun.elapsed();
        if let Some(report) = said.report.take().filter(|_| killed.is_none()) {
            worker.memory_bytes = worker.memory_bytes.max(said.memory_bytes);
            let has_time = worker.busy < self.limits.wall;
            return Ok((Outcome::Done(Some(report)), has_time.then_some(worker)));
        }
        if heard.is_err() {
            killed.get_or_insert(Killed::Faulty);
            kill(group);
        }
        let outcome = self.end_kept(worker, killed, said).await?;
        Ok((outcome, None))
    }

    /// The result of a worker that failed a task, which ends it.
    async fn end_kept(
        &self,
        mut worker: KeptWorker,
        mut killed: Option<Killed>,
        said: LastMessages,
    ) -> Result<Outcome, WorkerError> {
        let group = worker.group();
        let status = end_of(&mut worker.child, group, &mut killed).await;
        let tail = tokio::time::timeout(TIME_TO_END, &mut worker.stderr).await;
        let stderr = tail.ok().and_then(Result::ok).unwrap_or_default();
        self.result(status, killed, said, stderr)
    }
}

impl KeptWorker {
    /// Whether it has done a task before.
    pub fn is_used(&self) -> bool {
        self.tasks > 0
    }

    /// Whether it can have tasks of other models.
    pub fn is_fit_for_others(&self) -> bool {
        let growth = self.memory_bytes.saturating_sub(self.first_memory_bytes);
        self.tasks < MAX_TASKS && growth <= MAX_GROWTH_BYTES
    }

    fn group(&self) -> Option<Pid> {
        group_of(&self.child)
    }
}

impl Drop for KeptWorker {
    fn drop(&mut self) {
        kill(self.group());
        self.stderr.abort();
    }
}

/// Reads to the answer of one task, or to the end.
async fn answer(
    stdout: &mut BufReader<ChildStdout>,
    said: &mut LastMessages,
    mut on_progress: impl FnMut(Progress),
) -> std::io::Result<()> {
    while let Some(line) = next_line(stdout).await? {
        match line {
            Line::Progress(progress) | Line::Named { progress } => {
                said.memory_bytes = said.memory_bytes.max(progress.memory_bytes);
                on_progress(progress);
            }
            Line::Report { report } => {
                said.report = Some(Box::<Report>::new(report));
                return Ok(());
            }
            Line::Error { error } => {
                said.error = Some(error);
                return Ok(());
            }
        }
    }
    Ok(())
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("plain data with text keys can be written");
    line.push(b'\n');
    line
}
