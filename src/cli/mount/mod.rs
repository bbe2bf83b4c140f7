//! `assetfs mount`: checks everything that can be checked, then serves the drive in a background process (or in this
//! process, with `--foreground`).

mod background;
mod daemon;
mod inotify;
mod mount_helper;
mod notifications;
mod options;
mod owner;
mod register;
mod shared_cache;
mod signals;
pub(super) mod state_dirs;
mod supervisor;

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::fuse;

use super::account::{self, Account, AccountArgs};
use super::dying;
use super::serve;
use super::settings::{self, ByteRate, ByteSize, Profile, Span};
use super::{Exit, WrongUse};

pub(super) use mount_helper::Helper;
use options::FstabOptions;
use owner::{FileOwner, OwnerArgs};
use shared_cache::SharedCachePlan;

/// The default of `--cache-size`.
const DEFAULT_CACHE_SIZE: ByteSize = ByteSize(20 << 30);

/// Mount an account as a drive
///
/// Returns when the drive answers. `--local` mounts the local service of this machine, which needs no network and no
/// account. On a terminal, this is also the default if no account is configured. A script must choose explicitly.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs mount ~/assets --local\n\
    Example: ASSETFS_TOKEN='17|…' assetfs mount ~/assets --base-url https://assets.example.com\n\
    For mount(8): ln -s $(command -v assetfs) /sbin/mount.fuse.assetfs\n\
    In /etc/fstab: local /mnt/assets fuse.assetfs allow_other,uid=1000,gid=1000 0 0\n\
    In /etc/fstab: https://assets.example.com /mnt/assets fuse.assetfs _netdev,allow_other,token_file=/etc/assetfs.token 0 0")]
pub(super) struct MountArgs {
    /// Folder to mount at; created if its parent exists [default: ~/assetfs]
    pub(super) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) account: AccountArgs,
    /// Refuse every change
    #[arg(long, env = "ASSETFS_READ_ONLY")]
    read_only: bool,
    /// Refuse to delete on the service
    #[arg(long, env = "ASSETFS_NO_DELETE")]
    no_delete: bool,
    /// How many models may be deleted a minute
    #[arg(long, env = "ASSETFS_DELETE_LIMIT", value_name = "N")]
    delete_limit: Option<u32>,
    /// Maximum size of the cache [default: 20G]
    #[arg(long, env = "ASSETFS_CACHE_SIZE", value_name = "SIZE")]
    cache_size: Option<ByteSize>,
    /// Folder of the cache [default: $XDG_CACHE_HOME/assetfs]
    #[arg(long, env = "ASSETFS_CACHE_DIR", value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Cache below this one that many mounts of the account share: a folder, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME
    /// with the credentials in the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or
    /// AWS_SHARED_CREDENTIALS_FILE)
    #[arg(long, env = "ASSETFS_SHARED_CACHE", value_name = "DIR|URL")]
    shared_cache: Option<String>,
    /// Maximum size of a folder of --shared-cache; the same for all mounts [default: 100G]
    #[arg(long, env = "ASSETFS_SHARED_CACHE_SIZE", value_name = "SIZE")]
    shared_cache_size: Option<ByteSize>,
    /// Folder of drafts and journals [default: $XDG_STATE_HOME/assetfs]
    #[arg(long, env = "ASSETFS_STATE_DIR", value_name = "DIR")]
    pub(super) state_dir: Option<PathBuf>,
    /// Folder of the local service's records [default: $XDG_DATA_HOME/assetfs/service]
    #[arg(long, env = "ASSETFS_DATA_DIR", value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// Inject the faults of this plan into the local service, for tests
    #[arg(long, value_name = "PLAN")]
    chaos: Option<PathBuf>,
    /// How long a copied model must be unchanged before it is sent [default: 2s]
    #[arg(long, env = "ASSETFS_SETTLE", value_name = "TIME")]
    settle: Option<Span>,
    /// Maximum age of a listing [default: 10s]
    #[arg(long, env = "ASSETFS_REFRESH", value_name = "TIME")]
    refresh: Option<Span>,
    /// Bytes a second that all uploads together may send, such as 500K or 2M; 0 is no limit [default: 0]
    #[arg(long, env = "ASSETFS_LIMIT_UP", value_name = "SIZE")]
    limit_up: Option<ByteRate>,
    /// Bytes a second that all downloads together may receive; reads from the cache do not count [default: 0]
    #[arg(long, env = "ASSETFS_LIMIT_DOWN", value_name = "SIZE")]
    limit_down: Option<ByteRate>,
    /// Allow access by other users of this machine
    #[arg(long, env = "ASSETFS_ALLOW_OTHER")]
    allow_other: bool,
    #[command(flatten)]
    owner: OwnerArgs,
    /// Allow plain http to other machines; anybody in the network can then read the token
    #[arg(long, env = "ASSETFS_ALLOW_INSECURE")]
    allow_insecure: bool,
    /// File for the log [default: standard error, or mount.log in the state folder]
    #[arg(long, env = "ASSETFS_LOG_FILE", value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Address to receive events of the service at, such as 127.0.0.1:9100; ended jobs then show within a second
    #[arg(long, env = "ASSETFS_WEBHOOK_LISTEN", value_name = "ADDR")]
    webhook_listen: Option<SocketAddr>,
    /// URL under which the service reaches that address [default: http://ADDR]
    #[arg(long, env = "ASSETFS_WEBHOOK_URL", value_name = "URL")]
    webhook_url: Option<String>,
    /// Do not report to inotify what changes elsewhere
    #[arg(long, env = "ASSETFS_NO_INOTIFY")]
    no_inotify: bool,
    /// Show a notification of the desktop at the end of each job; needs notify-send
    #[arg(long, env = "ASSETFS_NOTIFY")]
    notify: bool,
    /// Options as in /etc/fstab, separated by commas
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    options: Vec<String>,
    /// Stay in the foreground
    #[arg(long, short = 'f')]
    foreground: bool,
    /// Set for the background process, which reads its plan from standard input
    #[arg(long, hide = true)]
    pub(super) background_child: bool,
    /// The source in the mount table; set by the helper of mount(8).
    #[arg(skip)]
    source: Option<String>,
    /// Checks everything and mounts nothing; set by the helper of mount(8).
    #[arg(skip)]
    only_check: bool,
    /// Prints nothing on success; set by the helper of mount(8).
    #[arg(skip)]
    quiet: bool,
}

/// All settings of a mount.
#[derive(Debug, Serialize, Deserialize)]
struct MountPlan {
    mount_point: PathBuf,
    account: Account,
    read_only: bool,
    no_inotify: bool,
    no_delete: bool,
    delete_limit: u32,
    cache_size: u64,
    cache_dir: PathBuf,
    shared_cache: Option<SharedCachePlan>,
    state_dir: PathBuf,
    settle: Option<Duration>,
    refresh: Duration,
    limit_up: Option<NonZeroU64>,
    limit_down: Option<NonZeroU64>,
    allow_other: bool,
    owner: FileOwner,
    allow_insecure: bool,
    log_file: Option<PathBuf>,
    webhook_listen: Option<SocketAddr>,
    webhook_url: Option<String>,
    kernel_options: Vec<String>,
    source: Option<String>,
    cover_files: bool,
    notify: bool,
    quiet: bool,
    chaos: Option<PathBuf>,
}

/// Mounts; returns when the drive answers, or with `--foreground` when it is unmounted.
pub(super) fn run(mut args: MountArgs) -> Result<Exit> {
    if args.background_child {
        return background::child();
    }
    let fstab = FstabOptions::read(&std::mem::take(&mut args.options), &mut args)?;
    let profile = settings::load_profile(args.account.profile.as_deref())?;
    let mut plan = plan(&args, &profile, fstab)?;
    if args.only_check {
        return Ok(Exit::Done);
    }
    check_folders(&plan)?;
    // Before the mount point is looked at, which may be the one that does not answer.
    dying::free_dying_mounts(&plan.state_dir);
    if plan.notify
        && let Some(why) = notifications::missing_program()
    {
        eprintln!("assetfs: {why}");
    }
    let is_new = std::fs::symlink_metadata(&plan.mount_point).is_err();
    plan.mount_point = fuse::prepare_mount_point(&plan.mount_point, plan.cover_files)?;
    let result = match args.foreground {
        true => daemon::serve_in_foreground(&plan),
        false => background::start(&plan),
    };
    if result.is_err() && is_new {
        // Files that are copied into an empty folder that stays behind would seem to be in the drive. A failure to remove
        // it is ignored: the error of the mount matters more.
        let _ = std::fs::remove_dir(&plan.mount_point);
    }
    result
}

/// Refuses folders that the drive cannot use: those with files of other programs, and those inside the drive itself.
fn check_folders(plan: &MountPlan) -> Result<()> {
    let mount_point = fuse::resolved(&plan.mount_point)?;
    let data_dir = match &plan.account {
        Account::Local { data_dir } => Some(data_dir),
        Account::Remote { .. } => None,
    };
    let used = [
        ("state folder", Some(&plan.state_dir)),
        ("cache", Some(&plan.cache_dir)),
        ("data folder of the local service", data_dir),
        ("log file", plan.log_file.as_ref()),
    ];
    for (what, path) in used {
        if let Some(path) = path
            && fuse::resolved(path)?.starts_with(&mount_point)
        {
            return Err(WrongUse(format!(
                "the {what} {} would be inside the drive at {}; choose another place for it",
                fuse::shell_quoted(path),
                fuse::shell_quoted(&plan.mount_point)
            ))
            .into());
        }
    }
    state_dirs::check_they_are_ours(plan)
}

fn plan(args: &MountArgs, profile: &Profile, fstab: FstabOptions) -> Result<MountPlan> {
    let data_dir = or_else(&args.data_dir, &None, settings::local_service_dir)?;
    let mount_point = match &args.dir {
        Some(dir) => dir.clone(),
        None => settings::home_dir()?.join("assetfs"),
    };
    let rate = |flag: Option<ByteRate>, profile| flag.or(profile).and_then(|rate| rate.0);
    let span = |flag: Option<Span>, profile: Option<Span>| flag.or(profile).map(|span| span.0);
    let account = account::choose(&args.account, profile, data_dir)?;
    let allow_other = args.allow_other || profile.allow_other.unwrap_or(false);
    Ok(MountPlan {
        mount_point,
        chaos: chosen_chaos(args, &account)?,
        shared_cache: shared_cache::chosen(args, profile, &account)?,
        account,
        read_only: args.read_only || profile.read_only.unwrap_or(false),
        no_inotify: args.no_inotify || profile.no_inotify.unwrap_or(false),
        no_delete: args.no_delete || profile.no_delete.unwrap_or(false),
        delete_limit: args.delete_limit.or(profile.delete_limit).unwrap_or(20),
        cache_size: args
            .cache_size
            .or(profile.cache_size)
            .unwrap_or(DEFAULT_CACHE_SIZE)
            .0,
        cache_dir: or_else(&args.cache_dir, &profile.cache_dir, settings::cache_dir)?,
        state_dir: or_else(&args.state_dir, &profile.state_dir, settings::state_dir)?,
        settle: span(args.settle, profile.settle),
        refresh: span(args.refresh, profile.refresh).unwrap_or(Duration::from_secs(10)),
        limit_up: rate(args.limit_up, profile.limit_up),
        limit_down: rate(args.limit_down, profile.limit_down),
        allow_other,
        owner: FileOwner::chosen(&args.owner, profile, allow_other)?,
        allow_insecure: args.allow_insecure || profile.allow_insecure.unwrap_or(false),
        log_file: args.log_file.clone().or_else(|| profile.log_file.clone()),
        webhook_listen: args.webhook_listen.or(profile.webhook_listen),
        webhook_url: web_address(
            args.webhook_url
                .clone()
                .or_else(|| profile.webhook_url.clone()),
        )?,
        kernel_options: fstab.kernel,
        source: args.source.clone(),
        cover_files: fstab.cover_files,
        notify: args.notify || profile.notify.unwrap_or(false),
        quiet: args.quiet,
    })
}

/// The plan of faults. It is also read here, so that an invalid one is reported to the user.
fn chosen_chaos(args: &MountArgs, account: &Account) -> Result<Option<PathBuf>> {
    let Some(path) = &args.chaos else {
        return Ok(None);
    };
    if !matches!(account, Account::Local { .. }) {
        let text = "--chaos is for the local service: use it with --local";
        return Err(WrongUse(text.to_owned()).into());
    }
    serve::read_plan(path)?;
    Ok(Some(std::path::absolute(path)?))
}

/// Checks a URL that a service could call.
fn web_address(url: Option<String>) -> Result<Option<String>> {
    if let Some(url) = &url {
        let parsed = url::Url::parse(url);
        if !parsed.is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
            return Err(WrongUse(format!("{url} is not an http or https URL")).into());
        }
    }
    Ok(url)
}

/// The flag, otherwise the profile's value, otherwise the default. Always absolute, because the background process
/// has another working directory.
fn or_else(
    flag: &Option<PathBuf>,
    profile: &Option<PathBuf>,
    default: impl FnOnce() -> Result<PathBuf>,
) -> Result<PathBuf> {
    match flag.as_ref().or(profile.as_ref()) {
        Some(path) => Ok(std::path::absolute(path)?),
        None => default(),
    }
}
