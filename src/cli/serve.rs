//! `assetfs serve`: the local service without a mount, for other machines, other clients and tests. Also contains the
//! start of a mount's local service.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::signal::unix::{SignalKind, signal};
use url::Url;

use crate::fuse::shell_quoted;
use crate::service::{
    BucketAddress, BucketConfig, ChaosPlan, Credentials, PostgresServer, RecordsAt, RunningService,
    Service, ServiceConfig, WorkerCommand, endpoint_of,
};

use super::secrets::protect_memory;
use super::{Exit, local, logging, settings};

/// Run the local service without a mount
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs serve --listen 127.0.0.1:8080 --data ./service\n\
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
    /// Folder for records and files [default: $XDG_DATA_HOME/assetfs/service]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// PostgreSQL database for the records, which several machines share: postgres://USER@HOST/NAME. The password comes
    /// from --records-password-file, ~/.pgpass or PGPASSWORD [default: a SQLite database in --data]
    #[arg(long, value_name = "URL")]
    records: Option<String>,
    /// File with only the password of the database
    #[arg(long, value_name = "FILE", requires = "records")]
    records_password_file: Option<PathBuf>,
    /// URL that clients use, if the service is behind a proxy
    #[arg(long, value_name = "URL")]
    public_url: Option<Url>,
    /// Address from which clients read files, if a mirror or CDN is in front of this service
    #[arg(long, value_name = "URL")]
    files_url: Option<Url>,
    /// Bucket of an S3-compatible storage for the files: s3://BUCKET/PREFIX?endpoint=URL&region=NAME. Clients send
    /// and read files there. The credentials come from the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,
    /// or AWS_SHARED_CREDENTIALS_FILE) [default: a folder in --data]
    #[arg(long, value_name = "URL", conflicts_with = "files_url")]
    files: Option<BucketAddress>,
    /// Address of the storage for clients, if they reach it under another one than the service
    #[arg(long, value_name = "URL", value_parser = endpoint_of, requires = "files")]
    files_public_endpoint: Option<Url>,
    /// How many jobs run at the same time
    #[arg(long, default_value_t = 1, value_name = "N")]
    workers: usize,
    /// Render no thumbnails and views and compare nothing: faster, if only the files are needed
    #[arg(long)]
    no_pictures: bool,
    /// Storage quota of the account [default: 100G]
    #[arg(long, value_name = "SIZE")]
    quota: Option<settings::ByteSize>,
    /// Inject the faults of this plan, for tests of clients; SIGHUP reloads it
    #[arg(long, value_name = "PLAN")]
    chaos: Option<PathBuf>,
    /// Allow --records with files in a folder, for tests with one process
    #[arg(long, hide = true, requires = "records")]
    allow_local_files: bool,
    /// Add this number of small assets first, to measure clients with large accounts
    #[arg(long, hide = true, value_name = "N")]
    sample_assets: Option<u64>,
    /// Print the address and the path of the token file as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ServeArgs) -> Result<Exit> {
    protect_memory();
    logging::to_stderr();
    allow_many_files();
    let data_dir = match &args.data {
        Some(dir) => std::path::absolute(dir)?,
        None => settings::local_service_dir()?,
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    runtime.block_on(async {
        let mut config = ServiceConfig {
            listen: args.listen,
            records: records(args)?,
            admin_listen: args.admin_listen,
            public_url: args.public_url.clone(),
            files_url: args.files_url.clone(),
            bucket: bucket(args)?,
            workers: args.workers,
            chaos: args.chaos.as_deref().map(read_plan).transpose()?,
            ..ServiceConfig::new(&data_dir, worker(args.no_pictures)?)
        };
        if let Some(quota) = args.quota {
            config.quota_bytes = quota.0;
        }
        let places = places(&config);
        let service = Service::start(config).await?;
        if let Some(count) = args.sample_assets {
            service.add_sample_assets(count).await?;
        }
        if let Some(addr) = service.admin_addr() {
            warn_about_admin(addr);
        }
        let token_file = local::say_where(&data_dir, &service)?;
        announce(args.json, &service, &places, &data_dir, &token_file);
        until_stopped(args, &service).await?;
        drain(args.drain.0, &service).await?;
        eprintln!("Stopping …");
        service.shutdown().await;
        Ok(Exit::Done)
    })
}

/// Where the records are.
fn records(args: &ServeArgs) -> Result<RecordsAt> {
    let Some(url) = &args.records else {
        return Ok(RecordsAt::DataFolder);
    };
    let mut server: PostgresServer = url.parse()?;
    if let Some(path) = &args.records_password_file {
        let password = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the password file {}", path.display()))?;
        server = server.with_password(password.trim_end_matches(['\r', '\n']));
    }
    if args.files.is_none() && !args.allow_local_files {
        bail!(
            "--records names a database that several machines share, but the files would be in {}, which only this \
             machine has: store the files in a bucket (--files), or leave out --records",
            args.data
                .as_deref()
                .map_or("the data folder".to_owned(), shell_quoted)
        );
    }
    Ok(RecordsAt::Postgres(server))
}

/// The bucket of the files, with the credentials that the environment names.
fn bucket(args: &ServeArgs) -> Result<Option<BucketConfig>> {
    let Some(address) = args.files.clone() else {
        return Ok(None);
    };
    let variable = |name: &str| std::env::var(name).ok();
    Ok(Some(BucketConfig {
        address,
        credentials: Credentials::find(variable)?,
        public_endpoint: args.files_public_endpoint.clone(),
    }))
}

/// Raises the limit of open files to its maximum: each connection needs one, and so does each file that is read.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files cannot be raised");
    }
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
                match read_plan(path) {
                    Ok(plan) => service.set_chaos(Some(plan)),
                    Err(error) => {
                        let why = super::sentence(&error);
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

/// A warning if other machines may reach the admin listener.
fn warn_about_admin(addr: SocketAddr) {
    if !addr.ip().is_loopback() {
        tracing::warn!(
            "{addr} answers /metrics without a token, and other machines may reach it: let only the monitoring reach it, \
             or listen on 127.0.0.1"
        );
    }
}

/// Reads a plan of faults.
pub(super) fn read_plan(path: &Path) -> Result<ChaosPlan> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the plan of faults {}", path.display()))?;
    ChaosPlan::parse(&text).with_context(|| path.display().to_string())
}

/// Where the records and the files are, in words.
fn places(config: &ServiceConfig) -> String {
    let folder = shell_quoted(&config.data_dir);
    let records = match &config.records {
        RecordsAt::DataFolder => None,
        RecordsAt::Postgres(server) => Some(server.to_string()),
    };
    let files = config.bucket.as_ref().map(|it| it.address.to_string());
    if records.is_none() && files.is_none() {
        return format!("records and files in {folder}");
    }
    let [records, files] = [records, files].map(|place| place.unwrap_or_else(|| folder.clone()));
    format!("records in {records}, files in {files}")
}

/// Prints the address. The token itself is never printed: it is in a file that only its owner can read.
fn announce(
    json: bool,
    service: &RunningService,
    places: &str,
    data_dir: &Path,
    token_file: &Path,
) {
    if json {
        println!(
            "{}",
            serde_json::json!({
                "base_url": service.base_url(),
                "listen": service.addr(),
                "admin_listen": service.admin_addr(),
                "token_file": token_file,
                "data": data_dir,
            })
        );
    } else {
        println!("Serving {} ({places})", service.base_url());
        if let Some(addr) = service.admin_addr() {
            println!("Health and metrics: http://{addr}/readyz, /livez and /metrics");
        }
        println!("The token is in {}", shell_quoted(token_file));
        println!(
            "Mount it: assetfs mount DIR --base-url {} --token-file {}",
            service.base_url(),
            shell_quoted(token_file)
        );
    }
}

/// The worker of the local service is this binary.
pub(super) fn worker(no_pictures: bool) -> Result<WorkerCommand> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut args = vec!["engine-worker".into()];
    args.extend(no_pictures.then(|| "--no-pictures".into()));
    Ok(WorkerCommand { program, args })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_records_and_files_are_named_without_passwords() {
        let worker = WorkerCommand {
            program: "assetfs".into(),
            args: Vec::new(),
        };
        let mut config = ServiceConfig::new("/data", worker);
        assert_eq!(places(&config), "records and files in /data");
        config.bucket = Some(BucketConfig {
            address: "s3://models/studio".parse().unwrap(),
            credentials: Credentials {
                key_id: "key".to_owned(),
                secret: "hidden".to_owned(),
                session_token: None,
            },
            public_endpoint: None,
        });
        assert_eq!(
            places(&config),
            "records in /data, files in s3://models/studio/"
        );
        let server: PostgresServer = "postgres://assetfs@db/assetfs".parse().unwrap();
        config.records = RecordsAt::Postgres(server.with_password("hidden"));
        assert_eq!(
            places(&config),
            "records in postgres://assetfs@db/assetfs, files in s3://models/studio/"
        );
    }
}
