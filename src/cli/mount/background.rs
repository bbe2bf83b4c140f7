//! Starts the background process without forking a process with threads. The command starts itself again in a new
//! session, passes the plan (with the token) over standard input, and waits for the message on standard output that
//! the drive answers, or why it does not.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::{MountPlan, daemon, supervisor};
use crate::cli::exit::Exit;

/// Limits the heaps of the C library. One heap for each thread would keep megabytes of unused memory, and this
/// process waits mostly for disk and network.
const ARENAS: (&str, &str) = ("MALLOC_ARENA_MAX", "2");

/// The only message of the background process.
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
        // With the name of the mount(8) helper, it would act as that helper again.
        .arg0("assetfs")
        .args(["mount", "--background-child"])
        .env_remove("ASSETFS_TOKEN")
        // systemd takes reports only from the process that it started, which is this one.
        .env_remove(supervisor::SOCKET_VARIABLE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .context("cannot start the background process")?;
    let mut stdin = child.stdin.take().expect("it is piped");
    serde_json::to_writer(&mut stdin, plan)?;
    stdin.write_all(b"\n")?;
    drop(stdin);
    match hear(&mut child)? {
        StartOutcome::Ready(greeting) => {
            greeting.print(plan, false);
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
        .context("cannot read from the background process")?;
    if let Ok(outcome) = serde_json::from_str(&line) {
        return Ok(outcome);
    }
    let status = child.wait()?;
    bail!("the background process ended before the drive answered ({status})")
}

/// The background process: reads its plan and serves it until the drive is unmounted.
pub(super) fn child() -> Result<Exit> {
    // A new process is not a group leader, so this cannot fail.
    let _ = rustix::process::setsid();
    let result = read_plan().and_then(|plan| {
        daemon::serve(&plan, daemon::Logs::ToFile, |greeting| {
            say(&StartOutcome::Ready(greeting));
            leave_the_terminal();
        })
    });
    result.or_else(|error| {
        let sentence = crate::cli::exit::sentence(&error);
        tracing::error!(sentence, "the mount ended");
        say(&StartOutcome::Failed(sentence));
        Ok(Exit::Failed)
    })
}

fn read_plan() -> Result<MountPlan> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    serde_json::from_str(&line).context("no plan on standard input; use `assetfs mount`")
}

/// Sends the message. The parent may have ended; then nobody needs it.
fn say(outcome: &StartOutcome) {
    if let Ok(mut line) = serde_json::to_vec(outcome) {
        line.push(b'\n');
        let _ = io::stdout().write_all(&line);
        let _ = io::stdout().flush();
    }
}

/// Closes the terminal's descriptors, so that the terminal or a pipe can close.
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
