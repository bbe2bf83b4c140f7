//! The adapter between the drive and the kernel: attributes, errno, session, notifications.
//!
//! It decides nothing: every operation is a few lines that translate and hand over. Its one
//! invariant is that no session thread ever waits for the network: a request whose answer is not
//! at hand moves to the async runtime and is answered from there (see [`dispatch`]).

mod adapter;
mod dispatch;
mod errno;
mod kernel;
mod modes;
mod mountpoint;
mod readahead;
mod reply;
mod session;
mod translate;

pub use errno::errno;
pub use mountpoint::{
    MountPointError, detach_now, find_mount, mounts, prepare_mount_point, unmount,
};
pub use session::{Access, MountError, MountOptions, Mounted, mount};
