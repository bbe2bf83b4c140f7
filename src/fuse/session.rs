//! A mounted session: options, threads and end.

use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use thiserror::Error;
use tokio::runtime::Handle;

use crate::drive::Drive;

use super::adapter::Adapter;
use super::backing::BackingSource;
use super::device::FuseDevice;
use super::dispatch::Dispatcher;
use super::modes::OpenModes;
use super::readahead;
use super::unanswered::{self, LongWaitsThread};

/// Subtype in the mount table, by which the commands find assetfs mounts.
pub(super) const SUBTYPE: &str = "assetfs";
/// Number of session threads. They never wait for the network, a sync or a checksum.
const SESSION_THREADS: usize = 4;
/// Number of session threads that may use the local disk at the same time.
const DISK_THREADS: usize = 2;

/// Who may access the mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Only the user that mounted it.
    #[default]
    Owner,
    /// All users, subject to file permissions.
    Others,
}

/// Options of a mount.
#[derive(Debug, Clone, Default)]
pub struct MountOptions {
    pub access: Access,
    /// The kernel refuses all writes.
    pub read_only: bool,
    /// Further options of mount(8), passed on unchanged.
    pub extra: Vec<String>,
    /// The source that the mount table shows; mount(8) knows by it that a line of fstab is mounted.
    pub source: Option<String>,
    /// The private folder with the cached files of this account.
    pub cache_dir: PathBuf,
}

/// A failed mount.
#[derive(Debug, Error)]
#[error("cannot mount at {}: {hint}", mount_point.display())]
pub struct MountError {
    mount_point: PathBuf,
    hint: String,
}

impl MountError {
    fn new(mount_point: &Path, access: Access, source: &io::Error) -> MountError {
        MountError::with(FuseDevice::of_this_machine(), mount_point, access, source)
    }

    fn with(
        device: FuseDevice,
        mount_point: &Path,
        access: Access,
        source: &io::Error,
    ) -> MountError {
        let hint = match (device, source.kind()) {
            (FuseDevice::Ready, io::ErrorKind::NotFound) => {
                "fusermount3 is missing: run `apt install fuse3`".to_owned()
            }
            (FuseDevice::Ready, io::ErrorKind::PermissionDenied) => match access {
                // fusermount3 refuses nothing else in this way.
                Access::Others => format!(
                    "{source}; to allow access by other users, add user_allow_other to /etc/fuse.conf"
                ),
                Access::Owner => format!(
                    "{source}; choose a folder of your own; a container also needs `--cap-add SYS_ADMIN`"
                ),
            },
            (FuseDevice::Ready, _) => source.to_string(),
            (device, _) => device.to_string(),
        };
        MountError {
            mount_point: mount_point.to_owned(),
            hint,
        }
    }
}

/// A mounted drive.
pub struct Mounted {
    session: BackgroundSession,
    _long_waits: LongWaitsThread,
}

/// Mounts `drive` at `mount_point`. Requests are handled by session threads; those that wait are
/// handled on `runtime`.
pub fn mount(
    drive: &Drive,
    mount_point: &Path,
    options: &MountOptions,
    runtime: Handle,
) -> Result<Mounted, MountError> {
    let modes = Arc::new(OpenModes::new());
    let dispatcher = Dispatcher::new(runtime, DISK_THREADS);
    let unanswered = Arc::clone(dispatcher.unanswered());
    let adapter = Adapter::new(drive.clone(), dispatcher, Arc::clone(&modes));
    let failed = |error| MountError::new(mount_point, options.access, &error);
    let session = Session::new(adapter, mount_point, &config(options)).map_err(failed)?;
    if modes.is_passthrough_offered() {
        match BackingSource::of_mount(session.as_fd(), &options.cache_dir) {
            Ok(source) => modes.register_by(source),
            Err(error) => tracing::info!(
                "passthrough is not available, so cached files use the page cache: {error}; `assetfs doctor` says what to do"
            ),
        }
    }
    let session = session.spawn().map_err(failed)?;
    let long_waits = unanswered::watch(unanswered, drive.clone());
    readahead::raise(mount_point);
    Ok(Mounted {
        session,
        _long_waits: long_waits,
    })
}

fn config(options: &MountOptions) -> Config {
    let mut config = Config::default();
    // fusermount3 separates options by commas and reads backslashes as escapes.
    let source = options
        .source
        .as_deref()
        .filter(|source| !source.is_empty() && !source.contains([',', '\\']));
    config.mount_options = vec![
        MountOption::FSName(source.unwrap_or(SUBTYPE).to_owned()),
        // As an option of the kernel, so that the type is shown for root too, whose mounts do not go
        // through fusermount3.
        MountOption::CUSTOM(format!("subtype={SUBTYPE}")),
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::NoExec,
        MountOption::NoAtime,
        MountOption::DefaultPermissions,
    ];
    if options.read_only {
        config.mount_options.push(MountOption::RO);
    }
    config
        .mount_options
        .extend(options.extra.iter().map(|option| kernel_option(option)));
    config.acl = match options.access {
        Access::Owner => SessionACL::Owner,
        Access::Others => SessionACL::All,
    };
    config.n_threads = Some(SESSION_THREADS);
    config.clone_fd = true;
    config
}

/// Two of them are flags of mount(2); the others are read by FUSE.
fn kernel_option(option: &str) -> MountOption {
    match option {
        "sync" => MountOption::Sync,
        "dirsync" => MountOption::DirSync,
        other => MountOption::CUSTOM(other.to_owned()),
    }
}

impl Mounted {
    /// Blocks this thread until the drive is unmounted.
    pub fn join(self) -> io::Result<()> {
        self.session.join()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mount_for_other_users_is_told_of_the_permission_for_it() {
        let refused = io::Error::from(io::ErrorKind::PermissionDenied);
        let said = |access| {
            MountError::with(FuseDevice::Ready, Path::new("/assets"), access, &refused).to_string()
        };
        assert!(said(Access::Others).contains("add user_allow_other to /etc/fuse.conf"));
        let own = said(Access::Owner);
        assert!(!own.contains("allow_other"), "{own}");
        assert!(own.contains("choose a folder of your own"), "{own}");
    }
}
