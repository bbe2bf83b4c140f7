//! Background tasks of a drive. They end with it: after [`Background::end`] none holds a part of the drive.

use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::locks::Locked;

/// The set of tasks. Clones share it.
#[derive(Clone)]
pub(super) struct Background {
    runtime: Handle,
    /// `None` after the end: later tasks are not started.
    tasks: Arc<Mutex<Option<JoinSet<()>>>>,
}

impl Background {
    pub(super) fn new(runtime: Handle) -> Background {
        Background {
            runtime,
            tasks: Arc::new(Mutex::new(Some(JoinSet::new()))),
        }
    }

    /// Starts a task, unless the drive has ended.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.locked();
        let Some(tasks) = tasks.as_mut() else { return };
        // Finished tasks are removed, so that the set stays small.
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, &self.runtime);
    }

    /// Stops and joins all tasks.
    pub(super) async fn end(&self) {
        let tasks = self.tasks.locked().take();
        if let Some(mut tasks) = tasks {
            tasks.shutdown().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_stops_what_runs_and_starts_nothing_more() {
        let background = Background::new(Handle::current());
        let held = Arc::new(());
        let inside = Arc::clone(&held);
        background.spawn(async move {
            std::future::pending::<()>().await;
            drop(inside);
        });
        background.end().await;
        assert_eq!(Arc::strong_count(&held), 1);
        let late = Arc::clone(&held);
        background.spawn(async move { drop(late) });
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
