//! `assetfs serve`: the local service without a mount, for other machines, other clients and tests. Also contains the
//! start of a mount's local service.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use url::Url;

use crate::address_reach::literal_address;
use crate::durable::DurableError;
use crate::fuse::shell_quoted;
use crate::service::{
    Adoption, Proxy, RunningService, Service, ServiceConfig, ServiceError, TOKEN_FILE, TlsFiles,
    TrustedProxies,
};
use crate::web_url::base_url;

use super::exit::Exit;
use super::job_args::JobArgs;
use super::open_files::allow_many_files;
use super::page_link::{may_be_logged, place_of_page};
use super::secrets::protect_memory;
use super::stores::{StoreArgs, later_pictures, places};
use super::{local, logging, output, settings};

/// Time for threads of a process that has stopped.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// Run the local service without a mount
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs serve --listen 127.0.0.1:8080 --data ./service\n\
    Others:  assetfs serve --listen 0.0.0.0:8080 --public-url http://studio:8080 --data ./service\n\
    Then:    ASSETFS_TOKEN=$(cat ./service/token) assetfs mount ~/assets --base-url http://127.0.0.1:8080"
)]
pub(super) struct ServeArgs {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDR")]
    listen: SocketAddr,
    /// Address of /livez, /readyz and /metrics, which need no token [default: none]
    #[arg(long, value_name = "ADDR")]
    admin_listen: Option<SocketAddr>,
    /// How long running jobs may go on after SIGTERM, before they go back into the queue
    #[arg(long, default_value = "0s", value_name = "TIME")]
    drain: settings::Span,
    /// Folder for records and files that are not elsewhere, and for the token [default: $XDG_DATA_HOME/assetfs/service]
    #[arg(long, visible_alias = "data-dir", value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    stores: StoreArgs,
    /// Speak TLS with this certificate (PEM, followed by those that signed it); it is read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// URL that clients use, if the service is behind a proxy
    #[arg(long, value_name = "URL", value_parser = base_url)]
    public_url: Option<Url>,
    /// Address from which clients read files, if a mirror or CDN is in front of this service
    #[arg(long, value_name = "URL", value_parser = base_url, conflicts_with = "files")]
    files_url: Option<Url>,
    #[command(flatten)]
    jobs: JobArgs,
    /// Take the bucket over for records that were restored from a backup, and end; only when the service with the
    /// original records is gone for good
    #[arg(long, requires = "files")]
    adopt_files: bool,
    /// Storage quota of the accounts; those with a quota of their own keep it [default for a new account: 100G]
    #[arg(long, value_name = "SIZE")]
    quota: Option<settings::ByteSize>,
    /// Send an event again, for a day, until its webhook accepts it; without this it is sent once, as the API says
    #[arg(long)]
    retry_webhooks: bool,
    /// Let webhooks call programs of this machine also where other machines reach this service
    #[arg(long)]
    local_webhooks: bool,
    /// Address or network (10.0.0.0/8) of a proxy whose X-Forwarded-For names the client; may be given several times
    #[arg(long = "trusted-proxy", value_name = "ADDR")]
    trusted_proxies: Vec<Proxy>,
    /// Inject the faults of this plan, for tests of clients; SIGHUP reloads it
    #[arg(long, value_name = "PLAN")]
    chaos: Option<PathBuf>,
    /// Add this number of small assets first, to measure clients with large accounts
    #[arg(long, hide = true, value_name = "N")]
    sample_assets: Option<u64>,
}

impl ServeArgs {
    fn tls_files(&self) -> Option<TlsFiles> {
        Some(TlsFiles {
            certificate: self.tls_cert.clone()?,
            key: self.tls_key.clone()?,
        })
    }
}

pub(super) fn run(args: &ServeArgs) -> Result<Exit> {
    protect_memory();
    logging::to_stderr();
    allow_many_files();
    let data_dir = match &args.data {
        Some(dir) => std::path::absolute(dir)?,
        None => settings::local_service_dir()?,
    };
    let runtime = Runtime::new().context("cannot start the async runtime")?;
    let done = runtime.block_on(async {
        let mut config = ServiceConfig {
            listen: args.listen,
            admin_listen: args.admin_listen,
            public_url: args.public_url.clone(),
            files_url: args.files_url.clone(),
            workers: args.jobs.workers.unwrap_or(1),
            later_pictures: later_pictures(&args.jobs)?,
            retry_webhooks: args.retry_webhooks,
            local_webhooks: args.local_webhooks,
            tls: args.tls_files(),
            trusted_proxies: TrustedProxies(args.trusted_proxies.clone()),
            chaos: args.chaos.as_deref().map(local::read_plan).transpose()?,
            ..args
                .stores
                .config(&data_dir, args.data.as_deref(), args.jobs.no_pictures)?
        };
        config.quota_bytes = args.quota.map(|quota| quota.0);
        let places = places(&config);
        if args.adopt_files {
            println!("{}", adopt_files(&config).await?);
            return Ok(Exit::Done);
        }
        let service = match Service::start(config).await {
            Err(error @ ServiceError::DataDir(DurableError::Locked { .. })) => {
                return Err(match running_already(&data_dir).await {
                    Some(runs) => anyhow::Error::from(error).context(runs),
                    None => error.into(),
                });
            }
            started => started?,
        };
        if let Some(count) = args.sample_assets {
            service.add_sample_assets(count).await?;
        }
        let token_file = local::say_where(&data_dir, &service)?;
        let link = match may_be_logged(true) {
            true => None,
            false => service.sign_in_link().await?,
        };
        announce(&service, &places, &data_dir, (&token_file, link.as_deref()));
        until_stopped(args, &service).await?;
        drain(args.drain.0, &service).await?;
        eprintln!("Stopping …");
        service.shutdown().await;
        Ok(Exit::Done)
    });
    end_soon(runtime);
    done
}

/// Where the page of the service is that runs on this folder.
async fn running_already(data_dir: &Path) -> Option<String> {
    let address = local::address(data_dir)?;
    let link = match may_be_logged(true) {
        true => None,
        false => local::sign_in_link(data_dir).await.ok(),
    };
    let page = place_of_page(&address, link.as_deref(), data_dir);
    let token = data_dir.join(TOKEN_FILE);
    Some(format!(
        "a service runs here already; its page is at {page}, and its token is in {}",
        token.display()
    ))
}

async fn adopt_files(config: &ServiceConfig) -> Result<&'static str> {
    Ok(match Service::adopt_files(config).await? {
        Adoption::Done => {
            "These records hold the files now. For a day nothing is removed. Start the service without --adopt-files."
        }
        Adoption::NotNeeded => {
            "These records held the files already; nothing was changed. Start the service without --adopt-files."
        }
    })
}

/// Ends the threads of a process that has stopped. One that still waits for a disk does not keep the process.
pub(super) fn end_soon(runtime: Runtime) {
    runtime.shutdown_timeout(LAST_MOMENT);
}

/// Returns at SIGINT or SIGTERM. SIGHUP reloads the plan of faults.
async fn until_stopped(args: &ServeArgs, service: &RunningService) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            interrupted = tokio::signal::ctrl_c() => return Ok(interrupted?),
            _ = hangup.recv() => {
                // Without a plan, SIGHUP ends the service, as usual.
                let Some(path) = &args.chaos else { return Ok(()) };
                match local::read_plan(path) {
                    Ok(plan) => service.set_chaos(Some(plan)),
                    Err(error) => {
                        let why = super::exit::sentence(&error);
                        eprintln!("assetfs: {why}; the previous plan stays active");
                    }
                }
            }
        }
    }
}

/// Lets running jobs end, for `time` at most. Another signal ends the wait.
async fn drain(time: Duration, service: &RunningService) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    if !time.is_zero() {
        eprintln!("Running jobs have up to {} seconds …", time.as_secs());
    }
    tokio::select! {
        () = service.drain(time) => {}
        _ = terminate.recv() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    Ok(())
}

/// Says where the admin listener is, and warns if other machines may reach it.
pub(super) fn announce_admin(addr: SocketAddr) {
    println!("Health and metrics: http://{addr}/readyz, /livez and /metrics");
    warn_about_admin(addr);
}

fn warn_about_admin(addr: SocketAddr) {
    if !addr.ip().is_loopback() {
        tracing::warn!(
            "{addr} answers /metrics without a token, and other machines may reach it: let only the monitoring reach it, \
             or listen on 127.0.0.1"
        );
    }
}

/// Prints the address. The token itself is never printed: it is in a file that only its owner can read.
fn announce(
    service: &RunningService,
    places: &str,
    data_dir: &Path,
    (token_file, link): (&Path, Option<&str>),
) {
    if output::is_json() {
        output::line(serde_json::json!({
            "base_url": service.base_url(),
            "listen": service.addr(),
            "admin_listen": service.admin_addr(),
            "token_file": token_file,
            "data": data_dir,
            "link": link,
        }));
        if let Some(addr) = service.admin_addr() {
            warn_about_admin(addr);
        }
    } else {
        println!("Serving {} ({places})", service.base_url());
        if let Some(addr) = service.admin_addr() {
            announce_admin(addr);
        }
        println!(
            "Its page: {}",
            place_of_page(service.base_url().as_str(), link, data_dir)
        );
        println!("The token is in {}", shell_quoted(token_file));
        println!(
            "Mount it: assetfs mount DIR --base-url {} --token-file {}",
            service.base_url(),
            shell_quoted(token_file)
        );
        if is_loopback_or_any(service.base_url()) && service.addr().ip().is_unspecified() {
            eprintln!(
                "Other machines cannot open {}: give `serve` the name of this machine, \
                 `--public-url http://NAME:{}`, and its links lead there",
                service.base_url(),
                service.addr().port()
            );
        }
    }
}

/// Whether the host of an address means every machine to itself.
fn is_loopback_or_any(url: &Url) -> bool {
    literal_address(url).is_some_and(|address| address.is_loopback() || address.is_unspecified())
}
