//! Going to the background without forking a process that has threads: the command starts itself
//! again in a session of its own, hands it the decided plan (with the token) over standard input, and
//! waits until it says over standard output that the drive answers, or why it does not.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::{Exit, MountPlan, daemon};

/// How the C library is asked to share its heaps: one for each thread keeps megabytes that nobody
/// uses any more, for a speed that a process waiting for disk and network has no use for.
const ARENAS: (&str, &str) = ("MALLOC_ARENA_MAX", "2");

/// What the background process says, once.
#[derive(Serialize, Deserialize)]
enum StartOutcome {
    Ready(daemon::Greeting),
    Failed(String),
}

/// Starts the background process and returns when its drive answers.
pub(super) fn start(plan: &MountPlan) -> Result<Exit> {
    let mut command = Command::new(std::env::current_exe()?);
    if std::env::var_os(ARENAS.0).is_none() {
        command.env(ARENAS.0, ARENAS.1);
    }
    let mut child = command
        // Started by another name, it would be the helper of mount(8) once more.
        .arg0("assetfs")
        .args(["mount", "--background-child"])
        .env_remove("ASSETFS_TOKEN")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .context("cannot start the process in the background")?;
    let mut stdin = child.stdin.take().expect("it is piped");
    serde_json::to_writer(&mut stdin, plan)?;
    stdin.write_all(b"\n")?;
    drop(stdin);
    match hear(&mut child)? {
        StartOutcome::Ready(greeting) => {
            greeting.print(plan);
            Ok(Exit::Done)
        }
        StartOutcome::Failed(sentence) => bail!(sentence),
    }
}

fn hear(child: &mut Child) -> Result<StartOutcome> {
    let mut line = String::new();
    let stdout = child.stdout.take().expect("it is piped");
    BufReader::new(stdout)
        .read_line(&mut line)
        .context("cannot hear the background process")?;
    if let Ok(outcome) = serde_json::from_str(&line) {
        return Ok(outcome);
    }
    let status = child.wait()?;
    bail!("the process in the background ended before the drive answered ({status})")
}

/// The background process itself: reads its plan and serves it until the mount is gone.
pub(super) fn child() -> Result<Exit> {
    // It was just started, so it leads no process group: this cannot fail.
    let _ = rustix::process::setsid();
    let result = read_plan().and_then(|plan| {
        daemon::serve(&plan, daemon::Logs::ToFile, |greeting| {
            say(&StartOutcome::Ready(greeting));
            leave_the_terminal();
        })
    });
    result.or_else(|error| {
        let sentence = crate::cli::sentence(&error);
        tracing::error!(sentence, "the mount ended");
        say(&StartOutcome::Failed(sentence));
        Ok(Exit::Failed)
    })
}

fn read_plan() -> Result<MountPlan> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    serde_json::from_str(&line).context("nothing was handed over; use `assetfs mount`")
}

/// The parent may be gone; then the message is not needed.
fn say(outcome: &StartOutcome) {
    if let Ok(mut line) = serde_json::to_vec(outcome) {
        line.push(b'\n');
        let _ = io::stdout().write_all(&line);
        let _ = io::stdout().flush();
    }
}

/// Gives the terminal back, so that closing it, or a pipe that the command was in, is not held up.
fn leave_the_terminal() {
    if let Ok(null) = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
    {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    let _ = std::env::set_current_dir("/");
}
