//! The process of a mount: starts the parts, serves until the drive is unmounted, then stops the parts in order:
//! kernel, drive, outbox, local service.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::JoinHandle;

use crate::cache::{BlockCache, CacheLimits};
use crate::client::{Client, ClientConfig};
use crate::drive::{Drive, DriveConfig, HistoryKind, RefusalSender, WebhookConfig};
use crate::durable::MetaStore;
use crate::fuse::{self, Access, MountOptions, Mounted};
use crate::outbox::{Outbox, OutboxConfig};
use crate::wire::Event;

use super::super::open_files::allow_many_files;
use super::super::secrets::protect_memory;
use super::inotify;
use super::notifications::{self, Notify};
use super::refusals;
use super::signals::Signals;
use super::state_dirs::{self, Places};
use super::supervisor::Supervisor;
use super::{Account, MountPlan};
use crate::cli::event_log::EventLogWriter;
use crate::cli::exit::Exit;
use crate::cli::page_link::{may_be_logged, place_of_page};
use crate::cli::{dying, local, logging, output};

/// How long the parts may take to stop before the process exits. All important data is already on disk.
const STOP_DEADLINE: Duration = Duration::from_secs(20);

/// How long programs may keep using a drive that a signal has detached.
const AFTER_A_SIGNAL: Duration = Duration::from_secs(10);

/// The target of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logs {
    ToStderr,
    ToFile,
}

/// The output of `mount` when the drive answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    account: String,
    page: Option<PageAddress>,
    warnings: Vec<String>,
}

/// The page of the local service.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PageAddress {
    url: String,
    /// Signs in once.
    link: Option<String>,
    data_dir: PathBuf,
}

impl Greeting {
    /// `goes_on`: this process serves the drive.
    pub(super) fn print(&self, plan: &MountPlan, goes_on: bool) {
        for warning in &self.warnings {
            eprintln!("assetfs: {warning}");
        }
        if plan.quiet {
            return;
        }
        let place = fuse::shell_quoted(&plan.mount_point);
        println!("Mounted {} at {place}", self.account);
        let hides_link = may_be_logged(goes_on);
        let page = self.page.as_ref();
        let link = page.and_then(|page| page.link.as_deref().filter(|_| !hides_link));
        if output::is_json() {
            output::line(serde_json::json!({
                "path": plan.mount_point.to_string_lossy(),
                "state": "done",
                "account": self.account,
                "page": page.map(|page| &page.url),
                "link": link,
                "warnings": self.warnings,
                "exit": 0,
            }));
        } else if let Some(page) = page {
            println!(
                "Its page: {}",
                place_of_page(&page.url, link, &page.data_dir)
            );
        }
    }
}

/// Serves in this process, with `--foreground`.
pub(super) fn serve_in_foreground(plan: &MountPlan) -> Result<Exit> {
    let logs = if plan.log_file.is_some() {
        Logs::ToFile
    } else {
        Logs::ToStderr
    };
    serve(plan, logs, |greeting| greeting.print(plan, true))
}

/// Serves the plan until the drive is unmounted. Calls `ready` when the drive answers.
pub(super) fn serve(plan: &MountPlan, logs: Logs, ready: impl FnOnce(Greeting)) -> Result<Exit> {
    protect_memory();
    start_log(plan, logs)?;
    allow_many_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("assetfs")
        .build()
        .context("cannot start the async runtime")?;
    match runtime.block_on(serve_async(plan, ready)) {
        // The session threads wait for requests as long as the kernel uses the drive, so they are not joined: they end
        // with the process.
        Ok(Ending::InUse) => runtime.shutdown_background(),
        result => {
            runtime.shutdown_timeout(STOP_DEADLINE);
            result?;
        }
    }
    Ok(Exit::Done)
}

fn start_log(plan: &MountPlan, logs: Logs) -> Result<()> {
    match (&plan.log_file, logs) {
        (Some(path), _) => logging::to_file(path),
        (None, Logs::ToFile) => {
            crate::durable::PrivateDir::open(&plan.state_dir)
                .context("cannot use the state folder")?;
            logging::to_file(&plan.state_dir.join("mount.log"))
        }
        (None, Logs::ToStderr) => {
            logging::to_stderr();
            Ok(())
        }
    }
}

async fn serve_async(plan: &MountPlan, ready: impl FnOnce(Greeting)) -> Result<Ending> {
    let supervisor = Supervisor::from_environment();
    let mut signals = Signals::take().context("cannot handle signals")?;
    let parts = Parts::open(plan).await?;
    let greeting = Greeting {
        account: parts.places.label.clone(),
        page: parts.page.clone(),
        warnings: parts.places.warnings.clone(),
    };
    let options = MountOptions {
        access: if plan.allow_other {
            Access::Others
        } else {
            Access::Owner
        },
        read_only: plan.read_only,
        extra: plan.kernel_options.clone(),
        source: plan.source.clone(),
        cache_dir: parts.places.cache.path().to_owned(),
    };
    let runtime = tokio::runtime::Handle::current();
    let mounted = fuse::mount(&parts.drive, &plan.mount_point, &options, runtime)?;
    check_it_is_mounted(&plan.mount_point)?;
    report_to_inotify(plan, &parts.drive);
    dying::store_connection(&parts.places.state, &plan.mount_point);
    tracing::info!(mount_point = %plan.mount_point.display(), "mounted");
    if let Some(events) = &parts.events {
        events.note(HistoryKind::Mounted);
    }
    ready(greeting);
    supervisor.ready();
    let ending = tokio::select! {
        ended = until_unmounted(mounted, &mut signals, &parts.drive, &plan.mount_point) => ended?,
        never = supervisor.report(&parts.drive, &plan.mount_point) => match never {},
    };
    match ending {
        Ending::Unmounted => tracing::info!("unmounted"),
        Ending::InUse => tracing::warn!(
            "a signal ends the drive; programs or another mount namespace still use it, and get errors from now on"
        ),
    }
    supervisor.stopping();
    parts.close().await;
    Ok(ending)
}

/// Has the drive look at what its service has ended, without a wait for the next poll, which finds what is missed here.
async fn heed_ends(mut ends: broadcast::Receiver<Event>, drive: Drive) {
    loop {
        match ends.recv().await {
            Ok(event) => drive.heed(&event),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// How a mount ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Unmounted,
    /// By a signal, while the kernel still has the drive: programs have files open, or it is mounted elsewhere too.
    InUse,
}

/// Reports to inotify what changes elsewhere. The kernel refuses that on a read-only mount.
fn report_to_inotify(plan: &MountPlan, drive: &Drive) {
    if plan.no_inotify || plan.read_only {
        return;
    }
    match inotify::HelperProcess::new(&plan.mount_point) {
        Ok(helper) => drive.inotify().attach(std::sync::Arc::new(helper)),
        Err(error) => tracing::warn!(%error, "changes elsewhere are not reported to inotify"),
    }
}

/// The parts of a mount, from the bottom up.
struct Parts {
    service: Option<local::RunningService>,
    page: Option<PageAddress>,
    places: Places,
    outbox: Outbox,
    drive: Drive,
    events: Option<EventLogWriter>,
    /// Tells the drive what its service has ended.
    ends: Option<JoinHandle<()>>,
}

impl Parts {
    async fn open(plan: &MountPlan) -> Result<Parts> {
        let (service, page, client, places) = match &plan.account {
            Account::Remote { base_url, token } => {
                let client = connect(plan, base_url, token.clone())?;
                let places = state_dirs::open_remote(plan, &client, base_url, token).await?;
                (None, None, client, places)
            }
            Account::Local { data_dir } => {
                let mut places = state_dirs::open_local(plan, data_dir).await?;
                let cache = places.cache.path();
                let started = local::start(data_dir, cache, plan.chaos.as_deref(), &plan.jobs);
                let started = started.await?;
                let service = started.service;
                places.warnings.extend(started.warning);
                let page = PageAddress {
                    url: service.base_url().to_string(),
                    link: started.link,
                    data_dir: data_dir.clone(),
                };
                let token = crate::wire::Token::parse(service.token())?;
                let client = connect(plan, service.base_url(), token)?;
                (Some(service), Some(page), client, places)
            }
        };
        let events = EventLogWriter::start(places.state.path(), &places.label, &plan.mount_point);
        let (outbox, drive) = open_drive(plan, &client, &places, events.as_ref()).await?;
        let ends = service
            .as_ref()
            .map(|service| tokio::spawn(heed_ends(service.ends(), drive.clone())));
        Ok(Parts {
            service,
            page,
            places,
            outbox,
            drive,
            events,
            ends,
        })
    }

    async fn close(self) {
        if let Some(ends) = &self.ends {
            ends.abort();
        }
        let stopped = tokio::time::timeout(STOP_DEADLINE, async {
            self.drive.shut_down().await;
            self.outbox.shut_down().await;
            if let Some(events) = self.events {
                events.note(HistoryKind::Unmounted);
                events.finish().await;
            }
            if let Some(service) = self.service {
                service.shutdown().await;
            }
        });
        if stopped.await.is_err() {
            tracing::warn!("not all parts stopped in time; all accepted data is on disk");
        }
    }
}

fn connect(plan: &MountPlan, base_url: &url::Url, token: crate::wire::Token) -> Result<Client> {
    Client::new(ClientConfig {
        allow_insecure: plan.allow_insecure,
        limit_up: plan.limit_up,
        limit_down: plan.limit_down,
        ..ClientConfig::new(base_url.as_str())?.with_token(token)
    })
    .context("cannot use this service")
}

async fn open_drive(
    plan: &MountPlan,
    client: &Client,
    places: &Places,
    events_to: Option<&EventLogWriter>,
) -> Result<(Outbox, Drive)> {
    let limits = CacheLimits {
        max_bytes: plan.cache_size,
        ..CacheLimits::default()
    };
    let mut cache =
        BlockCache::open(places.cache.path(), limits).context("cannot open the cache")?;
    if let Some(plan) = &plan.shared_cache {
        match &places.shared_account {
            Some(account) => cache = cache.above(plan.open(account)?),
            None => tracing::warn!(
                "the shared cache is not used: neither the service nor the token says whose account this is"
            ),
        }
    }
    let meta = MetaStore::open(places.state.join("meta.redb"))
        .context("cannot open the store of known listings")?;
    let outbox_dir: PathBuf = places.state.join("outbox");
    let (outbox, mut events) = Outbox::open(outbox_config(plan, &outbox_dir), client.clone())
        .context("cannot open the drafts")?;
    let mut news = None;
    if plan.notify == Notify::JobsToo {
        let (for_drive, for_notifications) = notifications::tap(events);
        (events, news) = (for_drive, Some(for_notifications));
    }
    let config = DriveConfig {
        refresh: plan.refresh,
        read_only: plan.read_only,
        no_delete: plan.no_delete,
        uid: plan.owner.uid,
        gid: plan.owner.gid,
        folder_permissions: plan.owner.folder_permissions,
        file_permissions: plan.owner.file_permissions,
        delete_limit: plan.delete_limit,
        webhook: plan.webhook_listen.map(|listen| WebhookConfig {
            listen,
            url: plan.webhook_url.clone(),
        }),
        history: events_to.map(EventLogWriter::sender),
        refusals: refusals_of(plan),
        unsent_elsewhere: places.unsent_elsewhere.clone(),
        away: places.away.clone(),
        ..DriveConfig::new(&places.label, outbox_dir)
    };
    let drive = Drive::open(config, client.clone(), cache, outbox.clone(), events, meta).await?;
    if let Some(news) = news {
        let mount_point = plan.mount_point.clone();
        let (outbox, drive) = (outbox.clone(), drive.clone());
        tokio::spawn(notifications::show(
            news,
            outbox,
            drive,
            mount_point,
            plan.owner,
        ));
    }
    Ok((outbox, drive))
}

fn outbox_config(plan: &MountPlan, dir: &Path) -> OutboxConfig {
    let mut config = OutboxConfig::new(dir);
    config.made_by = Some(plan.made_by.trim().to_owned()).filter(|name| !name.is_empty());
    config.owner = plan.allow_other.then_some(plan.owner.uid);
    config.keep_old_versions = plan.read_only || plan.no_delete;
    match plan.settle {
        Some(settle) => config.settle = settle,
        None => config.settle_loose = Some(Duration::ZERO),
    }
    config
}

/// Where the drive tells its refusals, if they are shown.
fn refusals_of(plan: &MountPlan) -> Option<RefusalSender> {
    (plan.notify != Notify::Nothing).then(|| {
        let (to, refused) = tokio::sync::mpsc::channel(refusals::MAX_WAITING);
        tokio::spawn(refusals::show(refused, plan.mount_point.clone()));
        to
    })
}

/// Looks the drive up in the kernel's table of mounts. It sends no request to the drive, because this process would have
/// to answer itself: if it is killed then, the waiting thread keeps the device open, and the process never ends.
fn check_it_is_mounted(mount_point: &Path) -> Result<()> {
    match fuse::mounts()?.iter().any(|root| root == mount_point) {
        true => Ok(()),
        false => bail!(
            "the drive was mounted, but {} does not show it; is another mount above it?",
            fuse::shell_quoted(mount_point)
        ),
    }
}

/// Waits until the drive is unmounted. A signal detaches it, and ends it after a while, or at once if it comes again.
async fn until_unmounted(
    mounted: Mounted,
    signals: &mut Signals,
    drive: &Drive,
    mount_point: &Path,
) -> Result<Ending> {
    let mut gone = tokio::task::spawn_blocking(move || mounted.join());
    tokio::select! {
        result = &mut gone => {
            result??;
            return Ok(Ending::Unmounted);
        }
        () = signals.end() => {}
    }
    // An open stream would keep the detached drive in use.
    drive.event_streams().end();
    detach(mount_point).await;
    tokio::select! {
        result = &mut gone => {
            result??;
            Ok(Ending::Unmounted)
        }
        () = signals.end() => Ok(Ending::InUse),
        () = tokio::time::sleep(AFTER_A_SIGNAL) => Ok(Ending::InUse),
    }
}

async fn detach(mount_point: &Path) {
    tracing::info!("received a signal: unmounting");
    let path = mount_point.to_owned();
    let detached = tokio::task::spawn_blocking(move || fuse::detach_now(&path)).await;
    if let Ok(Err(error)) = detached {
        tracing::error!(%error, "cannot unmount");
    }
}
