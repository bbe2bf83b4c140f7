//! A mount that systemd started: what it reports over the socket of sd_notify(3).

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::needs_fuse;
use crate::support::{ASSETFS, MountPoint, PATIENCE, run, small_chair};

/// A mount in the foreground with folders of its own, and the socket that it reports to.
struct Supervised {
    process: Child,
    // Unmounted before its folder goes.
    drive: MountPoint,
    socket: UnixDatagram,
    dir: TempDir,
}

impl Supervised {
    fn start() -> Supervised {
        Supervised::start_in(tempfile::tempdir().unwrap())
    }

    fn start_in(dir: TempDir) -> Supervised {
        let place = |name: &str| dir.path().join(name);
        let _ = fs::remove_file(place("notify"));
        let socket = UnixDatagram::bind(place("notify")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let process = Command::new(ASSETFS)
            .args(["mount", "--foreground", "--local", "--settle", "10m"])
            .arg(place("mnt"))
            .arg("--state-dir")
            .arg(place("state"))
            .arg("--cache-dir")
            .arg(place("cache"))
            .arg("--data-dir")
            .arg(place("data"))
            .env("NOTIFY_SOCKET", place("notify"))
            .spawn()
            .unwrap();
        Supervised {
            process,
            drive: MountPoint(place("mnt")),
            socket,
            dir,
        }
    }

    /// Reads reports until one is `wanted`; returns it.
    fn expect(&self, wanted: impl Fn(&str) -> bool) -> String {
        let mut buffer = [0; 1024];
        let mut seen = Vec::new();
        loop {
            let length = self
                .socket
                .recv(&mut buffer)
                .unwrap_or_else(|error| panic!("{error}; it reported only {seen:?}"));
            let report = String::from_utf8_lossy(&buffer[..length]).into_owned();
            if wanted(&report) {
                return report;
            }
            seen.push(report);
        }
    }

    /// Sends SIGTERM, as `systemctl stop` does, and waits for the end.
    fn stop(&mut self) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, Signal::TERM).unwrap();
        self.expect(|report| report.starts_with("STOPPING=1"));
        assert!(self.process.wait().unwrap().success());
    }
}

#[test]
fn systemd_is_told_when_the_drive_answers_what_is_not_uploaded_and_that_it_ends() {
    needs_fuse!();
    let mut supervised = Supervised::start();
    supervised.expect(|report| report == "READY=1");
    let root = supervised.drive.0.clone();
    assert!(root.join("rawmodels").is_dir(), "READY came too early");
    supervised.expect(|report| report.starts_with("STATUS=Serving the local service at "));
    small_chair(&root.join("rawmodels"));
    supervised.expect(|report| report.ends_with("; 1 model not uploaded yet"));
    supervised.stop();
    assert!(!root.join("rawmodels").exists());
}

#[test]
fn what_is_ready_is_uploaded_before_a_unit_stops() {
    needs_fuse!();
    let mut supervised = Supervised::start();
    supervised.expect(|report| report == "READY=1");
    let root = supervised.drive.0.clone();
    small_chair(&root.join("rawmodels"));
    // What the units of systemd run to stop.
    run(Command::new(ASSETFS)
        .args(["unmount", "--timeout", "75s"])
        .arg(&root));
    supervised.expect(|report| report.starts_with("STOPPING=1"));
    assert!(supervised.process.wait().unwrap().success());
    // It was ready, so it was uploaded first: the next mount has it as a model and not as a draft.
    let mut again = Supervised::start_in(supervised.dir);
    again.expect(|report| report == "READY=1");
    let state = fs::read_to_string(root.join("rawmodels/chair/.assetfs/state")).unwrap();
    assert!(["importing", "complete"].contains(&state.trim()), "{state}");
    again.stop();
}
