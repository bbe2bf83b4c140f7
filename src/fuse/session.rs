//! One mounted session: its options, its threads and its end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use thiserror::Error;
use tokio::runtime::Handle;

use crate::drive::Drive;

use super::adapter::Adapter;
use super::dispatch::Dispatcher;
use super::kernel::NotifiedKernel;
use super::readahead;

/// Source shown in the mount table, by which the commands find our mounts.
pub(super) const SOURCE: &str = "assetfs";
/// Session threads. They never wait for the network, a sync or a checksum.
const SESSION_THREADS: usize = 4;
/// How many of them may read and write the local disk at the same time.
const DISK_THREADS: usize = 2;

/// Who else may enter the mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Only the user who mounted it.
    #[default]
    Owner,
    /// Everybody, under the permissions shown.
    Others,
}

/// How a drive is mounted.
#[derive(Debug, Clone, Default)]
pub struct MountOptions {
    /// Who may enter.
    pub access: Access,
    /// The kernel refuses each write before the drive hears of it.
    pub read_only: bool,
    /// Further options of mount(8), each passed on as it is.
    pub extra: Vec<String>,
}

/// A mount that did not come to be.
#[derive(Debug, Error)]
#[error("cannot mount at {}: {hint}", mount_point.display())]
pub struct MountError {
    mount_point: PathBuf,
    hint: String,
    #[source]
    source: io::Error,
}

impl MountError {
    fn new(mount_point: &Path, source: io::Error) -> MountError {
        let hint = match source.kind() {
            _ if !Path::new("/dev/fuse").exists() => {
                "this machine has no /dev/fuse; load it with `modprobe fuse`, or run the container \
                 with `--device /dev/fuse --cap-add SYS_ADMIN`"
                    .to_owned()
            }
            io::ErrorKind::NotFound => {
                "fusermount3 is missing; install the package fuse3".to_owned()
            }
            io::ErrorKind::PermissionDenied => {
                format!("{source}; to let other users in, put user_allow_other into /etc/fuse.conf")
            }
            _ => source.to_string(),
        };
        MountError {
            mount_point: mount_point.to_owned(),
            hint,
            source,
        }
    }
}

/// A drive that is mounted and answers.
pub struct Mounted {
    session: BackgroundSession,
}

/// Mounts `drive` at `mount_point` and answers from threads of its own; slow answers come from
/// `runtime`.
pub fn mount(
    drive: &Drive,
    mount_point: &Path,
    options: &MountOptions,
    runtime: Handle,
) -> Result<Mounted, MountError> {
    let adapter = Adapter::new(drive.clone(), Dispatcher::new(runtime, DISK_THREADS));
    let failed = |error| MountError::new(mount_point, error);
    let session = Session::new(adapter, mount_point, &config(options)).map_err(failed)?;
    let session = session.spawn().map_err(failed)?;
    drive.attach_kernel(Arc::new(NotifiedKernel::new(session.notifier())));
    readahead::raise(mount_point);
    Ok(Mounted { session })
}

fn config(options: &MountOptions) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(SOURCE.to_owned()),
        MountOption::Subtype(SOURCE.to_owned()),
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
        .extend(options.extra.iter().cloned().map(MountOption::CUSTOM));
    config.acl = match options.access {
        Access::Owner => SessionACL::Owner,
        Access::Others => SessionACL::All,
    };
    config.n_threads = Some(SESSION_THREADS);
    config.clone_fd = true;
    config
}

impl Mounted {
    /// Waits, on this thread, until the mount is gone.
    pub fn join(self) -> io::Result<()> {
        self.session.join()
    }
}
