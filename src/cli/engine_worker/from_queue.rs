//! Takes jobs of a service from its records, on any machine that reaches its records and files.

use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};
use assetfs_formats::number_text::bytes;
use tokio::signal::unix::{SignalKind, signal};

use super::super::exit::Exit;
use super::super::open_files::allow_many_files;
use super::super::secrets::protect_memory;
use super::super::serve::{announce_admin, end_soon};
use super::super::settings::ByteSize;
use super::super::stores::places;
use super::super::{logging, settings};
use super::EngineWorkerArgs;
use crate::service::{RunningWorker, Service, ServiceConfig, memory_failure, memory_of_machine};

pub(super) fn run(args: &EngineWorkerArgs) -> Result<Exit> {
    protect_memory();
    logging::to_stderr();
    allow_many_files();
    let work_dir = match &args.work_dir {
        Some(dir) => std::path::absolute(dir)?,
        None => settings::cache_dir()?.join("engine-worker"),
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    let done = runtime.block_on(async {
        let stores = &args.stores;
        let mut config = ServiceConfig {
            admin_listen: args.admin_listen,
            ..stores.config(&work_dir, args.work_dir.as_deref(), args.no_pictures)?
        };
        let machine = memory_of_machine();
        if let Some(ByteSize(limit)) = args.memory {
            config.worker_limits.memory_bytes = limit;
        }
        let processors = available_parallelism().map_or(1, usize::from);
        config.workers = match args.slots {
            Some(slots) => slots,
            None => default_slots(&config, processors, machine),
        };
        // The kernel would end one of the jobs, or this process.
        if let Some(failure) = memory_failure(&config, machine) {
            bail!(failure);
        }
        let slots = config.workers;
        let memory = bytes(config.worker_limits.memory_bytes);
        let places = places(&config);
        let mut worker = Service::start_worker(config).await?;
        println!(
            "Taking up to {slots} jobs at a time, each with at most {memory} of memory ({places})"
        );
        if let Some(addr) = worker.admin_addr() {
            announce_admin(addr);
        }
        drain_when_stopped(args, &mut worker).await?;
        eprintln!("Stopping …");
        worker.shutdown().await;
        Ok(Exit::Done)
    });
    end_soon(runtime);
    done
}

/// Returns when a signal has asked to stop and the running jobs have ended, or their time is over, or a second signal
/// comes.
async fn drain_when_stopped(args: &EngineWorkerArgs, worker: &mut RunningWorker) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    eprintln!(
        "Taking no more jobs. Those that run have up to {} seconds …",
        args.drain.0.as_secs()
    );
    tokio::select! {
        () = worker.drain(args.drain.0) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// The number of slots if the user names none: one for each processor, as far as the memory suffices.
fn default_slots(config: &ServiceConfig, processors: usize, machine: Option<u64>) -> usize {
    let suffices = |slots: &usize| {
        let config = ServiceConfig {
            workers: *slots,
            ..config.clone()
        };
        memory_failure(&config, machine).is_none()
    };
    (1..=processors).rev().find(suffices).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::WorkerCommand;

    #[test]
    fn slots_follow_processors_and_memory() {
        const GIB: u64 = 1 << 30;
        let command = WorkerCommand {
            program: "assetfs".into(),
            args: Vec::new(),
        };
        let config = ServiceConfig::new("/work", command);
        assert_eq!(default_slots(&config, 8, Some(64 * GIB)), 8);
        assert_eq!(default_slots(&config, 8, Some(9 * GIB)), 4);
        assert_eq!(default_slots(&config, 8, Some(GIB)), 1);
        assert_eq!(default_slots(&config, 8, None), 8);
    }
}
