//! The adapter between the drive and the kernel: session, requests, replies, errno.
//!
//! Every operation only translates types and calls the drive. The invariant: no session thread waits for the
//! network; a request that has to wait moves to the async runtime and is answered there (see [`dispatch`]).

mod adapter;
mod backing;
mod command;
mod device;
mod dispatch;
mod errno;
mod helper_program;
mod modes;
mod mount_table;
mod mountpoint;
mod readahead;
mod reply;
mod session;
mod shell;
mod stuck;
mod translate;
mod unanswered;
mod users;

pub use command::send_command;
pub use device::FuseDevice;
pub use errno::errno;
pub use helper_program::{Distrust, HelperProblem, HelperProgram};
pub use mount_table::{MountAccess, mount_access, mount_minor, mount_source};
pub use mountpoint::{
    MountPointError, detach_now, find_mount, mounts, own_mounts, prepare_mount_point, resolved,
    unmount,
};
pub use session::{Access, MountError, MountOptions, Mounted, mount};
pub use shell::shell_quoted;
pub use stuck::{Connection, NotFreed, dying_servers, free_dying, is_dying};
pub use users::{OtherMount, named, other_mounts};
