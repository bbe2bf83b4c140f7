//! A worker process from its start to its end: what it is given, what it says, why it is killed.

use std::convert::Infallible;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Mutex;
use std::time::Duration;

use assetfs_formats::number_text::bytes;
use rustix::process::{Pid, Signal};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use super::output::{self, Line};
use super::spawn;
use crate::locks::Locked;
use crate::service::config::{WorkerCommand, WorkerLimits};
use assetfs_engine::job::{Progress, Report, Task};

/// The exit code of a worker that had no memory left: `ENOMEM`.
pub const OUT_OF_MEMORY: i32 = 12;

/// Exit code of a worker whose disk is full (the number of `ENOSPC`).
pub const DISK_FULL: i32 = 28;

/// How long a worker that has closed its pipes may take to end.
pub(super) const TIME_TO_END: Duration = Duration::from_secs(5);

/// How a task ended.
#[derive(Debug)]
pub enum Outcome {
    /// Success. A worker of another program may send no report.
    Done(Option<Box<Report>>),
    Failed(Failure),
    /// It was stopped; its results are ignored.
    Stopped,
}

/// Why a task cannot be done on this machine. The model is not the cause.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("cannot start the worker {program}")]
    NotStarted {
        program: String,
        #[source]
        source: std::io::Error,
    },
    #[error("the disk of the folder that the worker writes to is full: make room on it")]
    DiskFull,
    /// Not by its own fault, and not by this process.
    #[error(
        "another process killed the worker (signal {signal}), probably because memory was short"
    )]
    Killed { signal: i32 },
}

/// Why a task failed.
#[derive(Debug)]
pub struct Failure {
    /// One sentence for the user.
    pub reason: String,
    /// The end of the worker's standard error.
    stderr: String,
}

impl Failure {
    /// A failure before a worker was started.
    pub fn of(reason: impl Into<String>) -> Failure {
        Failure {
            reason: reason.into(),
            stderr: String::new(),
        }
    }

    /// The `output` of the job's record, as JSON text.
    pub fn output(failure: Option<&Failure>) -> String {
        let value = match failure {
            None => json!({ "exitCode": 0 }),
            Some(Failure { reason, stderr }) => {
                json!({ "exitCode": 1, "error": reason, "stderr": stderr })
            }
        };
        value.to_string()
    }
}

#[derive(Debug)]
pub struct Workers {
    pub(super) spawner: spawn::Spawner,
    pub(super) program: String,
    pub(super) limits: WorkerLimits,
}

/// What a worker said last.
#[derive(Debug, Default)]
pub(super) struct LastMessages {
    pub(super) report: Option<Box<Report>>,
    pub(super) error: Option<String>,
    /// About how much memory its task needs; 0 if it said nothing about that.
    pub(super) memory_bytes: u64,
}

/// Why this process killed a worker.
#[derive(Clone, Copy)]
pub(super) enum Killed {
    Wall,
    Stop,
    /// Its messages cannot be read, or it closed its pipes and did not end.
    Faulty,
}

impl Workers {
    /// Starts the thread that spawns workers; call it within an async runtime.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(command: WorkerCommand, limits: WorkerLimits) -> std::io::Result<Workers> {
        Ok(Workers {
            program: command.program.display().to_string(),
            spawner: spawn::Spawner::start(command, limits.clone())?,
            limits,
        })
    }

    /// Runs `task` in a worker. `stop` ends it early.
    ///
    /// # Errors
    /// If this machine cannot start a process, if its disk is full, or if another process killed the worker; another
    /// machine may be able to do the task.
    pub async fn run(
        &self,
        task: &Task,
        on_progress: impl FnMut(Progress),
        stop: &CancellationToken,
    ) -> Result<Outcome, WorkerError> {
        let text = match serde_json::to_vec(task) {
            Ok(text) => text,
            Err(error) => {
                let reason = format!("the task cannot be written: {error}");
                return Ok(Outcome::Failed(Failure::of(reason)));
            }
        };
        let child = self.spawner.spawn().await;
        let child = child.map_err(|source| WorkerError::NotStarted {
            program: self.program.clone(),
            source,
        })?;
        self.watch(child, text, on_progress, stop).await
    }

    async fn watch(
        &self,
        mut child: Child,
        task: Vec<u8>,
        mut on_progress: impl FnMut(Progress),
        stop: &CancellationToken,
    ) -> Result<Outcome, WorkerError> {
        let group = group_of(&child);
        let mut stdin = child.stdin.take().expect("the worker's input is a pipe");
        let stdout = child.stdout.take().expect("the worker's output is a pipe");
        let stderr = child.stderr.take().expect("the worker's errors are a pipe");
        let last: Mutex<LastMessages> = Mutex::default();
        let talk = async {
            let feeding = async {
                // A worker that has already exited does not read; its exit status is reported.
                let _ = stdin.write_all(&task).await;
                drop(stdin);
            };
            let listening = output::read_lines(stdout, |line| match line {
                Line::Progress(progress) | Line::Named { progress } => {
                    last.locked().memory_bytes = progress.memory_bytes;
                    on_progress(progress);
                }
                Line::Report { report } => last.locked().report = Some(Box::new(report)),
                Line::Error { error } => last.locked().error = Some(error),
            });
            let ((), heard, tail) = tokio::join!(feeding, listening, output::read_tail(stderr));
            (heard, tail)
        };
        let killed = Mutex::new(None);
        let watching = self.kill_when_due(group, stop, |why| *killed.locked() = Some(why));
        let (heard, stderr) = tokio::select! {
            talked = talk => talked,
            never = watching => match never {},
            never = kill_the_rest(&mut child, group) => match never {},
        };
        let mut killed = killed.into_inner().expect("no holder of this lock panics");
        if heard.is_err() {
            killed.get_or_insert(Killed::Faulty);
            kill(group);
        }
        let status = end_of(&mut child, group, &mut killed).await;
        let said = last.into_inner().expect("no holder of this lock panics");
        self.result(status, killed, said, stderr)
    }

    /// Kills a worker when it is stopped or its time is over, and tells `note` why. Never ends: the pipes close with the
    /// process, which ends the talk with it.
    pub(super) async fn kill_when_due(
        &self,
        group: Option<Pid>,
        stop: &CancellationToken,
        note: impl FnOnce(Killed),
    ) -> Infallible {
        let why = tokio::select! {
            () = stop.cancelled() => Killed::Stop,
            () = tokio::time::sleep(self.limits.wall) => Killed::Wall,
        };
        note(why);
        kill(group);
        std::future::pending().await
    }

    /// The result of a worker that has ended, or why another machine may be able to do its task.
    pub(super) fn result(
        &self,
        status: std::io::Result<ExitStatus>,
        killed: Option<Killed>,
        said: LastMessages,
        stderr: String,
    ) -> Result<Outcome, WorkerError> {
        let code = status.as_ref().ok().and_then(ExitStatus::code);
        let signal = status.as_ref().ok().and_then(ExitStatus::signal);
        match (code, signal, killed) {
            (Some(DISK_FULL), _, None) => Err(WorkerError::DiskFull),
            (_, Some(signal), None) if !is_own_fault(signal) => Err(WorkerError::Killed { signal }),
            _ => Ok(self.outcome(status, killed, said, stderr)),
        }
    }

    /// The result of a worker that has ended.
    fn outcome(
        &self,
        status: std::io::Result<ExitStatus>,
        killed: Option<Killed>,
        said: LastMessages,
        stderr: String,
    ) -> Outcome {
        if let Some(Killed::Stop) = killed {
            // If the work ended before the stop, its result counts.
            return match status {
                Ok(status) if status.success() => Outcome::Done(said.report),
                _ => Outcome::Stopped,
            };
        }
        let reason = match (status, killed) {
            (_, Some(Killed::Wall)) => format!(
                "processing took longer than {} and was stopped",
                in_words(self.limits.wall)
            ),
            (_, Some(Killed::Faulty)) => {
                "the worker sent what cannot be read, or did not end; the model is probably damaged in an unexpected way"
                    .to_owned()
            }
            (Err(error), None) => format!("cannot wait for the worker: {error}"),
            (Ok(status), None) if status.success() => return Outcome::Done(said.report),
            (Ok(status), None) => self.reason(status, said, &stderr),
            (_, Some(Killed::Stop)) => unreachable!("returned above"),
        };
        tracing::warn!(reason, stderr, "a worker failed");
        Outcome::Failed(Failure { reason, stderr })
    }

    /// How much memory a task needs that needs more than its limit, and what to do. An estimate below the limit is
    /// wrong and left out.
    fn memory_reason(&self, needed_bytes: u64) -> String {
        let limit = self.limits.memory_bytes;
        let about = match needed_bytes > limit {
            // A limit of as many is enough, so it is rounded up.
            true => format!(", about {} MB", needed_bytes.div_ceil(1_000_000)),
            false => String::new(),
        };
        format!(
            "more memory than its limit of {}{about}{}",
            bytes(limit),
            self.limits.memory_setting.advice()
        )
    }

    /// Why a worker failed.
    fn reason(&self, status: ExitStatus, said: LastMessages, stderr: &str) -> String {
        if let Some(error) = said.error {
            return error;
        }
        let memory = self.memory_reason(said.memory_bytes);
        // C and C++ code aborts if it has no memory.
        let is_large = said.memory_bytes > self.limits.memory_bytes;
        let has_aborted = status.signal() == Some(libc::SIGABRT);
        if status.code() == Some(OUT_OF_MEMORY) || (is_large && has_aborted) {
            return format!("processing needs {memory}");
        }
        match status.signal() {
            Some(libc::SIGABRT) => format!(
                "the worker aborted; the model is broken in a way that was not foreseen, or needs {memory}"
            ),
            Some(libc::SIGXCPU) => format!(
                "processing took more than {} of processor time and was stopped",
                in_words(self.limits.cpu)
            ),
            Some(signal) => format!(
                "the worker crashed with signal {signal}; the model is probably damaged in an unexpected way"
            ),
            None => {
                let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
                let code = status.code().unwrap_or(-1);
                match last {
                    Some(last) => format!("the worker ended with code {code}: {}", last.trim()),
                    None => format!("the worker ended with code {code}"),
                }
            }
        }
    }
}

/// Whether the worker itself causes this signal, as by a crash. Other signals come from another process, or from the kernel
/// when the memory of the machine is short.
fn is_own_fault(signal: i32) -> bool {
    matches!(
        signal,
        libc::SIGSEGV
            | libc::SIGBUS
            | libc::SIGILL
            | libc::SIGFPE
            | libc::SIGABRT
            | libc::SIGTRAP
            | libc::SIGSYS
            | libc::SIGXCPU
            | libc::SIGXFSZ
            | libc::SIGPIPE
    )
}

/// The process group of a worker; `None` once it was waited for: the number may then be another's.
pub(super) fn group_of(child: &Child) -> Option<Pid> {
    let id = child.id()?;
    Pid::from_raw(i32::try_from(id).ok()?)
}

/// Kills what a worker has started, once it has ended: that may hold the pipes open. Never ends.
pub(super) async fn kill_the_rest(child: &mut Child, group: Option<Pid>) -> Infallible {
    let _ = child.wait().await;
    kill(group);
    std::future::pending().await
}

/// The exit of a worker that has closed its pipes. One that goes on is faulty, and is killed.
pub(super) async fn end_of(
    child: &mut Child,
    group: Option<Pid>,
    killed: &mut Option<Killed>,
) -> std::io::Result<ExitStatus> {
    match tokio::time::timeout(TIME_TO_END, child.wait()).await {
        Ok(status) => status,
        Err(_) => {
            killed.get_or_insert(Killed::Faulty);
            kill(group);
            child.wait().await
        }
    }
}

/// Kills a worker and everything it started.
pub(super) fn kill(group: Option<Pid>) {
    if let Some(group) = group {
        // The group may have ended already.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

/// A duration in words.
fn in_words(duration: Duration) -> String {
    let secs = duration.as_secs();
    if secs >= 120 && secs.is_multiple_of(60) {
        format!("{} minutes", secs / 60)
    } else {
        format!("{secs} seconds")
    }
}
