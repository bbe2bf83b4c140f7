//! A process that only does jobs, for a service whose records and files are shared: no API, no first account, no janitor.
//!
//! It claims jobs from the records, like the workers of a service, and keeps nothing on its own disk but the work
//! folders of the jobs that run.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::app::App;
use super::stores::{Process, Stores};
use super::{Service, ServiceConfig, ServiceError};
use super::{assemble, bind, end, http, jobs, listen, origin, own_folder, signer};
use crate::durable::DirLock;
use crate::listener::Reserved;

/// A process that does jobs. Stops on `shutdown`, or when dropped.
pub struct RunningWorker {
    app: Arc<App>,
    admin_addr: Option<SocketAddr>,
    /// One task for each job that may run.
    slots: JoinSet<()>,
    tasks: JoinSet<()>,
    /// Held for as long as the process runs.
    _lock: DirLock,
}

impl fmt::Debug for RunningWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningWorker").finish_non_exhaustive()
    }
}

impl Service {
    /// Starts a process that does `config.workers` jobs at a time. `config.data_dir` holds its work folders; settings
    /// of the API are ignored. Returns when it takes jobs.
    ///
    /// # Errors
    /// If the data folder, the records or the files cannot be used.
    pub async fn start_worker(config: ServiceConfig) -> Result<RunningWorker, ServiceError> {
        let (data_dir, lock) = own_folder(&config)?;
        let admin = config.admin_listen.map(bind).transpose()?;
        let admin_addr = admin.as_ref().map(Reserved::addr);
        let stores = Stores::open(&config, &data_dir, Process::Worker).await?;
        let signer = signer(&config, &stores.records, config.listen, None).await?;
        let base_url = origin(config.public_url.clone(), config.listen, "http");
        let app = assemble(config, &data_dir, stores, signer, base_url)?;
        jobs::recover(&app).await?;
        let mut slots = JoinSet::new();
        for _ in 0..app.config.workers {
            slots.spawn(jobs::work(Arc::clone(&app)));
        }
        let mut tasks = JoinSet::new();
        tasks.spawn(jobs::keep(Arc::clone(&app)));
        tasks.spawn(jobs::exchange_wakeups(Arc::clone(&app)));
        if let Some(admin) = admin {
            tasks.spawn(http::serve_admin(Arc::clone(&app), listen(admin)?));
        }
        Ok(RunningWorker {
            app,
            admin_addr,
            slots,
            tasks,
            _lock: lock,
        })
    }
}

impl RunningWorker {
    /// The address of `/livez`, `/readyz` and `/metrics`.
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin_addr
    }

    /// Claims no more jobs, and waits until those that run have ended, for `time` at most.
    pub async fn drain(&mut self, time: Duration) {
        self.app.draining.cancel();
        let ended = async { while self.slots.join_next().await.is_some() {} };
        // If the time is over, `shutdown` puts the jobs back into the queue.
        let _ = tokio::time::timeout(time, ended).await;
    }

    /// Stops the process. Jobs that still run are stopped and go back into the queue. Ends within 20 seconds, also if
    /// the database or the storage does not answer.
    pub async fn shutdown(mut self) {
        let mut tasks = std::mem::take(&mut self.tasks);
        let mut slots = std::mem::take(&mut self.slots);
        tasks.spawn(async move { while slots.join_next().await.is_some() {} });
        end(&self.app, tasks).await;
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        self.app.stop.cancel();
    }
}
