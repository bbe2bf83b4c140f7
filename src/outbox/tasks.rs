//! The tasks of the outbox, and the signal that stops them. Every task is joined at the end.

use std::future::Future;
use std::sync::Mutex;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::locks::Locked;
use crate::outbox::signal::Signal;

/// How long a request that must not be aborted may continue after the outbox begins to close.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Tasks {
    running: Mutex<JoinSet<()>>,
    closing: Signal,
    runtime: Handle,
}

impl Tasks {
    /// Must be called inside a tokio runtime, which runs the tasks.
    pub fn new() -> Tasks {
        Tasks {
            running: Mutex::default(),
            closing: Signal::default(),
            runtime: Handle::current(),
        }
    }

    /// Starts a task, unless the outbox closes.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut running = self.running.locked();
        while running.try_join_next().is_some() {}
        if !self.is_closing() {
            running.spawn_on(task, &self.runtime);
        }
    }

    /// Signals all tasks to stop.
    pub fn close(&self) {
        self.closing.give();
    }

    pub fn is_closing(&self) -> bool {
        self.closing.is_given()
    }

    /// Returns when the outbox begins to close.
    pub async fn closed(&self) {
        self.closing.after(0).await;
    }

    /// Waits until all tasks have ended.
    pub async fn join(&self) {
        let mut running = {
            let mut running = self.running.locked();
            std::mem::take(&mut *running)
        };
        while running.join_next().await.is_some() {}
    }

    /// Aborts all tasks, as the death of the process would.
    #[cfg(test)]
    pub async fn abort(&self) {
        let mut running = {
            let mut running = self.running.locked();
            std::mem::take(&mut *running)
        };
        running.shutdown().await;
    }

    /// Sleeps; false if the outbox closed first.
    pub async fn pause(&self, time: Duration) -> bool {
        self.until_closed(tokio::time::sleep(time)).await.is_some()
    }

    /// Runs work that may be aborted at any point; `None` if the outbox closed first.
    pub async fn until_closed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            outcome = work => Some(outcome),
            () = self.closed() => None,
        }
    }

    /// Runs a request that changes something on the service. When the outbox closes, the request may continue for 10
    /// s, because recovering from a lost reply takes longer.
    pub async fn with_grace<T>(&self, call: impl Future<Output = T>) -> Option<T> {
        let too_late = async {
            self.closed().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            biased;
            outcome = call => Some(outcome),
            () = too_late => None,
        }
    }
}
