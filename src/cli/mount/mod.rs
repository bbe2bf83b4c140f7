//! `assetfs mount`: checks everything that can be checked, then serves the drive in a background process (or in this
//! process, with `--foreground`).

mod args;
mod background;
mod daemon;
mod desktop;
mod inotify;
mod maker;
pub(super) mod mount_helper;
mod notifications;
mod options;
mod owner;
mod refusals;
mod register;
mod shared_cache;
mod signals;
pub(super) mod state_dirs;
mod supervisor;

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::fuse::{self, MountPointError};
use crate::web_url::base_url;

use super::account::{self, Account};
use super::dying;
use super::exit::{Exit, WrongUse};
use super::job_args::JobArgs;
use super::local;
use super::mount_source;
use super::settings::{self, ByteRate, ByteSize, Profile, Span};
use super::unanswered;

pub(super) use args::MountArgs;
use notifications::Notify;
use options::FstabOptions;
use owner::FileOwner;
use shared_cache::SharedCachePlan;

/// The default of `--cache-size`.
const DEFAULT_CACHE_SIZE: ByteSize = ByteSize(20_000_000_000);

/// All settings of a mount.
#[derive(Debug, Serialize, Deserialize)]
struct MountPlan {
    mount_point: PathBuf,
    account: Account,
    read_only: bool,
    no_inotify: bool,
    /// Who is noted on what is sent; empty if nothing is.
    made_by: String,
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
    notify: Notify,
    quiet: bool,
    chaos: Option<PathBuf>,
    jobs: JobArgs,
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
    if !args.foreground {
        // Another drive may be there that does not answer. A process that goes on to serve a drive watches none.
        unanswered::begin();
        unanswered::watch(&plan.mount_point);
    }
    check_folders(&plan)?;
    // Before the mount point is looked at, which may be the one that does not answer.
    dying::free_dying_mounts(&plan.state_dir);
    if plan.notify == Notify::JobsToo
        && let Some(why) = notifications::why_none_is_shown(&plan.owner)
    {
        eprintln!("assetfs: {why}");
    }
    let is_new = std::fs::symlink_metadata(&plan.mount_point).is_err();
    let prepared = fuse::prepare_mount_point(&plan.mount_point, plan.cover_files);
    plan.mount_point = prepared.map_err(|error| match error {
        MountPointError::Mounted(root) if args.dir.is_none() => {
            let own = plan.source.as_deref().unwrap_or_default();
            let is_free = |folder: &Path| std::fs::symlink_metadata(folder).is_err();
            anyhow::anyhow!(mount_source::usual_drive_is_taken(&root, own, is_free))
        }
        error => error.into(),
    })?;
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
        None => settings::usual_drive()?,
    };
    let rate = |flag: Option<ByteRate>, profile| flag.or(profile).and_then(|rate| rate.0);
    let span = |flag: Option<Span>, profile: Option<Span>| flag.or(profile).map(|span| span.0);
    let account = account::choose(&args.account, profile, data_dir)?;
    let allow_other = args.allow_other || profile.allow_other.unwrap_or(false);
    let owner = FileOwner::chosen(&args.owner, profile, allow_other)?;
    let own_source = || Some(mount_source::source_of(&args.account, &account));
    Ok(MountPlan {
        mount_point,
        chaos: chosen_chaos(args, &account)?,
        jobs: chosen_jobs(args, &account)?,
        shared_cache: shared_cache::chosen(args, profile, &account)?,
        source: args.source.clone().or_else(own_source),
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
        owner,
        allow_insecure: args.allow_insecure || profile.allow_insecure.unwrap_or(false),
        log_file: args.log_file.clone().or_else(|| profile.log_file.clone()),
        webhook_listen: args.webhook_listen.or(profile.webhook_listen),
        webhook_url: web_address(
            args.webhook_url
                .clone()
                .or_else(|| profile.webhook_url.clone()),
        )?,
        made_by: args
            .made_by
            .clone()
            .or_else(|| profile.made_by.clone())
            .unwrap_or_else(|| maker::user_at_machine(owner.uid)),
        kernel_options: fstab.kernel,
        cover_files: args.cover_files,
        notify: Notify::chosen(args, profile),
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
    local::read_plan(path)?;
    Ok(Some(std::path::absolute(path)?))
}

/// How the local service does its jobs.
fn chosen_jobs(args: &MountArgs, account: &Account) -> Result<JobArgs> {
    let wrong = |text: &str| Err(WrongUse(text.to_owned()).into());
    match (&args.jobs, account) {
        (jobs, Account::Remote { .. }) if !jobs.is_default() => wrong(
            "--workers, --pictures and --no-pictures are for the local service: use them with --local",
        ),
        (
            JobArgs {
                workers: Some(0), ..
            },
            _,
        ) => wrong("--workers 0: nothing would do the jobs of a drive; write at least 1"),
        (jobs, _) => Ok(jobs.clone()),
    }
}

/// Checks a URL that a service could call.
fn web_address(url: Option<String>) -> Result<Option<String>> {
    if let Some(url) = &url {
        base_url(url).map_err(|problem| WrongUse(format!("--webhook-url {url}: {problem}")))?;
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
