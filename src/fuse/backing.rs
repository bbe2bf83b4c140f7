//! Who registers backing files with the kernel (passthrough): this process if it is root, else the program
//! `assetfs-passthrough`, which has the capability that the kernel asks for.
//!
//! Without the program files are read through the page cache. A program that ends, hangs or answers nonsense is not used
//! again; files that are open go on, and the kernel releases their backing ids with the mount.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assetfs_passthrough::{Request, VERSION, connection, receive_reply, send_request};
use fuser::{BackingId, ReplyCreate, ReplyOpen};

use crate::locks::Locked as _;

use super::helper_program::{HelperProblem, HelperProgram};

/// Maximum time for an answer of the program; it does not wait for anything but the disk.
const PATIENCE: Duration = Duration::from_millis(500);

/// The part of an open reply that registers files.
pub(super) trait BackingReply {
    /// Registers a file with the rights of this process.
    fn register(&self, file: &File) -> io::Result<BackingId>;
    /// Takes an id that was registered with this mount.
    fn take(&self, id: u32) -> BackingId;
}

macro_rules! backing_reply {
    ($reply:ty) => {
        impl BackingReply for $reply {
            fn register(&self, file: &File) -> io::Result<BackingId> {
                self.open_backing(file)
            }

            #[expect(
                unsafe_code,
                reason = "fuser has no safe face for ids of another process"
            )]
            fn take(&self, id: u32) -> BackingId {
                // SAFETY: the id was registered with this mount for this reply, and nobody else has it. The kernel checks it.
                unsafe { self.wrap_backing(id) }
            }
        }
    };
}
backing_reply!(ReplyOpen);
backing_reply!(ReplyCreate);

/// A registered file. Dropping it releases the backing id.
pub(super) struct Backing {
    id: Option<BackingId>,
    /// Who has to release it, if it is not this process.
    program: Option<Arc<PassthroughProcess>>,
}

impl Backing {
    pub(super) fn id(&self) -> &BackingId {
        self.id.as_ref().expect("it is there until the drop")
    }

    /// True for a file that `assetfs-passthrough` opened: it lies on a read-only mount.
    pub(super) fn is_read_only(&self) -> bool {
        self.program.is_some()
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        if let (Some(program), Some(id)) = (&self.program, self.id.take()) {
            program.close(id.into_raw());
        }
    }
}

/// Why a file was not registered.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotRegistered {
    /// Others may be.
    #[error("the file was refused: {0}")]
    ThisFile(#[source] io::Error),
    /// No file of this mount will be.
    #[error("{0}")]
    AllFiles(#[source] io::Error),
}

/// Who registers files.
pub(super) enum BackingSource {
    ThisProcess,
    Program(Arc<PassthroughProcess>),
}

impl BackingSource {
    /// `device` is the session's, `folder` has all files that will be registered. Call this on a thread that lives as long as
    /// the process: the program ends with the thread that started it.
    pub(super) fn of_mount(
        device: BorrowedFd<'_>,
        folder: &Path,
    ) -> Result<BackingSource, HelperProblem> {
        if rustix::process::geteuid().is_root() {
            return Ok(BackingSource::ThisProcess);
        }
        let program = HelperProgram::find()?;
        let running = PassthroughProcess::start(&program, device, folder)?;
        Ok(BackingSource::Program(Arc::new(running)))
    }

    pub(super) fn register(
        &self,
        file: &File,
        reply: &impl BackingReply,
    ) -> Result<Backing, NotRegistered> {
        match self {
            BackingSource::ThisProcess => {
                let id = reply.register(file).map_err(NotRegistered::AllFiles)?;
                Ok(Backing {
                    id: Some(id),
                    program: None,
                })
            }
            BackingSource::Program(program) => {
                let id = program.open(file)?;
                Ok(Backing {
                    id: Some(reply.take(id)),
                    program: Some(Arc::clone(program)),
                })
            }
        }
    }
}

/// The program as a child process, until it fails.
pub(super) struct PassthroughProcess {
    talk: Mutex<Option<(OwnedFd, Child)>>,
}

impl PassthroughProcess {
    fn start(
        program: &HelperProgram,
        device: BorrowedFd<'_>,
        folder: &Path,
    ) -> Result<PassthroughProcess, HelperProblem> {
        let not_started = |error| HelperProblem::NotStarted(program.path().to_owned(), error);
        let folder = File::open(folder).map_err(not_started)?;
        let (socket, theirs) = connection(PATIENCE).map_err(not_started)?;
        let mut command = program.command();
        let child = command
            .stdin(Stdio::from(theirs))
            .spawn()
            .map_err(not_started)?;
        // Closes this process's copy of the other end, so that the end of the program is noticed.
        drop(command);
        let hello = Request::Hello { version: VERSION };
        let greeted = send_request(&socket, hello, &[device, folder.as_fd()])
            .and_then(|()| receive_reply(&socket));
        let running = PassthroughProcess {
            talk: Mutex::new(Some((socket, child))),
        };
        match greeted {
            Ok(Ok(version)) if version == VERSION => Ok(running),
            Ok(Err(errno)) if errno == rustix::io::Errno::PERM => Err(program.without_capability()),
            Ok(Ok(_)) => Err(HelperProblem::OtherVersion(program.path().to_owned())),
            Ok(Err(errno)) if errno == rustix::io::Errno::PROTONOSUPPORT => {
                Err(HelperProblem::OtherVersion(program.path().to_owned()))
            }
            Ok(Err(errno)) => Err(not_started(errno.into())),
            Err(error) => Err(not_started(unanswered(&error))),
        }
    }

    fn open(&self, file: &File) -> Result<u32, NotRegistered> {
        let mut talk = self.talk.locked();
        let Some((socket, _)) = talk.as_ref() else {
            return Err(NotRegistered::AllFiles(io::ErrorKind::BrokenPipe.into()));
        };
        let reply = send_request(socket, Request::Open, &[file.as_fd()])
            .and_then(|()| receive_reply(socket));
        match reply {
            Ok(Ok(id)) => Ok(id),
            Ok(Err(errno)) => Err(NotRegistered::ThisFile(errno.into())),
            Err(error) => {
                end(talk.take());
                Err(NotRegistered::AllFiles(unanswered(&error)))
            }
        }
    }

    fn close(&self, id: u32) {
        let mut talk = self.talk.locked();
        let sent = talk
            .as_ref()
            .map(|(socket, _)| send_request(socket, Request::Close { id }, &[]));
        if let Some(Err(_)) = sent {
            end(talk.take());
        }
    }
}

impl Drop for PassthroughProcess {
    fn drop(&mut self) {
        end(self.talk.locked().take());
    }
}

/// Replaces the texts of the system for a timeout and for a closed socket.
fn unanswered(error: &io::Error) -> io::Error {
    let what = format!("{} does not answer", assetfs_passthrough::PROGRAM);
    io::Error::new(error.kind(), what)
}

fn end(talk: Option<(OwnedFd, Child)>) {
    if let Some((socket, mut child)) = talk {
        drop(socket);
        let _ = child.kill();
        // A process that waits for a disk ends late, and nobody waits for it here.
        std::thread::spawn(move || child.wait());
    }
}
