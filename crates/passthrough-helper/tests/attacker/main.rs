//! Attacks on `assetfs-passthrough`: a user who starts it with other descriptors or messages must gain nothing. Each attack runs
//! as an ordinary user, on the FUSE of the kernel.

mod bench;
#[path = "../../../../tests/support/skip.rs"]
mod skip;

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assetfs_passthrough::{
    MAX_REGISTERED, Request, VERSION, connection, receive_reply, send_request,
};
use rustix::fs::{CWD, MemfdFlags, RenameFlags, memfd_create, renameat_with};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use bench::{Bench, CONTENT, Installed, Talk, as_user, cached};

fn read_only(path: &Path) -> OwnedFd {
    with_flags(path, libc::O_NONBLOCK)
}

fn with_flags(path: &Path, flags: i32) -> OwnedFd {
    let mut how = OpenOptions::new();
    how.read(true)
        .write(flags & libc::O_ACCMODE == libc::O_RDWR);
    let file = how.custom_flags(flags & !libc::O_ACCMODE).open(path);
    file.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .into()
}

#[test]
fn own_cached_files_are_registered_for_reading_and_nothing_can_be_written_through_them() {
    let Some(bench) = Bench::new() else { return };
    let program = bench.program(Installed::Capable);
    let file = cached(&bench, "own");
    as_user(|| {
        let talk = bench.begun(&program);
        let id = talk.open(read_only(&file)).unwrap().unwrap();
        let mut text = Vec::new();
        let mut reader = bench
            .open_backed(id, OpenOptions::new().read(true))
            .unwrap();
        reader.read_to_end(&mut text).unwrap();
        assert_eq!(text, CONTENT);
        // The kernel would open the backing file with these flags, without checking permissions.
        for how in [
            OpenOptions::new().write(true),
            OpenOptions::new().read(true).write(true),
            OpenOptions::new().append(true),
        ] {
            let refused = bench.open_backed(id, how).map(drop).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EIO));
        }
        // A file that is open stays readable when its id is released and when the program is killed.
        talk.close(id);
        drop(talk);
        text.clear();
        io::Seek::rewind(&mut reader).unwrap();
        reader.read_to_end(&mut text).unwrap();
        assert_eq!(text, CONTENT);
    });
    assert_eq!(fs::read(file).unwrap(), CONTENT);
}

#[test]
fn descriptors_of_foreign_files_and_of_other_kinds_are_refused() {
    let Some(bench) = Bench::new() else { return };
    let program = bench.program(Installed::Capable);
    let own = cached(&bench, "own");
    let foreign = bench.path("home/cache/foreign");
    fs::write(&foreign, CONTENT).unwrap();
    // Not every machine lets every user open it.
    let fuse = read_only(Path::new("/dev/fuse"));
    as_user(|| {
        let at = |name: &str| bench.path(&format!("home/{name}"));
        let write = |name: &str| fs::write(at(name), CONTENT).unwrap();
        fs::create_dir_all(at("elsewhere")).unwrap();
        for name in ["outside", "cache/two", "elsewhere/file", "cache/gone"] {
            write(name);
        }
        fs::hard_link(at("cache/two"), at("cache/names")).unwrap();
        symlink(at("elsewhere"), at("cache/link")).unwrap();
        run(Command::new("mkfifo").arg(at("cache/pipe")));
        let gone = read_only(&at("cache/gone"));
        fs::remove_file(at("cache/gone")).unwrap();
        let memory = memfd_create("own", MemfdFlags::CLOEXEC).unwrap();
        let (socket, _other) = UnixDatagram::pair().unwrap();
        let talk = bench.begun(&program);
        for (what, descriptor, errno) in [
            (
                "open for writing",
                with_flags(&own, libc::O_RDWR),
                Errno::ACCESS,
            ),
            ("only a path", with_flags(&own, libc::O_PATH), Errno::ACCESS),
            ("of root, readable", read_only(&foreign), Errno::PERM),
            (
                "of the system",
                read_only(Path::new("/etc/passwd")),
                Errno::PERM,
            ),
            (
                "own, not in the folder",
                read_only(&at("outside")),
                Errno::PERM,
            ),
            (
                "own, behind a link",
                read_only(&at("cache/link/file")),
                Errno::PERM,
            ),
            ("with two names", read_only(&at("cache/two")), Errno::PERM),
            ("without a name", gone, Errno::PERM),
            ("folder", read_only(&at("cache")), Errno::PERM),
            ("pipe", read_only(&at("cache/pipe")), Errno::PERM),
            ("socket", socket.into(), Errno::ACCESS),
            ("memory", memory, Errno::ACCESS),
            ("device", read_only(Path::new("/dev/null")), Errno::PERM),
            ("FUSE", fuse, Errno::PERM),
            (
                "process",
                read_only(Path::new("/proc/self/status")),
                Errno::PERM,
            ),
        ] {
            assert_eq!(talk.open(descriptor).expect(what), Err(errno), "{what}");
        }
        assert!(talk.open(read_only(&own)).unwrap().is_ok());
    });
}

fn run(command: &mut Command) {
    assert!(command.status().expect("it runs").success());
}

#[test]
fn a_first_message_with_a_foreign_folder_device_or_version_is_refused() {
    let Some(bench) = Bench::new() else { return };
    let program = bench.program(Installed::Capable);
    let plain = bench.program(Installed::Plain);
    let own = cached(&bench, "own");
    let unmounted = with_flags(Path::new("/dev/fuse"), libc::O_RDWR);
    as_user(|| {
        let open = bench.path("home/open");
        fs::create_dir(&open).unwrap();
        run(Command::new("chmod").arg("777").arg(&open));
        let mut sleep = Command::new("sleep").arg("60").spawn().unwrap();
        let process = format!("/proc/{}", sleep.id());
        let cache = read_only(&bench.path("home/cache"));
        let dev = |path: &str| read_only(Path::new(path));
        for (what, version, device, folder, errno) in [
            ("version", VERSION + 1, None, None, Errno::PROTONOSUPPORT),
            (
                "device",
                VERSION,
                Some(dev("/dev/null")),
                None,
                Errno::NODEV,
            ),
            (
                "a file as device",
                VERSION,
                Some(read_only(&own)),
                None,
                Errno::NODEV,
            ),
            (
                "folder of root",
                VERSION,
                None,
                Some(bench.path("root")),
                Errno::ACCESS,
            ),
            (
                "folder that all may change",
                VERSION,
                None,
                Some(open),
                Errno::ACCESS,
            ),
            (
                "a file as folder",
                VERSION,
                None,
                Some(own.clone()),
                Errno::NOTDIR,
            ),
            (
                "folder of a process",
                VERSION,
                None,
                Some(process.into()),
                Errno::OPNOTSUPP,
            ),
        ] {
            let device = device.as_ref().unwrap_or(&bench.device);
            let folder = folder.as_deref().map(read_only);
            let folder = folder.as_ref().unwrap_or(&cache);
            let reply = Talk::start(&program).hello(version, &[device.as_fd(), folder.as_fd()]);
            assert_eq!(reply.expect(what), Err(errno), "{what}");
        }
        sleep.kill().and_then(|()| sleep.wait()).unwrap();
        let both = [bench.device.as_fd(), cache.as_fd()];
        assert_eq!(
            Talk::start(&program).hello(VERSION, &both[..1]).unwrap(),
            Err(Errno::INVAL)
        );
        assert_eq!(
            Talk::start(&plain).hello(VERSION, &both).unwrap(),
            Err(Errno::PERM)
        );
        // A device that is not mounted has no connection to register with.
        let talk = Talk::start(&program);
        assert_eq!(
            talk.hello(VERSION, &[unmounted.as_fd(), cache.as_fd()])
                .unwrap(),
            Ok(VERSION)
        );
        assert!(talk.open(read_only(&own)).unwrap().is_err());
    });
}

/// True if the program has ended the talk.
fn is_ended(talk: &Talk) -> bool {
    receive_reply(&talk.socket).is_err()
}

#[test]
fn a_socket_of_another_user_a_setuid_copy_and_nonsense_end_the_talk() {
    let Some(bench) = Bench::new() else { return };
    let program = bench.program(Installed::Capable);
    let setuid = bench.program(Installed::Setuid);
    let own = cached(&bench, "own");
    let (socket, theirs) = connection(Duration::from_secs(10)).unwrap();
    as_user(|| {
        let cache = read_only(&bench.path("home/cache"));
        let both = [bench.device.as_fd(), cache.as_fd()];
        assert!(
            Talk::over(&program, socket, theirs)
                .hello(VERSION, &both)
                .is_err()
        );
        assert!(Talk::start(&setuid).hello(VERSION, &both).is_err());
        let talk = Talk::start(&program);
        send_request(&talk.socket, Request::Open, &[read_only(&own).as_fd()]).unwrap();
        assert_eq!(receive_reply(&talk.socket).unwrap(), Err(Errno::PROTO));
        assert!(is_ended(&talk));
        for bytes in [
            &[0; 8][..],
            &[2; 7],
            &[2, 0, 0, 0, 0, 0, 0, 0, 0],
            &[2, 0, 0, 0, 9, 0, 0, 0],
            &[7; 60_000],
        ] {
            let talk = bench.begun(&program);
            rustix::net::send(&talk.socket, bytes, rustix::net::SendFlags::NOSIGNAL).unwrap();
            assert!(is_ended(&talk), "{} bytes", bytes.len());
        }
        for descriptors in [&[][..], &both] {
            let talk = bench.begun(&program);
            send_request(&talk.socket, Request::Open, descriptors).unwrap();
            assert!(is_ended(&talk));
        }
        let talk = bench.begun(&program);
        send_many(&talk, &own);
        assert!(is_ended(&talk));
    });
}

/// An open with as many descriptors as a message can carry.
fn send_many(talk: &Talk, own: &Path) {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let file = read_only(own);
    let descriptors = vec![file.as_fd(); 253];
    let mut space = vec![std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let open = [2, 0, 0, 0, 0, 0, 0, 0];
    sendmsg(
        &talk.socket,
        &[IoSlice::new(&open)],
        &mut control,
        SendFlags::NOSIGNAL,
    )
    .unwrap();
}

#[test]
fn a_name_that_changes_between_check_and_use_never_leads_to_another_file() {
    let Some(bench) = Bench::new() else { return };
    let program = bench.program(Installed::Capable);
    let (stop, secret) = (AtomicBool::new(false), bench.path("root"));
    fs::write(secret.join("file"), b"what only root has to show").unwrap();
    as_user(|| {
        let (a, b) = (bench.path("home/cache/a"), bench.path("home/cache/b"));
        fs::create_dir(&a).unwrap();
        fs::write(a.join("file"), CONTENT).unwrap();
        symlink(&secret, &b).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let talk = bench.begun(&program);
            let mut registered = 0;
            for _ in 0..2000 {
                let opened = [&a, &b].map(|folder| File::open(folder.join("file")));
                for file in opened.into_iter().flatten() {
                    let Ok(id) = talk.open(file).unwrap() else {
                        continue;
                    };
                    registered += 1;
                    let how = &mut OpenOptions::new();
                    let mut text = Vec::new();
                    bench
                        .open_backed(id, how.read(true))
                        .unwrap()
                        .read_to_end(&mut text)
                        .unwrap();
                    assert_eq!(text, CONTENT);
                    talk.close(id);
                }
            }
            stop.store(true, Ordering::Relaxed);
            assert!(registered > 0, "the race is not always lost");
        });
    });
}

#[test]
fn a_flood_ends_at_the_limit_and_ids_of_others_are_not_released() {
    let Some(bench) = Bench::new() else { return };
    let program = bench.program(Installed::Capable);
    let own = cached(&bench, "own");
    as_user(|| {
        let (talk, other) = (bench.begun(&program), bench.begun(&program));
        let file = read_only(&own);
        let foreign = other.open(&file).unwrap().unwrap();
        let ids: Vec<u32> = (0..MAX_REGISTERED)
            .map(|_| talk.open(&file).unwrap().unwrap())
            .collect();
        assert_eq!(talk.open(&file).unwrap(), Err(Errno::MFILE));
        talk.close(foreign);
        talk.close(u32::MAX);
        assert_eq!(talk.open(&file).unwrap(), Err(Errno::MFILE));
        bench
            .open_backed(foreign, OpenOptions::new().read(true))
            .unwrap();
        talk.close(ids[0]);
        assert!(talk.open(&file).unwrap().is_ok());
    });
}

#[test]
fn the_program_keeps_one_capability_unused_and_ends_with_its_drive() {
    let Some(bench) = Bench::new() else { return };
    let program = bench.program(Installed::Capable);
    let mut talk = as_user(|| {
        let mut closed = bench.begun(&program);
        let status = fs::read_to_string(format!("/proc/{}/status", closed.child.id())).unwrap();
        for line in [
            "CapInh:\t0000000000000000",
            "CapPrm:\t0000000000200000",
            "CapEff:\t0000000000000000",
            "CapAmb:\t0000000000000000",
            "NoNewPrivs:\t1",
            "Seccomp:\t2",
        ] {
            assert!(status.contains(line), "{line}\n{status}");
        }
        let memory = format!("/proc/{}/mem", closed.child.id());
        assert_eq!(
            File::open(memory).unwrap_err().kind(),
            io::ErrorKind::PermissionDenied
        );
        closed.socket = File::open("/dev/null").unwrap().into();
        assert!(closed.child.wait().unwrap().success());
        // A stopped program would keep the FUSE device of a killed drive open.
        let stopped = bench.begun(&program);
        let pid = Pid::from_child(&stopped.child);
        kill_process(pid, Signal::STOP).unwrap();
        stopped
    });
    // The thread that started it has ended.
    assert!(!talk.child.wait().unwrap().success());
}
