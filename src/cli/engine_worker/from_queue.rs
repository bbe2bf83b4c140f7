//! Takes jobs of a service from its records, on any machine that reaches its records and files.

use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};
use tokio::signal::unix::{SignalKind, signal};

use super::super::secrets::protect_memory;
use super::super::stores::{allow_many_files, places};
use super::super::{Exit, WrongUse, logging, settings};
use super::EngineWorkerArgs;
use crate::service::{RunningWorker, Service, ServiceConfig, WorkerLimits, machine_memory};

const GIB: f64 = (1_u64 << 30) as f64;

pub(super) fn run(args: &EngineWorkerArgs) -> Result<Exit> {
    protect_memory();
    logging::to_stderr();
    allow_many_files();
    let limits = Limits::choose(
        args.slots,
        args.memory.map(|size| size.0),
        machine_memory(),
        available_parallelism().map_or(1, usize::from),
    )?;
    let work_dir = match &args.work_dir {
        Some(dir) => std::path::absolute(dir)?,
        None => settings::cache_dir()?.join("engine-worker"),
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    runtime.block_on(async {
        let stores = &args.stores;
        let config = stores.config(&work_dir, args.work_dir.as_deref(), args.no_pictures)?;
        let config = ServiceConfig {
            workers: limits.slots,
            worker_limits: WorkerLimits {
                memory_bytes: limits.memory,
                ..config.worker_limits
            },
            ..config
        };
        let places = places(&config);
        let mut worker = Service::start_worker(config).await?;
        println!(
            "Taking up to {} jobs at a time, each with at most {:.1} GiB of memory ({places})",
            limits.slots,
            limits.memory as f64 / GIB,
        );
        drain_when_stopped(args, &mut worker).await?;
        eprintln!("Stopping …");
        worker.shutdown().await;
        Ok(Exit::Done)
    })
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

/// How many jobs run at a time, and the memory of each in bytes.
#[derive(Debug, PartialEq, Eq)]
struct Limits {
    slots: usize,
    memory: u64,
}

impl Limits {
    /// The limits that the user asks for, on a machine with this memory and number of processors. Refuses slots that
    /// the memory does not suffice for: the kernel would kill one of the jobs.
    fn choose(
        slots: Option<usize>,
        memory: Option<u64>,
        machine: Option<u64>,
        processors: usize,
    ) -> Result<Limits> {
        let default = WorkerLimits::default().memory_bytes;
        let memory = memory.unwrap_or_else(|| machine.map_or(default, |all| all.min(default)));
        if memory == 0 || slots == Some(0) {
            return Err(WrongUse("--slots and --memory must be more than 0".to_owned()).into());
        }
        let room = machine.map_or(usize::MAX, |all| {
            usize::try_from(all / memory).unwrap_or(usize::MAX)
        });
        let slots = slots.unwrap_or(processors.min(room));
        if slots == 0 || slots > room {
            bail!(
                "this machine has {:.1} GiB of memory, but {} of {:.1} GiB each may need {:.1} GiB: use fewer --slots or \
                 less --memory",
                machine.unwrap_or_default() as f64 / GIB,
                match slots.max(1) {
                    1 => "1 job".to_owned(),
                    many => format!("{many} jobs"),
                },
                memory as f64 / GIB,
                memory as f64 * slots.max(1) as f64 / GIB,
            );
        }
        Ok(Limits { slots, memory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: u64 = 1 << 30;

    #[test]
    fn slots_follow_processors_and_memory() {
        let choose = |slots, memory, machine, processors| {
            let limits = Limits::choose(slots, memory, machine, processors).unwrap();
            (limits.slots, limits.memory / G)
        };
        assert_eq!(choose(None, None, Some(64 * G), 8), (8, 4));
        assert_eq!(choose(None, None, Some(9 * G), 8), (2, 4));
        assert_eq!(choose(None, None, Some(2 * G), 8), (1, 2));
        assert_eq!(choose(Some(3), Some(G), Some(4 * G), 8), (3, 1));
        assert_eq!(choose(None, None, None, 8), (8, 4));
    }

    #[test]
    fn slots_without_memory_are_refused() {
        let refused = Limits::choose(Some(4), None, Some(8 * G), 8).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "this machine has 8.0 GiB of memory, but 4 jobs of 4.0 GiB each may need 16.0 GiB: use fewer --slots or less \
             --memory"
        );
        assert!(Limits::choose(None, Some(16 * G), Some(8 * G), 8).is_err());
        assert!(Limits::choose(Some(0), None, None, 8).is_err());
    }
}
