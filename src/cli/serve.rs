//! `assetfs serve`: the local service on its own, for other machines, other clients and for tests.
//! The mount's own local service is started here as well.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};
use url::Url;

use crate::durable::write_atomic;
use crate::service::{RunningService, Service, ServiceConfig, WorkerCommand};

use super::{Exit, logging, settings};

/// Run the local service on its own
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs serve --listen 127.0.0.1:8080 --data ./service\n\
    Then:    ASSETFS_TOKEN=$(cat ./service/token) assetfs mount ~/assets --base-url http://127.0.0.1:8080"
)]
pub(super) struct Args {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDR")]
    listen: SocketAddr,
    /// Folder for records and files [default: $XDG_DATA_HOME/assetfs/service]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How clients reach the service, where it is behind a proxy
    #[arg(long, value_name = "URL")]
    public_url: Option<Url>,
    /// How many jobs run at the same time
    #[arg(long, default_value_t = 1, value_name = "N")]
    workers: usize,
    /// Draw no thumbnails and views and compare nothing: faster, and enough for the files alone
    #[arg(long)]
    no_pictures: bool,
    /// Print where it listens and where the token is as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    logging::to_stderr();
    let data_dir = match &args.data {
        Some(dir) => std::path::absolute(dir)?,
        None => settings::local_service_dir()?,
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    runtime.block_on(async {
        let config = ServiceConfig {
            listen: args.listen,
            public_url: args.public_url.clone(),
            workers: args.workers,
            ..ServiceConfig::new(&data_dir, worker(args.no_pictures)?)
        };
        let service = Service::start(config).await?;
        let token_file = data_dir.join("token");
        write_atomic(&token_file, service.token().as_bytes())
            .context("cannot write the token file")?;
        announce(args.json, &service, &data_dir, &token_file);
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            _ = terminate.recv() => {}
            interrupted = tokio::signal::ctrl_c() => interrupted?,
        }
        eprintln!("Stopping …");
        service.shutdown().await;
        Ok(Exit::Done)
    })
}

/// The token itself is never printed: it stands in a file that only its owner can read.
fn announce(json: bool, service: &RunningService, data_dir: &Path, token_file: &Path) {
    if json {
        println!(
            "{}",
            serde_json::json!({
                "base_url": service.base_url(),
                "listen": service.addr(),
                "token_file": token_file,
                "data": data_dir,
            })
        );
    } else {
        println!(
            "Serving {} (records and files in {})",
            service.base_url(),
            data_dir.display()
        );
        println!("The token is in {}", token_file.display());
        println!(
            "Mount it: assetfs mount DIR --base-url {} --token-file {}",
            service.base_url(),
            token_file.display()
        );
    }
}

/// Starts the local service for this machine alone.
pub(super) async fn start_local(data_dir: &Path) -> Result<RunningService> {
    Service::start(ServiceConfig::new(data_dir, worker(false)?))
        .await
        .context("cannot start the local service")
}

/// The worker of the local service is this same binary.
fn worker(no_pictures: bool) -> Result<WorkerCommand> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut args = vec!["engine-worker".into()];
    args.extend(no_pictures.then(|| "--no-pictures".into()));
    Ok(WorkerCommand { program, args })
}
