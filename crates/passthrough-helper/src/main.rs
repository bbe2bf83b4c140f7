//! `assetfs-passthrough`: registers backing files of a FUSE mount (passthrough) for the drive of an ordinary user. The kernel
//! wants `CAP_SYS_ADMIN` for that, which this program has as a file capability and the drive does not have.
//!
//! Whoever starts it gains nothing: it registers a file only for reading, through a read-only mount of a folder of that user,
//! after it has opened the file itself with that user's rights. `docs/passthrough.md` has the protocol and the checks.

mod backing;
mod confinement;
mod kernel;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::ExitCode;

use assetfs_passthrough::{
    CHECK, MAX_FOLDERS, MAX_REGISTERED, Reply, Request, VERSION, receive_request, send_reply,
};
use rustix::io::Errno;
use rustix::process::Uid;

use backing::GivenFolder;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if !arguments.is_empty() {
        return match arguments.iter().all(|argument| argument == CHECK) {
            true => confinement::check().code().into(),
            false => ExitCode::from(2),
        };
    }
    match serve(rustix::stdio::stdin()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "for a person who starts it")]
            {
                eprintln!("assetfs-passthrough is started by `assetfs mount`: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Serves the drive at the other end of the socket until that is closed.
fn serve(socket: BorrowedFd<'_>) -> io::Result<()> {
    confinement::forget_inherited()?;
    // It is started by descriptor, so the kernel knows no name.
    rustix::thread::set_name(c"assetfs-pass")?;
    let user = rustix::process::getuid();
    if rustix::net::sockopt::socket_peercred(socket)?.uid != user {
        return Err(Errno::PERM.into());
    }
    let Some((hello, descriptors)) = receive_request(socket)? else {
        return Ok(());
    };
    let mut registry = match begin(hello, descriptors, user) {
        Ok(registry) => registry,
        Err(errno) => return send_reply(socket, Err(errno)),
    };
    send_reply(socket, Ok(VERSION))?;
    while let Some((request, descriptors)) = receive_request(socket)? {
        match (request, <[OwnedFd; 1]>::try_from(descriptors)) {
            (Request::Open, Ok([file])) => send_reply(socket, registry.open(&file))?,
            (Request::Close { id }, Err(none)) if none.is_empty() => registry.close(id)?,
            _ => return Err(Errno::BADMSG.into()),
        }
    }
    Ok(())
}

/// Checks what the first request has brought, and gives up what is not needed afterwards.
fn begin(hello: Request, descriptors: Vec<OwnedFd>, user: Uid) -> Result<Registry, Errno> {
    let Request::Hello { version } = hello else {
        return Err(Errno::PROTO);
    };
    if version != VERSION {
        return Err(Errno::PROTONOSUPPORT);
    }
    confinement::drop_rights()?;
    let mut descriptors = descriptors.into_iter();
    let device = descriptors.next().ok_or(Errno::INVAL)?;
    backing::check_device(device.as_fd())?;
    let folders: Vec<GivenFolder> = descriptors
        .map(|folder| GivenFolder::check(folder, user))
        .collect::<Result<_, Errno>>()?;
    if folders.is_empty() || folders.len() > MAX_FOLDERS {
        return Err(Errno::INVAL);
    }
    confinement::allow_only_needed()?;
    Ok(Registry {
        user,
        device,
        folders,
        ids: BTreeSet::new(),
    })
}

/// The files that are registered with one mount. What is left at the end is released by the kernel with the mount.
struct Registry {
    user: Uid,
    device: OwnedFd,
    folders: Vec<GivenFolder>,
    ids: BTreeSet<u32>,
}

impl Registry {
    fn open(&mut self, given: &OwnedFd) -> Reply {
        if self.ids.len() >= MAX_REGISTERED {
            return Err(Errno::MFILE);
        }
        let file = backing::reopened(given.as_fd(), &self.folders, self.user)?;
        let id = confinement::with_capability(|| kernel::open_backing(&self.device, &file))?;
        self.ids.insert(id);
        Ok(id)
    }

    /// Releases an id of this process; others are ignored.
    fn close(&mut self, id: u32) -> Result<(), Errno> {
        if !self.ids.remove(&id) {
            return Ok(());
        }
        confinement::with_capability(|| kernel::close_backing(&self.device, id))
    }
}
