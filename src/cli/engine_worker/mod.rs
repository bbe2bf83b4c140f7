//! `assetfs engine-worker`: with `--records` it takes jobs from the queue of services, which may run on other machines.
//! Without it, it does one job, which its parent process sends to its standard input; with `--kept` one after another.

mod from_queue;
mod many_tasks;
mod one_task;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;

use assetfs_engine::job::Pictures;

use super::exit::{Exit, WrongUse};
use super::settings::{ByteSize, Span};
use super::stores::StoreArgs;

/// Do jobs for a service whose records and files are shared
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs engine-worker --records postgres://db/assetfs --files s3://models\n    Without --records it does one job, which it reads from standard input: so `assetfs serve` starts it for each job."
)]
pub(super) struct EngineWorkerArgs {
    #[command(flatten)]
    stores: StoreArgs,
    /// How many jobs run at the same time [default: one for each processor, as far as the memory suffices]
    #[arg(long, value_name = "N", requires = "records", value_parser = slots)]
    slots: Option<usize>,
    /// Address space of one job. A job that needs more fails [default: 4G]
    #[arg(long, value_name = "SIZE", requires = "records")]
    memory: Option<ByteSize>,
    /// How long running jobs may go on after SIGTERM. Then they go back into the queue. A second SIGTERM ends the wait
    #[arg(long, default_value = "30m", value_name = "TIME", requires = "records")]
    drain: Span,
    /// Address of /livez, /readyz and /metrics, which need no token [default: none]
    #[arg(long, value_name = "ADDR", requires = "records")]
    admin_listen: Option<SocketAddr>,
    /// Folder for the files of running jobs; each process needs one of its own
    /// [default: $XDG_CACHE_HOME/assetfs/engine-worker]
    #[arg(long, value_name = "DIR", requires = "records")]
    work_dir: Option<PathBuf>,
    /// Render no thumbnails and views and compare nothing: faster, if only the files are needed
    #[arg(long)]
    no_pictures: bool,
    /// Also render source and result side by side
    #[arg(long, hide = true, conflicts_with_all = ["no_pictures", "records"])]
    before_after: bool,
    /// Do many small jobs, one after another
    #[arg(long, hide = true, conflicts_with = "records")]
    kept: bool,
}

/// A number of slots; a worker without any would do nothing.
fn slots(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("write a whole number, at least 1".to_owned()),
        Ok(slots) => Ok(slots),
    }
}

pub(super) fn run(args: &EngineWorkerArgs) -> Result<Exit> {
    if args.stores.records.is_some() {
        return from_queue::run(args);
    }
    if args.stores.names_files() {
        let why =
            "--files needs --records: a worker takes its jobs from the database of the service";
        return Err(WrongUse(why.to_owned()).into());
    }
    let pictures = match (args.no_pictures, args.before_after) {
        (true, _) => Pictures::Skipped,
        (false, true) => Pictures::Shown,
        (false, false) => Pictures::Drawn,
    };
    match args.kept {
        true => many_tasks::run(pictures),
        false => one_task::run(pictures),
    }
}
