//! What the attacks need: a user, the program with its capability, a talk with it, and a mount with one file whose backing id
//! the test chooses.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use assetfs_passthrough::{Reply, Request, VERSION, connection, receive_reply, send_request};
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, OpenFlags, ReplyAttr, ReplyEntry, ReplyOpen,
    Session,
};
use rustix::fs::XattrFlags;
use rustix::process::{Gid, Uid};
use tempfile::TempDir;

/// The user `nobody` of most systems; nothing on this machine belongs to it but what the test makes.
pub const USER: u32 = 65_534;
pub const CONTENT: &[u8] = b"what the user has cached";
const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs `work` on a thread with the rights of the user.
pub fn as_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let attack = || {
        rustix::thread::set_thread_groups(&[]).expect("root may");
        let (gid, uid) = (Gid::from_raw(USER), Uid::from_raw(USER));
        rustix::thread::set_thread_res_gid(gid, gid, gid).expect("root may");
        rustix::thread::set_thread_res_uid(uid, uid, uid).expect("root may");
        work()
    };
    std::thread::scope(|scope| scope.spawn(attack).join().expect("the attack ends"))
}

/// How a copy of the program is installed.
#[derive(Clone, Copy)]
pub enum Installed {
    Capable,
    Plain,
    Setuid,
}

pub struct Bench {
    /// Dropped first, which unmounts.
    _session: BackgroundSession,
    pub device: OwnedFd,
    backing: Arc<AtomicU32>,
    scratch: TempDir,
}

impl Bench {
    /// `None`, reported as a skip, if this process is not root.
    pub fn new() -> Option<Bench> {
        if !rustix::process::geteuid().is_root() {
            super::skip::skipped("only root can run a program as another user");
            return None;
        }
        let scratch = tempfile::tempdir().expect("a folder");
        fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).expect("mode");
        for name in ["home", "home/cache", "mnt", "root"] {
            fs::create_dir(scratch.path().join(name)).expect("a folder");
        }
        for name in ["home", "home/cache"] {
            give(&scratch.path().join(name));
        }
        let backing = Arc::new(AtomicU32::new(0));
        let disk = OneFile(Arc::clone(&backing));
        let mut config = Config::default();
        config.acl = fuser::SessionACL::All;
        let session = Session::new(disk, scratch.path().join("mnt"), &config).expect("root mounts");
        let device = session.as_fd().try_clone_to_owned().expect("a copy");
        let session = session.spawn().expect("it runs");
        Some(Bench {
            _session: session,
            device,
            backing,
            scratch,
        })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub fn program(&self, installed: Installed) -> PathBuf {
        let (name, mode) = match installed {
            Installed::Capable => ("capable", 0o755),
            Installed::Plain => ("plain", 0o755),
            Installed::Setuid => ("setuid", 0o4755),
        };
        let path = self.path(name);
        fs::copy(env!("CARGO_BIN_EXE_assetfs-passthrough"), &path).expect("a copy");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("mode");
        if !matches!(installed, Installed::Plain) {
            let name = "security.capability";
            let set = rustix::fs::setxattr(&path, name, &CAPABILITY, XattrFlags::empty());
            set.expect("this file system has capabilities");
        }
        path
    }

    /// A talk that was begun as a drive begins it. Called as the user.
    pub fn begun(&self, program: &Path) -> Talk {
        let talk = Talk::start(program);
        let cache = File::open(self.path("home/cache")).expect("the user's folder");
        let reply = talk.hello(VERSION, &[self.device.as_fd(), cache.as_fd()]);
        assert_eq!(reply.expect("it answers"), Ok(VERSION));
        talk
    }

    /// Opens the file of the mount, which the kernel then reads and writes by this backing id.
    pub fn open_backed(&self, id: u32, how: &mut fs::OpenOptions) -> io::Result<File> {
        self.backing.store(id, Ordering::SeqCst);
        how.open(self.path("mnt/file"))
    }
}

/// A file of the user in the folder of the cache.
pub fn cached(bench: &Bench, name: &str) -> PathBuf {
    let path = bench.path("home/cache").join(name);
    fs::write(&path, CONTENT).expect("a file");
    give(&path);
    path
}

pub fn give(path: &Path) {
    std::os::unix::fs::lchown(path, Some(USER), Some(USER)).expect("root may");
}

/// The end of the drive.
pub struct Talk {
    pub socket: OwnedFd,
    pub child: Child,
}

impl Talk {
    pub fn start(program: &Path) -> Talk {
        let (socket, theirs) = connection(PATIENCE).expect("a socket");
        Talk::over(program, socket, theirs)
    }

    pub fn over(program: &Path, socket: OwnedFd, theirs: OwnedFd) -> Talk {
        let mut command = Command::new(program);
        command.stdin(Stdio::from(theirs)).stderr(Stdio::null());
        let child = command.spawn().expect("it starts");
        Talk { socket, child }
    }

    pub fn hello(&self, version: u32, descriptors: &[BorrowedFd<'_>]) -> io::Result<Reply> {
        send_request(&self.socket, Request::Hello { version }, descriptors)?;
        receive_reply(&self.socket)
    }

    pub fn open(&self, file: impl AsFd) -> io::Result<Reply> {
        send_request(&self.socket, Request::Open, &[file.as_fd()])?;
        receive_reply(&self.socket)
    }

    pub fn close(&self, id: u32) {
        send_request(&self.socket, Request::Close { id }, &[]).expect("it listens");
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A mount with one file, which everybody may open in every way.
struct OneFile(Arc<AtomicU32>);

const TTL: Duration = Duration::ZERO;
const FILE: INodeNo = INodeNo(2);

fn attributes(ino: INodeNo) -> FileAttr {
    let (kind, perm) = match ino {
        FILE => (FileType::RegularFile, 0o666),
        _ => (FileType::Directory, 0o777),
    };
    FileAttr {
        ino,
        size: CONTENT.len() as u64,
        blocks: 1,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm,
        nlink: 1,
        uid: USER,
        gid: USER,
        rdev: 0,
        flags: 0,
        blksize: 4096,
    }
}

impl Filesystem for OneFile {
    fn init(&mut self, _: &fuser::Request, config: &mut KernelConfig) -> io::Result<()> {
        let offered = config.add_capabilities(InitFlags::FUSE_PASSTHROUGH);
        offered.expect("Linux 6.9 and later have passthrough");
        config.set_max_stack_depth(2).expect("a depth");
        Ok(())
    }

    fn lookup(&self, _: &fuser::Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == "file" {
            true => reply.entry(&TTL, &attributes(FILE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &fuser::Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &attributes(ino));
    }

    #[expect(
        unsafe_code,
        reason = "fuser has no safe face for ids of another process"
    )]
    fn open(&self, _: &fuser::Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // SAFETY: the kernel checks the id, and refuses the open if it is wrong.
        let id = unsafe { reply.wrap_backing(self.0.load(Ordering::SeqCst)) };
        reply.opened_passthrough(FileHandle(1), FopenFlags::empty(), &id);
        let _ = id.into_raw();
    }
}
