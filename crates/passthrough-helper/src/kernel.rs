//! System calls that have no safe face elsewhere.
#![expect(
    unsafe_code,
    reason = "the ioctls of FUSE, mount_setattr and close_range have no safe face"
)]

use std::ffi::c_void;
use std::os::fd::{AsFd, AsRawFd as _};

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, Setter, ioctl, opcode};

/// `FUSE_DEV_IOC_BACKING_OPEN` and `_CLOSE` of `linux/fuse.h`.
pub const BACKING_OPEN: Opcode = opcode::write::<BackingMap>(229, 1);
pub const BACKING_CLOSE: Opcode = opcode::write::<u32>(229, 2);

/// `struct fuse_backing_map`.
#[repr(C)]
pub struct BackingMap {
    fd: i32,
    flags: u32,
    padding: u64,
}

// SAFETY: the kernel reads a `fuse_backing_map` through the pointer, which is valid while `self` is borrowed, and writes nothing.
unsafe impl Ioctl for BackingMap {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        BACKING_OPEN
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self).cast()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> Result<u32, Errno> {
        u32::try_from(out).map_err(|_| Errno::RANGE)
    }
}

/// Registers `file` with the connection of `device`; returns its backing id. Needs the capability.
pub fn open_backing(device: impl AsFd, file: impl AsFd) -> Result<u32, Errno> {
    let map = BackingMap {
        fd: file.as_fd().as_raw_fd(),
        flags: 0,
        padding: 0,
    };
    // SAFETY: the type describes this ioctl, above.
    unsafe { ioctl(device, map) }
}

/// Releases a backing id; files that are open with it stay open. Needs the capability.
pub fn close_backing(device: impl AsFd, id: u32) -> Result<(), Errno> {
    // SAFETY: the kernel reads one u32.
    unsafe { ioctl(device, Setter::<BACKING_CLOSE, u32>::new(id)) }
}

/// Makes a detached mount read-only, for as long as it exists. Needs the capability.
pub fn set_read_only(mount: impl AsFd) -> Result<(), Errno> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path is empty and ends with NUL; the kernel reads as many bytes of `attributes` as it has.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    succeeded(result)
}

/// Closes all descriptors but the standard ones.
pub fn close_others() -> Result<(), Errno> {
    // SAFETY: called at start, when no other descriptor is owned by a value of this program.
    succeeded(unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) })
}

pub fn forget_environment() {
    // SAFETY: this process has one thread.
    unsafe { libc::clearenv() };
}

fn succeeded(result: i64) -> Result<(), Errno> {
    match result {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}
