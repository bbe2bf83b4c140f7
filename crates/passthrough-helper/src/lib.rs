//! The protocol between the process of a drive and `assetfs-passthrough`: messages of 8 bytes over a socket that keeps their
//! boundaries (`SOCK_SEQPACKET`). `docs/passthrough.md` describes it.
//!
//! Both ends believe nothing: a message of another length, with too many descriptors or of an unknown kind ends the talk.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};

/// The name of the program.
pub const PROGRAM: &str = "assetfs-passthrough";
/// Version of the protocol. Both ends must have the same.
pub const VERSION: u32 = 1;
/// The only argument: the program ends at once with one of the codes of [`Check`].
pub const CHECK: &str = "--check";
/// Maximum number of folders that a drive may name.
pub const MAX_FOLDERS: usize = 2;
/// Maximum number of files that are registered at a time.
pub const MAX_REGISTERED: usize = 10_000;
/// A request carries the FUSE device and the folders at most.
const MAX_DESCRIPTORS: usize = 1 + MAX_FOLDERS;
const MESSAGE_LEN_BYTES: usize = 8;

/// What the program says of itself, as its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    Ready,
    /// It runs without the capability `cap_sys_admin`.
    NoCapability,
}

impl Check {
    /// An exit code that depends on the version, so that another version counts as none of them.
    pub fn code(self) -> u8 {
        let own = 10 + (VERSION as u8) * 2;
        match self {
            Check::Ready => own,
            Check::NoCapability => own + 1,
        }
    }
}

/// What a drive asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// The first request. Carries the FUSE device and the folders that files are registered from.
    Hello { version: u32 },
    /// Registers the file of the one descriptor; the reply is its backing id.
    Open,
    /// Releases a backing id. There is no reply.
    Close { id: u32 },
}

impl Request {
    fn words(self) -> [u32; 2] {
        match self {
            Request::Hello { version } => [1, version],
            Request::Open => [2, 0],
            Request::Close { id } => [3, id],
        }
    }

    fn of(words: [u32; 2]) -> Option<Request> {
        match words {
            [1, version] => Some(Request::Hello { version }),
            [2, 0] => Some(Request::Open),
            [3, id] => Some(Request::Close { id }),
            _ => None,
        }
    }
}

/// The answer to a hello (the version) or to an open (the backing id).
pub type Reply = Result<u32, Errno>;

/// A connection: the end of the drive, which waits no longer than `patience`, and that of the program, its standard input.
pub fn connection(patience: Duration) -> io::Result<(OwnedFd, OwnedFd)> {
    let (drive, program) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    for timeout in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(&drive, timeout, Some(patience))?;
    }
    Ok((drive, program))
}

pub fn send_request(
    socket: impl AsFd,
    request: Request,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    send(socket.as_fd(), request.words(), descriptors)
}

/// The next request with its descriptors; `None` if the other end is closed.
pub fn receive_request(socket: impl AsFd) -> io::Result<Option<(Request, Vec<OwnedFd>)>> {
    let Some((words, descriptors)) = receive(socket.as_fd())? else {
        return Ok(None);
    };
    let request = Request::of(words).ok_or(Errno::BADMSG)?;
    Ok(Some((request, descriptors)))
}

pub fn send_reply(socket: impl AsFd, reply: Reply) -> io::Result<()> {
    let words = match reply {
        Ok(value) => [0, value],
        Err(errno) => [errno.raw_os_error().unsigned_abs(), 0],
    };
    send(socket.as_fd(), words, &[])
}

/// The answer to a request; an error if the other end is closed or silent.
pub fn receive_reply(socket: impl AsFd) -> io::Result<Reply> {
    let (words, _) = receive(socket.as_fd())?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let [errno, value] = words;
    Ok(match errno {
        0 => Ok(value),
        1..4096 => Err(Errno::from_raw_os_error(errno.cast_signed())),
        _ => return Err(Errno::BADMSG.into()),
    })
}

fn send(socket: BorrowedFd<'_>, words: [u32; 2], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut bytes = [0; MESSAGE_LEN_BYTES];
    bytes[..4].copy_from_slice(&words[0].to_le_bytes());
    bytes[4..].copy_from_slice(&words[1].to_le_bytes());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::INVAL.into());
    }
    sendmsg(
        socket,
        &[IoSlice::new(&bytes)],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<([u32; 2], Vec<OwnedFd>)>> {
    let mut bytes = [0; MESSAGE_LEN_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut control,
            flags,
        )
    })?;
    let descriptors: Vec<OwnedFd> = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    let cut = ReturnFlags::TRUNC | ReturnFlags::CTRUNC;
    match received.bytes {
        0 => Ok(None),
        MESSAGE_LEN_BYTES if !received.flags.intersects(cut) => {
            let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
            Ok(Some(([word(0), word(4)], descriptors)))
        }
        _ => Err(Errno::BADMSG.into()),
    }
}
