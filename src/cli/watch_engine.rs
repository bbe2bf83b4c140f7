//! The engine of this machine for `assetfs watch`: a few models at a time, each in a worker process.

use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use super::chosen_preset::Config;
use super::optimize::{EngineMemory, EngineSettings};
use super::progress::Progress;
use crate::service::memory_of_machine;

/// Options for the engine on this machine.
#[derive(Debug, clap::Args)]
pub(super) struct EngineArgs {
    /// Draw nothing and compare nothing: faster, without a similarity score; for the engine on this machine
    #[arg(long, conflicts_with = "drive")]
    no_pictures: bool,
    /// Memory that the engine may use for each model
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "4G",
        conflicts_with = "drive"
    )]
    memory: EngineMemory,
}

/// The engine; each model that it works on has a turn.
#[derive(Debug, Clone)]
pub(super) struct EngineTurns {
    settings: EngineSettings,
    turns: Arc<Semaphore>,
}

impl EngineTurns {
    /// The engine for `jobs` models at a time; without a number one for each processor, as far as the memory suffices.
    pub(super) fn new(
        args: &EngineArgs,
        jobs: Option<usize>,
        timeout: Duration,
    ) -> Result<EngineTurns> {
        let jobs = jobs.unwrap_or_else(|| {
            let processors = available_parallelism().map_or(1, usize::from);
            let fit = memory_of_machine().map(|bytes| bytes / args.memory.bytes());
            let fit = fit.map_or(processors, |fit| fit as usize);
            processors.min(fit).max(1)
        });
        Ok(EngineTurns {
            settings: EngineSettings {
                overwrite: true,
                renders: false,
                pictures: !args.no_pictures,
                memory: args.memory,
                timeout,
            },
            turns: Arc::new(Semaphore::new(jobs)),
        })
    }

    /// How many models it works on at a time, while it works on none.
    pub(super) fn count(&self) -> usize {
        self.turns.available_permits()
    }

    /// Waits for a turn, which ends when the value is dropped.
    pub(super) async fn wait(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.turns.acquire().await.ok()
    }

    /// Optimizes a model with `config` into a folder; see [`EngineSettings::run`].
    pub(super) async fn run(
        &self,
        config: &Config,
        paths: (&Path, &Path),
        progress: &Progress,
        stop: &CancellationToken,
    ) -> Result<()> {
        let run = self.settings.run(config, paths, progress, stop).await;
        run.map(|_| ())
    }
}
