//! The thread that starts worker processes.
//!
//! The kernel kills a worker when the thread that started it ends, not the process (PR_SET_PDEATHSIG). A thread of
//! the async runtime may end at any time, so a separate thread, which lives as long as the service, starts the
//! workers.

use std::io;
use std::process::Stdio;
use std::thread;

use tokio::process::Child;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use super::confine::confine;
use crate::running_program::running_program;
use crate::service::config::{WorkerCommand, WorkerLimits};

type Order = oneshot::Sender<io::Result<Child>>;

/// Starts worker processes; they die when this is dropped.
#[derive(Debug)]
pub struct Spawner {
    orders: Sender<Order>,
}

impl Spawner {
    /// Starts the thread. Must be called in an async runtime, which waits for the processes.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(command: WorkerCommand, limits: WorkerLimits) -> io::Result<Spawner> {
        let (orders, mut receiver) = channel(16);
        let runtime = tokio::runtime::Handle::current();
        thread::Builder::new()
            .name("worker-spawner".to_owned())
            .spawn(move || {
                let _entered = runtime.enter();
                serve(&mut receiver, &command, &limits);
            })?;
        Ok(Spawner { orders })
    }

    /// Starts one worker.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub async fn spawn(&self) -> io::Result<Child> {
        let (reply, child) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts workers has ended");
        // The errors of both channels mean the same and say nothing more.
        self.orders.send(reply).await.map_err(|_| gone())?;
        child.await.map_err(|_| gone())?
    }
}

fn serve(orders: &mut Receiver<Order>, command: &WorkerCommand, limits: &WorkerLimits) {
    while let Some(reply) = orders.blocking_recv() {
        // If the caller was cancelled, dropping the child kills it.
        let _ = reply.send(spawn(command, limits));
    }
}

fn spawn(command: &WorkerCommand, limits: &WorkerLimits) -> io::Result<Child> {
    let mut process = std::process::Command::new(running_program(command.program.clone()));
    process
        .args(&command.args)
        // A worker reads models from strangers: it gets nothing that a token could be in.
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    confine(&mut process, limits);
    let mut process = tokio::process::Command::from(process);
    process.kill_on_drop(true).spawn()
}
