//! The local service of this machine: started by a mount, or for one command if no mount runs it.
//!
//! It stores its port in its data folder, so that its URLs (embeds in other pages) stay valid after a remount. While
//! it runs, the files `address` and `token` there contain its address and token.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;
use url::Url;

use crate::client::Client;
use crate::durable::{DirLock, DurableError, write_atomic};
use crate::fuse::shell_quoted;
use crate::given_files;
pub(super) use crate::service::RunningService;
use crate::service::{ChaosPlan, Service, ServiceConfig, ServiceError, TOKEN_FILE};
use crate::wire::Token;

use super::job_args::JobArgs;
use super::service_client::client_for;
use super::stores::{engine, later_pictures};

/// The file with its port.
const PORT: &str = "port";
/// The file with its current address.
const ADDRESS: &str = "address";
/// Ports that are not used for outgoing connections, so that its port is free at a remount.
const PORTS: std::ops::Range<u16> = 20_000..30_000;
/// Number of ports that are tried.
const TRIES: u16 = 50;
/// How long to wait for a service that is stopping or that serves one command.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// How long a command waits for an answer of the local service.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// A local service for a mount.
pub(super) struct Started {
    pub(super) service: RunningService,
    /// A link that signs in to its page once.
    pub(super) link: Option<String>,
    /// A warning for the user if the address is not the previous one.
    pub(super) warning: Option<String>,
}

/// Starts the local service on its port. An error names `cache` if that may be removed to make room for it.
pub(super) async fn start(
    data_dir: &Path,
    cache: &Path,
    chaos: Option<&Path>,
    jobs: &JobArgs,
) -> Result<Started> {
    let config = ServiceConfig {
        chaos: chaos.map(read_plan).transpose()?,
        workers: jobs.workers.unwrap_or(1),
        later_pictures: later_pictures(jobs)?,
        ..ServiceConfig::new(data_dir, engine(jobs.no_pictures)?)
    };
    let kept = kept_port(data_dir)?;
    let port = kept.unwrap_or_else(|| free_port(data_dir));
    let started = start_at(&config, port).await;
    let (service, warning) = match started {
        Err(ServiceError::Listen { .. }) => {
            let service = start_at(&config, 0).await.context(CANNOT_START)?;
            let warning = format!(
                "port {port} of the local service is in use by another program, so it listens on {} until the next mount; existing URLs of embeds do not work until then",
                service.addr().port()
            );
            (service, Some(warning))
        }
        Err(error) if error.is_disk_full() && device(data_dir) == device(cache) => {
            let error = anyhow::Error::new(error).context(CANNOT_START);
            let cache = shell_quoted(cache);
            bail!("{error:#}. The cache on this disk may be removed: rm -r {cache}");
        }
        started => (started.context(CANNOT_START)?, None),
    };
    if kept.is_none() {
        write(data_dir, PORT, &service.addr().port().to_string())?;
    }
    say_where(data_dir, &service)?;
    let link = service.sign_in_link().await?;
    Ok(Started {
        service,
        link,
        warning,
    })
}

fn device(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|status| status.dev())
}

/// Writes the address and the token of a service into files that only their owner can read. Returns the path of the
/// token's file.
pub(super) fn say_where(data_dir: &Path, service: &RunningService) -> Result<PathBuf> {
    write(data_dir, ADDRESS, service.base_url().as_str())?;
    write(data_dir, TOKEN_FILE, service.token())?;
    Ok(data_dir.join(TOKEN_FILE))
}

const CANNOT_START: &str = "cannot start the local service";

async fn start_at(config: &ServiceConfig, port: u16) -> Result<RunningService, ServiceError> {
    let begun = Instant::now();
    loop {
        let config = ServiceConfig {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            ..config.clone()
        };
        match Service::start(config).await {
            Err(ServiceError::DataDir(DurableError::Locked { .. }))
                if begun.elapsed() < LOCK_PATIENCE => {}
            done => return done,
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn kept_port(data_dir: &Path) -> Result<Option<u16>> {
    let path = data_dir.join(PORT);
    match fs::read_to_string(&path) {
        Ok(text) => {
            let port = text.trim().parse();
            let port = port.with_context(|| {
                format!("{} does not contain a port; remove it", path.display())
            })?;
            Ok(Some(port))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// A free port; the same one for the same folder if possible.
fn free_port(data_dir: &Path) -> u16 {
    let digest = Sha256::digest(data_dir.as_os_str().as_encoded_bytes());
    let start = u16::from_le_bytes([digest[0], digest[1]]);
    let len = PORTS.end - PORTS.start;
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    (0..TRIES)
        .map(|step| PORTS.start + (start % len + step) % len)
        .find(is_free)
        .unwrap_or(0)
}

fn write(data_dir: &Path, name: &str, text: &str) -> Result<()> {
    let path = data_dir.join(name);
    write_atomic(&path, text.as_bytes()).with_context(|| path.display().to_string())
}

/// The local service for one command: that of a mount, otherwise one that stops when this value is dropped.
pub(super) struct Reached {
    client: Client,
    own: Option<(Runtime, RunningService)>,
}

impl Reached {
    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

impl Drop for Reached {
    fn drop(&mut self) {
        if let Some((runtime, service)) = self.own.take() {
            runtime.block_on(service.shutdown());
        }
    }
}

/// Connects to the local service with its records in `data_dir`.
pub(super) fn reach(data_dir: &Path) -> Result<Reached> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    // No jobs run here, because the end of this command would stop them. A mount runs them.
    let config = ServiceConfig {
        workers: 0,
        ..ServiceConfig::new(data_dir, engine(false)?)
    };
    match runtime.block_on(Service::start(config)) {
        Ok(service) => {
            let token = Token::parse(service.token())?;
            let client = client_for(service.base_url().as_str(), Some(token), false)?;
            let own = Some((runtime, service));
            Ok(Reached { client, own })
        }
        Err(ServiceError::DataDir(DurableError::Locked { .. })) => {
            let (address, token) = (read(data_dir, ADDRESS)?, read(data_dir, TOKEN_FILE)?);
            let client = client_for(&address, Some(Token::parse(&token)?), false)?;
            Ok(Reached { client, own: None })
        }
        Err(error) => Err(error).context(CANNOT_START),
    }
}

fn read(data_dir: &Path, name: &str) -> Result<String> {
    let path: PathBuf = data_dir.join(name);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
            "the local service runs, but {} does not contain its address; mount it again",
            path.display()
        ),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// A link that signs in once to the page of the service that runs on this folder.
pub(super) async fn sign_in_link(data_dir: &Path) -> Result<String> {
    let token = fs::File::open(data_dir.join(TOKEN_FILE));
    if token.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
        bail!(
            "{} is closed to this user; run the command as the user who runs the service on it",
            shell_quoted(data_dir)
        );
    }
    if DirLock::holder(data_dir).is_none() {
        bail!(
            "no local service runs on {}; `assetfs mount --local` or `assetfs serve` starts one, and --data-dir names the \
             folder of another",
            shell_quoted(data_dir)
        );
    }
    let (address, token) = (read(data_dir, ADDRESS)?, read(data_dir, TOKEN_FILE)?);
    let base = Url::parse(&address).context("cannot understand the address of the service")?;
    let client = client_for(&address, Some(Token::parse(&token)?), true)?;
    let code = tokio::time::timeout(ANSWERS_WITHIN, client.tokens().sign_in_code()).await;
    let code = code.map_err(|_elapsed| {
        let holder = DirLock::holder(data_dir).map(|pid| format!(" (process {pid})"));
        anyhow::anyhow!(
            "the local service at {address} does not answer within {} s; its process may be stopped{}",
            ANSWERS_WITHIN.as_secs(),
            holder.unwrap_or_default()
        )
    })?;
    Ok(code?.link(&base))
}

/// The address of the service that runs on this folder, if it has said it.
pub(super) fn address(data_dir: &Path) -> Option<String> {
    read(data_dir, ADDRESS).ok()
}

/// Reads a plan of faults.
pub(super) fn read_plan(path: &Path) -> Result<ChaosPlan> {
    let text = given_files::read_text(path)
        .with_context(|| format!("cannot read the plan of faults {}", path.display()))?;
    ChaosPlan::parse(&text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_its_port_and_another_one_when_it_is_taken() {
        let folder = Path::new("/home/me/service");
        let port = free_port(folder);
        assert!(PORTS.contains(&port));
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let other = free_port(folder);
        assert!(PORTS.contains(&other) && other != port);
        drop(taken);
    }

    #[test]
    fn a_port_that_is_none_is_refused_with_its_file() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(kept_port(dir.path()).unwrap(), None);
        fs::write(dir.path().join(PORT), "many\n").unwrap();
        let error = kept_port(dir.path()).unwrap_err().to_string();
        assert!(error.contains("port"), "{error}");
    }
}
